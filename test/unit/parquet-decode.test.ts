import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ABOVE, BELOW, type Decoder, LOSSY, MALFORMED, NOT_A_NUMBER, OK } from '../../src/parquet/decode.js';
import { decodeUuid, hexToBytes } from '../../src/parquet/decode-bytes.js';
import { clampDecimal, decimalDecoder } from '../../src/parquet/decode-decimal.js';
import { decodeDouble, decodeFloat } from '../../src/parquet/decode-floats.js';
import { decodeBoolean, decodeInt, decodeLong } from '../../src/parquet/decode-integers.js';
import { daysFromCivil, decodeDate, decodeTime, decodeTimestamp, decodeTimestamptz } from '../../src/parquet/decode-temporal.js';

/** Runs a decoder on text that lies in the middle of other bytes, as in an arena. */
function run<T>(decoder: Decoder<T>, text: string, out: T, index = 1): number {
  const value = Buffer.from(text, 'utf8');
  const bytes = Buffer.concat([Buffer.from('9'), value, Buffer.from('9')]);
  return decoder(bytes, 1, value.length, out, index);
}

function long(decoder: Decoder<Int32Array>, text: string): bigint | number {
  const out = new Int32Array(4);
  const outcome = run(decoder, text, out);
  return outcome === OK ? new BigInt64Array(out.buffer)[1] : outcome;
}
function date(text: string): number | string {
  const out = new Int32Array(2);
  const outcome = run(decodeDate, text, out);
  return outcome === OK ? out[1] : `outcome ${outcome}`;
}
function decimal(precision: number, scale: number, text: string): bigint | number {
  const out = new Uint32Array(8);
  const outcome = run(decimalDecoder(precision, scale), text, out);
  return outcome === OK ? words(out) : outcome;
}
const words = (out: Uint32Array): bigint => BigInt.asIntN(128, [7, 6, 5, 4].reduce((sum, i) => (sum << 32n) | BigInt(out[i]), 0n));
function double(text: string): number | undefined {
  const out = new Float64Array(2);
  return run(decodeDouble, text, out) === OK ? out[1] : undefined;
}
function float(text: string): number | undefined {
  const out = new Float32Array(2);
  return run(decodeFloat, text, out) === OK ? out[1] : undefined;
}

const int64 = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -(10n ** 16n), max: 10n ** 16n }), fc.bigInt({ min: -2000n, max: 2000n }));

describe('integers', () => {
  it('reads every int64 exactly', () => {
    fc.assert(fc.property(int64, (value) => assert.equal(long(decodeLong, String(value)), value)), { numRuns: 2000 });
    for (let power = 0n; power < 63n; power++) {
      for (const near of [-1n, 0n, 1n]) for (const sign of [1n, -1n]) assert.equal(long(decodeLong, String(sign * (2n ** power + near))), sign * (2n ** power + near));
    }
    for (let digits = 1; digits <= 18; digits++) assert.equal(long(decodeLong, '9'.repeat(digits)), BigInt('9'.repeat(digits)));
  });
  it('tells what does not fit int64', () => {
    assert.equal(long(decodeLong, '-9223372036854775808'), -(2n ** 63n));
    assert.equal(long(decodeLong, '9223372036854775808'), ABOVE);
    assert.equal(long(decodeLong, '-9223372036854775809'), BELOW);
    assert.equal(long(decodeLong, '18446744073709551615'), ABOVE);
    assert.equal(long(decodeLong, '9'.repeat(40)), ABOVE);
    for (const text of ['', '-', '1.0', 'x', '12a', '1234567890123456x', '123456789012345x7']) assert.equal(long(decodeLong, text), MALFORMED, text);
  });
  it('reads int32 and booleans', () => {
    const out = new Int32Array(2);
    for (const value of [0, 1, -1, 2147483647, -2147483648, 32767]) {
      assert.equal(run(decodeInt, String(value), out), OK);
      assert.equal(out[1], value);
    }
    assert.equal(run(decodeInt, '2147483648', out), ABOVE);
    assert.equal(run(decodeInt, '-2147483649', out), BELOW);
    assert.equal(run(decodeInt, '', out), MALFORMED);
    const bitmap = new Uint8Array(2);
    assert.equal(run(decodeBoolean, 't', bitmap, 9), OK);
    assert.equal(run(decodeBoolean, 'f', bitmap, 10), OK);
    assert.deepEqual([...bitmap], [0, 2]);
    assert.equal(run(decodeBoolean, 'true', bitmap, 9), MALFORMED);
  });
});

describe('floats', () => {
  it('reads doubles as Number does, in every form Postgres writes', () => {
    fc.assert(fc.property(fc.double(), (value) => assert.ok(Object.is(double(postgresFloat(value)), value), postgresFloat(value))), { numRuns: 3000 });
    fc.assert(fc.property(fc.integer({ min: -999_999_999, max: 999_999_999 }), fc.integer({ min: 0, max: 12 }), (mantissa, scale) => {
      const text = fixed(BigInt(mantissa), scale);
      assert.equal(double(text), Number(text));
    }));
    for (const text of ['1e-310', '5e-324', '1.7976931348623157e+308', '123456789012345678901234567890.5', '9007199254740993', '0.000001', '1e+22', '1e+23', '8.5e-23', '000.5']) assert.equal(double(text), Number(text), text);
    assert.ok(Object.is(double('-0'), -0));
    assert.ok(Object.is(double('NaN'), NaN));
    assert.equal(double('-Infinity'), -Infinity);
    for (const text of ['', '-', 'inf', '1e', '1e+', '1.2.3', '1x', '0x10']) assert.equal(double(text), undefined, text);
  });
  it('reads every float from its shortest text', () => {
    fc.assert(fc.property(fc.float(), (value) => assert.ok(Object.is(float(postgresFloat(value)), value))), { numRuns: 3000 });
    fc.assert(fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), fc.integer({ min: 1, max: 9 }), (value, digits) => {
      const shortest = value.toPrecision(digits);
      const expected = nearestFloat(shortest);
      if (Number.isFinite(Math.fround(Number(shortest)))) assert.ok(Object.is(float(shortest), expected), shortest);
    }), { numRuns: 3000 });
  });
  it('rounds once, not twice', () => {
    // Exactly between two floats stands 1 + 2^-24 = 1.000000059604644775390625; a double cannot tell these texts from it.
    const midpoint = '1.000000059604644775390625';
    const above = `${midpoint}000000000000001`;
    const below = '1.000000059604644775390624999999999999999';
    assert.equal(Number(above), Number(midpoint));
    assert.equal(Number(below), Number(midpoint));
    assert.equal(float(above), 1 + 2 ** -23);
    assert.equal(float(midpoint), 1);
    assert.equal(float(below), 1);
    assert.equal(float(`-${above}`), -(1 + 2 ** -23));
    // Just below the next midpoint, although its double is that midpoint and would go up to the even float.
    assert.equal(Number('1.0000001788139343'), 1 + 3 * 2 ** -24);
    assert.equal(float('1.0000001788139343'), 1 + 2 ** -23);
    assert.equal(float('1.000000178813934326171875'), 1 + 2 ** -22);
  });
});

/** The form of float8out with extra_float_digits ≥ 1: shortest digits, exponents of two digits with a sign. */
function postgresFloat(value: number): string {
  if (Object.is(value, -0)) return '-0';
  return String(value).replace(/e([+-])(\d)$/, 'e$10$2');
}

/** The float nearest to a decimal text by exact comparison of the candidates around it. */
function nearestFloat(text: string): number {
  const [mantissa, exponent] = text.toLowerCase().split('e');
  const fraction = mantissa.split('.')[1] ?? '';
  const scale = fraction.length - Number(exponent ?? 0);
  const digits = BigInt(mantissa.replace('.', '').replace('-', ''));
  const negative = text.startsWith('-');
  // In units of 10^-400 both the text and any float are integers once scaled by 2^200.
  const exact = (digits * 10n ** BigInt(400 - scale)) << 200n;
  const of = (float: number): bigint => {
    let whole = Math.abs(float);
    let two = 0;
    while (!Number.isInteger(whole)) {
      whole *= 2;
      two++;
    }
    return (BigInt(whole) * 10n ** 400n << 200n) >> BigInt(two);
  };
  const start = new Float32Array([Math.abs(Number(text))]);
  const bits = new Uint32Array(start.buffer);
  const center = bits[0];
  let best = NaN;
  let bestDistance: bigint | undefined;
  for (const candidate of [center - 1, center, center + 1]) {
    if (candidate < 0 || candidate >= 0x7f800000) continue;
    bits[0] = candidate;
    const distance = of(start[0]) > exact ? of(start[0]) - exact : exact - of(start[0]);
    if (bestDistance === undefined || distance < bestDistance || (distance === bestDistance && candidate % 2 === 0)) {
      bestDistance = distance;
      best = start[0];
    }
  }
  return negative ? -best : best;
}

/** An unscaled integer as decimal text. */
function fixed(unscaled: bigint, scale: number): string {
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return unscaled < 0n ? `-${text}` : text;
}

describe('decimals', () => {
  const limit = 10n ** 38n - 1n;
  const unscaled = fc.oneof(fc.bigInt({ min: -limit, max: limit }), fc.bigInt({ min: -(10n ** 16n), max: 10n ** 16n }), fc.bigInt({ min: -300n, max: 300n }));

  it('reads 38 digits at any scale', () => {
    fc.assert(fc.property(unscaled, fc.integer({ min: 0, max: 38 }), (value, scale) => assert.equal(decimal(38, scale, fixed(value, scale)), value)), { numRuns: 3000 });
  });
  it('rescales exactly: fewer fraction digits are filled up, surplus zeros dropped', () => {
    fc.assert(fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 9 }), (value, from, more) => {
      assert.equal(decimal(38, from + more, fixed(value, from)), value * 10n ** BigInt(more));
      assert.equal(decimal(38, from, fixed(value * 10n ** BigInt(more), from + more)), value);
    }), { numRuns: 1000 });
    assert.equal(decimal(10, 2, '1.235'), LOSSY);
    assert.equal(decimal(10, 2, '1.230000000000000000000000000000000000000001'), LOSSY);
    assert.equal(decimal(10, 0, '5.0'), 5n);
  });
  it('tells what does not fit, and what is no number', () => {
    assert.equal(decimal(5, 2, '999.99'), 99999n);
    assert.equal(decimal(5, 2, '1000'), ABOVE);
    assert.equal(decimal(5, 2, '-1000.00'), BELOW);
    assert.equal(decimal(5, 2, '0000000999.99'), 99999n);
    assert.equal(decimal(38, 0, `1${'0'.repeat(38)}`), ABOVE);
    assert.equal(decimal(38, 38, '1'), ABOVE);
    assert.equal(decimal(38, 38, `0.${'9'.repeat(38)}`), limit);
    assert.equal(decimal(38, 10, '-0.00'), 0n);
    assert.equal(decimal(5, 2, 'NaN'), NOT_A_NUMBER);
    assert.equal(decimal(5, 2, 'Infinity'), ABOVE);
    assert.equal(decimal(5, 2, '-Infinity'), BELOW);
    for (const text of ['', '-', '1e5', '1.2.3', 'x', '12,3']) assert.equal(decimal(20, 2, text), MALFORMED, text);
  });
  it('clamps to as many nines as there is room', () => {
    for (const precision of [1, 9, 18, 19, 38]) {
      const out = new Uint32Array(8);
      clampDecimal(precision)(out, 1, true);
      assert.equal(words(out), 10n ** BigInt(precision) - 1n);
      clampDecimal(precision)(out, 1, false);
      assert.equal(words(out), -(10n ** BigInt(precision) - 1n));
    }
  });
});

/** Reference calendar: count day by day through Date, which is proleptic Gregorian with astronomical years. */
function referenceDays(year: number, month: number, day: number): number {
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, day);
  return at.getTime() / 86_400_000;
}
const two = (n: number): string => String(n).padStart(2, '0');
function dateText(year: number, month: number, day: number): { date: string; era: string } {
  return { date: `${String(year > 0 ? year : 1 - year).padStart(4, '0')}-${two(month)}-${two(day)}`, era: year > 0 ? '' : ' BC' };
}
const civil = fc.record({ year: fc.oneof(fc.integer({ min: -4712, max: 9999 }), fc.integer({ min: 1900, max: 2100 }), fc.integer({ min: -100, max: 270000 })), month: fc.integer({ min: 1, max: 12 }), day: fc.integer({ min: 1, max: 28 }) });
const clock = fc.record({ hour: fc.integer({ min: 0, max: 23 }), minute: fc.integer({ min: 0, max: 59 }), second: fc.integer({ min: 0, max: 59 }), micro: fc.integer({ min: 0, max: 999_999 }) });
type Clock = { hour: number; minute: number; second: number; micro: number };
const clockText = ({ hour, minute, second, micro }: Clock): string => `${two(hour)}:${two(minute)}:${two(second)}${micro === 0 ? '' : `.${String(micro).padStart(6, '0').replace(/0+$/, '')}`}`;
const clockMicros = ({ hour, minute, second, micro }: Clock): bigint => BigInt((hour * 60 + minute) * 60 + second) * 1_000_000n + BigInt(micro);

describe('dates and times', () => {
  it('counts days as Date does', () => {
    fc.assert(fc.property(civil, ({ year, month, day }) => {
      const { date: text, era } = dateText(year, month, day);
      assert.equal(date(text + era), referenceDays(year, month, day));
    }), { numRuns: 2000 });
    assert.equal(date('1970-01-01'), 0);
    assert.equal(date('0001-01-01'), -719162);
    assert.equal(date('0001-12-31 BC'), -719163);
    assert.equal(date('4714-11-24 BC'), -2440588);
    assert.equal(date('9999-12-31'), 2932896);
    assert.equal(date('5874897-12-31'), 2147483493 - 2440588);
    for (const [year, month, day] of [[2000, 2, 29], [1900, 3, 1], [2024, 12, 31]]) assert.equal(daysFromCivil(year, month, day), referenceDays(year, month, day));
  });
  it('tells infinity and what is no date', () => {
    assert.equal(date('infinity'), `outcome ${ABOVE}`);
    assert.equal(date('-infinity'), `outcome ${BELOW}`);
    for (const text of ['', '24-01-01', '2024-13-01', '2024-01-00', '2024-01-01 AD', '2024-01-01T', '2024/01/01', '01/02/2024']) assert.equal(date(text), `outcome ${MALFORMED}`, text);
  });
  it('reads timestamps to the microsecond, whatever the year', () => {
    fc.assert(fc.property(civil, clock, ({ year, month, day }, time) => {
      const { date: text, era } = dateText(year, month, day);
      assert.equal(long(decodeTimestamp, `${text} ${clockText(time)}${era}`), BigInt(referenceDays(year, month, day)) * 86_400_000_000n + clockMicros(time));
    }), { numRuns: 3000 });
    assert.equal(long(decodeTimestamp, '294247-01-10 04:00:54.775807'), 2n ** 63n - 1n);
    assert.equal(long(decodeTimestamp, '294247-01-10 04:00:54.775808'), ABOVE);
    assert.equal(long(decodeTimestamp, '294276-12-31 23:59:59.999999'), ABOVE);
    assert.equal(long(decodeTimestamp, '4714-11-24 00:00:00 BC'), -2440588n * 86_400_000_000n);
    assert.equal(long(decodeTimestamp, 'infinity'), ABOVE);
    assert.equal(long(decodeTimestamp, '-infinity'), BELOW);
    for (const text of ['2024-01-01', '2024-01-01 1:00:00', '2024-01-01 00:00:00+00', '2024-01-01 00:00:00.1234567', '2024-01-01T00:00:00', '2024-01-01 00:00']) assert.equal(long(decodeTimestamp, text), MALFORMED, text);
  });
  it('takes offsets with minutes and seconds off', () => {
    const offset = fc.record({ sign: fc.constantFrom(1, -1), hour: fc.integer({ min: 0, max: 15 }), minute: fc.integer({ min: 0, max: 59 }), second: fc.integer({ min: 0, max: 59 }), parts: fc.integer({ min: 1, max: 3 }) });
    fc.assert(fc.property(civil, clock, offset, ({ year, month, day }, time, o) => {
      const { date: text, era } = dateText(year, month, day);
      const shown = [o.hour, o.minute, o.second].slice(0, o.parts);
      const seconds = o.sign * ((shown[0] * 60 + (shown[1] ?? 0)) * 60 + (shown[2] ?? 0));
      const zone = `${o.sign > 0 ? '+' : '-'}${shown.map(two).join(':')}`;
      assert.equal(long(decodeTimestamptz, `${text} ${clockText(time)}${zone}${era}`), BigInt(referenceDays(year, month, day)) * 86_400_000_000n + clockMicros(time) - BigInt(seconds) * 1_000_000n);
    }), { numRuns: 2000 });
    for (const text of ['2024-01-01 00:00:00', '2024-01-01 00:00:00Z', '2024-01-01 00:00:00+', '2024-01-01 00:00:00 IST']) assert.equal(long(decodeTimestamptz, text), MALFORMED, text);
  });
  it('reads times below 24 h and tells 24:00:00', () => {
    fc.assert(fc.property(clock, (time) => assert.equal(long(decodeTime, clockText(time)), clockMicros(time))));
    assert.equal(long(decodeTime, '24:00:00'), ABOVE);
    for (const text of ['24:00:01', '12:00', '12:00:00+00', '']) assert.equal(long(decodeTime, text), MALFORMED, text);
  });
});

describe('bytes', () => {
  it('reads uuids and hex', () => {
    fc.assert(fc.property(fc.uuid(), (uuid) => {
      const out = new Uint8Array(32);
      assert.equal(run(decodeUuid, uuid, out), OK);
      assert.equal(Buffer.from(out.subarray(16)).toString('hex'), uuid.replaceAll('-', ''));
    }));
    for (const text of ['', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g', 'a0eebc999c0b-4ef8-bb6d-6bb9bd380a11-', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1']) assert.equal(run(decodeUuid, text, new Uint8Array(32)), MALFORMED, text);
    fc.assert(fc.property(fc.uint8Array(), (value) => {
      const text = Buffer.from(`\\x${Buffer.from(value).toString('hex')}`);
      const out = new Uint8Array(value.length + 3);
      assert.equal(hexToBytes(text, 0, text.length, out, 3), value.length + 3);
      assert.deepEqual(out.subarray(3), value);
    }));
    for (const text of ['', '\\', '\\x0', '\\xzz', 'abcd']) assert.equal(hexToBytes(Buffer.from(text), 0, text.length, new Uint8Array(8), 0), -1, text);
  });
});
