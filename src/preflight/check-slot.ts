import type { SourceConfig } from '../config/config.js';
import { isWalbergError } from '../errors/error.js';
import { checkSlot } from '../postgres/slot.js';
import type { Demand, OpenTransaction, ServerFacts, SlotFacts } from './facts.js';
import { type Finding, note, ok, problem, problemOf } from './finding.js';
import { count, duration, list, size } from './words.js';

/** Transactions younger than this are everyday business. */
const LONG_SECONDS = 5;

/** Can the slot be streamed from, or will it be made; and what stands in the way of making one. */
export function checkSlotState(source: Pick<SourceConfig, 'slotName' | 'snapshotMode' | 'connection'>, facts: SlotFacts, demand: Demand, server: Pick<ServerFacts, 'slotKeepBytes'>, open: readonly OpenTransaction[]): Finding[] {
  const { slot } = facts;
  const creates = slot === undefined || demand.loads > 0;
  return [...(slot === undefined ? missing(source, demand) : existing(source, slot, facts, server)), ...(creates ? waits(open) : [])];
}

function missing({ slotName, snapshotMode }: Pick<SourceConfig, 'slotName' | 'snapshotMode'>, { positions }: Demand): Finding[] {
  if (positions === 0) return [ok(`Slot ${slotName} does not exist and will be created`)];
  const held = `Slot ${slotName} does not exist, but ${count(positions, 'table')} ${positions === 1 ? 'holds' : 'hold'} a position of it`;
  if (snapshotMode === 'always' || snapshotMode === 'when_needed') return [note(`${held}: every table will be loaded anew (snapshot.mode=${snapshotMode})`)];
  return [problem(held, 'Changes since then are lost. Drop the Iceberg tables, or load into another namespace through another slot.name; snapshot.mode=when_needed does the former by itself.')];
}

function existing(source: Pick<SourceConfig, 'slotName' | 'connection'>, slot: NonNullable<SlotFacts['slot']>, facts: SlotFacts, server: Pick<ServerFacts, 'slotKeepBytes'>): Finding[] {
  try {
    checkSlot(slot, source.connection.database);
  } catch (error) {
    if (!isWalbergError(error, 'SLOT_TAKEN')) return [problemOf(error)];
    const ours = facts.reader?.startsWith('walberg') === true;
    const by = `the server process ${slot.activePid}${facts.reader === undefined || facts.reader === '' ? '' : ` (${facts.reader})`}`;
    if (!ours) return [problem(`Slot ${slot.name} is in use by ${by}`, 'Stop what reads from it, or choose another slot.name.'), ...retention(facts, slot, server)];
    return [note(`Slot ${slot.name} is in use by ${by}: a second Walberg would wait for it, and end`), ...retention(facts, slot, server)];
  }
  return [ok(`Slot ${slot.name} exists: pgoutput, database ${slot.database}, ${slot.inactiveSince === undefined ? 'not in use' : `not in use since ${slot.inactiveSince}`}`), ...retention(facts, slot, server)];
}

function retention({ retainedBytes }: SlotFacts, slot: NonNullable<SlotFacts['slot']>, { slotKeepBytes }: Pick<ServerFacts, 'slotKeepBytes'>): Finding[] {
  if (retainedBytes === undefined) return [];
  const left = slot.safeWalSize === undefined ? '' : `, ${size(slot.safeWalSize > 0n ? slot.safeWalSize : 0n)} more may be written before it is lost`;
  const text = `It keeps ${size(retainedBytes)} of WAL (wal_status ${slot.walStatus ?? 'unknown'})${left}`;
  const scarce = slot.walStatus === 'unreserved' || (slotKeepBytes !== undefined && retainedBytes * 2n > slotKeepBytes);
  return [scarce ? note(text, 'Start Walberg soon, or raise max_slot_wal_keep_size.') : ok(text)];
}

function waits(open: readonly OpenTransaction[]): Finding[] {
  const long = open.filter((t) => t.prepared !== undefined || (t.seconds !== undefined && t.seconds >= LONG_SECONDS));
  if (long.length > 0) {
    const each = long.map((t) => `${t.prepared === undefined ? `process ${t.pid}` : `prepared ${t.prepared}`}${t.seconds === undefined ? '' : ` for ${duration(t.seconds)}`}`);
    return [note(`Creating a slot waits until these transactions have ended: ${list(each)}`, `COMMIT or ROLLBACK them${long.some((t) => t.prepared !== undefined) ? " (COMMIT PREPARED '…', ROLLBACK PREPARED '…')" : ''}; as a last resort SELECT pg_terminate_backend(…).`)];
  }
  const unknown = open.filter((t) => t.seconds === undefined).length;
  return [ok(unknown === 0 ? 'No long transaction is in the way of a new slot' : `${count(unknown, 'open transaction')} whose age this role may not see; a new slot waits for them`)];
}
