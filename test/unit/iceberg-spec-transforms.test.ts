import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import { murmur3 } from '../../src/iceberg/spec/murmur3.js';
import { bindTransform } from '../../src/iceberg/spec/transforms.js';
import type { PartitionValue } from '../../src/iceberg/spec/types.js';

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'));
const micros = (iso: string): bigint => {
  const [, seconds, fraction = ''] = /^(.*?)(?:\.(\d+))?Z$/.exec(iso)!;
  return BigInt(Date.parse(`${seconds}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
};
const days = (iso: string): number => Date.parse(`${iso}T00:00:00Z`) / 86_400_000;

/** Appendix B, "32-bit Hash Requirements": source type, value, hash. */
const hashes: [string, PartitionValue, number][] = [
  ['int', 34, 2017239379],
  ['long', 34n, 2017239379],
  ['decimal(9, 2)', 1420n, -500754589],
  ['date', days('2017-11-16'), -653330422],
  ['time', 81_068_000_000n, -662762989],
  ['timestamp', micros('2017-11-16T22:31:08Z'), -2047944441],
  ['timestamp', micros('2017-11-16T22:31:08.000001Z'), -1207196810],
  ['timestamptz', micros('2017-11-16T22:31:08Z'), -2047944441],
  ['string', 'iceberg', 1210000089],
  ['uuid', bytesOf('f79c3e09677c4bbda4793f349cb785e7'), 1488055340],
  ['fixed[4]', bytesOf('00010203'), -188683207],
  ['binary', bytesOf('00010203'), -188683207],
];

test('bucket hashes are those of the specification', () => {
  for (const [type, value, hash] of hashes) {
    assert.equal(bindTransform('bucket[2147483647]', type).apply(value), hash & 0x7fffffff, type);
    assert.equal(bindTransform('bucket[16]', type).apply(value), (hash & 0x7fffffff) % 16, type);
  }
});

test('murmur3 of every length of tail', () => {
  // Reference values of the x86 32-bit variant, seed 0.
  assert.equal(murmur3(bytesOf('')), 0);
  assert.equal(murmur3(bytesOf('ffffffff')), 0x76293b50);
  assert.equal(murmur3(bytesOf('21436587')), 0xf55b516b | 0);
  assert.equal(murmur3(bytesOf('214365')), 0x7e4a8634);
  assert.equal(murmur3(bytesOf('2143')), 0xa0f7b07a | 0);
  assert.equal(murmur3(bytesOf('21')), 0x72661cf4);
  assert.equal(murmur3(bytesOf('0000000000').subarray(1)), 0x2362f9de);
});

test('truncate: the examples of the specification and the corners', () => {
  const cases: [string, string, PartitionValue, PartitionValue][] = [
    ['truncate[10]', 'int', 1, 0], ['truncate[10]', 'int', -1, -10], ['truncate[10]', 'int', -10, -10], ['truncate[10]', 'int', 2147483647, 2147483640],
    ['truncate[10]', 'long', 1n, 0n], ['truncate[10]', 'long', -1n, -10n], ['truncate[10]', 'long', 9223372036854775807n, 9223372036854775800n],
    ['truncate[50]', 'decimal(9, 2)', 1065n, 1050n], ['truncate[50]', 'decimal(9, 2)', -1n, -50n],
    ['truncate[3]', 'string', 'iceberg', 'ice'], ['truncate[3]', 'string', 'ic', 'ic'], ['truncate[2]', 'string', '😀😀😀', '😀😀'],
    ['truncate[3]', 'binary', bytesOf('0001020304'), bytesOf('000102')],
  ];
  for (const [name, type, value, expected] of cases) assert.deepEqual(bindTransform(name, type).apply(value), expected, `${name} ${type}`);
});

test('times: result types and values on both sides of 1970', () => {
  assert.deepEqual(['year', 'month', 'day', 'hour'].map((name) => bindTransform(name, 'timestamptz').resultType), ['int', 'int', 'date', 'int']);
  const rows: [string, number[]][] = [
    ['2017-12-01T10:12:55.038194Z', [47, 575, 17501, 420034]],
    ['1970-01-01T00:00:01.000001Z', [0, 0, 0, 0]],
    ['1969-12-31T23:59:58.999999Z', [-1, -1, -1, -1]],
    ['1969-01-01T00:00:00Z', [-1, -12, -365, -8760]],
    ['0001-01-01T00:00:00Z', [-1969, -23628, -719162, -719162 * 24]],
    ['2000-02-29T23:59:59.999999Z', [30, 361, 11016, 11016 * 24 + 23]],
  ];
  for (const [iso, expected] of rows) {
    assert.deepEqual(['year', 'month', 'day', 'hour'].map((name) => bindTransform(name, 'timestamp').apply(micros(iso))), expected, iso);
    assert.deepEqual(['year', 'month', 'day'].map((name) => bindTransform(name, 'date').apply(days(iso.slice(0, 10)))), expected.slice(0, 3), iso);
  }
});

test('years and months agree with Date over its whole range', () => {
  fc.assert(fc.property(fc.integer({ min: -100_000_000, max: 100_000_000 }), (day) => {
    const date = new Date(day * 86_400_000);
    assert.equal(bindTransform('year', 'date').apply(day), date.getUTCFullYear() - 1970);
    assert.equal(bindTransform('month', 'date').apply(day), (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth());
  }), { numRuns: 2000 });
});

test('identity and void keep the type; null stays null under every transform', () => {
  assert.equal(bindTransform('identity', 'decimal(9, 2)').resultType, 'decimal(9, 2)');
  assert.equal(bindTransform('identity', 'double').apply(1.5), 1.5);
  assert.equal(bindTransform('void', 'string').apply('x'), null);
  for (const name of ['identity', 'void', 'bucket[4]', 'year', 'month', 'day', 'hour']) assert.equal(bindTransform(name, 'timestamp').apply(null), null, name);
  assert.equal(bindTransform('truncate[4]', 'string').apply(null), null);
});

test('transforms that do not exist or do not fit the column are refused', () => {
  for (const name of ['bucket', 'bucket[0]', 'truncate[-1]', 'years', 'bucket[99999999999]', '']) assert.throws(() => bindTransform(name, 'int'), (error) => isWalbergError(error, 'FORMAT_UNSUPPORTED'), name);
  for (const [name, type] of [['bucket[4]', 'double'], ['bucket[4]', 'boolean'], ['truncate[4]', 'date'], ['truncate[4]', 'uuid'], ['hour', 'date'], ['day', 'time'], ['year', 'int']] as const) {
    assert.throws(() => bindTransform(name, type), (error) => isWalbergError(error, 'TABLE_INCOMPATIBLE'), `${name} ${type}`);
  }
  assert.throws(() => bindTransform('identity', { type: 'struct', fields: [] }), (error) => isWalbergError(error, 'TABLE_INCOMPATIBLE'));
});
