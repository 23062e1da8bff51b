import { LENGTH_NULL, type TupleView } from '../../src/pgoutput/messages.js';
import { malformed } from '../../src/pgoutput/malformed.js';
import { TupleBuffer } from '../../src/pgoutput/tuple.js';

const TAB = 0x09;
const NEWLINE = 0x0a;
const BACKSLASH = 0x5c;
const NULL_MARK = 0x4e; // N

/**
 * Reads rows of COPY text format (PostgreSQL manual, COPY, "Text Format") as the same tuple views the stream delivers, so
 * that one code path builds columns from both. Escapes are resolved in place: the result is never longer.
 */
export class CopyRowReader {
  readonly #row = new TupleBuffer();

  constructor(private readonly columnCount: number) {
    this.#row.reserve(columnCount);
    this.#row.columnCount = columnCount;
  }

  /**
   * Calls `onRow` for every row of `chunk`, which must hold whole rows and is changed by this. The view and what it points to
   * are valid during the call only. Returns the number of rows.
   */
  read(chunk: Buffer, onRow: (row: TupleView) => void): number {
    const { offsets, lengths } = this.#row;
    const end = chunk.length;
    this.#row.buffer = chunk;
    let rows = 0;
    let pos = 0;
    while (pos < end) {
      let column = 0;
      // A table without columns has empty lines.
      if (this.columnCount === 0) {
        if (chunk[pos++] !== NEWLINE) throw malformed('a COPY row has more columns than were asked for');
      } else {
        for (;;) {
          const start = pos;
          let byte = 0;
          while (pos < end && (byte = chunk[pos]) !== TAB && byte !== NEWLINE && byte !== BACKSLASH) pos++;
          let length = pos - start;
          if (pos < end && byte === BACKSLASH) {
            if (chunk[pos + 1] === NULL_MARK && pos === start) {
              length = LENGTH_NULL;
              pos += 2;
            } else {
              pos = this.#unescape(chunk, pos, end);
              length = this.#written - start;
            }
            byte = pos < end ? chunk[pos] : 0;
          }
          if (pos >= end) throw malformed('a COPY row has no end');
          if (column >= this.columnCount) throw malformed('a COPY row has more columns than were asked for');
          offsets[column] = start;
          lengths[column] = length;
          column++;
          pos++;
          if (byte === NEWLINE) break;
          if (byte !== TAB) throw malformed('a COPY value does not end in a tab or a line end');
        }
        if (column !== this.columnCount) throw malformed(`a COPY row has ${column} columns instead of ${this.columnCount}`);
      }
      rows++;
      onRow(this.#row);
    }
    return rows;
  }

  /** End of the unescaped bytes after #unescape. */
  #written = 0;

  /** Resolves the escapes of one value from the first backslash at `pos` on; returns where the value's text ends. */
  #unescape(chunk: Buffer, pos: number, end: number): number {
    let out = pos;
    while (pos < end) {
      const byte = chunk[pos];
      if (byte === TAB || byte === NEWLINE) break;
      if (byte !== BACKSLASH) {
        chunk[out++] = byte;
        pos++;
        continue;
      }
      if (pos + 1 >= end) throw malformed('a COPY row ends in a backslash');
      chunk[out++] = unescaped(chunk[pos + 1]);
      pos += 2;
    }
    this.#written = out;
    return pos;
  }
}

/** COPY TO writes \b \f \n \r \t \v and \\; any other escaped byte stands for itself. */
function unescaped(byte: number): number {
  switch (byte) {
    case 0x62: return 0x08;
    case 0x66: return 0x0c;
    case 0x6e: return 0x0a;
    case 0x72: return 0x0d;
    case 0x74: return 0x09;
    case 0x76: return 0x0b;
    default: return byte;
  }
}
