import { randomUUID } from 'node:crypto';
import { WalbergError } from '../../errors/error.js';
import type { Storage } from '../../storage/storage.js';
import type { LoadedTable } from '../catalog/catalog.js';
import { addedEntry, writeManifest, type ManifestContent, type ManifestEntry, type ManifestStats } from '../manifest/index.js';
import { newSnapshotId } from '../spec/ids.js';
import { CONTENT_DATA, type DataFile, type PartitionSpec, type Schema, type TableMetadata } from '../spec/types.js';
import { snapshotById } from './history.js';
import { checkDelta, files, stepCount, type RowDelta } from './row-delta.js';

/** A manifest that lies in storage and waits for a commit to give it its sequence number. */
export interface PendingManifest {
  readonly path: string;
  readonly stats: ManifestStats;
  /** The table's last sequence number its explicit numbers were counted from; undefined when it fits any. */
  readonly countedFrom?: bigint;
  /** The files of `countedFrom` manifests, to write them again on another base. */
  readonly group: ManifestGroup;
}

interface ManifestGroup {
  readonly content: ManifestContent;
  readonly specId: number;
  readonly files: readonly DataFile[];
}

/** A row delta whose manifests are written. Lives over all attempts of one commit: ids and manifests stay the same. */
export interface PreparedRowDelta {
  readonly delta: RowDelta;
  readonly commitId: string;
  /** One id for all attempts: at most one of them can land. */
  readonly snapshotId: bigint;
  readonly schema: Schema;
  readonly steps: number;
  manifests: readonly PendingManifest[];
  /** Rewritten forms of manifests a truncate empties, by the path of the original (undefined: it had no live file). */
  readonly emptied: Map<string, { manifest?: PendingManifest; removed: readonly DataFile[] }>;
  /** Manifests merged for earlier attempts, by the paths of what they merge. */
  readonly merged: Map<string, PendingManifest>;
  /** Every metadata file written for this commit so far, whatever became of it. */
  readonly written: Set<string>;
}

/**
 * Writes the manifests of `delta`, one per partition spec and content. They hold no snapshot's sequence number, so a
 * commit that is retried on a newer base uses them again; only steps before the last need explicit numbers.
 */
export async function prepareRowDelta(delta: RowDelta, table: LoadedTable, storage: Storage): Promise<PreparedRowDelta> {
  checkDelta(delta);
  const { metadata } = table;
  const prepared: PreparedRowDelta = {
    delta,
    commitId: randomUUID(),
    snapshotId: freshSnapshotId(metadata),
    schema: schemaOf(metadata, delta.schemaId ?? metadata['current-schema-id']),
    steps: stepCount(delta),
    manifests: [],
    emptied: new Map(),
    merged: new Map(),
    written: new Set(),
  };
  prepared.manifests = await Promise.all(groups(delta).map((group) => writeGroup(prepared, group, metadata, storage)));
  return prepared;
}

/** Writes the manifests again whose explicit sequence numbers were counted from another base than `metadata`. */
export async function recountSteps(prepared: PreparedRowDelta, metadata: TableMetadata, storage: Storage): Promise<void> {
  const last = BigInt(metadata['last-sequence-number']);
  const fits = (manifest: PendingManifest): boolean => manifest.countedFrom === undefined || manifest.countedFrom === last;
  if (prepared.manifests.every(fits)) return;
  prepared.manifests = await Promise.all(prepared.manifests.map(async (manifest) => (fits(manifest) ? manifest : writeGroup(prepared, manifest.group, metadata, storage))));
}

/** Writes one manifest under a new name. */
export async function storeManifest(
  prepared: PreparedRowDelta,
  metadata: TableMetadata,
  storage: Storage,
  content: { spec: PartitionSpec; schema: Schema; content: ManifestContent; entries: readonly ManifestEntry[] },
): Promise<{ path: string; stats: ManifestStats }> {
  const { bytes, stats } = writeManifest(content);
  const path = `${metadataFolder(metadata)}/${randomUUID()}-m0.avro`;
  prepared.written.add(path);
  await storage.write(path, bytes);
  return { path, stats };
}

/** Folder for metadata files, without trailing slash. */
export function metadataFolder(metadata: TableMetadata): string {
  return (metadata.properties['write.metadata.path'] ?? `${metadata.location}/metadata`).replace(/\/+$/, '');
}

/** The table's partition spec with that id. INTERNAL when there is none: the file that names it cannot be part of the table. */
export function specOf(metadata: TableMetadata, id: number): PartitionSpec {
  const spec = metadata['partition-specs'].find((other) => other['spec-id'] === id);
  if (spec === undefined) throw new WalbergError('INTERNAL', `A file was written for partition spec ${id}, which the table does not have`, { context: { specId: id } });
  return spec;
}

/** The preferred schema if it still has the columns the spec partitions by, else the newest that does. */
export function schemaFor(spec: PartitionSpec, metadata: TableMetadata, preferred: Schema): Schema {
  const fits = (schema: Schema): boolean => spec.fields.every((field) => schema.fields.some((column) => column.id === field['source-id']));
  return fits(preferred) ? preferred : metadata.schemas.findLast(fits) ?? preferred;
}

function schemaOf(metadata: TableMetadata, id: number): Schema {
  const schema = metadata.schemas.find((other) => (other['schema-id'] ?? 0) === id);
  if (schema === undefined) throw new WalbergError('INTERNAL', `A file was written for schema ${id}, which the table does not have`, { context: { schemaId: id } });
  return schema;
}

async function writeGroup(prepared: PreparedRowDelta, group: ManifestGroup, metadata: TableMetadata, storage: Storage): Promise<PendingManifest> {
  const { delta, steps } = prepared;
  const last = BigInt(metadata['last-sequence-number']);
  const explicit = (file: DataFile): bigint | null => {
    if (delta.dataSequenceNumber !== undefined && file.content === CONTENT_DATA) return delta.dataSequenceNumber;
    const step = file.sequenceStep ?? 0;
    return step === steps - 1 ? null : last + BigInt(step) + 1n;
  };
  const entries = group.files.map((file) => addedEntry(file, prepared.snapshotId, explicit(file)));
  const counted = group.files.some((file) => (file.sequenceStep ?? 0) < steps - 1);
  const stored = await storeManifest(prepared, metadata, storage, { spec: specOf(metadata, group.specId), schema: prepared.schema, content: group.content, entries });
  return { ...stored, group, countedFrom: counted ? last : undefined };
}

function groups(delta: RowDelta): ManifestGroup[] {
  const byKey = new Map<string, { content: ManifestContent; specId: number; files: DataFile[] }>();
  for (const file of files(delta)) {
    const content: ManifestContent = file.content === CONTENT_DATA ? 'data' : 'deletes';
    const key = `${content}:${file.specId}`;
    const group = byKey.get(key) ?? { content, specId: file.specId, files: [] };
    group.files.push(file);
    byKey.set(key, group);
  }
  return [...byKey.values()];
}

function freshSnapshotId(metadata: TableMetadata): bigint {
  for (;;) {
    const id = newSnapshotId();
    if (snapshotById(metadata, id) === undefined) return id;
  }
}
