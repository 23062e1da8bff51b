/**
 * The text form of Postgres arrays, as array_out writes it (PostgreSQL manual, "Arrays", "Array Input and Output Syntax"):
 * `{1,NULL,"a \"quoted\" one"}`, with the bounds in front when the first one is not 1: `[2:3]={5,6}`.
 */

/** What is found in an array, in order. Positions are in the bytes that are parsed. */
export interface ElementSink {
  /** The text of an element as it is. */
  element(bytes: Buffer, at: number, length: number): void;
  /** The text of an element in which each backslash stands for the byte behind it. */
  escapedElement(bytes: Buffer, at: number, length: number): void;
  nullElement(): void;
}

export type ArrayOutcome = number;
/** One dimension, or none: an empty array. */
export const ONE_DIMENSION: ArrayOutcome = 0;
/** More than one dimension; nothing was given to the sink. */
export const MANY_DIMENSIONS: ArrayOutcome = 1;
/** No text of an array; the sink may have been given some of it. */
export const NO_ARRAY: ArrayOutcome = 2;

const QUOTE = 0x22;
const EQUALS = 0x3d;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * Gives the elements of the array text of `length` bytes from `at` to the sink. `delimiter` is the byte between elements
 * (pg_type.typdelim): a comma for all built-in types but box. Bounds are passed over.
 */
export function parseArray(bytes: Buffer, at: number, length: number, delimiter: number, sink: ElementSink): ArrayOutcome {
  const end = at + length;
  let pos = at;
  if (length > 0 && bytes[pos] === OPEN_BRACKET) {
    while (pos < end && bytes[pos] !== EQUALS) pos++;
    pos++;
  }
  if (pos + 1 >= end || bytes[pos] !== OPEN) return NO_ARRAY;
  pos++;
  if (bytes[pos] === CLOSE) return pos + 1 === end ? ONE_DIMENSION : NO_ARRAY;
  // An element that begins with a brace would be quoted.
  if (bytes[pos] === OPEN) return MANY_DIMENSIONS;
  for (;;) {
    if (pos < end && bytes[pos] === QUOTE) {
      const start = ++pos;
      let escaped = false;
      for (; pos < end && bytes[pos] !== QUOTE; pos++) {
        if (bytes[pos] !== BACKSLASH) continue;
        escaped = true;
        pos++;
      }
      if (pos >= end) return NO_ARRAY;
      if (escaped) sink.escapedElement(bytes, start, pos - start);
      else sink.element(bytes, start, pos - start);
      pos++;
    } else {
      const start = pos;
      let byte = 0;
      while (pos < end && (byte = bytes[pos]) !== delimiter && byte !== CLOSE && byte !== OPEN && byte !== QUOTE && byte !== BACKSLASH) pos++;
      if (pos === start) return NO_ARRAY;
      if (pos - start === 4 && isNull(bytes, start)) sink.nullElement();
      else sink.element(bytes, start, pos - start);
    }
    if (pos >= end) return NO_ARRAY;
    const after = bytes[pos++];
    if (after === CLOSE) return pos === end ? ONE_DIMENSION : NO_ARRAY;
    if (after !== delimiter) return NO_ARRAY;
  }
}

/** An element with this text would be quoted, in whatever case. */
function isNull(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0x4e && bytes[at + 1] === 0x55 && bytes[at + 2] === 0x4c && bytes[at + 3] === 0x4c;
}
