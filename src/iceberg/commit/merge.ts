import type { Storage } from '../../storage/storage.js';
import { existingEntry, isLive, readManifest, type ManifestEntry, type ManifestFile } from '../manifest/index.js';
import type { TableMetadata } from '../spec/types.js';
import { schemaFor, specOf, storeManifest, type PendingManifest, type PreparedRowDelta } from './prepare.js';

/** Manifests read at the same time. */
const CONCURRENCY = 16;

/** What the list of a commit takes over: a manifest as it is, or one written for this commit. */
export type Kept = { readonly old: ManifestFile } | { readonly merged: PendingManifest };

/**
 * Merges the small manifests that many small commits leave, as Java's `ManifestMergeManager` does and by the same table
 * properties: per partition spec and content, packed from the oldest up to `commit.manifest.target-size-bytes`; the newest
 * pack only when it has `commit.manifest.min-count-to-merge` manifests, so that most commits rewrite nothing. Without it
 * the list, which every commit writes anew, would grow by one or two manifests a commit for ever.
 *
 * `manifests`: newest first. A merged manifest lists the live files as EXISTING with the numbers they had.
 */
export async function mergeManifests(prepared: PreparedRowDelta, manifests: readonly ManifestFile[], metadata: TableMetadata, storage: Storage): Promise<Kept[]> {
  const { properties } = metadata;
  if (properties['commit.manifest-merge.enabled'] === 'false') return manifests.map((old) => ({ old }));
  const target = positive(properties['commit.manifest.target-size-bytes'], 8 * 1024 * 1024);
  const minCount = positive(properties['commit.manifest.min-count-to-merge'], 100);
  const groups = new Map<string, ManifestFile[]>();
  for (const manifest of manifests) {
    const key = `${manifest.content}:${manifest.specId}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [manifest]);
    else group.push(manifest);
  }
  const kept: Kept[] = [];
  for (const group of groups.values()) {
    for (const [index, pack] of packs(group, target).entries()) {
      if (pack.length === 1 || (index === 0 && pack.length < minCount)) kept.push(...pack.map((old) => ({ old })));
      else kept.push({ merged: await merged(prepared, pack, metadata, storage) });
    }
  }
  return kept;
}

/** Neighbours whose lengths sum up to `target` at most, filled from the end (the oldest), returned newest first. */
function packs(manifests: readonly ManifestFile[], target: number): ManifestFile[][] {
  const result: ManifestFile[][] = [];
  let size = 0;
  for (const manifest of [...manifests].reverse()) {
    const open = result.at(-1);
    if (open !== undefined && size + manifest.length <= target) {
      open.push(manifest);
      size += manifest.length;
    } else {
      result.push([manifest]);
      size = manifest.length;
    }
  }
  return result.map((pack) => pack.reverse()).reverse();
}

/** The pack as one manifest; the one written for an earlier attempt if that merged the same. */
async function merged(prepared: PreparedRowDelta, pack: readonly ManifestFile[], metadata: TableMetadata, storage: Storage): Promise<PendingManifest> {
  const key = pack.map(({ path }) => path).join('\n');
  const before = prepared.merged.get(key);
  if (before !== undefined) return before;
  const read = new Array<ManifestEntry[]>(pack.length);
  let next = 0;
  const readNext = async (): Promise<void> => {
    for (let index = next++; index < pack.length; index = next++) {
      const manifest = pack[index];
      read[index] = readManifest(await storage.read(manifest.path), manifest).filter(isLive).map(existingEntry);
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, pack.length) }, readNext));
  const { content, specId } = pack[0];
  const entries = read.flat();
  const spec = specOf(metadata, specId);
  const stored = await storeManifest(prepared, metadata, storage, { spec, schema: schemaFor(spec, metadata, prepared.schema), content, entries });
  const result: PendingManifest = { ...stored, group: { content, specId, files: entries.map(({ file }) => file) } };
  prepared.merged.set(key, result);
  return result;
}

function positive(text: string | undefined, fallback: number): number {
  const value = Number(text);
  return text !== undefined && Number.isSafeInteger(value) && value > 0 ? value : fallback;
}
