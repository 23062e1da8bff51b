import { malformed } from './avro/malformed.js';
import { CONTENT_DATA, type DataFile, type FileContent, type FileFormat, type PartitionValue } from '../spec/types.js';
import { RecordValues } from './values.js';

/** Slots of the data_file struct, in the order of `manifestEntryStruct`. */
const CONTENT = 0;
const FILE_PATH = 1;
const FILE_FORMAT = 2;
const PARTITION = 3;
const RECORD_COUNT = 4;
const FILE_SIZE = 5;
const COLUMN_SIZES = 6;
const VALUE_COUNTS = 7;
const NULL_VALUE_COUNTS = 8;
const NAN_VALUE_COUNTS = 9;
const LOWER_BOUNDS = 10;
const UPPER_BOUNDS = 11;
const KEY_METADATA = 12;
const SPLIT_OFFSETS = 13;
const EQUALITY_IDS = 14;
const SORT_ORDER_ID = 15;
const REFERENCED_DATA_FILE = 16;

/** The values of a data_file struct, in slot order. */
export function dataFileSlots(file: DataFile): readonly unknown[] {
  return [
    file.content, file.filePath, file.fileFormat, file.partition, file.recordCount, file.fileSizeInBytes,
    file.columnSizes, file.valueCounts, file.nullValueCounts, file.nanValueCounts, file.lowerBounds, file.upperBounds,
    file.keyMetadata, file.splitOffsets, file.equalityIds, file.sortOrderId, file.referencedDataFile,
  ];
}

const FORMATS: readonly string[] = ['PARQUET', 'AVRO', 'ORC'] satisfies readonly FileFormat[];

/** The file behind the decoded slots. Absent optional values become absent members. */
export function dataFileFromSlots(slots: readonly unknown[], specId: number, what: string): DataFile {
  const values = new RecordValues(slots, what);
  // Format version 1 had data files only and no content field.
  const content = values.requiredInt(CONTENT, 'content', CONTENT_DATA);
  if (content < 0 || content > 2) throw malformed(what, 'a file has an unknown content');
  const fileFormat = values.requiredString(FILE_FORMAT, 'file_format').toUpperCase();
  if (!FORMATS.includes(fileFormat)) throw malformed(what, 'a file has an unknown format');
  const file: { -readonly [K in keyof DataFile]: DataFile[K] } = {
    content: content as FileContent,
    filePath: values.requiredString(FILE_PATH, 'file_path'),
    fileFormat: fileFormat as FileFormat,
    specId,
    partition: values.requiredList(PARTITION, 'partition').map((value) => (value ?? null) as PartitionValue),
    recordCount: values.requiredInt(RECORD_COUNT, 'record_count'),
    fileSizeInBytes: values.requiredInt(FILE_SIZE, 'file_size_in_bytes'),
  };
  const metrics = {
    columnSizes: values.counts(COLUMN_SIZES, 'column_sizes'),
    valueCounts: values.counts(VALUE_COUNTS, 'value_counts'),
    nullValueCounts: values.counts(NULL_VALUE_COUNTS, 'null_value_counts'),
    nanValueCounts: values.counts(NAN_VALUE_COUNTS, 'nan_value_counts'),
    lowerBounds: values.bounds(LOWER_BOUNDS, 'lower_bounds'),
    upperBounds: values.bounds(UPPER_BOUNDS, 'upper_bounds'),
    keyMetadata: values.bytes(KEY_METADATA, 'key_metadata'),
    splitOffsets: values.ints(SPLIT_OFFSETS, 'split_offsets'),
    equalityIds: values.ints(EQUALITY_IDS, 'equality_ids'),
    sortOrderId: values.int(SORT_ORDER_ID, 'sort_order_id'),
    referencedDataFile: values.string(REFERENCED_DATA_FILE, 'referenced_data_file'),
  };
  for (const [name, value] of Object.entries(metrics)) if (value !== undefined) Object.assign(file, { [name]: value });
  return file;
}
