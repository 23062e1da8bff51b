import { ABOVE, BELOW, type Decoder, DOT, isWord, LOSSY, MALFORMED, MINUS, NOT_A_NUMBER, OK, type Outcome, POWERS_OF_TEN, ZERO } from './decode.js';

const TWO_32 = 4294967296;
const limbs = new Float64Array(8);

/**
 * Decoder of numeric text to the unscaled integer at exactly `scale`, 16 bytes little-endian two's complement as Arrow's
 * Decimal128 has it. More than `precision` digits are ABOVE or BELOW; digits behind the scale must be zeros, else LOSSY.
 */
export function decimalDecoder(precision: number, scale: number): Decoder<Uint32Array> {
  return (bytes, at, length, out, index) => decodeDecimal(bytes, at, length, out, index, precision, scale);
}

function decodeDecimal(bytes: Buffer, at: number, length: number, out: Uint32Array, index: number, precision: number, scale: number): Outcome {
  const end = at + length;
  const negative = bytes[at] === MINUS;
  const start = negative ? at + 1 : at;
  let value = 0;
  let significant = 0;
  let fraction = -1;
  let pos = start;
  let stop = end;
  for (; pos < end; pos++) {
    const digit = bytes[pos] - ZERO;
    if (digit >= 0 && digit <= 9) {
      if (fraction === scale) {
        if (digit !== 0) return LOSSY;
        if (stop === end) stop = pos;
        continue;
      }
      if (fraction >= 0) fraction++;
      value = value * 10 + digit;
      if (significant > 0 || digit !== 0) significant++;
    } else if (bytes[pos] === DOT && fraction < 0) {
      fraction = 0;
    } else {
      break;
    }
  }
  if (pos < end || pos === start) return special(bytes, at, length);
  const missing = scale - Math.max(fraction, 0);
  if (significant > 0) significant += missing;
  if (significant > precision) return negative ? BELOW : ABOVE;
  if (significant <= 15) {
    if (significant > 0) value *= POWERS_OF_TEN[missing];
    writeSmall(out, index, negative ? -value : value);
  } else {
    writeLarge(bytes, start, stop, missing, negative, out, index);
  }
  return OK;
}

/** An unscaled value that is exact as a double. */
function writeSmall(out: Uint32Array, index: number, value: number): void {
  const at = index * 4;
  const high = Math.floor(value / TWO_32);
  out[at] = value - high * TWO_32;
  out[at + 1] = high;
  out[at + 2] = out[at + 3] = value < 0 ? 0xffffffff : 0;
}

/** Digits of `bytes[pos, end)` (a point is skipped) with `zeros` more at the end, through eight limbs of 16 bits. */
function writeLarge(bytes: Buffer, pos: number, end: number, zeros: number, negative: boolean, out: Uint32Array, index: number): void {
  limbs.fill(0);
  let chunk = 0;
  let count = 0;
  for (; pos < end; pos++) {
    if (bytes[pos] === DOT) continue;
    chunk = chunk * 10 + (bytes[pos] - ZERO);
    if (++count === 9) {
      multiplyAdd(1_000_000_000, chunk);
      chunk = count = 0;
    }
  }
  for (; zeros > 0; zeros--) {
    chunk *= 10;
    if (++count === 9) {
      multiplyAdd(1_000_000_000, chunk);
      chunk = count = 0;
    }
  }
  if (count > 0) multiplyAdd(POWERS_OF_TEN[count], chunk);
  let carry = 1;
  for (let word = 0; word < 4; word++) {
    let value = limbs[2 * word] + limbs[2 * word + 1] * 65536;
    if (negative) {
      value = TWO_32 - 1 - value + carry;
      carry = value >= TWO_32 ? 1 : 0;
    }
    out[index * 4 + word] = value;
  }
}

function multiplyAdd(factor: number, summand: number): void {
  let carry = summand;
  for (let i = 0; i < 8; i++) {
    const value = limbs[i] * factor + carry;
    carry = Math.floor(value / 65536);
    limbs[i] = value - carry * 65536;
  }
}

function special(bytes: Buffer, at: number, length: number): Outcome {
  if (isWord(bytes, at, length, 'NaN')) return NOT_A_NUMBER;
  if (isWord(bytes, at, length, 'Infinity')) return ABOVE;
  if (isWord(bytes, at, length, '-Infinity')) return BELOW;
  return MALFORMED;
}

/** Writes ±(10^precision - 1), the nearest value to one that does not fit. */
export function clampDecimal(precision: number): (out: Uint32Array, index: number, above: boolean) => void {
  const nines = Buffer.from('9'.repeat(precision), 'latin1');
  return (out, index, above) => writeLarge(nines, 0, precision, 0, !above, out, index);
}
