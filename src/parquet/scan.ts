import { WalbergError } from '../errors/error.js';

/** Slot length of NULL and of a TOAST value the source left out; both are written as null. */
export const SLOT_NULL = -1;
export const SLOT_UNCHANGED = -2;

/** Most rows of one batch: small enough that offsets and lengths of a dozen columns stay in the processor's cache. */
export const BATCH_ROWS = 4096;
/** A batch ends early when its values reach this many bytes, so that huge values do not pile up. */
const BATCH_BYTES = 4 << 20;

const TAB = 0x09;
const NEWLINE = 0x0a;
const BACKSLASH = 0x5c;
const KIND_NULL = 0x6e; // n
const KIND_TEXT = 0x74; // t
const KIND_UNCHANGED = 0x75; // u
const NULL_MARK = 0x4e; // N

/**
 * Where the values of up to BATCH_ROWS rows are. The value of row i of slot s has `lengths[s * BATCH_ROWS + i]` bytes (or is
 * SLOT_NULL / SLOT_UNCHANGED) and begins at `offsets[...]` of `arena`; a negative offset o stands for `~o` in `side`, which
 * holds values whose COPY escapes had to be resolved.
 */
export interface Batch {
  readonly arena: Buffer;
  readonly side: Buffer;
  readonly offsets: Int32Array;
  readonly lengths: Int32Array;
  /** Index of the first row among the request's rows. */
  readonly first: number;
  readonly rows: number;
}

/** What the scanner reads: see EncodeRequest. */
export interface ScanInput {
  readonly format: 'tuple' | 'copy';
  readonly arena: Uint8Array;
  readonly rowOffsets: Int32Array;
  readonly sourceColumnNames: readonly string[];
  readonly tableName: string;
}

/** Walks rows and finds the values of the wanted columns, batch by batch, without touching the arena. */
export class RowScanner implements Batch {
  readonly arena: Buffer;
  readonly offsets: Int32Array;
  readonly lengths: Int32Array;
  side: Buffer = Buffer.alloc(0);
  first = 0;
  rows = 0;
  readonly #slots: Int16Array;
  #sideEnd = 0;

  /** `ordinals[s]` is the source column whose values go to slot s; ordinals are distinct. */
  constructor(private readonly input: ScanInput, ordinals: readonly number[]) {
    this.arena = Buffer.from(input.arena.buffer, input.arena.byteOffset, input.arena.byteLength);
    this.offsets = new Int32Array(ordinals.length * BATCH_ROWS);
    this.lengths = new Int32Array(ordinals.length * BATCH_ROWS);
    this.#slots = new Int16Array(input.sourceColumnNames.length).fill(-1);
    ordinals.forEach((ordinal, slot) => {
      if (!(ordinal >= 0 && ordinal < this.#slots.length)) throw this.#broken(`column ${ordinal} is asked for`);
      this.#slots[ordinal] = slot;
    });
  }

  /** Moves to the next batch of at most `limit` rows; false when there is none. */
  next(limit: number): boolean {
    this.first += this.rows;
    this.rows = 0;
    this.#sideEnd = 0;
    const rows = Math.min(limit, BATCH_ROWS, this.input.rowOffsets.length - this.first);
    if (rows <= 0) return false;
    this.rows = this.input.format === 'tuple' ? this.#scanTuples(rows) : this.#scanCopy(rows);
    return true;
  }

  #scanTuples(rows: number): number {
    const { arena, offsets, lengths } = this;
    const slots = this.#slots;
    const { rowOffsets } = this.input;
    const columns = slots.length;
    const end = arena.length;
    let bytes = 0;
    for (let row = 0; row < rows; row++) {
      let pos = rowOffsets[this.first + row];
      const start = pos;
      if (((arena[pos] << 8) | arena[pos + 1]) !== columns) throw this.#broken(`it does not have ${columns} columns`);
      pos += 2;
      for (let column = 0; column < columns; column++) {
        const slot = slots[column];
        const kind = arena[pos++];
        let length = SLOT_NULL;
        let at = 0;
        if (kind === KIND_TEXT) {
          length = (arena[pos] << 24) | (arena[pos + 1] << 16) | (arena[pos + 2] << 8) | arena[pos + 3];
          at = pos + 4;
          pos = at + length;
          if (length < 0 || pos > end) throw this.#broken('a value is cut off');
        } else if (kind === KIND_UNCHANGED) {
          length = SLOT_UNCHANGED;
        } else if (kind !== KIND_NULL) {
          throw this.#broken('a value has an unknown kind');
        }
        if (slot >= 0) {
          offsets[slot * BATCH_ROWS + row] = at;
          lengths[slot * BATCH_ROWS + row] = length;
        }
      }
      bytes += pos - start;
      if (bytes >= BATCH_BYTES) return row + 1;
    }
    return rows;
  }

  #scanCopy(rows: number): number {
    const { arena, offsets, lengths } = this;
    const slots = this.#slots;
    const { rowOffsets } = this.input;
    const columns = slots.length;
    const end = arena.length;
    let bytes = 0;
    for (let row = 0; row < rows; row++) {
      let pos = rowOffsets[this.first + row];
      const start = pos;
      for (let column = 0; column < columns; column++) {
        const slot = slots[column];
        let at = pos;
        let byte = 0;
        while (pos < end && (byte = arena[pos]) !== TAB && byte !== NEWLINE && byte !== BACKSLASH) pos++;
        let length = pos - at;
        if (pos < end && byte === BACKSLASH) {
          const begin = pos;
          pos = endOfValue(arena, pos, end);
          if (begin === at && pos === at + 2 && arena[at + 1] === NULL_MARK) {
            length = SLOT_NULL;
          } else if (slot >= 0) {
            const from = this.#sideEnd;
            this.#unescape(at, pos);
            length = this.#sideEnd - from;
            at = ~from;
          }
        }
        if (pos >= end || arena[pos] !== (column === columns - 1 ? NEWLINE : TAB)) throw this.#broken(`it does not have ${columns} columns`);
        pos++;
        if (slot >= 0) {
          offsets[slot * BATCH_ROWS + row] = at;
          lengths[slot * BATCH_ROWS + row] = length;
        }
      }
      if (columns === 0 && arena[pos] !== NEWLINE) throw this.#broken('it does not have 0 columns');
      bytes += pos - start;
      if (bytes >= BATCH_BYTES) return row + 1;
    }
    return rows;
  }

  /**
   * Appends the value in `arena[pos, end)` with its escapes resolved to `side`: \b \f \n \r \t \v, one to three octal digits,
   * x and one or two hex digits; any other escaped byte stands for itself (PostgreSQL manual, COPY, "Text Format").
   */
  #unescape(pos: number, end: number): void {
    const { arena } = this;
    if (this.#sideEnd + (end - pos) > this.side.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.side.length * 2, this.#sideEnd + (end - pos), 4096));
      larger.set(this.side.subarray(0, this.#sideEnd));
      this.side = larger;
    }
    const { side } = this;
    let out = this.#sideEnd;
    while (pos < end) {
      let byte = arena[pos++];
      if (byte === BACKSLASH && pos < end) {
        byte = arena[pos++];
        if (byte >= 0x30 && byte <= 0x37) {
          let value = byte - 0x30;
          for (let more = 0; more < 2 && pos < end && arena[pos] >= 0x30 && arena[pos] <= 0x37; more++) value = value * 8 + (arena[pos++] - 0x30);
          byte = value & 0xff;
        } else if (byte === 0x78 && pos < end && hexValue(arena[pos]) >= 0) {
          let value = hexValue(arena[pos++]);
          if (pos < end && hexValue(arena[pos]) >= 0) value = value * 16 + hexValue(arena[pos++]);
          byte = value;
        } else {
          byte = unescaped(byte);
        }
      }
      side[out++] = byte;
    }
    this.#sideEnd = out;
  }

  #broken(what: string): WalbergError {
    return new WalbergError('INTERNAL', `a buffered row of ${this.input.tableName} is malformed: ${what}`, { context: { table: this.input.tableName, format: this.input.format } });
  }
}

/** Position of the unescaped tab or newline that ends the value around `pos`. */
function endOfValue(arena: Uint8Array, pos: number, end: number): number {
  while (pos < end) {
    const byte = arena[pos];
    if (byte === TAB || byte === NEWLINE) break;
    pos += byte === BACKSLASH ? 2 : 1;
  }
  return pos;
}

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

/** Value of a hex digit byte, or -1. */
export function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
