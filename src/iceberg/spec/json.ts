import { parse, stringify } from 'lossless-json';
import { WalbergError } from '../../errors/error.js';

/** Exactly the integers of the JSON grammar; anything with a fraction or an exponent is a floating-point number. */
const INTEGER = /^-?[0-9]+$/;

function parseNumber(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) || !INTEGER.test(text) ? value : BigInt(text);
}

/**
 * Reads JSON without losing integers: a number when a double holds it exactly (up to 2^53 - 1), a bigint otherwise.
 * Snapshot ids are random 63-bit integers, so `JSON.parse` would change most of them.
 *
 * @param what names the document in the error message ("table metadata s3://…")
 * @throws FILE_MALFORMED when the text is not JSON; the message never quotes the text
 */
export function parseJson(text: string, what = 'document'): unknown {
  try {
    return parse(text, null, parseNumber);
  } catch (error) {
    // The parser's own message quotes the offending text, which may hold property values such as secrets.
    const position = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined;
    throw new WalbergError('FILE_MALFORMED', `The ${what} is not valid JSON${position === undefined ? '' : ` (position ${position})`}.`, { context: { length: text.length } });
  }
}

/** Writes JSON with bigints as plain integers; undefined members are left out. `space` indents as in `JSON.stringify`. */
export function printJson(value: unknown, space?: number): string {
  const text = stringify(value, null, space);
  if (text === undefined) throw new WalbergError('INTERNAL', 'A value without a JSON form was to be printed.');
  return text;
}
