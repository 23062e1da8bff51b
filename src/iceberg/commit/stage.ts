import { randomUUID } from 'node:crypto';
import { WalbergError } from '../../errors/error.js';
import type { Storage } from '../../storage/storage.js';
import type { LoadedTable, TableChange, TableRequirement, TableUpdate } from '../catalog/catalog.js';
import { isLive, readManifest, readManifestList, toManifestFile, writeManifestList, type ManifestFile } from '../manifest/index.js';
import { CONTENT_POSITION_DELETES, type Snapshot, type SnapshotRef } from '../spec/types.js';
import { refHead } from './history.js';
import { mergeManifests } from './merge.js';
import { metadataFolder, recountSteps, type PendingManifest, type PreparedRowDelta } from './prepare.js';
import { files } from './row-delta.js';
import { SummaryBuilder } from './summary.js';
import { emptyManifests } from './truncate.js';

export interface StageOptions {
  /** Branch that gets the snapshot; it is created when missing. */
  readonly ref: string;
  /** Further refs that must not have moved (or appeared) either. */
  readonly assertRefs?: readonly string[];
  /** Entries of the summary that win over the delta's own. */
  readonly summary: Readonly<Record<string, string>>;
  /** Table properties that win over the delta's own. */
  readonly properties: Readonly<Record<string, string>>;
  readonly nowMs: number;
}

/** One attempt, ready for the catalog. */
export interface StagedCommit {
  readonly change: TableChange;
  readonly sequenceNumber: bigint;
  readonly manifestList: string;
  /** Paths of the manifests in the list, old and new. */
  readonly manifests: readonly string[];
}

/**
 * Writes the manifest list of one attempt on `table` and says what the catalog must do. Every attempt asserts the refs it
 * was built on, so of several attempts, also late ones of a dead process, only one can land on a state.
 *
 * A delta without files still makes a snapshot: only a moved ref can be asserted, so a position must never change alone.
 */
export async function stageRowDelta(prepared: PreparedRowDelta, table: LoadedTable, storage: Storage, options: StageOptions): Promise<StagedCommit> {
  const { metadata } = table;
  const { delta, snapshotId } = prepared;
  const parent = refHead(metadata, options.ref);
  if (parent === undefined && metadata.refs?.[options.ref] !== undefined) {
    throw new WalbergError('TABLE_INCOMPATIBLE', `The table's metadata lacks the snapshot that ${options.ref} points to`, { context: { location: table.metadataLocation } });
  }
  await recountSteps(prepared, metadata, storage);
  const sequenceNumber = BigInt(metadata['last-sequence-number']) + BigInt(prepared.steps);

  const summary = new SummaryBuilder();
  for (const file of files(delta)) summary.added(file);
  const inList = ({ path, stats }: PendingManifest): ManifestFile => toManifestFile(stats, { path, sequenceNumber, addedSnapshotId: snapshotId });
  const added = prepared.manifests.map(inList);
  // A manifest without live files has told its snapshot's story; nothing reads it any more.
  const old = (await manifestsOf(parent, storage)).filter((manifest) => manifest.addedFilesCount + manifest.existingFilesCount > 0);
  let kept: ManifestFile[];
  if (delta.truncate === true) {
    const emptied = await emptyManifests(prepared, old, metadata, storage);
    for (const file of emptied.removed) summary.removed(file);
    kept = emptied.manifests.map(inList);
  } else {
    kept = (await mergeManifests(prepared, old, metadata, storage)).map((one) => ('old' in one ? one.old : inList(one.merged)));
  }
  const manifests = [...added, ...kept];
  const parentId = parent === undefined ? undefined : BigInt(parent['snapshot-id']);
  const manifestList = `${metadataFolder(metadata)}/snap-${snapshotId}-1-${randomUUID()}.avro`;
  prepared.written.add(manifestList);
  await storage.write(manifestList, writeManifestList({ snapshotId, parentSnapshotId: parentId ?? null, sequenceNumber, manifests }));

  const snapshot: Snapshot = {
    'snapshot-id': snapshotId,
    ...(parentId === undefined ? {} : { 'parent-snapshot-id': parentId }),
    'sequence-number': sequenceNumber,
    'timestamp-ms': Math.max(options.nowMs, parent?.['timestamp-ms'] ?? 0, metadata['last-updated-ms']),
    'manifest-list': manifestList,
    summary: { ...summary.build(parent, delta.truncate === true, { ...delta.summary, ...options.summary }) },
    'schema-id': prepared.schema['schema-id'] ?? 0,
  };
  return { change: { requirements: requirements(table, options), updates: updates(prepared, table, snapshot, options) }, sequenceNumber, manifestList, manifests: manifests.map(({ path }) => path) };
}

/**
 * COMMIT_CONFLICT when a data file that the delta's position deletes point into is no longer live on `ref`: somebody
 * rewrote it, so the rows are elsewhere now and the deletes would miss them. Needed only when the base has moved.
 */
export async function checkReferencedFiles(prepared: PreparedRowDelta, table: LoadedTable, storage: Storage, ref: string): Promise<void> {
  const { delta } = prepared;
  const own = new Set(delta.dataFiles.map((file) => file.filePath));
  const wanted = new Set<string>();
  for (const file of delta.deleteFiles) {
    if (file.content === CONTENT_POSITION_DELETES && file.referencedDataFile !== undefined && !own.has(file.referencedDataFile)) wanted.add(file.referencedDataFile);
  }
  if (wanted.size === 0 || delta.truncate === true) return;
  for (const manifest of await manifestsOf(refHead(table.metadata, ref), storage)) {
    if (manifest.content !== 'data' || manifest.addedFilesCount + manifest.existingFilesCount === 0) continue;
    for (const entry of readManifest(await storage.read(manifest.path), manifest)) if (isLive(entry)) wanted.delete(entry.file.filePath);
    if (wanted.size === 0) return;
  }
  const [missing] = wanted;
  throw new WalbergError('COMMIT_CONFLICT', `Another writer has replaced a data file that this commit deletes rows of: ${missing}`, {
    context: { location: missing, files: wanted.size },
    hint: 'Walberg starts the session again and looks the rows up anew; keep foreign compaction rare on tables with position deletes.',
  });
}

async function manifestsOf(snapshot: Snapshot | undefined, storage: Storage): Promise<ManifestFile[]> {
  return snapshot === undefined ? [] : readManifestList(await storage.read(snapshot['manifest-list']));
}

function requirements(table: LoadedTable, options: StageOptions): TableRequirement[] {
  const refs = new Set([options.ref, 'main', ...(options.assertRefs ?? [])]);
  return [
    { type: 'assert-table-uuid', uuid: table.metadata['table-uuid'] },
    ...[...refs].map((ref): TableRequirement => ({ type: 'assert-ref-snapshot-id', ref, 'snapshot-id': table.metadata.refs?.[ref]?.['snapshot-id'] ?? null })),
  ];
}

function updates(prepared: PreparedRowDelta, table: LoadedTable, snapshot: Snapshot, options: StageOptions): TableUpdate[] {
  const { delta } = prepared;
  // The branch keeps its retention settings.
  const ref: SnapshotRef = { ...(table.metadata.refs?.[options.ref] ?? { type: 'branch' }), 'snapshot-id': prepared.snapshotId };
  const properties = { ...delta.properties, ...options.properties };
  const removals = (delta.removeProperties ?? []).filter((name) => table.metadata.properties[name] !== undefined && properties[name] === undefined);
  return [
    { action: 'add-snapshot', snapshot },
    { action: 'set-snapshot-ref', 'ref-name': options.ref, ...ref },
    ...(Object.keys(properties).length === 0 ? [] : [{ action: 'set-properties', updates: properties } satisfies TableUpdate]),
    ...(removals.length === 0 ? [] : [{ action: 'remove-properties', removals } satisfies TableUpdate]),
  ];
}
