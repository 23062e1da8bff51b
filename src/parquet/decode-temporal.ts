import { ABOVE, BELOW, COLON, DOT, isWord, MALFORMED, MINUS, OK, type Outcome, PLUS, SPACE, writeInt64, writeMillionths, ZERO } from './decode.js';

/** 0001-01-01 and 9999-12-31 in days since 1970, and the microsecond at each end: the range every engine reads. */
export const FIRST_DAY = -719162;
export const LAST_DAY = 2932896;
const DAY_MICROS = 86_400_000_000;

/** Days from 1970-01-01 to a day of the proleptic Gregorian calendar; year 0 is 1 BC. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = (((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) | 0) + day - 1;
  return era * 146097 + yearOfEra * 365 + (yearOfEra >> 2) - ((yearOfEra / 100) | 0) + dayOfYear - 719468;
}

// Cursor of the parse functions below: where they stopped and what they read. One thread decodes one value at a time.
let cursor = 0;
let year = 0;
let month = 0;
let day = 0;
let micros = 0;

/** date: `YYYY-MM-DD`, more year digits, ` BC`, `infinity`; days since 1970. */
export function decodeDate(bytes: Buffer, at: number, length: number, out: Int32Array, index: number): Outcome {
  const end = at + length;
  if (!parseDate(bytes, at, end)) return infinity(bytes, at, length);
  if (!parseEra(bytes, end)) return MALFORMED;
  out[index] = daysFromCivil(year, month, day);
  return OK;
}

/** time: `HH:MM:SS[.ffffff]`; microseconds of the day. 24:00:00 is ABOVE. */
export function decodeTime(bytes: Buffer, at: number, length: number, out: Int32Array, index: number): Outcome {
  if (!parseTime(bytes, at, at + length) || cursor !== at + length) return MALFORMED;
  if (micros >= DAY_MICROS) return micros === DAY_MICROS ? ABOVE : MALFORMED;
  writeInt64(out, index, micros);
  return OK;
}

/** timestamp: `YYYY-MM-DD HH:MM:SS[.ffffff][ BC]` or ±infinity; microseconds since 1970 of the wall clock. */
export function decodeTimestamp(bytes: Buffer, at: number, length: number, out: Int32Array, index: number): Outcome {
  return timestamp(bytes, at, length, out, index, false);
}

/** timestamptz: as timestamp with an offset `+HH[:MM[:SS]]` before the era; microseconds since 1970 UTC. */
export function decodeTimestamptz(bytes: Buffer, at: number, length: number, out: Int32Array, index: number): Outcome {
  return timestamp(bytes, at, length, out, index, true);
}

function timestamp(bytes: Buffer, at: number, length: number, out: Int32Array, index: number, zoned: boolean): Outcome {
  const end = at + length;
  if (!parseDate(bytes, at, end)) return infinity(bytes, at, length);
  if (bytes[cursor] !== SPACE || !parseTime(bytes, cursor + 1, end)) return MALFORMED;
  let offset = 0;
  if (zoned) {
    const sign = bytes[cursor];
    if (cursor >= end || (sign !== PLUS && sign !== MINUS)) return MALFORMED;
    offset = parseOffset(bytes, cursor + 1, end);
    if (offset < 0) return MALFORMED;
    if (sign === MINUS) offset = -offset;
  }
  if (!parseEra(bytes, end)) return MALFORMED;
  const wholeSeconds = Math.floor(micros / 1_000_000);
  const seconds = daysFromCivil(year, month, day) * 86400 + wholeSeconds - offset;
  if (writeMillionths(out, index, seconds, micros - wholeSeconds * 1_000_000)) return OK;
  return seconds > 0 ? ABOVE : BELOW;
}

/** Reads year, month and day; the cursor is behind them. */
function parseDate(bytes: Buffer, pos: number, end: number): boolean {
  year = 0;
  const start = pos;
  for (; pos < end; pos++) {
    const digit = bytes[pos] - ZERO;
    if (digit < 0 || digit > 9) break;
    year = year * 10 + digit;
  }
  if (pos - start < 4 || pos - start > 7 || pos + 6 > end || bytes[pos] !== MINUS || bytes[pos + 3] !== MINUS) return false;
  month = twoDigits(bytes, pos + 1);
  day = twoDigits(bytes, pos + 4);
  cursor = pos + 6;
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/** Reads a time of day into `micros`; the cursor is behind it. */
function parseTime(bytes: Buffer, pos: number, end: number): boolean {
  if (pos + 8 > end || bytes[pos + 2] !== COLON || bytes[pos + 5] !== COLON) return false;
  const hours = twoDigits(bytes, pos);
  const minutes = twoDigits(bytes, pos + 3);
  const seconds = twoDigits(bytes, pos + 6);
  if (hours < 0 || minutes < 0 || seconds < 0 || hours > 24 || minutes > 59 || seconds > 60) return false;
  let fraction = 0;
  pos += 8;
  if (pos < end && bytes[pos] === DOT) {
    let unit = 1_000_000;
    for (pos++; pos < end; pos++) {
      const digit = bytes[pos] - ZERO;
      if (digit < 0 || digit > 9) break;
      if (unit === 1) return false;
      unit /= 10;
      fraction += digit * unit;
    }
  }
  cursor = pos;
  micros = (hours * 3600 + minutes * 60 + seconds) * 1_000_000 + fraction;
  return true;
}

/** Reads `HH[:MM[:SS]]` as seconds, -1 when it is none; the cursor is behind it. */
function parseOffset(bytes: Buffer, pos: number, end: number): number {
  let seconds = 0;
  for (let unit = 3600; unit >= 1; unit /= 60) {
    if (pos + 2 > end) return -1;
    const value = twoDigits(bytes, pos);
    if (value < 0) return -1;
    seconds += value * unit;
    pos += 2;
    if (pos >= end || bytes[pos] !== COLON) break;
    pos++;
  }
  cursor = pos;
  return seconds;
}

/** Reads an optional ` BC` up to `end` and turns the year astronomical. */
function parseEra(bytes: Buffer, end: number): boolean {
  if (cursor === end) return true;
  if (end - cursor !== 3 || !isWord(bytes, cursor, 3, ' BC')) return false;
  year = 1 - year;
  return true;
}

function twoDigits(bytes: Buffer, pos: number): number {
  const tens = bytes[pos] - ZERO;
  const ones = bytes[pos + 1] - ZERO;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}

function infinity(bytes: Buffer, at: number, length: number): Outcome {
  if (isWord(bytes, at, length, 'infinity')) return ABOVE;
  if (isWord(bytes, at, length, '-infinity')) return BELOW;
  return MALFORMED;
}

/** Nearest day that every engine reads. */
export function clampDate(out: Int32Array, index: number, above: boolean): void {
  out[index] = above ? LAST_DAY : FIRST_DAY;
}

/** 23:59:59.999999 for 24:00:00. */
export function clampTime(out: Int32Array, index: number): void {
  writeInt64(out, index, DAY_MICROS - 1);
}

/** Nearest microsecond of the years 0001 to 9999. */
export function clampTimestamp(out: Int32Array, index: number, above: boolean): void {
  if (above) writeMillionths(out, index, (LAST_DAY + 1) * 86400 - 1, 999_999);
  else writeMillionths(out, index, FIRST_DAY * 86400, 0);
}
