import { randomBytes, randomUUID } from 'node:crypto';

const MAX_LONG = 0x7fffffffffffffffn;

/**
 * A new snapshot id: a random positive 63-bit integer, never 0, as Java's `SnapshotIdGeneratorUtil` makes them. Never from
 * a clock: two writers would collide. The caller checks it against the table's existing ids.
 *
 * @param random source of random bytes, for tests
 */
export function newSnapshotId(random: (size: number) => Uint8Array = randomBytes): bigint {
  for (;;) {
    const bytes = random(16);
    const view = new DataView(bytes.buffer, bytes.byteOffset, 16);
    const id = (view.getBigUint64(0) ^ view.getBigUint64(8)) & MAX_LONG;
    if (id !== 0n) return id;
  }
}

/** A random (version 4) UUID in its text form, for table uuids and file names. */
export function newUuid(): string {
  return randomUUID();
}
