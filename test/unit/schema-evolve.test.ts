import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { NestedField, Schema } from '../../src/iceberg/spec/types.js';
import { bindColumns } from '../../src/schema/bind-columns.js';
import { evolve } from '../../src/schema/evolve.js';
import { knownColumns, parseKnownColumns, printKnownColumns } from '../../src/schema/known-columns.js';
import type { SourceColumn, SourceTable } from '../../src/schema/source-table.js';
import { icebergSchema, planTable, type TablePlan } from '../../src/schema/table-plan.js';
import { EXACT_TYPES, everyColumn, sinkConfig, sourceColumn, sourceTable } from '../support/source-table.js';

const ID = sourceColumn('id', 'integer');
const V = sourceColumn('v', 'character varying(20)');
const N = sourceColumn('n', 'numeric(8,2)');

/** Columns keep the attribute numbers they are given. */
function table(columns: readonly SourceColumn[], lastAttnum = Math.max(...columns.map((c) => c.attnum)), key = 'id'): SourceTable {
  return { ...sourceTable(columns, [key]), columns: columns.map((c) => ({ ...c, notNull: c.notNull || c.name === key })), lastAttnum };
}
const at = (column: SourceColumn, attnum: number, changes: Partial<SourceColumn> = {}): SourceColumn => ({ ...column, attnum, ...changes });
const planOf = (source: SourceTable, sink = sinkConfig()): TablePlan => planTable(source, sink, EXACT_TYPES, everyColumn);

const BEFORE = table([at(ID, 1), at(V, 2), at(N, 3)]);
const SCHEMA = icebergSchema(planOf(BEFORE));
const after = (columns: readonly SourceColumn[], sink = sinkConfig(), schema: Schema = SCHEMA) => evolve(planOf(table(columns), sink), schema, 3, knownColumns(BEFORE, undefined));
const fields = (schema: Schema | undefined): [number, string, unknown, boolean][] | undefined => schema?.fields.map((f) => [f.id, f.name, f.type, f.required]);
const OLD: [number, string, unknown, boolean][] = [[1, 'id', 'int', true], [2, 'v', 'string', false], [3, 'n', 'decimal(8, 2)', false]];

test('the same columns need no change, and another length of a text none either', () => {
  for (const v of [at(V, 2), at(V, 2, { typmod: 44, typeName: 'character varying(40)' }), at(sourceColumn('v', 'text'), 2)]) {
    const { schema, reload, added } = after([at(ID, 1), v, at(N, 3)]);
    assert.deepEqual([schema, reload, added], [undefined, undefined, []]);
  }
});

test('a new column is added at the end, optional, with an id that was never used', () => {
  const source = table([at(ID, 1), at(V, 2), at(N, 3), at(sourceColumn('x', 'bigint', { notNull: true, comment: 'why' }), 4)]);
  const result = evolve(planOf(source, sinkConfig({ preserveRequired: true })), SCHEMA, 17, knownColumns(BEFORE, undefined));
  assert.deepEqual(fields(result.schema), [...OLD, [18, 'x', 'long', false]]);
  assert.equal(result.lastColumnId, 18);
  assert.equal(result.schema?.fields[3].doc, 'why');
  assert.deepEqual(result.added.map((c) => c.name), ['x']);
  assert.deepEqual(result.schema?.['identifier-field-ids'], [1]);
});

test('types become wider where the specification allows it', () => {
  const { schema, reload } = after([at(sourceColumn('id', 'bigint'), 1), at(V, 2), at(sourceColumn('n', 'numeric(12,2)'), 3)]);
  assert.deepEqual(fields(schema), [[1, 'id', 'long', true], [2, 'v', 'string', false], [3, 'n', 'decimal(12, 2)', false]]);
  assert.equal(reload, undefined);
  for (const type of ['numeric(12,3)', 'boolean']) {
    const plan = planOf(table([at(ID, 1), at(V, 2), at(sourceColumn('n', type), 3)]));
    assert.throws(() => bindColumns(plan, evolve(plan, SCHEMA, 3, undefined).schema ?? SCHEMA), /column n as decimal\(8, 2\), which cannot hold/, type);
  }
});

test('a dropped column stays, optional, also when it identified rows', () => {
  const required: Schema = { ...SCHEMA, fields: SCHEMA.fields.map((f) => ({ ...f, required: true })), 'identifier-field-ids': [1, 3] };
  const { schema } = after([at(ID, 1), at(V, 2)], sinkConfig(), required);
  assert.deepEqual(fields(schema), [[1, 'id', 'int', true], [2, 'v', 'string', false], [3, 'n', 'decimal(8, 2)', false]]);
  assert.deepEqual(schema?.['identifier-field-ids'], [1]);
});

test('a name is followed by attribute number, and only when it is certain', () => {
  const renamed = after([at(ID, 1), at(sourceColumn('w', 'text'), 2), at(N, 3)]);
  assert.deepEqual(fields(renamed.schema), [[1, 'id', 'int', true], [2, 'w', 'string', false], [3, 'n', 'decimal(8, 2)', false]]);
  assert.deepEqual([renamed.added, renamed.reload], [[], undefined]);
  const other = after([at(ID, 1), at(N, 3), at(sourceColumn('w', 'text'), 4)]);
  assert.deepEqual(fields(other.schema), [...OLD, [4, 'w', 'string', false]]);
  const unknown = evolve(planOf(table([at(ID, 1), at(sourceColumn('w', 'text'), 2), at(N, 3)])), SCHEMA, 3, undefined);
  assert.deepEqual(fields(unknown.schema), [...OLD, [4, 'w', 'string', false]]);
});

test('rows that the log cannot make right ask for a reload, but never of a log', () => {
  const cases: readonly [RegExp, readonly SourceColumn[]][] = [
    [/Column v is not the column/, [at(ID, 1), at(N, 3), at(V, 4)]],
    [/Column n has become numeric\(8,1\)/, [at(ID, 1), at(V, 2), at(sourceColumn('n', 'numeric(8,1)'), 3)]],
    [/Column v has become integer/, [at(ID, 1), at(sourceColumn('v', 'integer'), 2), at(N, 3)]],
  ];
  for (const [reason, columns] of cases) {
    assert.match(after(columns).reload ?? '', reason);
    assert.equal(after(columns, sinkConfig({ upsert: false })).reload, undefined);
  }
  const dropped = knownColumns(table([at(ID, 1), at(N, 3)], 3), knownColumns(BEFORE, undefined));
  assert.match(evolve(planOf(table([at(ID, 1), at(N, 3), at(V, 4)])), SCHEMA, 3, dropped).reload ?? '', /Column v is not the column/);
});

test('what a table remembers survives printing; of another source, or edited, nothing is known', () => {
  const known = knownColumns({ ...BEFORE, files: { '16384': '16390' } }, knownColumns(table([at(ID, 1), at(sourceColumn('__proto__', 'text'), 2)]), undefined));
  assert.deepEqual(parseKnownColumns(printKnownColumns(known), BEFORE.oid), known);
  assert.deepEqual(known.former.map((c) => c.name), ['__proto__']);
  for (const text of [undefined, '', '{}', 'null', '{"oid":16384,"last":3,"columns":[["a"]],"former":[]}']) assert.equal(parseKnownColumns(text, BEFORE.oid), undefined);
  assert.equal(parseKnownColumns(printKnownColumns(known), 1), undefined);
});

test('property: whatever the source becomes, fields keep their ids, ids are not used again, and a second look finds nothing to do', () => {
  const type = fc.constantFrom('integer', 'bigint', 'text', 'numeric(8,2)', 'numeric(12,2)', 'real', 'double precision');
  const column = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd', 'e'), attnum: fc.integer({ min: 2, max: 9 }), type });
  const columns = fc.uniqueArray(column, { selector: (c) => c.name, maxLength: 5 }).map((list) => {
    const numbers = [...new Set(list.map((c) => c.attnum))].sort((x, y) => x - y);
    return [at(ID, 1), ...list.slice(0, numbers.length).map((c, i) => at(sourceColumn(c.name, c.type), numbers[i]))];
  });
  fc.assert(fc.property(columns, columns, fc.boolean(), (was, now, upsert) => {
    const [first, second] = [table(was, 9), table(now, 9)];
    const schema = icebergSchema(planOf(first, sinkConfig({ upsert })));
    const plan = planOf(second, sinkConfig({ upsert }));
    const known = knownColumns(first, undefined);
    const result = evolve(plan, schema, schema.fields.length, known);
    const next = result.schema ?? schema;
    assert.equal(new Set(next.fields.map((f: NestedField) => f.id)).size, next.fields.length);
    assert.equal(new Set(next.fields.map((f: NestedField) => f.name)).size, next.fields.length);
    for (const [i, field] of schema.fields.entries()) assert.equal(next.fields[i].id, field.id);
    for (const c of plan.columns) assert.ok(next.fields.some((f: NestedField) => f.name === c.name));
    const again = evolve(plan, next, result.lastColumnId, result.known);
    assert.deepEqual([again.schema, again.reload, again.added], [undefined, undefined, []]);
  }));
});

