import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import { decodeBound, encodeBound, type BoundValue } from '../../src/iceberg/spec/bounds.js';
import { compareBytes, compareValues } from '../../src/iceberg/spec/compare.js';
import { truncateLowerBinary, truncateLowerString, truncateUpperBinary, truncateUpperString } from '../../src/iceberg/spec/truncate-bounds.js';

const hex = (bytes: Uint8Array | undefined): string | undefined => (bytes === undefined ? undefined : Buffer.from(bytes).toString('hex'));
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'));
const utf8 = (bytes: Uint8Array | undefined): string | undefined => (bytes === undefined ? undefined : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));

const UUID = 'f79c3e09-677c-4bbd-a479-3f349cb785e7';
const vectors: [string, BoundValue, string][] = [
  ['boolean', true, '01'], ['boolean', false, '00'],
  ['int', 34, '22000000'], ['int', -1, 'ffffffff'], ['int', -2147483648, '00000080'], ['date', 17486, '4e440000'],
  ['long', 34n, '2200000000000000'], ['long', -(2n ** 63n), '0000000000000080'], ['long', 9007199254740993n, '0100000000002000'],
  ['time', 81068000000n, '008307e012000000'], ['timestamp', 1510871468000000n, '00c3262d215e0500'], ['timestamptz', -1n, 'ffffffffffffffff'],
  ['float', 1.5, '0000c03f'], ['double', -0.0, '0000000000000080'],
  ['decimal(9, 2)', 1420n, '058c'], ['decimal(9, 2)', 0n, '00'], ['decimal(9, 2)', -1n, 'ff'], ['decimal(9, 2)', 127n, '7f'], ['decimal(9, 2)', 128n, '0080'], ['decimal(9, 2)', -128n, '80'],
  ['decimal(9, 2)', -129n, 'ff7f'], ['decimal(9, 2)', -32768n, '8000'], ['decimal(38, 0)', 10n ** 38n - 1n, '4b3b4ca85a86c47a098a223fffffffff'], ['decimal(38, 0)', 1n - 10n ** 38n, 'b4c4b357a5793b85f675ddc000000001'],
  ['string', 'é😀', 'c3a9f09f9880'], ['string', '', ''], ['binary', bytesOf('00ff'), '00ff'], ['fixed[2]', bytesOf('00ff'), '00ff'], ['uuid', UUID, 'f79c3e09677c4bbda4793f349cb785e7'],
];

test('values take the single-value binary form of the specification and come back', () => {
  for (const [type, value, expected] of vectors) {
    const bytes = encodeBound(type, value);
    assert.equal(hex(bytes), expected, `${type} ${String(value)}`);
    const back = decodeBound(type, bytes);
    assert.deepEqual(type === 'uuid' ? hex(back as Uint8Array) : back, type === 'uuid' ? UUID.replaceAll('-', '') : value);
  }
});

test('decimals of any size are minimal and come back', () => {
  fc.assert(fc.property(fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n }), (value) => {
    const bytes = encodeBound('decimal(38, 4)', value);
    assert.equal(decodeBound('decimal(38, 4)', bytes), value);
    // Minimal: the first byte is needed, since it is not just the sign of the second.
    assert.ok(bytes.length === 1 || !((bytes[0] === 0 && bytes[1] < 0x80) || (bytes[0] === 0xff && bytes[1] >= 0x80)));
  }));
});

test('integers may be given as number or bigint; what does not fit is refused', () => {
  assert.deepEqual(encodeBound('long', 7), encodeBound('long', 7n));
  assert.deepEqual(encodeBound('date', 7n), encodeBound('date', 7));
  const wrong: [string, BoundValue][] = [['int', 2147483648], ['int', 1.5], ['int', Number.NaN], ['long', 2n ** 63n], ['long', 2 ** 60], ['boolean', 1], ['string', 1], ['uuid', bytesOf('00')], ['uuid', 'x'], ['fixed[2]', bytesOf('00')], ['decimal(9, 2)', 1], ['float', 1n]];
  for (const [type, value] of wrong) assert.throws(() => encodeBound(type, value), (error) => isWalbergError(error, 'INTERNAL'), `${type} ${String(value)}`);
});

test('bounds from before a promotion are read; wrong lengths are refused', () => {
  assert.equal(decodeBound('long', bytesOf('feffffff')), -2n);
  assert.equal(decodeBound('double', bytesOf('0000c03f')), 1.5);
  for (const [type, bytes] of [['int', '00'], ['long', '000000'], ['uuid', '00'], ['boolean', ''], ['decimal(9, 2)', ''], ['timestamp', '00000000']] as const) {
    assert.throws(() => decodeBound(type, bytesOf(bytes)), (error) => isWalbergError(error, 'FILE_MALFORMED'), type);
  }
});

test('truncated string bounds: examples', () => {
  const cases: [string, number, string, string | undefined][] = [
    ['iceberg', 3, 'ice', 'icf'],
    ['ice', 3, 'ice', 'ice'],
    ['', 3, '', ''],
    ['a😀b', 2, 'a😀', 'a😁'],
    ['a\ud7ffb', 2, 'a\ud7ff', 'a\ue000'],
    ['a\u007fb', 2, 'a\u007f', 'a\u0080'],
    ['a\u07ffb', 2, 'a\u07ff', 'a\u0800'],
    ['a\uffffb', 2, 'a\uffff', 'a\u{10000}'],
    ['a\u{10ffff}b', 2, 'a\u{10ffff}', 'b'],
    ['\u{10ffff}\u{10ffff}b', 2, '\u{10ffff}\u{10ffff}', undefined],
    ['\u{10ffff}\u{10ffff}', 2, '\u{10ffff}\u{10ffff}', '\u{10ffff}\u{10ffff}'],
    ['\ufeffab', 2, '\ufeffa', '\ufeffb'],
  ];
  for (const [value, length, lower, upper] of cases) {
    assert.equal(utf8(truncateLowerString(value, length)), lower, value);
    assert.equal(utf8(truncateUpperString(value, length)), upper, value);
    assert.equal(utf8(truncateUpperString(Buffer.from(value), length)), upper, value);
  }
  assert.equal(utf8(truncateUpperString('0123456789abcdefg')), '0123456789abcdeg');
});

const awkward = fc.constantFrom('a', '\u0000', '\u007f', '\u0080', '\u07ff', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10fffe}', '\u{10ffff}');
const text = fc.array(fc.oneof(awkward, fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })), { maxLength: 6 }).map((parts) => parts.join(''));

test('truncated string bounds hold, are valid UTF-8, short, and the tightest there are', () => {
  fc.assert(fc.property(text, text, fc.integer({ min: 1, max: 4 }), (value, other, length) => {
    const bytes = Buffer.from(value);
    const lower = truncateLowerString(value, length);
    const upper = truncateUpperString(value, length);
    assert.ok(compareBytes(lower, bytes) <= 0);
    assert.ok([...utf8(lower)!].length <= length);
    const short = Array.from(other).slice(0, length).join('');
    const candidate = Buffer.from(short);
    if (compareBytes(candidate, bytes) <= 0) assert.ok(compareBytes(candidate, lower) <= 0);
    if (upper === undefined) {
      assert.ok(compareBytes(candidate, bytes) < 0, 'there was an upper bound');
    } else {
      assert.ok(compareBytes(upper, bytes) >= 0);
      assert.ok([...utf8(upper)!].length <= length);
      if (compareBytes(candidate, bytes) >= 0) assert.ok(compareBytes(candidate, upper) >= 0);
    }
  }), { numRuns: 2000 });
});

test('truncated binary bounds hold and are the tightest there are', () => {
  const binary = fc.array(fc.constantFrom(0, 1, 0x7f, 0x80, 0xfe, 0xff), { maxLength: 5 }).map((values) => Uint8Array.from(values));
  fc.assert(fc.property(binary, binary, fc.integer({ min: 1, max: 3 }), (value, other, length) => {
    const candidate = other.slice(0, length);
    const lower = truncateLowerBinary(value, length);
    const upper = truncateUpperBinary(value, length);
    assert.ok(compareBytes(lower, value) <= 0 && lower.length <= length);
    if (compareBytes(candidate, value) <= 0) assert.ok(compareBytes(candidate, lower) <= 0);
    if (upper === undefined) assert.ok(compareBytes(candidate, value) < 0);
    else {
      assert.ok(compareBytes(upper, value) >= 0 && upper.length <= length);
      if (compareBytes(candidate, value) >= 0) assert.ok(compareBytes(candidate, upper) >= 0);
    }
  }), { numRuns: 2000 });
  assert.equal(hex(truncateUpperBinary(new Uint8Array(17))), `${'00'.repeat(15)}01`);
  assert.equal(truncateUpperBinary(new Uint8Array(17).fill(0xff)), undefined);
  assert.equal(hex(truncateUpperBinary(bytesOf('01ffff'), 2)), '02');
});

test('values are ordered as readers order them', () => {
  const ordered: [string, BoundValue[]][] = [
    ['string', ['', 'a', 'a\u0000', 'b', '\uffff', '\u{10000}']],
    ['double', [-Infinity, -1, -0, 0, 1, Infinity]],
    ['long', [-(2n ** 63n), -1, 0n, 1, 2n ** 53n + 1n]],
    ['decimal(38, 2)', [-129n, -128n, 0n, 127n, 128n]],
    ['binary', [bytesOf(''), bytesOf('00'), bytesOf('7f'), bytesOf('80'), bytesOf('80ff')]],
    ['boolean', [false, true]],
  ];
  for (const [type, values] of ordered) {
    for (let i = 0; i < values.length; i++) for (let j = 0; j < values.length; j++) assert.equal(Math.sign(compareValues(type, values[i], values[j])), Math.sign(i - j), `${type} ${String(values[i])} ${String(values[j])}`);
  }
});

test('the given bytes are never changed nor kept, not even when they are a Buffer, whose slices share memory', () => {
  const value = Buffer.from('aaaaaaaaaaaaaaaab');
  const upper = truncateUpperBinary(value)!;
  assert.equal(Buffer.from(upper).toString(), 'aaaaaaaaaaaaaaab');
  truncateUpperString(value);
  const decoded = decodeBound('binary', value) as Uint8Array;
  decoded[0] = 0;
  assert.equal(value.toString(), 'aaaaaaaaaaaaaaaab');
});
