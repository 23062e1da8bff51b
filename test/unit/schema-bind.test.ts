import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { TypeConfig } from '../../src/config/config.js';
import { isWalbergError } from '../../src/errors/error.js';
import { validateSchema } from '../../src/iceberg/spec/schema.js';
import type { IcebergType, NestedField, Schema } from '../../src/iceberg/spec/types.js';
import { bindColumns, bindingNotes, equalityIds, keyColumns } from '../../src/schema/bind-columns.js';
import { icebergSchema, planTable } from '../../src/schema/table-plan.js';
import { arrayColumn, EXACT_TYPES, everyColumn, sinkConfig, sourceColumn, sourceTable } from '../support/source-table.js';

const SOURCE = sourceTable([sourceColumn('id', 'integer'), sourceColumn('amount', 'numeric(10,2)', { notNull: true }), sourceColumn('at', 'timestamp with time zone'), sourceColumn('ratio', 'real'), sourceColumn('code', 'uuid')], ['id']);
const PLAN = planTable(SOURCE, sinkConfig(), EXACT_TYPES, everyColumn);

/** The planned schema with some fields replaced; undefined removes one. */
function schemaWith(changes: Readonly<Record<string, Partial<NestedField> | undefined>>, added: readonly NestedField[] = [], plan = PLAN): Schema {
  const base = icebergSchema(plan);
  const fields = base.fields.flatMap((f) => (f.name in changes ? (changes[f.name] === undefined ? [] : [{ ...f, ...changes[f.name] }]) : [f]));
  return { ...base, fields: [...fields, ...added] };
}

const incompatible = (...parts: string[]) => (error: unknown): boolean => isWalbergError(error, 'TABLE_INCOMPATIBLE') && parts.every((part) => error.message.includes(part)) && error.hint.length > 0;

test('a new table binds column by column, with its field ids', () => {
  assert.deepEqual(bindColumns(PLAN, icebergSchema(PLAN)), PLAN.columns.map((c, i) => ({ fieldId: i + 1, name: c.name, type: c.type, required: c.required, source: c.source })));
  assert.deepEqual(bindingNotes(PLAN, icebergSchema(PLAN)), []);
});

test('columns are found by name wherever they are, and optional extra ones are left alone', () => {
  const schema: Schema = { type: 'struct', fields: [
    { id: 40, name: 'at', required: false, type: 'timestamptz' }, { id: 2, name: 'note_of_ours', required: false, type: { type: 'list', 'element-id': 3, element: 'string', 'element-required': false } },
    { id: 9, name: 'code', required: false, type: 'uuid' }, { id: 7, name: 'id', required: true, type: 'int' }, { id: 8, name: 'ratio', required: false, type: 'float' }, { id: 1, name: 'amount', required: false, type: 'decimal(10,2)' },
  ] };
  assert.deepEqual(bindColumns(PLAN, schema).map((c) => [c.name, c.fieldId]), [['id', 7], ['amount', 1], ['at', 40], ['ratio', 8], ['code', 9]]);
  assert.deepEqual(equalityIds(PLAN, schema), [7]);
  assert.deepEqual(bindingNotes(PLAN, schema), []);
});

test('a missing column, a type that cannot hold the values and an extra required column are named', () => {
  assert.throws(() => bindColumns(PLAN, schemaWith({ at: undefined })), incompatible('public.t', 'no column at', 'timestamptz (timestamp with time zone at the source)'));
  assert.throws(() => bindColumns(PLAN, schemaWith({ at: { type: 'timestamp' } })), incompatible('public.t', 'column at as timestamp,', 'timestamptz (timestamp with time zone at the source)'));
  assert.throws(() => bindColumns(PLAN, schemaWith({ code: { type: { type: 'struct', fields: [] } } })), incompatible('column code as struct', 'uuid'));
  assert.throws(() => bindColumns(PLAN, schemaWith({}, [{ id: 99, name: 'tenant', required: true, type: 'int' }])), incompatible('public.t', 'column tenant (int)'));
});

test('a double column under exact decimals says which setting goes on with it', () => {
  assert.throws(() => bindColumns(PLAN, schemaWith({ amount: { type: 'double' } })), (e) => isWalbergError(e, 'TABLE_INCOMPATIBLE') && e.hint.includes('decimal.handling.mode=double'));
});

test('wider types take the values, exactly', () => {
  const bound = (name: string, type: string) => bindColumns(PLAN, schemaWith({ [name]: { type } })).find((c) => c.name === name)!;
  const codecOf = (name: string, type: string) => { const { source } = bound(name, type); return source.from === 'tuple' ? source.codec : undefined; };
  assert.deepEqual(codecOf('id', 'long'), { kind: 'long' });
  assert.deepEqual(codecOf('ratio', 'double'), { kind: 'float' });
  assert.deepEqual(codecOf('amount', 'decimal(12, 2)'), { kind: 'decimal', precision: 12, scale: 2, special: 'fail' });
  assert.deepEqual(codecOf('amount', 'decimal(12,4)'), { kind: 'decimal', precision: 12, scale: 4, special: 'fail' });
  assert.equal(bound('amount', 'decimal(12,4)').type, 'decimal(12,4)');
  for (const type of ['decimal(9, 2)', 'decimal(10, 3)', 'decimal(12, 1)', 'long']) assert.throws(() => bound('amount', type), incompatible('column amount'));
});

test('text columns of other writers are written as text, and reported', () => {
  const schema = schemaWith({ at: { type: 'string' }, amount: { type: 'string' }, code: { type: 'string' } });
  const codecs = bindColumns(PLAN, schema).map((c) => c.source.from === 'tuple' && c.source.codec.kind);
  assert.deepEqual(codecs, ['int', 'string', 'iso-string', 'float', 'string']);
  const notes = bindingNotes(PLAN, schema);
  assert.deepEqual(notes.map((n) => /^Column (\w+) of the Iceberg table of public\.t is string/.exec(n)?.[1]), ['amount', 'at', 'code']);
});

test('a key is not matched through another text form', () => {
  const plan = planTable(sourceTable([sourceColumn('id', 'uuid')], ['id']), sinkConfig(), EXACT_TYPES, everyColumn);
  assert.throws(() => bindColumns(plan, schemaWith({ id: { type: 'string' } }, [], plan)), incompatible('column id as string', 'uuid'));
});

test('floating-point and binary values do not turn into text', () => {
  const plan = planTable(sourceTable([sourceColumn('id', 'integer'), sourceColumn('c', 'bytea')], ['id']), sinkConfig(), EXACT_TYPES, everyColumn);
  assert.throws(() => bindColumns(plan, schemaWith({ c: { type: 'string' } }, [], plan)), incompatible('column c as string'));
  assert.throws(() => bindColumns(PLAN, schemaWith({ ratio: { type: 'string' } })), incompatible('column ratio as string'));
});

test('a required column takes a nullable source only where no null can come', () => {
  assert.throws(() => bindColumns(PLAN, schemaWith({ at: { required: true } })), incompatible('requires a value in column at', 'may be NULL'));
  assert.equal(bindColumns(PLAN, schemaWith({ amount: { required: true } }))[1].required, true);
  const nulls = planTable(SOURCE, sinkConfig(), { ...EXACT_TYPES, specialValues: 'null' }, everyColumn);
  assert.throws(() => bindColumns(nulls, schemaWith({ amount: { required: true } }, [], nulls)), incompatible('column amount'));
});

test('in append mode a delete sends the key, so only key columns can be required', () => {
  const append = planTable(SOURCE, sinkConfig({ upsert: false }), EXACT_TYPES, everyColumn);
  assert.equal(bindColumns(append, schemaWith({ id: { required: true } }, [], append))[0].required, true);
  assert.throws(() => bindColumns(append, schemaWith({ amount: { required: true } }, [], append)), incompatible('column amount'));
  assert.throws(() => bindColumns(append, schemaWith({ __op: { required: true } }, [], append)), incompatible('column __op'));
  const full = planTable({ ...SOURCE, replicaIdentity: 'f' }, sinkConfig({ upsert: false }), EXACT_TYPES, everyColumn);
  assert.equal(bindColumns(full, schemaWith({ amount: { required: true } }, [], full))[1].required, true);
});

test('metadata times bind to a number in tables that hold them so', () => {
  const append = planTable(SOURCE, sinkConfig({ upsert: false }), EXACT_TYPES, everyColumn);
  const bound = bindColumns(append, schemaWith({ __ts_ms: { type: 'long' } }, [], append)).find((c) => c.name === '__ts_ms')!;
  assert.deepEqual([bound.type, bound.source], ['long', { from: 'meta', field: 'ts_ms' }]);
  assert.throws(() => bindColumns(append, schemaWith({ __op: { type: 'int' } }, [], append)), incompatible('column __op as int', 'string (metadata)'));
});

test('delete files have the key alone, required, in schema order', () => {
  const source = sourceTable([sourceColumn('a', 'integer'), sourceColumn('x', 'text'), sourceColumn('b', 'bigint')], ['b', 'a']);
  const plan = planTable(source, sinkConfig(), EXACT_TYPES, everyColumn);
  const schema: Schema = { type: 'struct', fields: [{ id: 1, name: 'x', required: false, type: 'string' }, { id: 2, name: 'a', required: false, type: 'int' }, { id: 3, name: 'b', required: true, type: 'long' }] };
  assert.deepEqual(keyColumns(plan, schema).map((c) => [c.fieldId, c.name, c.type, c.required]), [[2, 'a', 'int', true], [3, 'b', 'long', true]]);
  assert.deepEqual(equalityIds(plan, schema), [2, 3]);
  const append = planTable(source, sinkConfig({ upsert: false }), EXACT_TYPES, everyColumn);
  assert.deepEqual(equalityIds(append, icebergSchema(append)), []);
});

const LISTS = planTable(sourceTable([sourceColumn('id', 'bigint'), arrayColumn('tags', 'text'), arrayColumn('scores', 'integer')], ['id']), sinkConfig(), EXACT_TYPES, everyColumn);
const list = (id: number, element: IcebergType, required = false): IcebergType => ({ type: 'list', 'element-id': id, element, 'element-required': required });

test('a new table has ids for list elements behind those of all columns', () => {
  assert.deepEqual(icebergSchema(LISTS).fields.map((f) => [f.id, f.type]), [[1, 'long'], [2, list(4, 'string')], [3, list(5, 'int')]]);
  assert.doesNotThrow(() => validateSchema(icebergSchema(LISTS)));
});

test('a list takes the ids of the table, whatever they are', () => {
  const schema = schemaWith({ tags: { id: 30, type: list(70, 'string') } }, [], LISTS);
  assert.deepEqual(bindColumns(LISTS, schema).map((c) => [c.fieldId, c.type]), [[1, 'long'], [30, list(70, 'string')], [3, list(5, 'int')]]);
  assert.deepEqual(bindingNotes(LISTS, schema), []);
});

test('arrays go on as text in a string column, and into lists of wider elements', () => {
  const bound = bindColumns(LISTS, schemaWith({ tags: { type: 'string' }, scores: { type: list(9, 'long') } }, [], LISTS));
  assert.deepEqual(bound.map((c) => [c.type, c.source.from === 'tuple' && c.source.codec]).slice(1), [
    ['string', { kind: 'string' }], [list(9, 'long'), { kind: 'list', element: { kind: 'long' }, delimiter: ',', special: 'fail' }],
  ]);
  assert.deepEqual(bindingNotes(LISTS, schemaWith({ tags: { type: 'string' } }, [], LISTS)), ['Column tags of the Iceberg table of public.t is string, a new table would have list<string> (text[] at the source): it is written as string.']);
});

test('lists of other elements, of required elements, and lists for what is no array are refused', () => {
  for (const type of [list(9, 'int'), list(9, 'string', true), list(9, list(10, 'string')), { type: 'struct', fields: [] } as const]) {
    assert.throws(() => bindColumns(LISTS, schemaWith({ tags: { type } }, [], LISTS)), incompatible('column tags as', 'list<string> (text[] at the source)'));
  }
  assert.throws(() => bindColumns(LISTS, schemaWith({ id: { type: list(9, 'long') } }, [], LISTS)), incompatible('column id as list<long>'));
  const text = planTable(LISTS.source, sinkConfig(), { ...EXACT_TYPES, arrayMode: 'text' }, everyColumn);
  assert.throws(() => bindColumns(text, icebergSchema(LISTS)), (e) => isWalbergError(e, 'TABLE_INCOMPATIBLE') && e.hint.includes('walberg.array-handling=list'));
});

test('hstore in a map takes its ids from the table, goes on as text in a string column, and is text in a key', () => {
  const types: TypeConfig = { ...EXACT_TYPES, hstoreMode: 'map' };
  const source = sourceTable([sourceColumn('id', 'bigint'), sourceColumn('h', 'public.hstore')], ['id']);
  const plan = planTable(source, sinkConfig(), types, everyColumn);
  const map = (key: number, required = false): IcebergType => ({ type: 'map', 'key-id': key, key: 'string', 'value-id': key + 1, value: 'string', 'value-required': required });
  assert.deepEqual(icebergSchema(plan).fields[1].type, map(3));
  assert.deepEqual(bindColumns(plan, schemaWith({ h: { type: map(50) } }, [], plan))[1].type, map(50));
  assert.deepEqual(bindColumns(plan, schemaWith({ h: { type: 'string' } }, [], plan))[1].source, { from: 'tuple', ordinal: 1, codec: { kind: 'string' } });
  assert.throws(() => bindColumns(plan, schemaWith({ h: { type: map(50, true) } }, [], plan)), incompatible('column h as map<string, string>'));
  const keyed = planTable(sourceTable(source.columns, ['h']), sinkConfig(), types, everyColumn);
  assert.equal(icebergSchema(keyed).fields[1].type, 'string');
});

test('an array in the key is text, which rows can be matched by', () => {
  const plan = planTable(sourceTable([arrayColumn('path', 'text'), arrayColumn('tags', 'text')], ['path']), sinkConfig(), EXACT_TYPES, everyColumn);
  const schema = icebergSchema(plan);
  assert.deepEqual(schema.fields.map((f) => f.type), ['string', list(3, 'string')]);
  assert.deepEqual([schema['identifier-field-ids'], equalityIds(plan, schema)], [[1], [1]]);
  assert.ok(plan.notes.includes('Column path is written as string instead of list<string>, because rows are matched by it.'));
  assert.throws(() => bindColumns(plan, schemaWith({ path: { type: list(9, 'string') } }, [], plan)), incompatible('column path as list<string>'));
});

const TYPE_NAMES = ['boolean', 'smallint', 'integer', 'bigint', 'real', 'double precision', 'numeric', 'numeric(10,2)', 'numeric(38,3)', 'numeric(5,-2)', 'numeric(50,3)', 'text', 'bytea', 'uuid', 'date',
  'time without time zone', 'timestamp without time zone', 'timestamp with time zone', 'jsonb', 'public.mood', 'integer[]', 'money', 'public.hstore', 'interval'];
const typeConfig: fc.Arbitrary<TypeConfig> = fc.record({
  decimalMode: fc.constantFrom('precise' as const, 'double' as const, 'string' as const), timeMode: fc.constantFrom('native' as const, 'isostring' as const),
  binaryMode: fc.constantFrom('bytes' as const, 'base64' as const, 'hex' as const), arrayMode: fc.constantFrom('list' as const, 'text' as const), hstoreMode: fc.constantFrom('text' as const, 'json' as const, 'map' as const), intervalMode: fc.constantFrom('text' as const, 'string' as const), specialValues: fc.constantFrom('fail' as const, 'null' as const, 'clamp' as const),
});
const anySource = fc.record({
  columns: fc.uniqueArray(fc.record({ name: fc.string({ minLength: 1, maxLength: 8 }), type: fc.constantFrom(...TYPE_NAMES), array: fc.boolean(), notNull: fc.boolean() }), { minLength: 1, maxLength: 12, selector: (c) => c.name }),
  keySize: fc.nat(3), identity: fc.constantFrom('d' as const, 'f' as const, 'n' as const, 'i' as const), deferrable: fc.boolean(),
  sink: fc.record({ upsert: fc.boolean(), upsertKeepDeletes: fc.boolean(), createIdentifierFields: fc.boolean(), preserveRequired: fc.boolean() }), types: typeConfig, dropped: fc.nat(12),
}).map((g) => {
  const key = g.columns.slice(-g.keySize || g.columns.length, g.keySize === 0 ? 0 : undefined).map((c) => c.name).reverse();
  const source = sourceTable(g.columns.map((c) => (c.array ? arrayColumn(c.name, c.type, {}, { notNull: c.notNull }) : sourceColumn(c.name, c.type, { notNull: c.notNull }))), key, { replicaIdentity: g.identity, primaryKeyDeferrable: g.deferrable, identityIndexColumns: g.identity === 'i' ? key : [] });
  const left = g.columns[g.dropped]?.name;
  return { source, plan: planTable(source, sinkConfig(g.sink), g.types, (name) => name !== left || key.includes(name)), sink: g.sink, left: key.includes(left) ? undefined : left };
});

test('any plan makes a schema that the plan binds to, and that Iceberg allows', () => {
  fc.assert(fc.property(anySource, ({ source, plan, sink, left }) => {
    const schema = icebergSchema(plan);
    const bound = bindColumns(plan, schema);
    assert.deepEqual(bound.map((c) => c.source), plan.columns.map((c) => c.source));
    assert.deepEqual(bound.map((c) => c.type), schema.fields.map((f) => f.type));
    assert.deepEqual(bindingNotes(plan, schema), []);
    // ids are unique, names are unique, every captured source column is there at its own tuple position
    assert.doesNotThrow(() => validateSchema(schema));
    assert.equal(new Set(schema.fields.map((f) => f.name)).size, schema.fields.length);
    const tuple = plan.columns.flatMap((c) => (c.source.from === 'tuple' ? [[c.name, source.columns[c.source.ordinal].name]] : []));
    assert.deepEqual(tuple, source.columns.filter((c) => c.name !== left).map((c) => [c.name, c.name]));
    // the key: named and positioned alike, required, never floating-point (specification, "Identifier Field IDs")
    assert.equal(plan.mode === 'append', plan.keyNames.length === 0);
    if (!sink.upsert) assert.equal(plan.mode, 'append');
    assert.deepEqual(plan.keyOrdinals.map((o) => source.columns[o].name), plan.keyNames);
    const key = keyColumns(plan, schema);
    assert.deepEqual(new Set(key.map((c) => c.name)), new Set(plan.keyNames));
    assert.ok(key.every((c) => c.required && typeof c.type === 'string' && c.type !== 'float' && c.type !== 'double' && schema.fields[c.fieldId - 1].required));
    if (schema['identifier-field-ids'] !== undefined) assert.deepEqual(new Set(schema['identifier-field-ids']), new Set(equalityIds(plan, schema)));
    assert.equal(schema['identifier-field-ids'] !== undefined, sink.createIdentifierFields && plan.mode !== 'append');
    // a required column is NOT NULL at the source and none of its values becomes null
    for (const c of plan.columns.filter((p) => p.required)) {
      assert.ok(c.source.from === 'tuple' && source.columns[c.source.ordinal].notNull && !('special' in c.source.codec && c.source.codec.special === 'null'));
    }
    assert.ok(plan.toastableOrdinals.every((o) => source.columns[o].toastable && !plan.keyOrdinals.includes(o)));
  }), { numRuns: 500 });
});
