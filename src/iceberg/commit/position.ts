import type { LoadedTable } from '../catalog/catalog.js';
import { ancestors, refHead } from './history.js';
import { WalbergError } from '../../errors/error.js';

/** Names under which a commit leaves its position: in the snapshot's summary, and again as table properties. */
export const LSN = 'walberg.lsn';
export const SLOT = 'walberg.slot';
export const SYSTEM_ID = 'walberg.system-id';
/** OID of the source table: a name may pass to another table, an OID does not. */
export const SOURCE_OID = 'walberg.source-oid';
/** How rows are written: mirror, soft or append. */
export const MODE = 'walberg.mode';
/** Unique per commit, the same over its attempts: tells an own commit whose reply was lost from anybody else's. */
export const COMMIT_ID = 'walberg.commit-id';
/** The writing process, random per process. */
export const PROCESS = 'walberg.process';

/** What a table remembers of the source: everything up to and including the transaction that ends at `lsn` is in it. */
export interface StoredPosition {
  readonly lsn: bigint;
  readonly slot?: string;
  readonly systemId?: string;
  readonly sourceOid?: number;
  readonly mode?: string;
  readonly commitId?: string;
  readonly process?: string;
}

/** An LSN as 16 upper-case hex digits, so that text order is LSN order. */
export function formatPosition(lsn: bigint): string {
  if (lsn < 0n || lsn > 0xffff_ffff_ffff_ffffn) throw new WalbergError('INTERNAL', `Not an LSN: ${lsn}`, { context: { lsn } });
  return lsn.toString(16).toUpperCase().padStart(16, '0');
}

/** Reverse of `formatPosition`. TABLE_INCOMPATIBLE for anything else: a guess would lose or repeat rows. */
export function parsePosition(text: string): bigint {
  if (!/^[0-9A-F]{16}$/.test(text)) {
    throw new WalbergError('TABLE_INCOMPATIBLE', `The table's property ${LSN} is not a position: 16 upper-case hex digits are expected`, {
      hint: `Set ${LSN} back to the value of the newest snapshot's summary, or load into a new table.`,
    });
  }
  return BigInt(`0x${text}`);
}

/**
 * The position a table holds, or undefined when Walberg never committed to it.
 *
 * The table property counts, because it survives foreign snapshots and expiry. When somebody has removed it, the newest
 * snapshot of ours on `ref` still tells.
 */
export function readPosition(table: LoadedTable, ref = 'main'): StoredPosition | undefined {
  const own = positionIn(table.metadata.properties);
  if (own !== undefined) return own;
  for (const snapshot of ancestors(table.metadata, refHead(table.metadata, ref))) {
    const found = positionIn(snapshot.summary);
    if (found !== undefined) return found;
  }
  return undefined;
}

function positionIn(values: Readonly<Record<string, string>>): StoredPosition | undefined {
  const lsn = values[LSN];
  if (lsn === undefined) return undefined;
  return { lsn: parsePosition(lsn), slot: values[SLOT], systemId: values[SYSTEM_ID], ...(values[SOURCE_OID] === undefined ? {} : { sourceOid: Number(values[SOURCE_OID]) }), ...(values[MODE] === undefined ? {} : { mode: values[MODE] }), commitId: values[COMMIT_ID], process: values[PROCESS] };
}
