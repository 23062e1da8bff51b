/**
 * Shared terms of the value decoders: each turns the text form of one Postgres value, `length` bytes from `at` in `bytes`,
 * into its column's typed array without making a string or a bigint, and says how that went.
 */
export type Decoder<T> = (bytes: Buffer, at: number, length: number, out: T, index: number) => Outcome;

export type Outcome = number;
export const OK: Outcome = 0;
/** Not the text form this decoder reads. */
export const MALFORMED: Outcome = 1;
/** Above what the type holds, or positive infinity. */
export const ABOVE: Outcome = 2;
/** Below what the type holds, or negative infinity. */
export const BELOW: Outcome = 3;
/** NaN in a type without NaN. */
export const NOT_A_NUMBER: Outcome = 4;
/** Digits that are not zero would be cut off. */
export const LOSSY: Outcome = 5;

export const MINUS = 0x2d;
export const PLUS = 0x2b;
export const DOT = 0x2e;
export const COLON = 0x3a;
export const SPACE = 0x20;
export const ZERO = 0x30;

const TWO_32 = 4294967296;

/** Powers of ten that are exact as doubles. */
export const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));

/** Value of each hex digit byte, -1 for other bytes. */
export const HEX = new Int8Array(256).fill(-1);
for (let i = 0; i < 10; i++) HEX[ZERO + i] = i;
for (let i = 0; i < 6; i++) HEX[0x41 + i] = HEX[0x61 + i] = 10 + i;

/** Writes an integer that is exact as a double (|value| ≤ 2^53) as little-endian int64 at `out[2 * index]`. */
export function writeInt64(out: Int32Array, index: number, value: number): void {
  const high = Math.floor(value / TWO_32);
  out[2 * index] = value - high * TWO_32;
  out[2 * index + 1] = high;
}

/**
 * Writes `head * 10^6 + tail` as int64 where head is any integer with |head| < 2^47 and 0 ≤ tail < 10^6; false when it does not fit.
 * Products are split so that every intermediate number stays below 2^53.
 */
export function writeMillionths(out: Int32Array, index: number, head: number, tail: number): boolean {
  if (head < 9_000_000_000 && head > -9_000_000_000) {
    writeInt64(out, index, head * 1_000_000 + tail);
    return true;
  }
  return writeProduct(out, index, head, 1_000_000, tail);
}

/** Writes `head * factor + tail` as int64; |head| < 2^47, factor and tail ≤ 10^9, tail ≥ 0. False when it does not fit. */
export function writeProduct(out: Int32Array, index: number, head: number, factor: number, tail: number): boolean {
  const upper = Math.floor(head / 65536);
  const product = upper * factor;
  const productHigh = Math.floor(product / 65536);
  const low = (product - productHigh * 65536) * 65536 + (head - upper * 65536) * factor + tail;
  const carry = Math.floor(low / TWO_32);
  const high = productHigh + carry;
  if (high > 0x7fffffff || high < -0x80000000) return false;
  out[2 * index] = low - carry * TWO_32;
  out[2 * index + 1] = high;
  return true;
}

/** True for `word` at `at`, where `word` is ASCII. */
export function isWord(bytes: Buffer, at: number, length: number, word: string): boolean {
  if (length !== word.length) return false;
  for (let i = 0; i < length; i++) if (bytes[at + i] !== word.charCodeAt(i)) return false;
  return true;
}
