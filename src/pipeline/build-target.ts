import type { LoadedTable } from '../iceberg/catalog/catalog.js';
import type { TableCommitter } from '../iceberg/commit/table-committer.js';
import { currentSchema } from '../iceberg/commit/schema-change.js';
import { printJson } from '../iceberg/spec/json.js';
import { WalbergError } from '../errors/error.js';
import type { EncodeColumn } from '../parquet/encode-types.js';
import { bindColumns, equalityIds, keyColumns } from '../schema/bind-columns.js';
import { qualifiedName, type TablePlan } from '../schema/table-plan.js';
import { knownOf } from './evolve-table.js';
import { targetName, type TableTarget } from './table-target.js';

/** Binds a plan to the Iceberg table as it is now. Throws TABLE_INCOMPATIBLE when the table cannot hold the source. */
export function buildTarget(plan: TablePlan, table: LoadedTable, committer: TableCommitter, database: string): TableTarget {
  const { metadata } = table;
  const schema = currentSchema(table);
  if (schema === undefined) throw new WalbergError('FORMAT_UNSUPPORTED', `The metadata of ${targetName(table.identifier)} has no current schema`, { context: { table: targetName(table.identifier) } });
  return {
    name: qualifiedName(plan.source),
    identifier: table.identifier,
    plan,
    committer,
    known: knownOf(plan, table),
    columns: bindColumns(plan, schema),
    keyColumns: keyColumns(plan, schema).map((column) => ofKeyTuple(column, plan)),
    equalityIds: equalityIds(plan, schema),
    schemaJson: printJson(schema),
    schemaId: metadata['current-schema-id'],
    specId: metadata['default-spec-id'],
    dataLocation: metadata.properties['write.data.path']?.replace(/\/+$/, '') ?? `${metadata.location.replace(/\/+$/, '')}/data`,
    database,
  };
}

/** Key tuples hold the key columns only, in key order. */
function ofKeyTuple(column: EncodeColumn, plan: TablePlan): EncodeColumn {
  if (column.source.from !== 'tuple') throw new WalbergError('INTERNAL', `Key column ${column.name} has no source column`);
  return { ...column, source: { ...column.source, ordinal: plan.keyOrdinals.indexOf(column.source.ordinal) } };
}
