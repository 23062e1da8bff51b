import { readSlot, type SlotState } from '../postgres/slot.js';
import { unguard } from './guard-base.js';
import { markColumnsLeftOut, markLeftOut, tablesToReload } from './left-out.js';
import { openSlot, type OpenSource } from './open-source.js';
import { findTables, markForReload, type FoundTable } from './open-tables.js';
import { refuseOtherModes, refuseOtherSources } from './same-source.js';
import type { SessionContext } from './session-context.js';

/** Where a session begins: what every table holds, which of them are to be loaded anew, and the slot. */
export interface Stock {
  readonly found: readonly FoundTable[];
  readonly slot: SlotState & { readonly created: boolean };
}

/**
 * Finds out where tables and slot stand, refuses what does not fit together, and marks in the tables what has to be loaded anew or
 * is passed over, before the slot is made or moves. `signal` ends a wait for the slot.
 */
export async function takeStock(context: SessionContext, source: OpenSource, signal: AbortSignal): Promise<Stock> {
  const { config, catalog, events } = context;
  const { snapshotMode, slotName } = config.source;
  let found = await findTables(config, source, catalog);
  const position = found.reduce<bigint | undefined>((min, t) => (t.position === undefined || (min !== undefined && min < t.position) ? min : t.position), undefined);
  const exists = await readSlot(source.client, slotName) !== undefined;
  const slotIsGone = position !== undefined && !exists;
  const reload = (snapshotMode === 'always' && !context.loaded) || (slotIsGone && (snapshotMode === 'always' || snapshotMode === 'when_needed'));
  const open = (): Promise<Stock['slot']> => openSlot(config.source, source.client, { position, reload }, events, signal);
  // While another process has the slot, its tables are not ours to mark.
  const taken = exists ? await open() : undefined;
  if (config.pipeline.slotGuard === 'off') found = await unguard(found, catalog);
  if (!reload) {
    refuseOtherSources(found);
    refuseOtherModes(found);
    found = await markForReload(found, catalog, new Set(tablesToReload(found, events)));
    found = await markColumnsLeftOut(found, catalog);
  }
  // The configuration of a process does not change, so once is enough.
  if (!context.loaded) await markLeftOut(config, source, found, catalog);
  if (reload) {
    found = await markForReload(found, catalog);
    // The marks say what is left to load, also to later sessions: a table that is done is not loaded twice.
    context.loaded = true;
  }
  return { found, slot: taken ?? await open() };
}
