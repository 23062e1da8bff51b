import type { Catalog } from '../iceberg/catalog/catalog.js';
import { formatPosition, parsePosition } from '../iceberg/commit/position.js';
import { changeProperties } from '../iceberg/commit/property-change.js';
import type { SlotState } from '../postgres/slot.js';
import type { FoundTable } from './open-tables.js';

/** Table property: where the slot stood when it began to be guarded. From then on it stands there, before it, or at a marker. */
export const GUARD_BASE = 'walberg.slot-guard';

/** How a session looks after its slot. */
export interface SessionGuard {
  /** The slot has never been guarded, or stands where it did when that began: no marker is expected. */
  readonly proven: boolean;
  /** What commits of this session set. */
  readonly properties: Readonly<Record<string, string>>;
}

/**
 * Whether the stream must begin with a marker (SlotGuard). A server that has crashed may have forgotten the newest
 * confirmations, so the slot may also stand before the base; a slot that was made anew stands behind everything.
 */
export function slotGuard(found: readonly FoundTable[], slot: Pick<SlotState, 'confirmedFlushLsn'> & { readonly created: boolean }): SessionGuard {
  const startLsn = slot.confirmedFlushLsn ?? 0n;
  const bases = slot.created ? [] : found.flatMap((t) => (t.reloadPending ? [] : t.existing?.metadata.properties[GUARD_BASE] ?? [])).map((text) => parsePosition(text));
  const base = bases.reduce<bigint | undefined>((max, b) => (max === undefined || b > max ? b : max), undefined);
  return { proven: base === undefined || startLsn <= base, properties: { [GUARD_BASE]: formatPosition(base ?? startLsn) } };
}

/** The slot is not guarded any more and will leave its marker: tables forget that it was, or a guard of later would miss it. */
export async function unguard(found: readonly FoundTable[], catalog: Catalog): Promise<FoundTable[]> {
  return Promise.all(found.map(async (table) => {
    const { existing } = table;
    if (existing?.metadata.properties[GUARD_BASE] === undefined) return table;
    return { ...table, existing: await changeProperties(catalog, existing, { remove: [GUARD_BASE] }) };
  }));
}
