import { WalbergError } from '../../errors/error.js';
import { printJson } from '../spec/json.js';
import { bindPartitionSpec } from '../spec/partition.js';
import { CONTENT_DATA, CONTENT_EQUALITY_DELETES, type PartitionSpec, type Schema } from '../spec/types.js';
import { writeContainer } from './avro/container.js';
import { dataFileSlots } from './data-file.js';
import { isLive } from './entries.js';
import { manifestEntryStruct } from './fields.js';
import { PartitionSummary } from './partition-summary.js';
import { STATUS_ADDED, STATUS_DELETED, STATUS_EXISTING, type ManifestContent, type ManifestEntry, type ManifestFile, type ManifestStats } from './types.js';

/**
 * Writes a manifest (spec "Manifests", format version 2): an Avro file of one partition spec and one kind of content.
 *
 * @param o.schema the table's schema; goes into the header as it is
 * @param o.spec the spec all files belong to
 * @returns the file and what the manifest list has to say about it
 * @throws INTERNAL when an entry breaks the rules of `ManifestEntry`, belongs to another spec or content, or a path is live twice
 */
export function writeManifest(o: { readonly schema: Schema; readonly spec: PartitionSpec; readonly content: ManifestContent; readonly entries: readonly ManifestEntry[] }): {
  bytes: Uint8Array;
  stats: ManifestStats;
} {
  const partition = bindPartitionSpec(o.schema, o.spec).map((bound) => bound.field);
  const struct = manifestEntryStruct(partition);
  const summary = new PartitionSummary(partition);
  const files = [0, 0, 0];
  const rows = [0n, 0n, 0n];
  const live = new Set<string>();
  let minExplicit: bigint | undefined;

  for (const entry of o.entries) {
    const { file, sequenceNumber } = entry;
    checkEntry(entry, o.content, o.spec);
    files[entry.status]++;
    rows[entry.status] += BigInt(file.recordCount);
    summary.add(file.partition);
    if (!isLive(entry)) continue;
    if (live.has(file.filePath)) throw broken(entry, 'appears twice as a live file');
    live.add(file.filePath);
    if (sequenceNumber !== null && (minExplicit === undefined || sequenceNumber < minExplicit)) minExplicit = sequenceNumber;
  }

  const bytes = writeContainer({
    struct,
    recordName: 'manifest_entry',
    metadata: {
      schema: printJson(o.schema),
      'schema-id': String(o.schema['schema-id'] ?? 0),
      'partition-spec': printJson(o.spec.fields),
      'partition-spec-id': String(o.spec['spec-id']),
      'format-version': '2',
      content: o.content,
      'iceberg.schema': printJson({ ...struct, 'schema-id': 0 }),
    },
    records: o.entries.map((entry) => [entry.status, entry.snapshotId, entry.sequenceNumber, entry.fileSequenceNumber, dataFileSlots(entry.file)]),
  });

  return {
    bytes,
    stats: {
      length: bytes.length,
      specId: o.spec['spec-id'],
      content: o.content,
      addedFilesCount: files[STATUS_ADDED],
      existingFilesCount: files[STATUS_EXISTING],
      deletedFilesCount: files[STATUS_DELETED],
      addedRowsCount: rows[STATUS_ADDED],
      existingRowsCount: rows[STATUS_EXISTING],
      deletedRowsCount: rows[STATUS_DELETED],
      partitions: summary.summaries(),
      minExplicitSequenceNumber: minExplicit,
    },
  };
}

/**
 * The manifest list's record of a manifest written by this commit. When a commit is retried only `sequenceNumber` changes.
 *
 * The least data sequence number is that of the explicit numbers and, for entries that inherit, the commit's own, which is
 * never below an explicit one.
 */
export function toManifestFile(stats: ManifestStats, o: { readonly path: string; readonly sequenceNumber: bigint; readonly addedSnapshotId: bigint }): ManifestFile {
  const { minExplicitSequenceNumber: explicit, ...rest } = stats;
  const minSequenceNumber = explicit !== undefined && explicit < o.sequenceNumber ? explicit : o.sequenceNumber;
  return { ...rest, ...o, minSequenceNumber };
}

const broken = (entry: ManifestEntry, what: string): WalbergError =>
  new WalbergError('INTERNAL', `The manifest entry of ${entry.file.filePath} ${what}.`, { context: { path: entry.file.filePath, status: entry.status } });

function checkEntry(entry: ManifestEntry, content: ManifestContent, spec: PartitionSpec): void {
  const { file } = entry;
  if ((file.content === CONTENT_DATA) !== (content === 'data')) throw broken(entry, `does not belong into a manifest of ${content}`);
  if (file.specId !== spec['spec-id']) throw broken(entry, `belongs to partition spec ${file.specId}, the manifest to ${spec['spec-id']}`);
  if (file.partition.length !== spec.fields.length) throw broken(entry, `has ${file.partition.length} partition values for ${spec.fields.length} fields`);
  if ((file.content === CONTENT_EQUALITY_DELETES) !== ((file.equalityIds?.length ?? 0) > 0)) throw broken(entry, 'has equality ids without being an equality delete, or the reverse');
  if (entry.snapshotId === null) throw broken(entry, 'has no snapshot id');
  if (entry.status === STATUS_ADDED) {
    if (entry.fileSequenceNumber !== null) throw broken(entry, 'is added but has a file sequence number already');
  } else if (entry.sequenceNumber === null) {
    throw broken(entry, 'is not new but has no sequence number');
  }
}
