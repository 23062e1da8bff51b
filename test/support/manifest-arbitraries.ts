import fc from 'fast-check';
import { STATUS_ADDED, type FieldSummary, type ManifestEntry, type ManifestFile } from '../../src/iceberg/manifest/index.js';
import type { DataFile, PartitionSpec, PartitionValue, Schema } from '../../src/iceberg/spec/types.js';

/** One column and one partition field of every kind that manifests can hold. */
export const SCHEMA: Schema = {
  type: 'struct',
  'schema-id': 7,
  fields: [
    { id: 1, name: 'i', required: true, type: 'int' },
    { id: 2, name: 'l', required: false, type: 'long' },
    { id: 3, name: 'd', required: false, type: 'date' },
    { id: 4, name: 'ts', required: false, type: 'timestamptz' },
    { id: 5, name: 'dec', required: false, type: 'decimal(20, 2)' },
    { id: 6, name: 's', required: false, type: 'string' },
    { id: 7, name: 'u', required: false, type: 'uuid' },
    { id: 8, name: 'b', required: false, type: 'boolean' },
    { id: 9, name: 'f', required: false, type: 'double' },
    { id: 10, name: 'bin', required: false, type: 'binary' },
  ],
};

export const SPEC: PartitionSpec = {
  'spec-id': 3,
  fields: [
    { 'source-id': 1, 'field-id': 1000, name: 'i_bucket', transform: 'bucket[16]' },
    { 'source-id': 2, 'field-id': 1001, name: 'l', transform: 'identity' },
    { 'source-id': 3, 'field-id': 1002, name: 'd', transform: 'identity' },
    { 'source-id': 4, 'field-id': 1003, name: 'ts', transform: 'identity' },
    { 'source-id': 4, 'field-id': 1010, name: 'ts_day', transform: 'day' },
    { 'source-id': 5, 'field-id': 1004, name: 'dec', transform: 'identity' },
    { 'source-id': 6, 'field-id': 1005, name: 'größe 1', transform: 'truncate[2]' },
    { 'source-id': 7, 'field-id': 1006, name: 'u', transform: 'identity' },
    { 'source-id': 7, 'field-id': 1007, name: '2u', transform: 'identity' },
    { 'source-id': 8, 'field-id': 1008, name: 'b', transform: 'identity' },
    { 'source-id': 9, 'field-id': 1009, name: 'f', transform: 'identity' },
    { 'source-id': 10, 'field-id': 1011, name: 'bin', transform: 'identity' },
    { 'source-id': 5, 'field-id': 1012, name: 'dec2', transform: 'truncate[50]' },
  ],
};

const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
export const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
export const positive = fc.oneof(fc.bigInt({ min: 0n, max: 300n }), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }));
const bytes = (minLength: number, maxLength: number): fc.Arbitrary<Uint8Array> => fc.array(fc.integer({ min: 0, max: 255 }), { minLength, maxLength }).map((values) => Uint8Array.from(values));
const size = fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
const decimal = fc.bigInt({ min: 1n - 10n ** 20n, max: 10n ** 20n - 1n });
const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const orNull = (value: fc.Arbitrary<PartitionValue>): fc.Arbitrary<PartitionValue> => fc.option(value, { nil: null });

export const partition: fc.Arbitrary<readonly PartitionValue[]> = fc.tuple(
  ...[fc.nat(15), long, int, long, int, decimal, text, bytes(16, 16), bytes(16, 16), fc.boolean(), fc.double(), bytes(0, 6), decimal].map((value) => orNull(value as fc.Arbitrary<PartitionValue>)),
);

const idMap = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<ReadonlyMap<number, T> | undefined> => maybe(fc.array(fc.tuple(fc.integer({ min: 1, max: 2147483647 }), value), { maxLength: 4 }).map((pairs) => new Map(pairs)));

/** Absent members rather than undefined ones, as the reader gives them. */
const withoutUndefined = <T extends object>(value: T): T => Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;

export function dataFile(content: 'data' | 'deletes', spec: PartitionSpec): fc.Arbitrary<DataFile> {
  return fc.record({
    content: content === 'data' ? fc.constant(0 as const) : fc.constantFrom(1 as const, 2 as const),
    filePath: fc.uuid().chain((id) => text.map((part) => `s3://bucket/${part}/${id}.parquet`)),
    fileFormat: fc.constantFrom('PARQUET' as const, 'AVRO' as const, 'ORC' as const),
    specId: fc.constant(spec['spec-id']),
    partition: spec.fields.length === 0 ? fc.constant([]) : partition,
    recordCount: size,
    fileSizeInBytes: size,
    columnSizes: idMap(size),
    valueCounts: idMap(size),
    nullValueCounts: idMap(size),
    nanValueCounts: idMap(size),
    lowerBounds: idMap(bytes(0, 20)),
    upperBounds: idMap(bytes(0, 20)),
    keyMetadata: maybe(bytes(0, 5)),
    splitOffsets: maybe(fc.array(size, { maxLength: 3 })),
    equalityIds: fc.array(int, { minLength: 1, maxLength: 3 }),
    sortOrderId: maybe(fc.nat(5)),
    referencedDataFile: maybe(text),
  }).map(({ equalityIds, ...file }) => withoutUndefined({ ...file, equalityIds: file.content === 2 ? equalityIds : undefined }));
}

/** Entries as a writer gives them. */
export function entries(content: 'data' | 'deletes', spec: PartitionSpec): fc.Arbitrary<readonly ManifestEntry[]> {
  const entry = fc.record({ status: fc.constantFrom(0 as const, 1 as const, 2 as const), snapshotId: positive, number: positive, explicit: fc.boolean(), file: dataFile(content, spec) })
    .map(({ status, snapshotId, number, explicit, file }): ManifestEntry => ({
      status,
      snapshotId,
      sequenceNumber: status === STATUS_ADDED && !explicit ? null : number,
      fileSequenceNumber: status === STATUS_ADDED ? null : number,
      file,
    }));
  return fc.uniqueArray(entry, { maxLength: 6, selector: (e) => e.file.filePath });
}

const summary: fc.Arbitrary<FieldSummary> = fc.record({ containsNull: fc.boolean(), containsNan: maybe(fc.boolean()), lowerBound: maybe(bytes(0, 9)), upperBound: maybe(bytes(0, 9)) }).map(withoutUndefined);

export const manifestFile: fc.Arbitrary<ManifestFile> = fc.record({
  path: text.map((part) => `s3://bucket/metadata/${part}-m0.avro`),
  length: size,
  specId: fc.nat(9),
  content: fc.constantFrom('data' as const, 'deletes' as const),
  sequenceNumber: positive,
  minSequenceNumber: positive,
  addedSnapshotId: positive,
  addedFilesCount: fc.nat(2 ** 31 - 1),
  existingFilesCount: fc.nat(2 ** 31 - 1),
  deletedFilesCount: fc.nat(2 ** 31 - 1),
  addedRowsCount: positive,
  existingRowsCount: positive,
  deletedRowsCount: positive,
  partitions: maybe(fc.array(summary, { maxLength: 3 })),
  keyMetadata: maybe(bytes(0, 5)),
}).map(withoutUndefined);
