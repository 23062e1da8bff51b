import { ABOVE, BELOW, MALFORMED, MINUS, OK, type Outcome, writeInt64, writeProduct, ZERO } from './decode.js';

/** boolean: `t` or `f`; the bit at `index` of a zeroed bitmap. */
export function decodeBoolean(bytes: Buffer, at: number, length: number, out: Uint8Array, index: number): Outcome {
  if (length !== 1) return MALFORMED;
  if (bytes[at] === 0x74) out[index >> 3] |= 1 << (index & 7);
  else if (bytes[at] !== 0x66) return MALFORMED;
  return OK;
}

/** A decimal integer within int32. */
export function decodeInt(bytes: Buffer, at: number, length: number, out: Int32Array, index: number): Outcome {
  const end = at + length;
  const negative = bytes[at] === MINUS;
  let pos = negative ? at + 1 : at;
  if (pos === end || end - pos > 15) return MALFORMED;
  let value = 0;
  for (; pos < end; pos++) {
    const digit = bytes[pos] - ZERO;
    if (digit < 0 || digit > 9) return MALFORMED;
    value = value * 10 + digit;
  }
  if (negative) value = -value;
  if (value > 2147483647) return ABOVE;
  if (value < -2147483648) return BELOW;
  out[index] = value;
  return OK;
}

/** A decimal integer within int64, as two 32-bit halves. */
export function decodeLong(bytes: Buffer, at: number, length: number, out: Int32Array, index: number): Outcome {
  const end = at + length;
  const negative = bytes[at] === MINUS;
  let pos = negative ? at + 1 : at;
  const digits = end - pos;
  if (digits === 0) return MALFORMED;
  // The last nine digits apart once the whole would not be exact as a double.
  const split = digits > 15 ? end - 9 : end;
  let head = 0;
  for (; pos < split; pos++) {
    const digit = bytes[pos] - ZERO;
    if (digit < 0 || digit > 9) return MALFORMED;
    head = head * 10 + digit;
  }
  if (split === end) {
    writeInt64(out, index, negative ? -head : head);
    return OK;
  }
  let tail = 0;
  for (; pos < end; pos++) {
    const digit = bytes[pos] - ZERO;
    if (digit < 0 || digit > 9) return MALFORMED;
    tail = tail * 10 + digit;
  }
  // -(head * 10^9 + tail) = (-head - 1) * 10^9 + (10^9 - tail), so that the tail stays positive.
  if (head > 10_000_000_000) return negative ? BELOW : ABOVE;
  const fits = negative ? writeProduct(out, index, -head - 1, 1_000_000_000, 1_000_000_000 - tail) : writeProduct(out, index, head, 1_000_000_000, tail);
  return fits ? OK : negative ? BELOW : ABOVE;
}
