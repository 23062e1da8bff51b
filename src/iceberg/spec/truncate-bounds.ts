/**
 * Shortened bounds (spec "Field-level Metrics": string and binary bounds may be truncated). A bound that is too small or too
 * large by one code point hides live rows and lets equality deletes miss, so when no right upper bound exists there is none.
 *
 * Strings are ordered by their UTF-8 bytes, which is the order of code points; JavaScript's `<` compares UTF-16 units and
 * is wrong above U+FFFF.
 */

/** Code points kept of a string bound, and bytes kept of a binary one, as Java's default metrics mode `truncate(16)`. */
export const DEFAULT_BOUND_LENGTH = 16;

const utf8 = new TextEncoder();
const toBytes = (value: string | Uint8Array): Uint8Array => (typeof value === 'string' ? utf8.encode(value) : value);

/** End (in bytes) of the first `codePoints` code points. A byte 10xxxxxx continues a code point, every other one starts one. */
function prefixEnd(bytes: Uint8Array, codePoints: number): number {
  // No code point is shorter than a byte, so short values need no walk.
  if (bytes.length <= codePoints) return bytes.length;
  let seen = 0;
  for (let i = 0; i < bytes.length; i++) {
    if ((bytes[i] & 0xc0) !== 0x80 && ++seen > codePoints) return i;
  }
  return bytes.length;
}

/** The first code points of a string, as UTF-8: never above the value. */
export function truncateLowerString(value: string | Uint8Array, codePoints = DEFAULT_BOUND_LENGTH): Uint8Array {
  const bytes = toBytes(value);
  return bytes.subarray(0, prefixEnd(bytes, codePoints));
}

/**
 * The least string of at most `codePoints` code points that is not below the value, as UTF-8: the value itself when short
 * enough, else the prefix with its last code point increased (U+D7FF goes to U+E000, since surrogates have no UTF-8 form).
 * undefined when there is none, that is, when every kept code point is U+10FFFF.
 */
export function truncateUpperString(value: string | Uint8Array, codePoints = DEFAULT_BOUND_LENGTH): Uint8Array | undefined {
  const bytes = toBytes(value);
  let end = prefixEnd(bytes, codePoints);
  if (end === bytes.length) return bytes;
  while (end > 0) {
    let start = end - 1;
    while (start > 0 && (bytes[start] & 0xc0) === 0x80) start--;
    const last = decodeOne(bytes, start, end);
    if (last < 0x10ffff) {
      const increased = utf8.encode(String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1));
      const bound = new Uint8Array(start + increased.length);
      bound.set(bytes.subarray(0, start));
      bound.set(increased, start);
      return bound;
    }
    end = start;
  }
  return undefined;
}

/** The code point in `bytes[start, end)`. */
function decodeOne(bytes: Uint8Array, start: number, end: number): number {
  const first = bytes[start];
  if (end - start === 1) return first;
  // The leading byte of n bytes keeps 7 - n bits.
  let codePoint = first & (0x7f >> (end - start));
  for (let i = start + 1; i < end; i++) codePoint = (codePoint << 6) | (bytes[i] & 0x3f);
  return codePoint;
}

/** The first bytes of a value: never above it in unsigned byte order. */
export function truncateLowerBinary(value: Uint8Array, length = DEFAULT_BOUND_LENGTH): Uint8Array {
  return value.subarray(0, length);
}

/** The least value of at most `length` bytes that is not below the given one in unsigned byte order; undefined when all kept bytes are ff. */
export function truncateUpperBinary(value: Uint8Array, length = DEFAULT_BOUND_LENGTH): Uint8Array | undefined {
  if (value.length <= length) return value;
  for (let last = length - 1; last >= 0; last--) {
    if (value[last] === 0xff) continue;
    const bound = new Uint8Array(value.subarray(0, last + 1));
    bound[last]++;
    return bound;
  }
  return undefined;
}
