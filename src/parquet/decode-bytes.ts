import { HEX, MALFORMED, MINUS, OK, type Decoder, type Outcome } from './decode.js';

const BACKSLASH = 0x5c;
const LOWER_X = 0x78;

/** uuid: 8-4-4-4-12 hex digits to 16 bytes, big-endian as Parquet's UUID annotation asks. */
export function decodeUuid(bytes: Buffer, at: number, length: number, out: Uint8Array, index: number): Outcome {
  if (length !== 36) return MALFORMED;
  let target = index * 16;
  let pos = at;
  let bad = 0;
  for (let group = 0; group < 5; group++) {
    for (let n = group === 0 ? 4 : group === 4 ? 6 : 2; n > 0; n--) {
      const high = HEX[bytes[pos]];
      const low = HEX[bytes[pos + 1]];
      bad |= high | low;
      out[target++] = (high << 4) | low;
      pos += 2;
    }
    if (group < 4 && bytes[pos++] !== MINUS) return MALFORMED;
  }
  return bad < 0 ? MALFORMED : OK;
}

/** Decoder of bytea hex text of exactly `width` bytes. */
export function fixedDecoder(width: number): Decoder<Uint8Array> {
  return (bytes, at, length, out, index) => (length === 2 + 2 * width && hexToBytes(bytes, at, length, out, index * width) >= 0 ? OK : MALFORMED);
}

/** Writes the bytes of bytea hex text (`\x…`) at `target`; returns the position behind them, or -1 when the text is none. */
export function hexToBytes(bytes: Buffer, at: number, length: number, out: Uint8Array, target: number): number {
  if (length < 2 || (length & 1) !== 0 || bytes[at] !== BACKSLASH || bytes[at + 1] !== LOWER_X) return -1;
  const end = at + length;
  let bad = 0;
  for (let pos = at + 2; pos < end; pos += 2) {
    const high = HEX[bytes[pos]];
    const low = HEX[bytes[pos + 1]];
    bad |= high | low;
    out[target++] = (high << 4) | low;
  }
  return bad < 0 ? -1 : target;
}
