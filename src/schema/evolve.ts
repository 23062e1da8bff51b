import { highestFieldId, parseDecimal, typeText } from '../iceberg/spec/schema.js';
import type { IcebergType, NestedField, Schema } from '../iceberg/spec/types.js';
import { neverNull } from './bind-columns.js';
import { keepsValues, type KnownColumns, knownColumns } from './known-columns.js';
import type { SourceColumn } from './source-table.js';
import { type PlanColumn, type TablePlan, withNestedIds } from './table-plan.js';

/** How an Iceberg table has to change before rows of the plan can be written into it. */
export interface Evolution {
  /** The schema to set, without an id; undefined when the current one stays. */
  readonly schema: Schema | undefined;
  readonly lastColumnId: number;
  /** Sentences about what changes in the schema. */
  readonly changes: readonly string[];
  /** Source columns the table gets: rows that it has already lack their values, if the source's rows have any. */
  readonly added: readonly SourceColumn[];
  /** Why rows that the table has cannot be made right by changes from the log: it has to be loaded anew. Never in append mode, which keeps what was. */
  readonly reload: string | undefined;
  /** What the table is to remember. */
  readonly known: KnownColumns;
}

/**
 * Plans the change of an existing schema: columns that are missing are added at its end, types become wider where the
 * specification ("Schema Evolution") allows it, fields that may now be null become optional, and a source column that the table
 * remembers by its attribute number under another name is renamed. Fields that the source has no more stay.
 *
 * What cannot be changed is left as it is: `bindColumns` says what is wrong with the result.
 */
export function evolve(plan: TablePlan, current: Schema, lastColumnId: number, before: KnownColumns | undefined): Evolution {
  const changes: string[] = [];
  const fields = [...current.fields];
  const planned = new Map(plan.columns.map((c) => [c.name, c]));
  const change = (index: number, by: Partial<NestedField>, what: string): void => {
    fields[index] = { ...fields[index], ...by };
    changes.push(what);
  };

  const renamed = new Set<string>();
  for (const column of plan.columns) {
    const old = formerField(plan, column, fields, planned, before);
    if (old < 0) continue;
    change(old, { name: column.name }, `Column ${fields[old].name} is now named ${column.name}.`);
    renamed.add(column.name);
  }

  let identifiers = current['identifier-field-ids'];
  fields.forEach((field, index) => {
    const column = planned.get(field.name);
    if (column !== undefined && column.source.from === 'tuple' && typeof field.type === 'string' && promotes(field.type, column.type)) change(index, { type: column.type }, `Column ${field.name} is now ${typeText(column.type)}, it was ${typeText(field.type)}.`);
    const isKey = plan.keyNames.includes(field.name);
    if (!field.required || isKey || (column !== undefined && neverNull(plan, column))) return;
    identifiers = identifiers?.filter((id) => id !== field.id);
    change(index, { required: false }, `Column ${field.name} may be NULL.`);
  });

  let last = Math.max(lastColumnId, highestFieldId(current));
  const nextId = (): number => ++last;
  const added: SourceColumn[] = [];
  const present = new Set(fields.map((f) => f.name));
  for (const column of plan.columns) {
    if (present.has(column.name)) continue;
    fields.push({ id: nextId(), name: column.name, required: false, type: withNestedIds(column.type, nextId), ...(column.doc === undefined ? {} : { doc: column.doc }) });
    changes.push(`Column ${column.name} (${typeText(column.type)}) is new.`);
    if (column.source.from === 'tuple') added.push(plan.source.columns[column.source.ordinal]);
  }

  const schema: Schema = { type: 'struct', ...(identifiers === undefined ? {} : { 'identifier-field-ids': identifiers }), fields };
  const kept = plan.columns.filter((c) => present.has(c.name) && !renamed.has(c.name));
  return {
    schema: changes.length === 0 ? undefined : schema,
    lastColumnId: last,
    changes,
    added,
    reload: plan.mode === 'append' || before === undefined ? undefined : reloadReason(plan, plan.columns.filter((c) => present.has(c.name)), kept, before),
    known: knownColumns(plan.source, before),
  };
}

/** Index of the field that held this source column under the name it had before; -1 when that is not certain. */
function formerField(plan: TablePlan, column: PlanColumn, fields: readonly NestedField[], planned: ReadonlyMap<string, PlanColumn>, before: KnownColumns | undefined): number {
  if (column.source.from !== 'tuple' || before === undefined || fields.some((f) => f.name === column.name)) return -1;
  const { attnum } = plan.source.columns[column.source.ordinal];
  const old = before.columns.find((c) => c.attnum === attnum);
  return old === undefined || planned.has(old.name) ? -1 : fields.findIndex((f) => f.name === old.name);
}

/** The specification's type promotions of format version 2. */
function promotes(from: IcebergType, to: IcebergType): boolean {
  if (typeof from !== 'string' || typeof to !== 'string') return false;
  if (from === 'int') return to === 'long';
  if (from === 'float') return to === 'double';
  const [a, b] = [parseDecimal(from), parseDecimal(to)];
  return a !== undefined && b !== undefined && a.scale === b.scale && b.precision > a.precision;
}

function reloadReason(plan: TablePlan, present: readonly PlanColumn[], kept: readonly PlanColumn[], before: KnownColumns): string | undefined {
  const sourceOf = (column: PlanColumn): SourceColumn | undefined => (column.source.from === 'tuple' ? plan.source.columns[column.source.ordinal] : undefined);
  for (const column of kept) {
    const now = sourceOf(column);
    const was = [...before.columns, ...before.former].find((c) => c.name === now?.name);
    if (now !== undefined && was !== undefined && was.attnum !== now.attnum) return `Column ${now.name} is not the column that had this name before.`;
  }
  for (const column of present) {
    const now = sourceOf(column);
    const was = before.columns.find((c) => c.attnum === now?.attnum);
    if (now !== undefined && was !== undefined && !keepsValues(was, now, true)) return `Column ${now.name} has become ${now.typeName}, which may have changed its values.`;
  }
  return undefined;
}
