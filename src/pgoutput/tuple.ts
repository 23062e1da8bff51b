import { type TupleView, LENGTH_NULL, LENGTH_UNCHANGED_TOAST } from './messages.js';
import { malformed } from './malformed.js';

const KIND_NULL = 0x6e; // n
const KIND_UNCHANGED = 0x75; // u
const KIND_TEXT = 0x74; // t
const KIND_BINARY = 0x62; // b

/** The mutable side of a TupleView: filled again for every message, so a row costs no allocation. */
export class TupleBuffer implements TupleView {
  buffer: Uint8Array = new Uint8Array(0);
  columnCount = 0;
  offsets = new Int32Array(64);
  lengths = new Int32Array(64);
  start = 0;
  end = 0;

  /** Makes room for `columns` values. A table has at most 1,600 columns, so this grows a handful of times per process. */
  reserve(columns: number): void {
    if (columns <= this.offsets.length) return;
    const size = Math.max(columns, this.offsets.length * 2);
    this.offsets = new Int32Array(size);
    this.lengths = new Int32Array(size);
  }

  /**
   * Reads one TupleData that starts at `pos` and must end at or before `end`; returns the position behind it.
   * PostgreSQL manual, "Logical Replication Message Formats", TupleData.
   */
  read(buffer: Uint8Array, pos: number, end: number): number {
    if (pos + 2 > end) throw malformed('the column count is cut off');
    const count = (buffer[pos] << 8) | buffer[pos + 1];
    this.start = pos;
    pos += 2;
    if (count > this.offsets.length) this.reserve(count);
    const { offsets, lengths } = this;
    this.buffer = buffer;
    this.columnCount = count;
    for (let i = 0; i < count; i++) {
      if (pos >= end) throw malformed(`column ${i} of ${count} is missing`);
      const kind = buffer[pos++];
      if (kind === KIND_TEXT) {
        if (pos + 4 > end) throw malformed(`the length of column ${i} is cut off`);
        const length = (buffer[pos] << 24) | (buffer[pos + 1] << 16) | (buffer[pos + 2] << 8) | buffer[pos + 3];
        pos += 4;
        // `end - pos` is never negative here, so this also refuses a length with the sign bit set.
        if (length < 0 || length > end - pos) throw malformed(`column ${i} is longer than its message`);
        offsets[i] = pos;
        lengths[i] = length;
        pos += length;
      } else if (kind === KIND_NULL) {
        offsets[i] = 0;
        lengths[i] = LENGTH_NULL;
      } else if (kind === KIND_UNCHANGED) {
        offsets[i] = 0;
        lengths[i] = LENGTH_UNCHANGED_TOAST;
      } else if (kind === KIND_BINARY) {
        throw malformed(`column ${i} is in binary format, which was not asked for`);
      } else {
        throw malformed(`column ${i} has the unknown kind ${byteName(kind)}`);
      }
    }
    this.end = pos;
    return pos;
  }
}

/** `'x' (0x78)` for printable bytes, `0x07` for others. */
export function byteName(byte: number): string {
  const hex = `0x${byte.toString(16).padStart(2, '0')}`;
  return byte >= 0x21 && byte <= 0x7e ? `'${String.fromCharCode(byte)}' (${hex})` : hex;
}
