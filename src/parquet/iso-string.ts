import type { Writer } from './column-bytes.js';
import { COLON, MINUS, PLUS, SPACE, ZERO } from './decode.js';

const LETTER_T = 0x54;
const LETTER_Z = 0x5a;

/**
 * Date and time text of Postgres as ISO 8601, in the form of Debezium's isostring mode: `2023-11-21Z`, `10:15:30.5Z`,
 * `2023-11-21T10:15:30.5Z`. Years are astronomical (1 BC is `0000`) and signed beyond four digits; an offset other than UTC is
 * kept; ±infinity stays the word it is.
 */
export function isoWriter(of: 'date' | 'time' | 'timestamp' | 'timestamptz'): Writer {
  return (bytes, at, length, out, target) => {
    let end = at + length;
    if (of !== 'time') {
      const first = bytes[at] === MINUS ? bytes[at + 1] : bytes[at];
      if (first === 0x69) return target + bytes.copy(out, target, at, end);
      const beforeChrist = length > 3 && bytes[end - 1] === 0x43 && bytes[end - 2] === 0x42;
      if (beforeChrist) end -= 3;
      let year = 0;
      let pos = at;
      for (; pos < end && bytes[pos] !== MINUS; pos++) year = year * 10 + (bytes[pos] - ZERO);
      if (pos === end || pos - at < 4 || !Number.isInteger(year)) return -1;
      target = writeYear(out, target, beforeChrist ? 1 - year : year);
      at = pos;
    }
    let zone = end;
    if (of === 'timestamptz') {
      for (zone = end - 1; zone > at && bytes[zone] !== PLUS && bytes[zone] !== MINUS; zone--);
      if (end - zone < 3 || end - zone > 9) return -1;
    }
    for (let pos = at; pos < zone; pos++) out[target++] = bytes[pos] === SPACE ? LETTER_T : bytes[pos];
    if (offsetIsZero(bytes, zone + 1, end)) {
      out[target++] = LETTER_Z;
    } else {
      target += bytes.copy(out, target, zone, end);
      if (end - zone === 3) target += out.write(':00', target, 'latin1');
    }
    return target;
  };
}

function writeYear(out: Buffer, target: number, year: number): number {
  const digits = String(Math.abs(year)).padStart(4, '0');
  const sign = year < 0 ? '-' : year > 9999 ? '+' : '';
  return target + out.write(sign + digits, target, 'latin1');
}

function offsetIsZero(bytes: Buffer, pos: number, end: number): boolean {
  for (; pos < end; pos++) if (bytes[pos] !== ZERO && bytes[pos] !== COLON) return false;
  return true;
}
