import { WalbergError } from '../errors/error.js';
import { isPrimitive, typeText } from '../iceberg/spec/schema.js';
import type { IcebergType, Schema } from '../iceberg/spec/types.js';
import type { ColumnSource, EncodeColumn } from '../parquet/encode-types.js';
import { storedAs } from './stored-as.js';
import { tableKey } from './table-key.js';
import { type PlanColumn, type TablePlan, qualifiedName } from './table-plan.js';

/**
 * The columns to write into an existing table, in plan order, found by name. Types must be equal, or the table's type must
 * hold every value of the planned one. Optional columns that only the table has are left alone (they read as NULL).
 *
 * Throws TABLE_INCOMPATIBLE naming table, column and both types.
 */
export function bindColumns(plan: TablePlan, schema: Schema): EncodeColumn[] {
  const table = qualifiedName(plan.source);
  const fields = new Map(schema.fields.map((f) => [f.name, f]));
  const bound = plan.columns.map((column): EncodeColumn => {
    const field = fields.get(column.name);
    if (field === undefined) {
      throw incompatible(table, column.name, `has no column ${column.name} for ${describe(column)}.`, 'Add the column to the Iceberg table as an optional column, or leave it out of the capture.');
    }
    const source = bindSource(plan, column, field.type);
    if (source === undefined) throw incompatible(table, column.name, `has column ${column.name} as ${typeText(field.type)}, which cannot hold ${describe(column)}.`, typeHint(column, field.type));
    if (field.required && !neverNull(plan, column)) {
      throw incompatible(table, column.name, `requires a value in column ${column.name} (${typeText(field.type)}), but ${describe(column)} may be NULL.`, 'Make the column of the Iceberg table optional.');
    }
    return { fieldId: field.id, name: field.name, type: field.type, required: field.required, source };
  });
  const planned = new Set(plan.columns.map((c) => c.name));
  const extra = schema.fields.find((f) => f.required && !planned.has(f.name));
  if (extra !== undefined) {
    throw incompatible(table, extra.name, `requires a value in column ${extra.name} (${typeText(extra.type)}), which the source does not have.`, 'Make the column of the Iceberg table optional, or drop it.');
  }
  return bound;
}

/** Columns of equality delete files: the key alone, in the order of the table's schema, with the table's field ids. */
export function keyColumns(plan: TablePlan, schema: Schema): EncodeColumn[] {
  const position = new Map(schema.fields.map((f, i) => [f.id, i]));
  return bindColumns(plan, schema)
    .filter((c) => plan.keyNames.includes(c.name))
    .sort((a, b) => position.get(a.fieldId)! - position.get(b.fieldId)!)
    .map((c) => ({ ...c, required: true }));
}

/** `equality_ids` of delete files, in schema order: engines compare them as a list. Empty in append mode. */
export function equalityIds(plan: TablePlan, schema: Schema): number[] {
  return keyColumns(plan, schema).map((c) => c.fieldId);
}

/**
 * Sentences about columns that an existing table holds in another type than a new one would have. Such tables come from
 * other writers or from before the source changed; they are written as they are.
 */
export function bindingNotes(plan: TablePlan, schema: Schema): string[] {
  return bindColumns(plan, schema).flatMap((bound, i) => {
    const column = plan.columns[i];
    return sameType(bound.type, column.type) ? [] : [`Column ${column.name} of the Iceberg table of ${qualifiedName(plan.source)} is ${typeText(bound.type)}, a new table would have ${describe(column)}: it is written as ${typeText(bound.type)}.`];
  });
}

function bindSource(plan: TablePlan, column: PlanColumn, type: IcebergType): ColumnSource | undefined {
  if (sameType(type, column.type)) return column.source;
  // the Java sink's older tables hold the millisecond times as numbers
  if (column.source.from === 'meta') return column.type === 'timestamptz' && type === 'long' ? column.source : undefined;
  const codec = storedAs(column.source.codec, type, plan.keyNames.includes(column.name));
  return codec === undefined ? undefined : { ...column.source, codec };
}

/** Ids do not count, and catalogs space decimal types differently. */
function sameType(a: IcebergType, b: IcebergType): boolean {
  if (isPrimitive(a) || isPrimitive(b)) return isPrimitive(a) && isPrimitive(b) && a.replaceAll(' ', '') === b.replaceAll(' ', '');
  if (a.type === 'list' && b.type === 'list') return a['element-required'] === b['element-required'] && sameType(a.element, b.element);
  return a.type === 'map' && b.type === 'map' && a['value-required'] === b['value-required'] && sameType(a.key, b.key) && sameType(a.value, b.value);
}

function typeHint(column: PlanColumn, type: IcebergType): string {
  if (column.source.from === 'tuple' && column.source.codec.kind === 'decimal' && type === 'double') return 'Set debezium.source.decimal.handling.mode=double to go on with this table, or write to another table.';
  if (!isPrimitive(type) && isPrimitive(column.type) && column.sourceType?.endsWith('[]') === true) return 'Set walberg.array-handling=list, and declare the column at the source with one dimension, or write to another table.';
  return 'Rename the column of the Iceberg table so that a new one can be added, leave the column out of the capture, or write to another table.';
}

/** No row written for this column has a null: NOT NULL at the source, and sent with every change that becomes a row. */
export function neverNull(plan: TablePlan, column: PlanColumn): boolean {
  if (column.required) return true;
  if (column.source.from === 'meta') return false;
  const { codec, ordinal } = column.source;
  const { notNull } = plan.source.columns[ordinal];
  if (!notNull || ('special' in codec && codec.special === 'null')) return false;
  // a deleted row has only what the replica identity sends
  return plan.mode === 'mirror' || plan.source.replicaIdentity === 'f' || tableKey(plan.source).columns?.includes(column.name) === true;
}

function describe(column: PlanColumn): string {
  return column.sourceType === undefined ? `${typeText(column.type)} (metadata)` : `${typeText(column.type)} (${column.sourceType} at the source)`;
}

function incompatible(table: string, column: string, what: string, hint: string): WalbergError {
  return new WalbergError('TABLE_INCOMPATIBLE', `The Iceberg table of ${table} ${what}`, { context: { table, column }, hint });
}
