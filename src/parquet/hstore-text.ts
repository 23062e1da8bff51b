/** The text form of hstore, as hstore_out writes it (PostgreSQL manual, "hstore"): `"key"=>"value", "other"=>NULL`. */

/** What is found in an hstore, in order: a key, then its value. A backslash in either stands for the byte behind it. */
export interface PairSink {
  key(bytes: Buffer, at: number, length: number): void;
  value(bytes: Buffer, at: number, length: number): void;
  nullValue(): void;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Gives the pairs in `bytes[at, at + length)` to the sink; false when that is no text of an hstore. */
export function parseHstore(bytes: Buffer, at: number, length: number, sink: PairSink): boolean {
  const end = at + length;
  let pos = at;
  while (pos < end) {
    if (pos > at && !(bytes[pos++] === 0x2c && bytes[pos++] === 0x20)) return false;
    let close = quoteEnd(bytes, pos, end);
    if (close < 0 || bytes[close + 1] !== 0x3d || bytes[close + 2] !== 0x3e || close + 3 >= end) return false;
    sink.key(bytes, pos + 1, close - pos - 1);
    pos = close + 3;
    if (bytes[pos] === QUOTE) {
      close = quoteEnd(bytes, pos, end);
      if (close < 0) return false;
      sink.value(bytes, pos + 1, close - pos - 1);
      pos = close + 1;
    } else {
      if (pos + 4 > end || bytes.toString('latin1', pos, pos + 4) !== 'NULL') return false;
      sink.nullValue();
      pos += 4;
    }
  }
  return true;
}

/** Position of the quote that closes the one at `pos`; -1 when there is no such pair. */
function quoteEnd(bytes: Buffer, pos: number, end: number): number {
  if (pos >= end || bytes[pos] !== QUOTE) return -1;
  for (pos++; pos < end && bytes[pos] !== QUOTE; pos++) if (bytes[pos] === BACKSLASH) pos++;
  return pos < end ? pos : -1;
}

const SHORT: Readonly<Record<number, string>> = { 0x08: '\\b', 0x09: '\\t', 0x0a: '\\n', 0x0c: '\\f', 0x0d: '\\r' };

/** Most bytes of JSON for a byte of hstore text: a control character. */
export const JSON_GROWTH = 6;

/**
 * Writes hstore text as a JSON object of strings and nulls at `target` of `out`, keys in the order of the text; returns the end,
 * -1 for what is no hstore. Both forms escape quotes and backslashes alike, so only control characters change.
 */
export function hstoreToJson(bytes: Buffer, at: number, length: number, out: Buffer, target: number): number {
  let pos = target;
  const quoted = (from: Buffer, start: number, count: number): void => {
    out[pos++] = QUOTE;
    for (let i = start; i < start + count; i++) {
      if (from[i] >= 0x20) out[pos++] = from[i];
      else pos += out.write(SHORT[from[i]] ?? `\\u${from[i].toString(16).toUpperCase().padStart(4, '0')}`, pos, 'latin1');
    }
    out[pos++] = QUOTE;
  };
  out[pos++] = 0x7b;
  const whole = parseHstore(bytes, at, length, {
    key: (from, start, count) => {
      if (pos > target + 1) out[pos++] = 0x2c;
      quoted(from, start, count);
      out[pos++] = 0x3a;
    },
    value: quoted,
    nullValue: () => { pos += out.write('null', pos, 'latin1'); },
  });
  out[pos++] = 0x7d;
  return whole ? pos : -1;
}
