import type { WalbergConfig } from '../config/config.js';
import { targetTableName } from '../config/naming.js';
import { WalbergError } from '../errors/error.js';
import type { Catalog, LoadedTable, TableIdentifier } from '../iceberg/catalog/catalog.js';
import { readPosition, type StoredPosition } from '../iceberg/commit/position.js';
import { changeProperties } from '../iceberg/commit/property-change.js';
import type { OpenSource } from './open-source.js';
import { formatLsn } from '../postgres/lsn.js';
import { insertLsn } from '../postgres/wal-position.js';
import { isColumnCaptured } from '../postgres/table-selection.js';
import { COLUMNS, knownColumns, printKnownColumns } from '../schema/known-columns.js';
import { icebergSchema, planTable, qualifiedName, type TablePlan } from '../schema/table-plan.js';
import { targetName } from './table-target.js';
import { otherCluster } from './unpublished.js';

/** A captured table with its Iceberg table, if that exists already. */
export interface FoundTable {
  readonly plan: TablePlan;
  readonly identifier: TableIdentifier;
  readonly existing: LoadedTable | undefined;
  /** Position of the last commit of ours; undefined before the first. */
  readonly position: bigint | undefined;
  /** OID of the table that the last commit of ours came from; undefined when it was not kept. */
  readonly sourceOid: number | undefined;
  /** How the last commit of ours wrote rows; undefined when it was not kept. */
  readonly storedMode: string | undefined;
  /** A reload was begun and has not ended: what the table holds is worth nothing, whatever its position. */
  readonly reloadPending: boolean;
}

/** Set before the slot of a reload is made, removed by the commit that ends the reload: a process may die in between. */
export const RELOAD_PENDING = 'walberg.reload-pending';

/** Plans every captured table and looks up what is in the catalog. Nothing is created. */
export async function findTables(config: WalbergConfig, source: OpenSource, catalog: Catalog): Promise<FoundTable[]> {
  const planned = planTables(config, source.tables);
  const found: FoundTable[] = [];
  for (const table of planned) found.push(await findTable(config, source, catalog, table));
  await refuseServerBehind(source, found);
  return found;
}

/** Looks one table up. Throws what makes it unusable for this slot and cluster whatever its columns are. */
export async function findTable(config: WalbergConfig, source: Pick<OpenSource, 'identity'>, catalog: Catalog, { plan, identifier }: Pick<FoundTable, 'plan' | 'identifier'>): Promise<FoundTable> {
  const existing = await catalog.loadTable(identifier);
  const stored = existing === undefined ? undefined : positionOf(existing, config, source);
  return { plan, identifier, existing, position: stored?.lsn, sourceOid: stored?.sourceOid, storedMode: stored?.mode, reloadPending: existing?.metadata.properties[RELOAD_PENDING] !== undefined };
}

/** The plan and the Iceberg name of every table. Two tables that would share a name are refused. */
export function planTables(config: WalbergConfig, tables: OpenSource['tables']): { plan: TablePlan; identifier: TableIdentifier }[] {
  const names = new Map<string, string>();
  return tables.map((table) => {
    const source = qualifiedName(table);
    const plan = planTable(table, config.sink, config.source.types, (column) => isColumnCaptured(config.source, table.schema, table.name, column, []));
    const identifier = { namespace: config.sink.namespace, name: targetTableName(config, table.schema, table.name) };
    const other = names.get(identifier.name);
    if (other !== undefined) {
      throw new WalbergError('CONFIG_INVALID', `Tables ${other} and ${source} would both be written to ${targetName(identifier)}`, {
        context: { table: source, other }, hint: 'Change debezium.sink.iceberg.destination-regexp or its replacement, or exclude one of them.',
      });
    }
    names.set(identifier.name, source);
    return { plan, identifier };
  });
}

/** Marks tables that hold a position, all or those of `which`: from here on they are loaded anew, also by a process that comes later. */
export async function markForReload(tables: readonly FoundTable[], catalog: Catalog, which: ReadonlySet<FoundTable> = new Set(tables)): Promise<FoundTable[]> {
  return Promise.all(tables.map(async (table) => {
    const { existing } = table;
    if (!which.has(table) || existing === undefined || table.position === undefined || table.reloadPending) return table;
    return { ...table, existing: await changeProperties(catalog, existing, { set: { [RELOAD_PENDING]: 'true' } }), reloadPending: true };
  }));
}

/** The table of `found`, created if it does not exist; its namespace must. */
export async function openTable(found: FoundTable, config: WalbergConfig, catalog: Catalog): Promise<LoadedTable> {
  if (found.existing !== undefined) return found.existing;
  return catalog.createTable(found.identifier, { schema: icebergSchema(found.plan), properties: { 'format-version': '2', ...config.sink.tableProperties, [COLUMNS]: printKnownColumns(knownColumns(found.plan.source, undefined)) } });
}

function positionOf(table: LoadedTable, config: WalbergConfig, source: Pick<OpenSource, 'identity'>): StoredPosition | undefined {
  const name = targetName(table.identifier);
  if (table.metadata['format-version'] !== 2) {
    throw new WalbergError('FORMAT_UNSUPPORTED', `Table ${name} has format version ${table.metadata['format-version']}`, { context: { table: name } });
  }
  const spec = table.metadata['partition-specs'].find((s) => s['spec-id'] === table.metadata['default-spec-id']);
  if (spec !== undefined && spec.fields.some((f) => f.transform !== 'void')) {
    throw new WalbergError('TABLE_INCOMPATIBLE', `Table ${name} is partitioned`, { context: { table: name }, hint: 'Write to an unpartitioned table.' });
  }
  const stored = readPosition(table);
  if (stored === undefined) return undefined;
  if (stored.systemId !== undefined && stored.systemId !== source.identity.systemId) {
    throw otherCluster(name, stored.systemId, source.identity);
  }
  if (stored.slot !== undefined && stored.slot !== config.source.slotName) {
    throw new WalbergError('SLOT_MISSING', `Table ${name} was written through replication slot ${stored.slot}, not ${config.source.slotName}`, {
      context: { table: name, slot: stored.slot }, hint: `Set debezium.source.slot.name=${stored.slot}, or load into another namespace.`,
    });
  }
  return stored;
}

/** Refuses positions that the server has not reached: SOURCE_BEHIND. */
export async function refuseServerBehind(source: Pick<OpenSource, 'client'>, tables: readonly FoundTable[]): Promise<void> {
  const server = await insertLsn(source.client);
  const ahead = tables.find((t) => t.position !== undefined && t.position > server);
  if (ahead === undefined) return;
  const name = targetName(ahead.identifier);
  throw new WalbergError('SOURCE_BEHIND', `Table ${name} is at ${formatLsn(ahead.position ?? 0n)}, but the server has written WAL only up to ${formatLsn(server)}`, { context: { table: name } });
}
