import { WalbergError } from '../errors/error.js';
import type { SourceClient } from './client.js';
import { parseLsn } from './lsn.js';

/** A row of pg_replication_slots. */
export interface SlotState {
  readonly name: string;
  /** `logical` or `physical`. */
  readonly type: string;
  readonly plugin: string | undefined;
  readonly database: string | undefined;
  readonly temporary: boolean;
  readonly active: boolean;
  readonly activePid: number | undefined;
  /** Oldest WAL the slot keeps; undefined while it keeps none (being created, or lost). */
  readonly restartLsn: bigint | undefined;
  /** Everything before it is confirmed; undefined while the slot is still being created. */
  readonly confirmedFlushLsn: bigint | undefined;
  /** reserved, extended, unreserved or lost. */
  readonly walStatus: string | undefined;
  /** Bytes that can still be written before the slot may be lost; undefined = no limit. */
  readonly safeWalSize: bigint | undefined;
  readonly twoPhase: boolean;
  /** 17 and later: why the slot was invalidated. */
  readonly invalidationReason: string | undefined;
  /** 17 and later. */
  readonly inactiveSince: string | undefined;
  readonly failover: boolean;
  /** 17 and later: copied from the primary to this standby, and not usable here before promotion. */
  readonly synced: boolean;
}

/** Reads a slot; undefined when there is none of that name. */
export async function readSlot(client: SourceClient, name: string): Promise<SlotState | undefined> {
  // Columns differ between versions, so the row travels as JSON; numbers beyond 2^53 and LSNs travel beside it as text.
  const rows = await client.rows<{ slot: string; safe: string | null }>(
    'SELECT pg_catalog.row_to_json(s) AS slot, s.safe_wal_size AS safe FROM pg_catalog.pg_replication_slots s WHERE s.slot_name = $1', [name]);
  if (rows.length === 0) return undefined;
  const slot = JSON.parse(rows[0].slot) as Record<string, string | number | boolean | null | undefined>;
  const text = (key: string): string | undefined => (typeof slot[key] === 'string' ? slot[key] : undefined);
  const lsn = (key: string): bigint | undefined => { const t = text(key); return t === undefined ? undefined : parseLsn(t); };
  return {
    name,
    type: text('slot_type') ?? '',
    plugin: text('plugin'),
    database: text('database'),
    temporary: slot.temporary === true,
    active: slot.active === true,
    activePid: typeof slot.active_pid === 'number' ? slot.active_pid : undefined,
    restartLsn: lsn('restart_lsn'),
    confirmedFlushLsn: lsn('confirmed_flush_lsn'),
    walStatus: text('wal_status'),
    safeWalSize: rows[0].safe === null ? undefined : BigInt(rows[0].safe),
    twoPhase: slot.two_phase === true,
    invalidationReason: text('invalidation_reason') ?? (slot.conflicting === true ? 'conflicting' : undefined),
    inactiveSince: text('inactive_since'),
    failover: slot.failover === true,
    synced: slot.synced === true,
  };
}

/**
 * Refuses a slot that cannot be streamed from: SLOT_INVALID, SLOT_LOST, SLOT_TAKEN. The text of the server's own refusal of
 * a lost slot differs between versions, and restart_lsn may or may not be gone, so the state columns decide.
 */
export function checkSlot(slot: SlotState, database: string): void {
  const context = { slot: slot.name, database };
  const invalid = (detail: string, hint?: string): WalbergError => new WalbergError('SLOT_INVALID', `Replication slot ${slot.name} ${detail}`, { context, hint });
  if (slot.type !== 'logical') throw invalid('is a physical slot');
  if (slot.plugin !== 'pgoutput') throw invalid(`uses the output plug-in ${slot.plugin} instead of pgoutput`);
  if (slot.database !== database) throw invalid(`belongs to database ${slot.database} instead of ${database}`);
  if (slot.twoPhase) throw invalid('decodes two-phase commits, which cannot be switched off again', 'Drop the slot and create it without two_phase, or choose another slot.name.');
  if (slot.synced) throw invalid('is synchronised from a primary and not usable before this standby is promoted', 'Connect to the primary.');
  if (slot.walStatus === 'lost' || slot.invalidationReason !== undefined) {
    throw new WalbergError('SLOT_LOST', `Replication slot ${slot.name} was invalidated${slot.invalidationReason === undefined ? '' : ` (${slot.invalidationReason})`}`, { context: { ...context, walStatus: slot.walStatus, reason: slot.invalidationReason } });
  }
  if (slot.active) {
    throw new WalbergError('SLOT_TAKEN', `Replication slot ${slot.name} is in use by the server process ${slot.activePid}`, { context: { ...context, pid: slot.activePid } });
  }
  if (slot.confirmedFlushLsn === undefined) throw invalid('was never completely created', `SELECT pg_drop_replication_slot('${slot.name}');`);
}

/** Drops the slot if it exists. Throws SLOT_TAKEN while a process streams from it. */
export async function dropSlot(client: SourceClient, name: string): Promise<void> {
  await client.rows('SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots WHERE slot_name = $1', [name]);
}
