import { printJson } from '../spec/json.js';
import { openContainer, writeContainer } from './avro/container.js';
import { malformed } from './avro/malformed.js';
import { MANIFEST_FILE_STRUCT } from './fields.js';
import { requireKnownVersion } from './read-manifest.js';
import type { FieldSummary, ManifestFile } from './types.js';
import { RecordValues } from './values.js';

/** Writes the manifest list of a snapshot (spec "Manifest Lists", format version 2). */
export function writeManifestList(o: {
  readonly snapshotId: bigint;
  readonly parentSnapshotId: bigint | null;
  readonly sequenceNumber: bigint;
  readonly manifests: readonly ManifestFile[];
}): Uint8Array {
  return writeContainer({
    struct: MANIFEST_FILE_STRUCT,
    recordName: 'manifest_file',
    metadata: {
      'snapshot-id': String(o.snapshotId),
      'parent-snapshot-id': String(o.parentSnapshotId),
      'sequence-number': String(o.sequenceNumber),
      'format-version': '2',
      'iceberg.schema': printJson({ ...MANIFEST_FILE_STRUCT, 'schema-id': 0 }),
    },
    records: o.manifests.map((manifest) => [
      manifest.path, manifest.length, manifest.specId, manifest.content === 'data' ? 0 : 1, manifest.sequenceNumber, manifest.minSequenceNumber, manifest.addedSnapshotId,
      manifest.addedFilesCount, manifest.existingFilesCount, manifest.deletedFilesCount, manifest.addedRowsCount, manifest.existingRowsCount, manifest.deletedRowsCount,
      manifest.partitions?.map((summary) => [summary.containsNull, summary.containsNan, summary.lowerBound, summary.upperBound]),
      manifest.keyMetadata,
    ]),
  });
}

/**
 * Reads a manifest list of any writer, format versions 1 and 2 (version 1 has no content and no sequence numbers: data, 0).
 *
 * @param what names the file in errors
 * @throws FILE_MALFORMED, FORMAT_UNSUPPORTED (format version 3, unknown codec)
 */
export function readManifestList(bytes: Uint8Array, what = 'manifest list'): ManifestFile[] {
  const container = openContainer(bytes, what);
  requireKnownVersion(container, what);
  const manifests: ManifestFile[] = [];
  for (const slots of container.records(MANIFEST_FILE_STRUCT)) {
    const values = new RecordValues(slots, what);
    const content = values.requiredInt(3, 'content', 0);
    if (content !== 0 && content !== 1) throw malformed(what, 'a manifest has an unknown content');
    const partitions = values.list(13, 'partitions')?.map((summary) => readSummary(summary, what));
    const keyMetadata = values.bytes(14, 'key_metadata');
    manifests.push({
      path: values.requiredString(0, 'manifest_path'),
      length: values.requiredInt(1, 'manifest_length'),
      specId: values.requiredInt(2, 'partition_spec_id'),
      content: content === 0 ? 'data' : 'deletes',
      sequenceNumber: values.requiredLong(4, 'sequence_number', 0n),
      minSequenceNumber: values.requiredLong(5, 'min_sequence_number', 0n),
      addedSnapshotId: values.requiredLong(6, 'added_snapshot_id'),
      addedFilesCount: values.requiredInt(7, 'added_files_count'),
      existingFilesCount: values.requiredInt(8, 'existing_files_count'),
      deletedFilesCount: values.requiredInt(9, 'deleted_files_count'),
      addedRowsCount: values.requiredLong(10, 'added_rows_count'),
      existingRowsCount: values.requiredLong(11, 'existing_rows_count'),
      deletedRowsCount: values.requiredLong(12, 'deleted_rows_count'),
      ...(partitions === undefined ? {} : { partitions }),
      ...(keyMetadata === undefined ? {} : { keyMetadata }),
    });
  }
  return manifests;
}

function readSummary(summary: unknown, what: string): FieldSummary {
  if (!Array.isArray(summary)) throw malformed(what, 'a partition summary is null');
  const values = new RecordValues(summary, what);
  const containsNan = values.boolean(1, 'contains_nan');
  const lowerBound = values.bytes(2, 'lower_bound');
  const upperBound = values.bytes(3, 'upper_bound');
  return {
    // Unknown is read as "may contain null", which never hides a file.
    containsNull: values.boolean(0, 'contains_null') ?? true,
    ...(containsNan === undefined ? {} : { containsNan }),
    ...(lowerBound === undefined ? {} : { lowerBound }),
    ...(upperBound === undefined ? {} : { upperBound }),
  };
}
