/** One 32-bit rotation to the left. */
const rotate = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));

const mix = (k: number): number => Math.imul(rotate(Math.imul(k, 0xcc9e2d51), 15), 0x1b873593);

/** 32-bit Murmur3, x86 variant, seed 0, as a signed 32-bit integer (spec Appendix B, "32-bit Hash Requirements"). */
export function murmur3(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const body = bytes.length & ~3;
  let hash = 0;
  for (let i = 0; i < body; i += 4) hash = (Math.imul(rotate(hash ^ mix(view.getInt32(i, true)), 13), 5) + 0xe6546b64) | 0;

  let tail = 0;
  for (let i = bytes.length - 1; i >= body; i--) tail = (tail << 8) | bytes[i];
  hash ^= mix(tail) ^ bytes.length;

  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
