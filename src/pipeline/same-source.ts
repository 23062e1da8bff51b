import { WalbergError } from '../errors/error.js';
import { formatLsn } from '../postgres/lsn.js';
import { qualifiedName } from '../schema/table-plan.js';
import type { FoundTable } from './open-tables.js';
import { targetName } from './table-target.js';

/**
 * Refuses Iceberg tables that were written from another source table than the one that has its name now: SCHEMA_CHANGED. A table
 * that was dropped and made again, or two that have exchanged their names, hold rows that no change will ever correct. Tables
 * written before their source's OID was kept are taken as they are.
 */
export function refuseOtherSources(tables: readonly FoundTable[]): void {
  for (const { plan, identifier, position, sourceOid, reloadPending } of tables) {
    if (position === undefined || sourceOid === undefined || reloadPending || sourceOid === plan.source.oid) continue;
    const table = qualifiedName(plan.source);
    throw new WalbergError('SCHEMA_CHANGED', `Table ${table} is not the one that ${targetName(identifier)} was written from: it was made anew, or another table was given its name`, {
      context: { table, position: formatLsn(position), oid: plan.source.oid, writtenFrom: sourceOid },
      hint: `Drop or rename ${targetName(identifier)}, so that ${table} is loaded anew, or exclude ${table}.`,
    });
  }
}

/** A mode can go on in tables that were written in it or in one before it: each keeps rows that the ones before it remove. */
const WIDENING = ['mirror', 'soft', 'append'] as const;

/**
 * Refuses tables that hold rows which the mode of now would never remove: TABLE_INCOMPATIBLE. A mirror writes no delete for an
 * INSERT, because the key of a new row is in no table; but rows that were kept after their DELETE, and rows of a log, are.
 */
export function refuseOtherModes(tables: readonly FoundTable[]): void {
  for (const { plan, identifier, position, storedMode, reloadPending } of tables) {
    if (position === undefined || storedMode === undefined || reloadPending) continue;
    if (WIDENING.findIndex((m) => m === storedMode) <= WIDENING.indexOf(plan.mode)) continue;
    const table = qualifiedName(plan.source);
    throw new WalbergError('TABLE_INCOMPATIBLE', `${targetName(identifier)} was written in ${storedMode} mode and holds rows that ${plan.mode} mode would leave there for ever`, {
      context: { table, mode: plan.mode, writtenIn: storedMode },
      hint: `Set upsert and upsert-keep-deletes (and the key of ${table}) back to what they were, or drop or rename ${targetName(identifier)}, so that it is loaded anew.`,
    });
  }
}
