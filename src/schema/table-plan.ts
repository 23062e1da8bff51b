import type { SinkConfig, TypeConfig } from '../config/config.js';
import { WalbergError } from '../errors/error.js';
import { isPrimitive, typeText } from '../iceberg/spec/schema.js';
import type { IcebergType, NestedField, Schema } from '../iceberg/spec/types.js';
import type { ColumnSource } from '../parquet/encode-types.js';
import type { Codec } from './codec.js';
import { mapColumn, type MappedType } from './map-type.js';
import { META_TYPES, metaColumns } from './meta-columns.js';
import type { SourceColumn, SourceTable } from './source-table.js';
import { tableKey } from './table-key.js';

/** mirror: rows as in the source. soft: as mirror, deleted rows stay and are marked. append: one row per change. */
export type TableMode = 'mirror' | 'soft' | 'append';

/** One column of the Iceberg table and where its values come from. */
export interface PlanColumn {
  readonly name: string;
  /** Ids inside a nested type are 0. */
  readonly type: IcebergType;
  readonly required: boolean;
  readonly doc?: string;
  readonly source: ColumnSource;
  /** `format_type()` of the source column; absent for metadata columns. */
  readonly sourceType?: string;
}

/** How a source table is written: decided once from the source and the configuration, before any Iceberg table is seen. */
export interface TablePlan {
  readonly source: SourceTable;
  readonly mode: TableMode;
  /** Columns of the file: captured source columns in tuple order, then metadata columns. */
  readonly columns: readonly PlanColumn[];
  /** Positions in `source.columns` (the order of pgoutput tuples) of the key columns, in key order; empty in append mode. */
  readonly keyOrdinals: readonly number[];
  readonly keyNames: readonly string[];
  /** Write `identifier-field-ids` into the schema of a new table. */
  readonly identifier: boolean;
  /** Captured columns outside the key whose value an UPDATE may leave out. */
  readonly toastableOrdinals: readonly number[];
  /** Inside a transaction the key may repeat for a while (deferrable key under FULL): match rows by the whole old tuple. */
  readonly matchByOldTuple: boolean;
  /** Sentences for the operator about what is not as the configuration or the source suggests. */
  readonly notes: readonly string[];
}

interface PlannedColumn {
  readonly column: SourceColumn;
  readonly ordinal: number;
  readonly mapped: MappedType;
}

/**
 * Plans one table. `isColumnCaptured` is the column filter of the source for this table.
 *
 * Throws CONFIG_INVALID when the key is filtered out or a metadata column has the name of a source column, and
 * PUBLICATION_INCOMPLETE when the publication's column list leaves out a key column.
 */
export function planTable(source: SourceTable, sink: SinkConfig, types: TypeConfig, isColumnCaptured: (column: string) => boolean): TablePlan {
  const table = qualifiedName(source);
  const captured = (name: string): boolean => isColumnCaptured(name) && !sink.excludedColumns.includes(name);
  const notes: string[] = [];
  const keyNames = sink.upsert ? usableKey(source, types, captured, notes) : [];
  const mode: TableMode = keyNames.length === 0 ? 'append' : sink.upsertKeepDeletes ? 'soft' : 'mirror';

  const planned: PlannedColumn[] = [];
  source.columns.forEach((column, ordinal) => {
    if (captured(column.name)) planned.push({ column, ordinal, mapped: mapPlanned(column, types, keyNames.includes(column.name), notes) });
  });
  const toastable = planned.filter((p) => p.column.toastable && !keyNames.includes(p.column.name));
  const columns: PlanColumn[] = planned.map(({ column, ordinal, mapped }) => ({
    name: column.name,
    type: mapped.type,
    required: keyNames.includes(column.name) || (mode === 'mirror' && sink.preserveRequired && column.notNull && !mayBecomeNull(mapped.codec)),
    doc: column.comment,
    source: { from: 'tuple', ordinal, codec: mapped.codec },
    sourceType: column.typeName,
  }));
  for (const meta of metaColumns(mode, sink.metaFields, toastable.length > 0 && source.replicaIdentity !== 'f')) {
    if (columns.some((c) => c.name === meta.name)) {
      throw new WalbergError('CONFIG_INVALID', `Table ${table} has a column ${meta.name}, which is also the name of the metadata column for ${meta.field}.`, {
        context: { table, column: meta.name },
        hint: 'Rename the metadata column with field:name in debezium.transforms.unwrap.add.fields or with add.fields.prefix, or leave the source column out.',
      });
    }
    columns.push({ name: meta.name, type: META_TYPES[meta.field], required: false, source: { from: 'meta', field: meta.field } });
  }
  noteCaseTwins(columns, table, notes);
  if (source.kind === 'p') notes.push(`Table ${table} is partitioned and captured under its own name: rows that come or go with ATTACH, DETACH, DROP or TRUNCATE of a partition are not in the stream.`);
  return {
    source,
    mode,
    columns,
    keyOrdinals: keyNames.map((name) => source.columns.findIndex((c) => c.name === name)),
    keyNames,
    identifier: sink.createIdentifierFields && mode !== 'append',
    toastableOrdinals: toastable.map((p) => p.ordinal),
    matchByOldTuple: mode !== 'append' && source.replicaIdentity === 'f' && source.primaryKeyDeferrable,
    notes,
  };
}

/** The key's column names, or none with a note that says why the table is appended to. */
function usableKey(source: SourceTable, types: TypeConfig, captured: (name: string) => boolean, notes: string[]): readonly string[] {
  const table = qualifiedName(source);
  const append = (reason: string): readonly string[] => {
    notes.push(`Table ${table} is written in append mode: ${reason}.`);
    return [];
  };
  const key = tableKey(source);
  if (key.columns === undefined) return append(key.reason);
  for (const name of key.columns) {
    const column = source.columns.find((c) => c.name === name);
    if (column === undefined) {
      throw new WalbergError('PUBLICATION_INCOMPLETE', `The publication does not send column ${name} of table ${table}, which is part of its key.`, {
        context: { table, column: name },
        hint: 'Add the column to the column list of the publication; without it UPDATE and DELETE fail at the source.',
      });
    }
    if (!captured(name)) {
      throw new WalbergError('CONFIG_INVALID', `Column ${name} of table ${table} is filtered out but is part of its key, by which rows are matched.`, {
        context: { table, column: name },
        hint: 'Keep the column (debezium.source.column.include.list, column.exclude.list, debezium.sink.iceberg.excluded-columns), or set debezium.sink.iceberg.upsert=false.',
      });
    }
    const { type } = mapKeyColumn(column, types);
    // specification, "Identifier Field IDs" and "Equality Delete Files": float and double cannot identify rows
    if (type === 'float' || type === 'double') return append(`key column ${name} is ${column.typeName}, and Iceberg cannot match rows by floating-point numbers`);
  }
  return key.columns;
}

/** As other columns, but always exact and primitive: a numeric key stays a decimal or text, an array is text, and no value is replaced by null. */
function mapKeyColumn(column: SourceColumn, types: TypeConfig): MappedType {
  return mapColumn(column, {
    ...types,
    arrayMode: 'text',
    hstoreMode: 'text',
    decimalMode: types.decimalMode === 'double' ? 'precise' : types.decimalMode,
    specialValues: types.specialValues === 'null' ? 'fail' : types.specialValues,
  });
}

function mapPlanned(column: SourceColumn, types: TypeConfig, isKey: boolean, notes: string[]): MappedType {
  const plain = mapColumn(column, types);
  const mapped = isKey ? mapKeyColumn(column, types) : plain;
  if (mapped.note !== undefined) notes.push(mapped.note);
  const [type, plainType] = [typeText(mapped.type), typeText(plain.type)];
  if (type !== plainType) notes.push(`Column ${column.name} is written as ${type} instead of ${plainType}, because rows are matched by it.`);
  else if (mayBecomeNull(plain.codec) && !mayBecomeNull(mapped.codec)) notes.push(`A value of key column ${column.name} that ${type} cannot hold stops Walberg instead of becoming NULL, because rows are matched by it.`);
  // https://github.com/ClickHouse/ClickHouse/issues/88063
  if (isKey && mapped.type === 'time') notes.push(`Key column ${column.name} is ${column.typeName}: ClickHouse reads times as whole seconds, so it misses deletes of rows with fractions of a second.`);
  return mapped;
}

/** A value that is not NULL in the source can be written as null. */
function mayBecomeNull(codec: Codec): boolean {
  return 'special' in codec && codec.special === 'null';
}

function noteCaseTwins(columns: readonly PlanColumn[], table: string, notes: string[]): void {
  const seen = new Map<string, string>();
  for (const { name } of columns) {
    const twin = seen.get(name.toLowerCase());
    if (twin !== undefined) notes.push(`Columns ${twin} and ${name} of table ${table} differ only by case: engines that ignore case, such as Spark by default, cannot read them.`);
    else seen.set(name.toLowerCase(), name);
  }
}

/** Schema of a new table: field ids 1 to n in column order, then those inside lists and maps, as catalogs assign them. */
export function icebergSchema(plan: TablePlan): Schema {
  let last = plan.columns.length;
  const nextId = (): number => ++last;
  const fields = plan.columns.map((c, i): NestedField => ({ id: i + 1, name: c.name, required: c.required, type: withNestedIds(c.type, nextId), ...(c.doc === undefined ? {} : { doc: c.doc }) }));
  const identifiers = fields.filter((f) => plan.keyNames.includes(f.name)).map((f) => f.id);
  return { type: 'struct', 'schema-id': 0, ...(plan.identifier ? { 'identifier-field-ids': identifiers } : {}), fields };
}

/** A list or map type of a plan, which has no ids, with ids for what is inside. */
export function withNestedIds(type: IcebergType, nextId: () => number): IcebergType {
  if (isPrimitive(type) || type.type === 'struct') return type;
  return type.type === 'list' ? { ...type, 'element-id': nextId() } : { ...type, 'key-id': nextId(), 'value-id': nextId() };
}

/** `schema.table`, as messages name it. */
export function qualifiedName(source: SourceTable): string {
  return `${source.schema}.${source.name}`;
}
