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
