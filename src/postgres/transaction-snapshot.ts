import { WalbergError } from '../errors/error.js';
import type { SourceClient } from './client.js';

/** Which transactions a read has seen (PostgreSQL manual, "Transaction ID and Snapshot Information Functions"). 64-bit ids. */
export interface TransactionSnapshot {
  /** Every id below has ended and is seen if it committed. */
  readonly xmin: bigint;
  /** No id from here on is seen. */
  readonly xmax: bigint;
  /** Ids in between that were still running. */
  readonly running: ReadonlySet<bigint>;
  /** A standby does not list what runs, so only ids below xmin are certain. */
  readonly fromStandby: boolean;
}

/** The text of pg_current_snapshot(): `xmin:xmax:id,id,…`. */
export function parseSnapshot(text: string, fromStandby: boolean): TransactionSnapshot {
  const match = /^(\d+):(\d+):([\d,]*)$/.exec(text);
  if (match === null) throw new WalbergError('INTERNAL', 'Not a snapshot');
  return { xmin: BigInt(match[1]), xmax: BigInt(match[2]), running: new Set(match[3].split(',').filter((id) => id !== '').map(BigInt)), fromStandby };
}

/**
 * True when the snapshot surely sees the committed transaction with this 32-bit id, as Begin messages carry it. Ids wrap
 * around; one that is in WAL lies within 2^31 of any current snapshot.
 */
export function snapshotSees(snapshot: TransactionSnapshot, xid32: number): boolean {
  const distance = (xid32 - Number(snapshot.xmax & 0xffffffffn)) | 0;
  const xid = snapshot.xmax + BigInt(distance);
  if (xid < snapshot.xmin) return true;
  return !snapshot.fromStandby && xid < snapshot.xmax && !snapshot.running.has(xid);
}

/** Which transactions a statement sees that begins now. */
export async function readTransactionSnapshot(client: SourceClient): Promise<TransactionSnapshot> {
  const [row] = await client.rows('SELECT pg_catalog.pg_current_snapshot() AS snapshot, pg_catalog.pg_is_in_recovery() AS standby');
  return parseSnapshot(row.snapshot ?? '', row.standby === 't');
}
