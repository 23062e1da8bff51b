import type { Long, Snapshot, TableMetadata } from '../spec/types.js';

/** The snapshot `ref` points to, or undefined when the branch does not exist (a table without snapshots has no `main`). */
export function refHead(metadata: TableMetadata, ref: string): Snapshot | undefined {
  const id = refId(metadata, ref);
  return id === undefined ? undefined : snapshotById(metadata, id);
}

/** Id of the snapshot `ref` points to. */
export function refId(metadata: TableMetadata, ref: string): bigint | undefined {
  const found = metadata.refs?.[ref];
  if (found !== undefined) return BigInt(found['snapshot-id']);
  // Metadata written before refs existed names main's head only here; -1, null and absent all mean none.
  const current = metadata['current-snapshot-id'];
  return ref !== 'main' || current === undefined || current === null || BigInt(current) === -1n ? undefined : BigInt(current);
}

/** The snapshot with that id, while the metadata still has it. */
export function snapshotById(metadata: TableMetadata, id: Long): Snapshot | undefined {
  const wanted = BigInt(id);
  return metadata.snapshots.find((snapshot) => BigInt(snapshot['snapshot-id']) === wanted);
}

/** `from` and its parents, newest first, as far as the metadata still has them. */
export function* ancestors(metadata: TableMetadata, from: Snapshot | undefined): Iterable<Snapshot> {
  const byId = new Map(metadata.snapshots.map((snapshot) => [BigInt(snapshot['snapshot-id']), snapshot]));
  const seen = new Set<bigint>();
  for (let next = from; next !== undefined;) {
    const id = BigInt(next['snapshot-id']);
    if (seen.has(id)) return;
    seen.add(id);
    yield next;
    const parent: Long | null | undefined = next['parent-snapshot-id'];
    next = parent === undefined || parent === null ? undefined : byId.get(BigInt(parent));
  }
}
