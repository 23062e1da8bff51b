import type { Storage } from '../../storage/storage.js';
import { deletedEntry, isLive, readManifest, type ManifestFile } from '../manifest/index.js';
import type { DataFile, TableMetadata } from '../spec/types.js';
import { schemaFor, specOf, storeManifest, type PendingManifest, type PreparedRowDelta } from './prepare.js';

/** Manifests rewritten at the same time. */
const CONCURRENCY = 4;

/**
 * Rewrites `manifests` (the base's) with every live entry DELETED, so that the new snapshot lists none of their files as
 * live. Manifests that were rewritten for an earlier attempt are used again: a manifest never changes.
 */
export async function emptyManifests(
  prepared: PreparedRowDelta,
  manifests: readonly ManifestFile[],
  metadata: TableMetadata,
  storage: Storage,
): Promise<{ manifests: PendingManifest[]; removed: DataFile[] }> {
  const open = manifests.filter((manifest) => !prepared.emptied.has(manifest.path));
  const next = async (): Promise<void> => {
    for (let manifest = open.pop(); manifest !== undefined; manifest = open.pop()) {
      prepared.emptied.set(manifest.path, await emptied(prepared, manifest, metadata, storage));
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, open.length) }, next));
  const all = manifests.map((manifest) => prepared.emptied.get(manifest.path)!);
  return { manifests: all.flatMap(({ manifest }) => manifest ?? []), removed: all.flatMap(({ removed }) => removed) };
}

async function emptied(prepared: PreparedRowDelta, manifest: ManifestFile, metadata: TableMetadata, storage: Storage): Promise<{ manifest?: PendingManifest; removed: readonly DataFile[] }> {
  const live = readManifest(await storage.read(manifest.path), manifest).filter(isLive);
  if (live.length === 0) return { removed: [] };
  const entries = live.map((entry) => deletedEntry(entry, prepared.snapshotId));
  const spec = specOf(metadata, manifest.specId);
  const removed = live.map((entry) => entry.file);
  const stored = await storeManifest(prepared, metadata, storage, { spec, schema: schemaFor(spec, metadata, prepared.schema), content: manifest.content, entries });
  return { manifest: { ...stored, group: { content: manifest.content, specId: manifest.specId, files: removed } }, removed };
}
