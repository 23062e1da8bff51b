import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeBound } from '../../src/iceberg/spec/bounds.js';
import { encodeFile } from '../../src/parquet/encode-file.js';
import { UNCHANGED, type TupleValue } from '../support/pgoutput-bytes.js';
import { bigEndian, codecOf, physicalColumn, tupleRequest } from '../support/parquet-rows.js';

const encode = (type: string, values: readonly TupleValue[], rowGroupRows = 1000): ReturnType<typeof encodeFile> => encodeFile(tupleRequest([{ type, codec: codecOf(type) }], values.map((value) => [value]), { rowGroupRows }));
const hexBounds = (type: string, values: readonly TupleValue[]): [lower: string | undefined, upper: string | undefined] => {
  const { lowerBounds, upperBounds } = encode(type, values).metrics;
  const hex = (bytes: Uint8Array | undefined): string | undefined => (bytes === undefined ? undefined : Buffer.from(bytes).toString('hex'));
  return [hex(lowerBounds?.get(1)), hex(upperBounds?.get(1))];
};
const textBounds = (values: readonly TupleValue[]): [lower: string | undefined, upper: string | undefined] => {
  const [lower, upper] = hexBounds('string', values);
  const text = (hex: string | undefined): string | undefined => (hex === undefined ? undefined : Buffer.from(hex, 'hex').toString('utf8'));
  return [text(lower), text(upper)];
};

describe('counts', () => {
  it('count rows, nulls and NaN over all row groups', () => {
    const { metrics, recordCount } = encode('double', ['1', null, 'NaN', UNCHANGED, '2', 'NaN', 'NaN'], 2);
    assert.equal(recordCount, 7);
    assert.deepEqual([metrics.valueCounts, metrics.nullValueCounts, metrics.nanValueCounts], [new Map([[1, 7]]), new Map([[1, 2]]), new Map([[1, 3]])]);
    assert.deepEqual([hexBounds('double', ['NaN', null]), encode('int', ['1']).metrics.nanValueCounts], [[undefined, undefined], new Map()]);
  });
});

describe('bounds', () => {
  it('have the form of Appendix D', () => {
    assert.deepEqual(hexBounds('boolean', ['f', 'f']), ['00', '00']);
    assert.deepEqual(hexBounds('boolean', [null, 't', 'f']), ['00', '01']);
    assert.deepEqual(hexBounds('int', ['258', '-1', null]), ['ffffffff', '02010000']);
    assert.deepEqual(hexBounds('long', ['4294967296', '-2']), ['feffffffffffffff', '0000000001000000']);
    assert.deepEqual(hexBounds('date', ['1970-01-02', '1969-12-31']), ['ffffffff', '01000000']);
    assert.deepEqual(hexBounds('timestamptz', ['1970-01-01 00:00:00.000001+00', '1969-12-31 23:59:59.999999+00']), ['ffffffffffffffff', '0100000000000000']);
    assert.deepEqual(hexBounds('decimal(9, 2)', ['-1.28', '1.28']), ['80', '0080']);
    assert.deepEqual(hexBounds('decimal(38, 0)', ['-32768', '32768']), ['8000', '008000']);
    assert.deepEqual(hexBounds('decimal(38, 0)', ['0', '0']), ['00', '00']);
    assert.deepEqual(hexBounds('fixed[2]', ['\\xff00', '\\x00ff']), ['00ff', 'ff00']);
    assert.deepEqual(hexBounds('int', [null, null]), [undefined, undefined]);
  });
  it('take zero as -0 below and +0 above, and leave NaN out', () => {
    for (const values of [['0', '-0'], ['-0'], ['0']]) assert.deepEqual(hexBounds('double', [...values, 'NaN']), ['0000000000000080', '0000000000000000']);
    assert.deepEqual(hexBounds('float', ['-Infinity', 'NaN', 'Infinity']), ['000080ff', '0000807f']);
    assert.deepEqual(hexBounds('float', ['0.5', '-0']), ['00000080', '0000003f']);
  });
  it('are left out for uuids', () => {
    assert.deepEqual(hexBounds('uuid', ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']), [undefined, undefined]);
  });
  it('cut strings to 16 code points and round the upper one up', () => {
    assert.deepEqual(textBounds(['abc', 'b', '']), ['', 'b']);
    assert.deepEqual(textBounds(['x'.repeat(16)]), ['x'.repeat(16), 'x'.repeat(16)]);
    assert.deepEqual(textBounds(['x'.repeat(17)]), ['x'.repeat(16), `${'x'.repeat(15)}y`]);
    assert.deepEqual(textBounds(['😀'.repeat(16)]), ['😀'.repeat(16), '😀'.repeat(16)]);
    assert.deepEqual(textBounds(['😀'.repeat(17)]), ['😀'.repeat(16), `${'😀'.repeat(15)}😁`]);
    assert.deepEqual(textBounds([`${'a'.repeat(15)}\u{10ffff}z`]), [`${'a'.repeat(15)}\u{10ffff}`, `${'a'.repeat(14)}b`]);
    assert.deepEqual(textBounds([`${'a'.repeat(15)}\ud7ffz`]), [`${'a'.repeat(15)}\ud7ff`, `${'a'.repeat(15)}\ue000`]);
    assert.deepEqual(textBounds(['\u{10ffff}'.repeat(17)]), ['\u{10ffff}'.repeat(16), undefined]);
    // U+FF5E is below U+1F600 in UTF-8 order and above it in UTF-16 order.
    assert.deepEqual(textBounds(['～', '😀']), ['～', '😀']);
  });
  it('cut binary to 16 bytes and round the upper one up', () => {
    assert.deepEqual(hexBounds('binary', ['\\x', '\\x00']), ['', '00']);
    assert.deepEqual(hexBounds('binary', [`\\x${'ab'.repeat(16)}ff`]), ['ab'.repeat(16), `${'ab'.repeat(15)}ac`]);
    assert.deepEqual(hexBounds('binary', [`\\x${'ab'.repeat(15)}ffff`]), [`${'ab'.repeat(15)}ff`, `${'ab'.repeat(14)}ac`]);
    assert.deepEqual(hexBounds('binary', [`\\x${'ff'.repeat(17)}`]), ['ff'.repeat(16), undefined]);
  });
  it('tell long values apart that begin alike', () => {
    const prefix = 'p'.repeat(80);
    assert.deepEqual(textBounds([`${prefix}a`, prefix, `${prefix}b`]), ['p'.repeat(16), `${'p'.repeat(15)}q`]);
    assert.deepEqual(textBounds(['p'.repeat(16), 'p'.repeat(17)]), ['p'.repeat(16), `${'p'.repeat(15)}q`]);
  });

  const number = fc.bigInt({ min: -(10n ** 9n) + 1n, max: 10n ** 9n - 1n }).map(String);
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 30 }), fc.string({ unit: fc.constantFrom('a', '\u{10ffff}', '\ud7ff', '😀'), maxLength: 40 })).map((value) => value.replaceAll('\0', ''));
  const types: readonly (readonly [type: string, values: fc.Arbitrary<string>])[] = [
    ['int', fc.integer().map(String)], ['long', fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)], ['float', fc.float().map(String)], ['double', fc.double().map(String)],
    ['decimal(9, 0)', number], ['decimal(38, 0)', fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n }).map(String)],
    ['string', text], ['binary', fc.uint8Array({ maxLength: 30 }).map((value) => `\\x${Buffer.from(value).toString('hex')}`)],
  ];
  for (const [type, values] of types) {
    it(`enclose every value of ${type}, closely unless cut`, async () => {
      await fc.assert(fc.asyncProperty(fc.array(fc.option(values, { nil: null }), { maxLength: 30 }), async (rows) => {
        const file = encode(type, rows, 7);
        const lower = file.metrics.lowerBounds?.get(1);
        const upper = file.metrics.upperBounds?.get(1);
        const present = (await physicalColumn(file)).filter((value) => value !== null && !Number.isNaN(value));
        if (present.length === 0) {
          assert.deepEqual([lower, upper], [undefined, undefined]);
          return;
        }
        assert.ok(lower !== undefined);
        if (type === 'string' || type === 'binary') {
          const sorted = present.map((value) => Buffer.from(value as string)).sort(Buffer.compare);
          assert.ok(Buffer.compare(lower, sorted[0]) <= 0);
          assert.ok(sorted[0].subarray(0, lower.length).equals(lower));
          if (upper !== undefined) assert.ok(Buffer.compare(upper, sorted[sorted.length - 1]) >= 0);
        } else {
          assert.ok(upper !== undefined);
          const sorted = (type.startsWith('decimal') ? present.map(bigEndian) : (present as (number | bigint)[])).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
          const low = decodeBound(type, lower);
          const high = decodeBound(type, upper);
          // as numbers or bigints, whichever the two sides use
          assert.deepEqual([String(low), String(high)], [String(sorted[0]), String(sorted[sorted.length - 1])]);
        }
      }), { numRuns: 80 });
    });
  }
});
