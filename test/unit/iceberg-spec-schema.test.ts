import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWalbergError } from '../../src/errors/error.js';
import { bindPartitionSpec, partitionKey } from '../../src/iceberg/spec/partition.js';
import { allFields, decimalRequiredBytes, decimalType, findFieldById, findFieldByName, highestFieldId, isPrimitive, parseDecimal, parseFixed, validateSchema } from '../../src/iceberg/spec/schema.js';
import type { IcebergType, NestedField, Schema } from '../../src/iceberg/spec/types.js';

const field = (id: number, name: string, type: IcebergType, required = false): NestedField => ({ id, name, type, required });
const schema = (fields: NestedField[], identifiers?: number[]): Schema => ({ type: 'struct', 'schema-id': 0, fields, 'identifier-field-ids': identifiers });

const nested = schema([
  field(1, 'id', 'long', true),
  field(2, 'where', { type: 'struct', fields: [field(5, 'lat', 'double'), field(9, 'zip', 'string', true)] }, true),
  field(3, 'tags', { type: 'list', 'element-id': 6, element: 'string', 'element-required': false }),
  field(4, 'props', { type: 'map', 'key-id': 7, key: 'string', 'value-id': 8, value: { type: 'struct', fields: [field(10, 'x', 'int')] }, 'value-required': true }),
], [1]);

test('fields are found at every depth by id, at the top by name', () => {
  assert.deepEqual([...allFields(nested)].map((f) => [f.id, f.name, f.required]), [[1, 'id', true], [2, 'where', true], [5, 'lat', false], [9, 'zip', true], [3, 'tags', false], [6, 'element', false], [4, 'props', false], [7, 'key', true], [8, 'value', true], [10, 'x', false]]);
  assert.equal(findFieldById(nested, 10)?.name, 'x');
  assert.equal(findFieldById(nested, 11), undefined);
  assert.equal(findFieldByName(nested, 'tags')?.id, 3);
  assert.equal(findFieldByName(nested, 'lat'), undefined);
  assert.equal(highestFieldId(nested), 10);
  assert.equal(highestFieldId(schema([])), 0);
  assert.ok(isPrimitive('uuid') && !isPrimitive(nested));
});

test('parameters of types are read with and without spaces, and written with the space', () => {
  assert.deepEqual(parseDecimal('decimal(38, 10)'), { precision: 38, scale: 10 });
  assert.deepEqual(parseDecimal('decimal(9,2)'), { precision: 9, scale: 2 });
  assert.equal(parseDecimal('decimal(9)'), undefined);
  assert.equal(parseDecimal('long'), undefined);
  assert.equal(parseFixed('fixed[16]'), 16);
  assert.equal(parseFixed('fixed'), undefined);
  assert.equal(decimalType(9, 2), 'decimal(9, 2)');
  // Java's TypeUtil.decimalRequiredBytes.
  assert.deepEqual([1, 2, 3, 9, 10, 18, 19, 20, 21, 35, 36, 38].map(decimalRequiredBytes), [1, 1, 2, 4, 5, 8, 9, 9, 9, 15, 16, 16]);
});

test('a sound schema passes', () => {
  validateSchema(nested);
  validateSchema(schema([field(1, 'a', 'decimal(38, 0)'), field(2, 'b', 'fixed[1]'), field(3, 'c', 'timestamptz')]));
  // An identifier inside required structs is allowed.
  validateSchema(schema([...nested.fields], [1, 9]));
});

test('each way of being unsound is refused and names the field', () => {
  const cases: [string, Schema][] = [
    ['b', schema([field(1, 'a', 'int'), field(1, 'b', 'int')])],
    ['element', schema([field(1, 'a', 'int'), field(2, 'l', { type: 'list', 'element-id': 1, element: 'int', 'element-required': true })])],
    ['a', schema([field(1, 'a', 'int'), field(2, 'a', 'int')])],
    ['a', schema([field(2147483448, 'a', 'int')])],
    ['a', schema([field(1.5, 'a', 'int')])],
    ['a', schema([field(1, 'a', 'decimal(39, 0)')])],
    ['a', schema([field(1, 'a', 'decimal(4, 5)')])],
    ['a', schema([field(1, 'a', 'timestamp_ns')])],
    ['a', schema([field(1, 'a', 'fixed[0]')])],
    ['a', schema([field(1, 'a', 'int')], [1])],
    ['a', schema([field(1, 'a', 'double', true)], [1])],
    ['where', schema([...nested.fields], [2])],
    ['key', schema([...nested.fields], [7])],
    ['lat', schema([...nested.fields], [5])],
    ['x', schema([field(1, 's', { type: 'struct', fields: [field(2, 'x', 'int', true)] })], [2])],
    ['', schema([field(1, '', 'int')])],
  ];
  for (const [name, unsound] of cases) {
    assert.throws(() => validateSchema(unsound), (error) => isWalbergError(error, 'TABLE_INCOMPATIBLE') && error.message.includes(`"${name}"`), JSON.stringify(unsound));
  }
  assert.throws(() => validateSchema(schema([field(1, 'a', 'int', true)], [4])), (error) => isWalbergError(error, 'TABLE_INCOMPATIBLE') && /4/.test(error.message));
});

test('a partition spec is bound to the types of its source columns', () => {
  const spec = {
    'spec-id': 3,
    fields: [
      { 'source-id': 1, 'field-id': 1000, name: 'id_bucket', transform: 'bucket[8]' },
      { 'source-id': 9, 'field-id': 1001, name: 'zip', transform: 'identity' },
      { 'source-id': 99, 'field-id': 1002, name: 'gone', transform: 'void' },
    ],
  };
  assert.deepEqual(bindPartitionSpec(nested, spec).map((bound) => bound.field), [
    { id: 1000, name: 'id_bucket', required: false, type: 'int' },
    { id: 1001, name: 'zip', required: false, type: 'string' },
    { id: 1002, name: 'gone', required: false, type: 'int' },
  ]);
  assert.equal(bindPartitionSpec(nested, spec)[2].transform.apply(7), null);
  const dangling = { 'spec-id': 4, fields: [{ 'source-id': 99, 'field-id': 1000, name: 'x', transform: 'identity' }] };
  assert.throws(() => bindPartitionSpec(nested, dangling), (error) => isWalbergError(error, 'TABLE_INCOMPATIBLE'));
});

test('partition keys are equal for equal tuples only', () => {
  const tuples = [[], [null], ['n'], [''], [1], ['1'], [true], ['t'], [Uint8Array.of(1)], ['01'], ['a', 'b'], ['a/s1:b'], [null, 1], [1, null], [-0], [0], [Number.NaN], [2n ** 60n]];
  assert.equal(new Set(tuples.map((tuple) => partitionKey(0, tuple))).size, tuples.length);
  assert.equal(partitionKey(0, [5]), partitionKey(0, [5n]));
  assert.notEqual(partitionKey(0, [5]), partitionKey(1, [5]));
});
