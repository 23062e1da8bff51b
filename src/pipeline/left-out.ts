import { targetTableName } from '../config/naming.js';
import type { WalbergConfig } from '../config/config.js';
import { WalbergError } from '../errors/error.js';
import type { Catalog } from '../iceberg/catalog/catalog.js';
import { readPosition } from '../iceberg/commit/position.js';
import { changeProperties } from '../iceberg/commit/property-change.js';
import type { PipelineEvents } from '../observe/events.js';
import { qualifiedName } from '../schema/table-plan.js';
import type { OpenSource } from './open-source.js';
import type { FoundTable } from './open-tables.js';
import { targetName } from './table-target.js';

/** Set on a table that was written before and is published, but not captured now: the slot passes over its changes. */
export const LEFT_OUT = 'walberg.left-out';
/** The same for columns: names, as JSON. */
export const LEFT_OUT_COLUMNS = 'walberg.left-out-columns';

/**
 * Marks what this configuration leaves out although a table of ours has it, before the slot moves on. A table that is taken out
 * of the include list and put back looks merely quiet otherwise, and what changed meanwhile would be missing without a word.
 */
export async function markLeftOut(config: WalbergConfig, source: OpenSource, found: readonly FoundTable[], catalog: Catalog): Promise<void> {
  const captured = new Set(source.tables.map(qualifiedName));
  const targets = new Set(found.map((t) => t.identifier.name));
  for (const { schema, name } of source.publication.tables) {
    const identifier = { namespace: config.sink.namespace, name: targetTableName(config, schema, name) };
    if (captured.has(`${schema}.${name}`) || targets.has(identifier.name)) continue;
    const table = await catalog.loadTable(identifier);
    const stored = table === undefined ? undefined : readPosition(table);
    if (table === undefined || stored?.slot !== config.source.slotName || stored.systemId !== source.identity.systemId) continue;
    if (table.metadata.properties[LEFT_OUT] === undefined) await changeProperties(catalog, table, { set: { [LEFT_OUT]: 'true' } });
  }
}

/** Columns that the Iceberg table has and the source still sends, but that are not captured. */
export function columnsLeftOut({ plan, existing }: FoundTable): string[] {
  if (existing === undefined) return [];
  const { metadata } = existing;
  const schema = metadata.schemas.find((s) => s['schema-id'] === metadata['current-schema-id']);
  const planned = new Set(plan.columns.map((c) => c.name));
  return plan.source.columns.map((c) => c.name).filter((name) => !planned.has(name) && schema?.fields.some((f) => f.name === name) === true);
}

/** Whether changes of this table, or of a column that is captured again, were passed over since its last commit. */
export function missedChanges(table: FoundTable): boolean {
  const properties = table.existing?.metadata.properties ?? {};
  if (table.position === undefined) return false;
  if (properties[LEFT_OUT] !== undefined) return true;
  const columns = JSON.parse(properties[LEFT_OUT_COLUMNS] ?? '[]') as string[];
  return columns.some((name) => table.plan.columns.some((c) => c.name === name));
}

/**
 * The tables that have to be loaded anew because changes were passed over. A table that is appended to cannot get these back:
 * for the table as a whole that is refused, a column's gap is told.
 */
export function tablesToReload(found: readonly FoundTable[], events: Pick<PipelineEvents, 'warning'>): FoundTable[] {
  return found.filter((table) => {
    if (table.reloadPending || !missedChanges(table)) return false;
    if (table.plan.mode !== 'append') return true;
    const name = targetName(table.identifier);
    const context = { table: qualifiedName(table.plan.source), target: name };
    if (table.existing?.metadata.properties[LEFT_OUT] === undefined) {
      events.warning({ message: 'Columns are captured again; rows written while they were left out have NULL in them', context });
      return false;
    }
    throw new WalbergError('TABLE_INCOMPATIBLE', `Table ${qualifiedName(table.plan.source)} was left out for a while, and what changed meanwhile is not in ${name}`, {
      context, hint: `Drop ${name}, so that it is loaded anew, or remove its property ${LEFT_OUT} to go on with the gap.`,
    });
  });
}

/** Brings the mark of the columns up to date; a table that is to be loaded anew gets it with its load. */
export async function markColumnsLeftOut(found: readonly FoundTable[], catalog: Catalog): Promise<FoundTable[]> {
  return Promise.all(found.map(async (table) => {
    const columns = columnsLeftOut(table);
    const text = columns.length === 0 ? undefined : JSON.stringify(columns);
    if (table.existing === undefined || table.position === undefined || table.reloadPending || table.existing.metadata.properties[LEFT_OUT_COLUMNS] === text) return table;
    return { ...table, existing: await changeProperties(catalog, table.existing, text === undefined ? { remove: [LEFT_OUT_COLUMNS] } : { set: { [LEFT_OUT_COLUMNS]: text } }) };
  }));
}
