import { randomUUID } from 'node:crypto';
import type { Catalog, CreateTableRequest, LoadedTable, TableIdentifier } from '../../src/iceberg/catalog/catalog.js';
import { addedEntry, deletedEntry, existingEntry, isLive, readManifest, readManifestList, toManifestFile, writeManifest, writeManifestList, type ManifestEntry, type ManifestFile } from '../../src/iceberg/manifest/index.js';
import { newSnapshotId } from '../../src/iceberg/spec/ids.js';
import type { DataFile, FileContent, Snapshot, TableMetadata } from '../../src/iceberg/spec/types.js';
import type { Storage } from '../../src/storage/storage.js';

export const ORDERS: TableIdentifier = { namespace: ['shop'], name: 'orders' };

/** Unpartitioned, two columns. */
export const ORDERS_REQUEST: CreateTableRequest = {
  schema: { type: 'struct', fields: [{ id: 1, name: 'id', required: true, type: 'long' }, { id: 2, name: 'note', required: false, type: 'string' }] },
  properties: {},
};

/** A file of the given name, with sizes that follow from it so that sums differ between files. */
export function fileNamed(name: string, content: FileContent = 0, more: Partial<DataFile> = {}): DataFile {
  const records = 1 + ([...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 7);
  return {
    content,
    filePath: `memory://lake/shop.orders/data/${name}.parquet`,
    fileFormat: 'PARQUET',
    specId: 0,
    partition: [],
    recordCount: records,
    fileSizeInBytes: 1000 + 10 * records,
    ...(content === 2 ? { equalityIds: [1] } : {}),
    ...more,
  };
}

/** One live entry with its manifest's place. */
export interface LiveFile {
  readonly path: string;
  readonly content: FileContent;
  readonly sequence: bigint;
  readonly fileSequence: bigint | null;
  readonly snapshotId: bigint | null;
  readonly file: DataFile;
}

export function headOf(metadata: TableMetadata, ref = 'main'): Snapshot | undefined {
  const id = metadata.refs[ref]?.['snapshot-id'];
  return id === undefined ? undefined : metadata.snapshots.find((snapshot) => BigInt(snapshot['snapshot-id']) === BigInt(id));
}

export async function manifestsOf(metadata: TableMetadata, storage: Storage, ref = 'main'): Promise<ManifestFile[]> {
  const head = headOf(metadata, ref);
  return head === undefined ? [] : readManifestList(await storage.read(head['manifest-list']));
}

export async function entriesOf(metadata: TableMetadata, storage: Storage, ref = 'main'): Promise<{ manifest: ManifestFile; entries: ManifestEntry[] }[]> {
  const manifests = await manifestsOf(metadata, storage, ref);
  return Promise.all(manifests.map(async (manifest) => ({ manifest, entries: readManifest(await storage.read(manifest.path), manifest) })));
}

/** What a reader of the branch sees, sorted by path. */
export async function liveFiles(metadata: TableMetadata, storage: Storage, ref = 'main'): Promise<LiveFile[]> {
  const all = (await entriesOf(metadata, storage, ref)).flatMap(({ entries }) => entries).filter(isLive);
  const live = all.map(({ file, sequenceNumber, fileSequenceNumber, snapshotId }) => ({ path: file.filePath, content: file.content, sequence: sequenceNumber!, fileSequence: fileSequenceNumber, snapshotId, file }));
  return live.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Short names (without folder and extension) of the live files of a content. */
export async function liveNames(metadata: TableMetadata, storage: Storage, content?: FileContent): Promise<string[]> {
  return (await liveFiles(metadata, storage)).filter((file) => content === undefined || file.content === content).map(({ path }) => shortName(path));
}

export function shortName(path: string): string {
  return path.replace(/^.*\//, '').replace(/\.parquet$/, '');
}

/** The six totals, computed from what is live. */
export function totalsOf(live: readonly { readonly file: DataFile }[]): Record<string, string> {
  const sum = (content: readonly FileContent[], value: (file: DataFile) => number): string =>
    live.filter(({ file }) => content.includes(file.content)).reduce((total, { file }) => total + value(file), 0).toString();
  return {
    'total-records': sum([0], (file) => file.recordCount),
    'total-files-size': sum([0, 1, 2], (file) => file.fileSizeInBytes),
    'total-data-files': sum([0], () => 1),
    'total-delete-files': sum([1, 2], () => 1),
    'total-position-deletes': sum([1], (file) => file.recordCount),
    'total-equality-deletes': sum([2], (file) => file.recordCount),
  };
}

/**
 * A commit of another tool, built without the code under test: adds files, and replaces those that `replace` picks,
 * which keep their manifest (rewritten) with DELETED entries. `sequence` is the data sequence number of what it adds.
 */
export async function foreignCommit(
  catalog: Catalog,
  storage: Storage,
  what: { add?: readonly DataFile[]; replace?: (file: LiveFile) => boolean; sequence?: bigint; summary?: Record<string, string> } = {},
): Promise<LoadedTable> {
  const table = (await catalog.loadTable(ORDERS))!;
  const { metadata } = table;
  const head = headOf(metadata);
  const snapshotId = newSnapshotId();
  const sequenceNumber = BigInt(metadata['last-sequence-number']) + 1n;
  const schema = metadata.schemas[0];
  const spec = metadata['partition-specs'][0];
  const write = async (content: 'data' | 'deletes', entries: ManifestEntry[]): Promise<ManifestFile> => {
    const { bytes, stats } = writeManifest({ schema, spec, content, entries });
    const path = `${metadata.location}/metadata/foreign-${randomUUID()}.avro`;
    await storage.write(path, bytes);
    return toManifestFile(stats, { path, sequenceNumber, addedSnapshotId: snapshotId });
  };
  const manifests: ManifestFile[] = [];
  const removed: DataFile[] = [];
  for (const { manifest, entries } of await entriesOf(metadata, storage)) {
    const picked = (entry: ManifestEntry): boolean => isLive(entry) && what.replace?.({ path: entry.file.filePath, content: entry.file.content, sequence: entry.sequenceNumber!, fileSequence: entry.fileSequenceNumber, snapshotId: entry.snapshotId, file: entry.file }) === true;
    if (!entries.some(picked)) {
      manifests.push(manifest);
      continue;
    }
    removed.push(...entries.filter(picked).map(({ file }) => file));
    manifests.push(await write(manifest.content, entries.filter(isLive).map((entry) => (picked(entry) ? deletedEntry(entry, snapshotId) : existingEntry(entry)))));
  }
  const add = what.add ?? [];
  if (add.length > 0) manifests.push(await write('data', add.map((file) => addedEntry(file, snapshotId, what.sequence))));
  const list = `${metadata.location}/metadata/foreign-snap-${snapshotId}.avro`;
  await storage.write(list, writeManifestList({ snapshotId, parentSnapshotId: head === undefined ? null : BigInt(head['snapshot-id']), sequenceNumber, manifests }));
  const gone = new Set(removed.map(({ filePath }) => filePath));
  const live = (await liveFiles(metadata, storage)).filter(({ path }) => !gone.has(path));
  const snapshot: Snapshot = {
    'snapshot-id': snapshotId,
    ...(head === undefined ? {} : { 'parent-snapshot-id': head['snapshot-id'] }),
    'sequence-number': sequenceNumber,
    'timestamp-ms': metadata['last-updated-ms'] + 1,
    'manifest-list': list,
    summary: { operation: removed.length > 0 ? 'replace' : 'append', ...totalsOf([...live, ...add.map((file) => ({ file }))]), ...what.summary },
    'schema-id': 0,
  };
  return catalog.commitTable(table, {
    requirements: [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': head?.['snapshot-id'] ?? null }],
    updates: [{ action: 'add-snapshot', snapshot }, { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': snapshotId }],
  });
}
