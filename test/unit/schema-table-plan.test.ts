import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWalbergError } from '../../src/errors/error.js';
import { icebergSchema, planTable, type TablePlan } from '../../src/schema/table-plan.js';
import { EXACT_TYPES, everyColumn, sinkConfig, sourceColumn, sourceTable } from '../support/source-table.js';

const COLUMNS = [
  sourceColumn('note', 'text'), sourceColumn('id', 'bigint'), sourceColumn('amount', 'numeric(10,2)', { notNull: true, comment: 'in euros' }), sourceColumn('region', 'smallint'), sourceColumn('doc', 'jsonb'),
];
const orders = (changes: Parameters<typeof sourceTable>[2] = {}) => sourceTable(COLUMNS, ['region', 'id'], changes);
const names = (plan: TablePlan): string[] => plan.columns.map((c) => c.name);
const DEFAULT_META = ['__op', '__table', '__source_ts_ms', '__source_ts_ns', '__db', '__ts_ms', '__deleted'];

test('a mirror has the source columns, the key required in key order, and nothing else', () => {
  const plan = planTable(orders(), sinkConfig(), EXACT_TYPES, everyColumn);
  assert.equal(plan.mode, 'mirror');
  assert.deepEqual(names(plan), ['note', 'id', 'amount', 'region', 'doc']);
  assert.deepEqual(plan.keyNames, ['region', 'id']);
  assert.deepEqual(plan.keyOrdinals, [3, 1]);
  assert.deepEqual(plan.columns.filter((c) => c.required).map((c) => c.name), ['id', 'region']);
  assert.deepEqual(plan.toastableOrdinals, [0, 2, 4]);
  assert.equal(plan.matchByOldTuple, false);
  assert.deepEqual(plan.notes, []);
  assert.deepEqual(icebergSchema(plan), {
    'type': 'struct', 'schema-id': 0, 'identifier-field-ids': [2, 4],
    'fields': [
      { id: 1, name: 'note', required: false, type: 'string' },
      { id: 2, name: 'id', required: true, type: 'long' },
      { id: 3, name: 'amount', required: false, type: 'decimal(10, 2)', doc: 'in euros' },
      { id: 4, name: 'region', required: true, type: 'int' },
      { id: 5, name: 'doc', required: false, type: 'string' },
    ],
  });
});

test('without create-identifier-fields the key stays required but is not declared', () => {
  const plan = planTable(orders(), sinkConfig({ createIdentifierFields: false }), EXACT_TYPES, everyColumn);
  const schema = icebergSchema(plan);
  assert.equal('identifier-field-ids' in schema, false);
  assert.deepEqual(schema.fields.filter((f) => f.required).map((f) => f.name), ['id', 'region']);
});

test('preserve-required-property keeps NOT NULL in a mirror, not where deletes are rows', () => {
  const required = (changes: Parameters<typeof sinkConfig>[0], types = EXACT_TYPES): string[] =>
    planTable(orders(), sinkConfig({ preserveRequired: true, ...changes }), types, everyColumn).columns.filter((c) => c.required).map((c) => c.name);
  assert.deepEqual(required({}), ['id', 'amount', 'region']);
  assert.deepEqual(required({ upsertKeepDeletes: true }), ['id', 'region']);
  assert.deepEqual(required({ upsert: false }), []);
  // NaN may be written as null
  assert.deepEqual(required({}, { ...EXACT_TYPES, specialValues: 'null' }), ['id', 'region']);
});

test('soft delete carries the default metadata columns, append the names of unchanged columns too', () => {
  const soft = planTable(orders(), sinkConfig({ upsertKeepDeletes: true }), EXACT_TYPES, everyColumn);
  assert.equal(soft.mode, 'soft');
  assert.deepEqual(names(soft).slice(5), DEFAULT_META);
  const append = planTable(orders(), sinkConfig({ upsert: false }), EXACT_TYPES, everyColumn);
  assert.equal(append.mode, 'append');
  assert.deepEqual(names(append).slice(5), [...DEFAULT_META, '__unchanged']);
  assert.deepEqual(append.columns.slice(5).map((c) => c.type), ['string', 'string', 'timestamptz', 'long', 'string', 'timestamptz', 'string', 'string']);
  assert.ok(append.columns.every((c) => !c.required));
  assert.deepEqual([append.keyNames, append.keyOrdinals, append.identifier], [[], [], false]);
  assert.equal('identifier-field-ids' in icebergSchema(append), false);
});

test('no column names unchanged values when every value is sent', () => {
  const full = planTable(orders({ replicaIdentity: 'f' }), sinkConfig({ upsert: false }), EXACT_TYPES, everyColumn);
  assert.equal(names(full).includes('__unchanged'), false);
  const narrow = planTable(orders(), sinkConfig({ upsert: false }), EXACT_TYPES, (c) => c === 'id' || c === 'region');
  assert.deepEqual(names(narrow), ['id', 'region', ...DEFAULT_META]);
});

test('add.fields replaces the defaults, but what tells rows apart stays', () => {
  const metaFields = [{ field: 'lsn', column: '_lsn' }];
  const metaOf = (changes: Parameters<typeof sinkConfig>[0]): string[] => names(planTable(orders(), sinkConfig(changes), EXACT_TYPES, everyColumn)).slice(5);
  assert.deepEqual(metaOf({ metaFields }), ['_lsn']);
  assert.deepEqual(metaOf({ metaFields, upsertKeepDeletes: true }), ['_lsn', '__deleted']);
  assert.deepEqual(metaOf({ metaFields, upsert: false }), ['_lsn', '__deleted', '__unchanged']);
  assert.deepEqual(metaOf({ metaFields: [{ field: 'op', column: 'OPERATION' }], upsert: false }), ['OPERATION', '__unchanged']);
  assert.deepEqual(metaOf({ metaFields: [] }), []);
  const deleted = [{ field: 'deleted', column: 'gone' }];
  assert.deepEqual([metaOf({ metaFields: deleted, upsert: false }), metaOf({ metaFields: deleted, upsertKeepDeletes: true })], [['gone', '__unchanged'], ['gone']]);
});

test('an unknown metadata field is a configuration error', () => {
  assert.throws(() => planTable(orders(), sinkConfig({ metaFields: [{ field: 'toString', column: 'x' }] }), EXACT_TYPES, everyColumn), (e) => isWalbergError(e, 'CONFIG_INVALID') && /toString/.test(e.message));
});

test('columns left out keep the tuple positions of the others', () => {
  const plan = planTable(orders(), sinkConfig({ excludedColumns: ['note'] }), EXACT_TYPES, (c) => c !== 'doc');
  assert.deepEqual(plan.columns.map((c) => c.source.from === 'tuple' && c.source.ordinal), [1, 2, 3]);
  assert.deepEqual(plan.toastableOrdinals, [2]);
});

test('a key column that is left out is a configuration error, in append mode it is not', () => {
  for (const [sink, captured] of [[sinkConfig({ excludedColumns: ['id'] }), everyColumn], [sinkConfig(), (c: string) => c !== 'id']] as const) {
    assert.throws(() => planTable(orders(), sink, EXACT_TYPES, captured), (e) => isWalbergError(e, 'CONFIG_INVALID') && /Column id of table public\.t/.test(e.message));
    assert.equal(planTable(orders(), { ...sink, upsert: false }, EXACT_TYPES, captured).mode, 'append');
  }
});

test('a key column that the publication does not send is an error that names the publication', () => {
  const source = orders();
  const withoutId = { ...source, columns: source.columns.filter((c) => c.name !== 'id') };
  assert.throws(() => planTable(withoutId, sinkConfig(), EXACT_TYPES, everyColumn), (e) => isWalbergError(e, 'PUBLICATION_INCOMPLETE') && /column id of table public\.t/.test(e.message));
});

test('tables whose rows cannot be matched are appended to, with the reason', () => {
  const cases: readonly [Parameters<typeof sourceTable>[2], RegExp][] = [
    [{ primaryKey: [] }, /no primary key\./],
    [{ primaryKeyDeferrable: true }, /deferrable/],
    [{ replicaIdentity: 'f', primaryKey: [] }, /no primary key, so that equal rows may repeat/],
    [{ replicaIdentity: 'n' }, /NOTHING/],
    [{ replicaIdentity: 'i', identityIndexColumns: [] }, /index of its replica identity does not exist/],
    [{ replicaIdentity: 'i', identityIndexColumns: ['note'] }, /note of its replica identity index may be NULL/],
  ];
  for (const [changes, reason] of cases) {
    const plan = planTable(orders(changes), sinkConfig({ upsertKeepDeletes: true }), EXACT_TYPES, everyColumn);
    assert.equal(plan.mode, 'append');
    assert.equal(plan.notes.length, 1);
    assert.match(plan.notes[0], reason);
    assert.match(plan.notes[0], /^Table public\.t is written in append mode: /);
  }
});

test('the identity index is the key where it is the replica identity', () => {
  const plan = planTable(orders({ replicaIdentity: 'i', identityIndexColumns: ['amount'] }), sinkConfig(), EXACT_TYPES, everyColumn);
  assert.deepEqual([plan.mode, plan.keyNames, plan.keyOrdinals, plan.toastableOrdinals], ['mirror', ['amount'], [2], [0, 4]]);
});

test('a deferrable key under FULL is matched by the whole old row, other keys are not', () => {
  const match = (changes: Parameters<typeof sourceTable>[2], sink = sinkConfig()): boolean => planTable(orders(changes), sink, EXACT_TYPES, everyColumn).matchByOldTuple;
  assert.equal(match({ replicaIdentity: 'f', primaryKeyDeferrable: true }), true);
  assert.equal(match({ replicaIdentity: 'f' }), false);
  assert.equal(match({ replicaIdentity: 'f', primaryKeyDeferrable: true }, sinkConfig({ upsert: false })), false);
});

test('a floating-point key falls back to append, a numeric key stays exact in double mode', () => {
  const real = planTable(sourceTable([sourceColumn('x', 'real')], ['x']), sinkConfig(), EXACT_TYPES, everyColumn);
  assert.equal(real.mode, 'append');
  assert.match(real.notes[0], /key column x is real/);
  const numeric = planTable(sourceTable([sourceColumn('n', 'numeric(20,0)'), sourceColumn('m', 'numeric(20,0)')], ['n']), sinkConfig(), { ...EXACT_TYPES, decimalMode: 'double' }, everyColumn);
  assert.deepEqual(numeric.columns.map((c) => c.type), ['decimal(20, 0)', 'double']);
  assert.match(numeric.notes.join(), /Column n is written as decimal\(20, 0\) instead of double/);
});

test('a key value is never replaced by null', () => {
  const plan = planTable(sourceTable([sourceColumn('d', 'date'), sourceColumn('e', 'date')], ['d']), sinkConfig(), { ...EXACT_TYPES, specialValues: 'null' }, everyColumn);
  assert.deepEqual(plan.columns.map((c) => c.source.from === 'tuple' && c.source.codec), [{ kind: 'date', special: 'fail' }, { kind: 'date', special: 'null' }]);
  assert.match(plan.notes.join(), /key column d/);
});

test('a time of day in the key is reported, elsewhere it is not', () => {
  const plan = planTable(sourceTable([sourceColumn('opens', 'time without time zone'), sourceColumn('closes', 'time without time zone')], ['opens']), sinkConfig(), EXACT_TYPES, everyColumn);
  assert.equal(plan.mode, 'mirror');
  assert.equal(plan.notes.length, 1);
  assert.match(plan.notes[0], /Key column opens .*ClickHouse/);
});

test('a source column with the name of a metadata column is an error that names both', () => {
  const source = sourceTable([sourceColumn('id', 'bigint'), sourceColumn('__op', 'text')], ['id']);
  assert.throws(() => planTable(source, sinkConfig({ upsert: false }), EXACT_TYPES, everyColumn), (e) => isWalbergError(e, 'CONFIG_INVALID') && /public\.t has a column __op/.test(e.message));
  assert.equal(planTable(source, sinkConfig(), EXACT_TYPES, everyColumn).mode, 'mirror');
  assert.equal(planTable(source, sinkConfig({ upsert: false, excludedColumns: ['__op'] }), EXACT_TYPES, everyColumn).mode, 'append');
});

test('columns that differ only by case are reported', () => {
  const plan = planTable(sourceTable([sourceColumn('id', 'bigint'), sourceColumn('Id', 'text')], ['id']), sinkConfig(), EXACT_TYPES, everyColumn);
  assert.match(plan.notes.join(), /Columns id and Id of table public\.t differ only by case/);
});

test('types without a counterpart are reported once per column, left-out columns are not', () => {
  const source = sourceTable([sourceColumn('id', 'bigint'), sourceColumn('a', 'money'), sourceColumn('b', 'inet')], ['id']);
  const plan = planTable(source, sinkConfig(), EXACT_TYPES, (c) => c !== 'b');
  assert.equal(plan.notes.length, 1);
  assert.match(plan.notes[0], /Column a is money/);
});
