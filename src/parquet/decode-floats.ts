import { DOT, isWord, MALFORMED, MINUS, OK, type Outcome, PLUS, POWERS_OF_TEN, ZERO } from './decode.js';

const bits = new Float64Array(1);
const words = new Uint32Array(bits.buffer);

/** float8 or numeric text; also NaN, Infinity, -Infinity and -0. */
export function decodeDouble(bytes: Buffer, at: number, length: number, out: Float64Array, index: number): Outcome {
  const value = parseDouble(bytes, at, length);
  if (value === undefined) return MALFORMED;
  out[index] = value;
  return OK;
}

/** float4 text to the float4 it stands for. */
export function decodeFloat(bytes: Buffer, at: number, length: number, out: Float32Array, index: number): Outcome {
  const value = parseFloat32(bytes, at, length);
  if (value === undefined) return MALFORMED;
  out[index] = value;
  return OK;
}

/** float4 text widened to double, as a cast in Postgres does. */
export function decodeFloatAsDouble(bytes: Buffer, at: number, length: number, out: Float64Array, index: number): Outcome {
  const value = parseFloat32(bytes, at, length);
  if (value === undefined) return MALFORMED;
  out[index] = value;
  return OK;
}

/**
 * The double nearest to a decimal text. At most 15 digits and a power of ten up to 22 are both exact, so one operation rounds
 * once (Clinger's fast path); everything else goes through Number().
 */
function parseDouble(bytes: Buffer, at: number, length: number): number | undefined {
  const end = at + length;
  const negative = bytes[at] === MINUS;
  let pos = negative ? at + 1 : at;
  let mantissa = 0;
  let significant = 0;
  let digits = 0;
  let fraction = 0;
  let pointAt = -1;
  for (; pos < end; pos++) {
    const digit = bytes[pos] - ZERO;
    if (digit >= 0 && digit <= 9) {
      mantissa = mantissa * 10 + digit;
      if (mantissa !== 0) significant++;
      digits++;
    } else if (bytes[pos] === DOT && pointAt < 0) {
      pointAt = digits;
    } else {
      break;
    }
  }
  if (digits === 0) return wordValue(bytes, at, length);
  if (pointAt >= 0) fraction = digits - pointAt;
  let exponent = 0;
  if (pos < end) {
    if ((bytes[pos++] | 0x20) !== 0x65) return undefined;
    const minus = bytes[pos] === MINUS;
    if (minus || bytes[pos] === PLUS) pos++;
    if (pos === end) return undefined;
    for (; pos < end; pos++) {
      const digit = bytes[pos] - ZERO;
      if (digit < 0 || digit > 9) return undefined;
      if (exponent < 100_000) exponent = exponent * 10 + digit;
    }
    if (minus) exponent = -exponent;
  }
  exponent -= fraction;
  if (significant <= 15 && exponent >= -22 && exponent <= 22) {
    const value = exponent < 0 ? mantissa / POWERS_OF_TEN[-exponent] : mantissa * POWERS_OF_TEN[exponent];
    return negative ? -value : value;
  }
  return Number(bytes.toString('latin1', at, end));
}

function wordValue(bytes: Buffer, at: number, length: number): number | undefined {
  if (isWord(bytes, at, length, 'NaN')) return NaN;
  if (isWord(bytes, at, length, 'Infinity')) return Infinity;
  if (isWord(bytes, at, length, '-Infinity')) return -Infinity;
  return undefined;
}

/**
 * The float nearest to a decimal text. Rounding to double first and to float then can only go wrong when the double lies
 * exactly between two floats, so that case alone is decided from the text.
 */
function parseFloat32(bytes: Buffer, at: number, length: number): number | undefined {
  const value = parseDouble(bytes, at, length);
  if (value === undefined || value !== value) return value;
  const rounded = Math.fround(value);
  if (rounded === value) return rounded;
  bits[0] = value;
  const normal = Math.abs(value) >= 1.1754943508222875e-38;
  if (normal && (words[0] & 0x1fffffff) !== 0x10000000) return rounded;
  return nearestFloat(bytes.toString('latin1', at, at + length), value, rounded);
}

/** Decides between the two floats around `value`, which was rounded from `text`, when it is their midpoint. */
function nearestFloat(text: string, value: number, rounded: number): number {
  const other = nextFloat(rounded, value > rounded);
  if (!Number.isFinite(rounded) || !Number.isFinite(other) || (rounded + other) / 2 !== value) return rounded;
  const order = compareDecimal(text, value);
  if (order === 0) return rounded;
  return order > 0 ? Math.max(rounded, other) : Math.min(rounded, other);
}

function nextFloat(value: number, up: boolean): number {
  const float = new Float32Array([value]);
  const int = new Int32Array(float.buffer);
  if (value === 0) int[0] = up ? 1 : -0x7fffffff;
  else int[0] += (value > 0) === up ? 1 : -1;
  return float[0];
}

/** Sign of (decimal text - value), exactly; value is finite. */
function compareDecimal(text: string, value: number): number {
  const match = /^(-?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) return 0;
  let left = BigInt(`${match[2]}${match[3]}` || '0') * (match[1] === '-' ? -1n : 1n);
  const ten = Number(match[4] ?? 0) - match[3].length;
  // value = whole * 2^-two with an integral `whole`.
  let two = 0;
  let whole = value;
  while (!Number.isInteger(whole)) {
    whole *= 2;
    two++;
  }
  let right = BigInt(whole);
  left *= 2n ** BigInt(two);
  if (ten >= 0) left *= 10n ** BigInt(ten);
  else right *= 10n ** BigInt(-ten);
  return left === right ? 0 : left > right ? 1 : -1;
}
