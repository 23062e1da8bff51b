/** Two's-complement big-endian integers of any size, as decimals are stored in bounds, hashes and Avro. */

/** The shortest two's-complement big-endian form (at least one byte): -128 takes one byte, 128 takes two. */
export function minimalBytes(value: bigint): Uint8Array {
  // The bits of the magnitude below the sign: for a negative number those of its complement, so that -128 needs 7.
  const magnitude = value < 0n ? ~value : value;
  const bits = magnitude === 0n ? 0 : magnitude.toString(2).length;
  return fixedBytes(value, (bits >> 3) + 1);
}

/** The two's-complement big-endian form in exactly `length` bytes; the caller makes sure that the value fits. */
export function fixedBytes(value: bigint, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let rest = BigInt.asUintN(8 * length, value);
  for (let i = length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

/** Reads a two's-complement big-endian integer; no bytes are 0. */
export function integerFromBytes(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return BigInt.asIntN(8 * bytes.length, value);
}
