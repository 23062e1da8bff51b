import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { TypeConfig } from '../../src/config/config.js';
import { mapColumn } from '../../src/schema/map-type.js';
import { numericModifier } from '../../src/schema/numeric-modifier.js';
import { arrayColumn, EXACT_TYPES, numericTypmod, sourceColumn } from '../support/source-table.js';

/** SQL type, Iceberg type, codec, and whether the operator is told. */
const ROWS: readonly [sql: string, type: string, codec: object, noted?: true][] = [
  ['boolean', 'boolean', { kind: 'boolean' }],
  ['smallint', 'int', { kind: 'int' }],
  ['integer', 'int', { kind: 'int' }],
  ['bigint', 'long', { kind: 'long' }],
  ['oid', 'long', { kind: 'long' }],
  ['xid', 'long', { kind: 'long' }],
  ['cid', 'long', { kind: 'long' }],
  ['xid8', 'decimal(20, 0)', { kind: 'decimal', precision: 20, scale: 0, special: 'fail' }],
  ['real', 'float', { kind: 'float' }],
  ['double precision', 'double', { kind: 'double' }],
  ['numeric(10,2)', 'decimal(10, 2)', { kind: 'decimal', precision: 10, scale: 2, special: 'fail' }],
  ['numeric(38,0)', 'decimal(38, 0)', { kind: 'decimal', precision: 38, scale: 0, special: 'fail' }],
  ['numeric(38,38)', 'decimal(38, 38)', { kind: 'decimal', precision: 38, scale: 38, special: 'fail' }],
  ['numeric(5,-2)', 'decimal(7, 0)', { kind: 'decimal', precision: 7, scale: 0, special: 'fail' }],
  ['numeric(3,5)', 'decimal(5, 5)', { kind: 'decimal', precision: 5, scale: 5, special: 'fail' }],
  ['numeric(36,-2)', 'decimal(38, 0)', { kind: 'decimal', precision: 38, scale: 0, special: 'fail' }],
  ['numeric(37,-2)', 'string', { kind: 'string' }, true],
  ['numeric(3,39)', 'string', { kind: 'string' }, true],
  ['numeric(39,0)', 'string', { kind: 'string' }, true],
  ['numeric(1000,-1000)', 'string', { kind: 'string' }, true],
  ['numeric', 'string', { kind: 'string' }, true],
  ['text', 'string', { kind: 'string' }],
  ['character varying(20)', 'string', { kind: 'string' }],
  ['character(4)', 'string', { kind: 'string' }],
  ['name', 'string', { kind: 'string' }],
  ['"char"', 'string', { kind: 'string' }],
  ['citext', 'string', { kind: 'string' }],
  ['bytea', 'binary', { kind: 'binary' }],
  ['uuid', 'uuid', { kind: 'uuid' }],
  ['date', 'date', { kind: 'date', special: 'fail' }],
  ['time without time zone', 'time', { kind: 'time', special: 'fail' }],
  ['timestamp without time zone', 'timestamp', { kind: 'timestamp', special: 'fail' }],
  ['timestamp with time zone', 'timestamptz', { kind: 'timestamptz', special: 'fail' }],
  ['time with time zone', 'string', { kind: 'string' }, true],
  ['json', 'string', { kind: 'string' }],
  ['jsonb', 'string', { kind: 'string' }],
  ['xml', 'string', { kind: 'string' }],
  ['public.mood', 'string', { kind: 'string' }],
  ['money', 'string', { kind: 'string' }, true],
  ['interval', 'string', { kind: 'string' }, true],
  ['bit(3)', 'string', { kind: 'string' }, true],
  ['inet', 'string', { kind: 'string' }, true],
  ['point', 'string', { kind: 'string' }, true],
  ['int4range', 'string', { kind: 'string' }, true],
  ['int4multirange', 'string', { kind: 'string' }, true],
  ['integer[]', 'string', { kind: 'string' }, true],
  ['public.address', 'string', { kind: 'string' }, true],
  ['vector(3)', 'string', { kind: 'string' }, true],
];

for (const [sql, type, codec, noted] of ROWS) {
  test(`${sql} becomes ${type}`, () => {
    const mapped = mapColumn(sourceColumn('c', sql), EXACT_TYPES);
    assert.deepEqual({ type: mapped.type, codec: mapped.codec }, { type, codec });
    assert.equal(mapped.note !== undefined, noted === true);
    if (noted === true) assert.match(mapped.note!, new RegExp(`^Column c is ${sql.replaceAll(/[()[\]-]/g, '\\$&')}[:, ]`));
  });
}

for (const [sql, element, codec, noted] of ROWS) {
  if (sql.endsWith('[]')) continue;
  test(`${sql}[] becomes a list of ${element}`, () => {
    const mapped = mapColumn(arrayColumn('c', sql), EXACT_TYPES);
    assert.deepEqual({ type: mapped.type, codec: mapped.codec }, {
      type: { type: 'list', 'element-id': 0, element, 'element-required': false },
      codec: { kind: 'list', element: codec, delimiter: ',', special: 'fail' },
    });
    assert.equal(mapped.note !== undefined, noted === true);
    if (noted === true) assert.match(mapped.note!, /^Column c is .*\[\], and its elements are .*: written as /);
  });
}

test('arrays that are declared with several dimensions, or asked for as text, are text and noted', () => {
  for (const [column, types] of [[arrayColumn('c', 'integer', { dimensions: 2 }), EXACT_TYPES], [arrayColumn('c', 'integer'), { ...EXACT_TYPES, arrayMode: 'text' as const }]] as const) {
    const mapped = mapColumn(column, types);
    assert.deepEqual([mapped.type, mapped.codec], ['string', { kind: 'string' }]);
    assert.match(mapped.note!, /^Column c is .*: written as the text/);
  }
  assert.equal(typeof mapColumn(arrayColumn('c', 'integer', { dimensions: 0 }), EXACT_TYPES).type, 'object');
});

test('a list takes the delimiter of its elements, and the modes and policy of the configuration', () => {
  const modes: TypeConfig = { decimalMode: 'double', timeMode: 'isostring', binaryMode: 'hex', arrayMode: 'list', hstoreMode: 'text', intervalMode: 'text', specialValues: 'null' };
  assert.deepEqual(mapColumn(arrayColumn('c', 'point', { delimiter: ';' }), modes).codec, { kind: 'list', element: { kind: 'string' }, delimiter: ';', special: 'null' });
  assert.deepEqual(mapColumn(arrayColumn('c', 'numeric(10,2)'), modes).codec, { kind: 'list', element: { kind: 'numeric-double' }, delimiter: ',', special: 'null' });
  assert.deepEqual(mapColumn(arrayColumn('c', 'date'), modes).codec, { kind: 'list', element: { kind: 'iso-string', of: 'date' }, delimiter: ',', special: 'null' });
  assert.deepEqual(mapColumn(arrayColumn('c', 'bytea'), modes).codec, { kind: 'list', element: { kind: 'bytes-text', form: 'hex' }, delimiter: ',', special: 'null' });
});

test('hstore is text, a JSON string or a map; an array of them has no maps', () => {
  const column = sourceColumn('h', 'public.hstore');
  assert.match(mapColumn(column, EXACT_TYPES).note!, /written as the text/);
  assert.deepEqual(mapColumn(column, { ...EXACT_TYPES, hstoreMode: 'json' }), { type: 'string', codec: { kind: 'hstore' } });
  assert.deepEqual(mapColumn(column, { ...EXACT_TYPES, hstoreMode: 'map' }), { type: { type: 'map', 'key-id': 0, key: 'string', 'value-id': 0, value: 'string', 'value-required': false }, codec: { kind: 'hstore' } });
  assert.deepEqual(mapColumn(sourceColumn('h', 'text'), { ...EXACT_TYPES, hstoreMode: 'map' }).type, 'string');
  const array = mapColumn(arrayColumn('h', 'public.hstore'), { ...EXACT_TYPES, hstoreMode: 'map' });
  assert.deepEqual(array.codec, { kind: 'list', element: { kind: 'string' }, delimiter: ',', special: 'fail' });
});

test('interval.handling.mode=string is ISO 8601', () => {
  assert.deepEqual(mapColumn(sourceColumn('i', 'interval'), { ...EXACT_TYPES, intervalMode: 'string' }), { type: 'string', codec: { kind: 'iso-string', of: 'interval' } });
});

test('a domain goes by its base type and the modifier of the domain', () => {
  const price = sourceColumn('price', 'numeric(12,3)', { typeOid: 16500, typmod: -1, typeName: 'public.price' });
  assert.equal(mapColumn(price, EXACT_TYPES).type, 'decimal(12, 3)');
});

test('an enum whose OID is that of no built-in type stays text whatever the modes', () => {
  const types: TypeConfig = { decimalMode: 'double', timeMode: 'isostring', binaryMode: 'hex', arrayMode: 'list', hstoreMode: 'text', intervalMode: 'text', specialValues: 'null' };
  assert.deepEqual(mapColumn(sourceColumn('m', 'public.mood'), types), { type: 'string', codec: { kind: 'string' } });
});

test('decimal.handling.mode decides every numeric, with or without precision', () => {
  for (const sql of ['numeric(10,2)', 'numeric', 'numeric(60,2)']) {
    assert.deepEqual(mapColumn(sourceColumn('n', sql), { ...EXACT_TYPES, decimalMode: 'double' }), { type: 'double', codec: { kind: 'numeric-double' } });
    assert.deepEqual(mapColumn(sourceColumn('n', sql), { ...EXACT_TYPES, decimalMode: 'string' }), { type: 'string', codec: { kind: 'string' } });
  }
});

test('time.precision.mode=isostring turns times into text, each by its own form', () => {
  for (const [sql, of] of [['date', 'date'], ['time without time zone', 'time'], ['timestamp without time zone', 'timestamp'], ['timestamp with time zone', 'timestamptz']] as const) {
    assert.deepEqual(mapColumn(sourceColumn('d', sql), { ...EXACT_TYPES, timeMode: 'isostring' }), { type: 'string', codec: { kind: 'iso-string', of } });
  }
  assert.deepEqual(mapColumn(sourceColumn('d', 'time with time zone'), { ...EXACT_TYPES, timeMode: 'isostring' }).codec, { kind: 'string' });
});

test('binary.handling.mode other than bytes writes text of that form', () => {
  for (const form of ['base64', 'base64-url-safe', 'hex'] as const) {
    assert.deepEqual(mapColumn(sourceColumn('b', 'bytea'), { ...EXACT_TYPES, binaryMode: form }), { type: 'string', codec: { kind: 'bytes-text', form } });
  }
});

test('the special value policy reaches every codec that needs one', () => {
  for (const sql of ['numeric(10,2)', 'xid8', 'date', 'time without time zone', 'timestamp without time zone', 'timestamp with time zone']) {
    const { codec } = mapColumn(sourceColumn('c', sql), { ...EXACT_TYPES, specialValues: 'clamp' });
    assert.equal('special' in codec && codec.special, 'clamp', sql);
  }
});

test('numeric modifiers read back as declared, for every precision and scale Postgres allows', () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: -1000, max: 1000 }), (precision, scale) => {
    assert.deepEqual(numericModifier(numericTypmod(precision, scale)), { precision, scale });
  }));
  assert.equal(numericModifier(-1), undefined);
});

test('modifiers of servers before 15, with the scale in 16 bits, read the same', () => {
  // numeric(10,2) and numeric(1000,1000) as Postgres 14 packs them
  assert.deepEqual(numericModifier(((10 << 16) | 2) + 4), { precision: 10, scale: 2 });
  assert.deepEqual(numericModifier(((1000 << 16) | 1000) + 4), { precision: 1000, scale: 1000 });
});

test('a decimal holds the largest and the smallest step of its numeric', () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: -40, max: 60 }), (p, s) => {
    const { type, codec } = mapColumn(sourceColumn('n', `numeric(${p},${s})`), EXACT_TYPES);
    // digits before the point of the largest value, digits after the point of the smallest step
    const before = Math.max(p - s, 0);
    const after = Math.max(s, 0);
    if (codec.kind === 'decimal') {
      assert.equal(type, `decimal(${codec.precision}, ${codec.scale})`);
      assert.ok(codec.precision <= 38 && codec.scale >= after && codec.precision - codec.scale >= before);
    } else {
      assert.equal(type, 'string');
      assert.ok(before + after > 38);
    }
  }));
});
