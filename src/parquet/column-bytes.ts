import { isUtf8 } from 'node:buffer';
import { Binary, type Data, makeData, Utf8 } from 'apache-arrow';
import type { WalbergError } from '../errors/error.js';
import { DEFAULT_BOUND_LENGTH, truncateLowerBinary, truncateLowerString, truncateUpperBinary, truncateUpperString } from '../iceberg/spec/truncate-bounds.js';
import { type Bounds, Column, type ColumnPlace } from './column.js';
import { hexToBytes } from './decode-bytes.js';
import { release } from './release.js';
import { BATCH_ROWS, type Batch } from './scan.js';

/** Writes the column's form of a value at `target` of `out`, which has room for `length` bytes times the column's growth, and ROOM more; returns the end, -1 when malformed. */
export type Writer = (bytes: Buffer, at: number, length: number, out: Buffer, target: number) => number;

/** Bytes a writer may add to the length of the text. */
const ROOM = 16;
/**
 * Bytes of a value that decide its truncated bounds: as many code points as are kept, at 4 bytes each, and one more to tell that
 * the value goes on.
 */
const PREFIX_BYTES = 4 * DEFAULT_BOUND_LENGTH + 1;

/** string and binary: Arrow offsets and bytes. */
export class BytesColumn extends Column {
  protected offsets = new Int32Array(1);
  protected values: Buffer = Buffer.alloc(0);
  protected end = 0;
  #low: Buffer | undefined;
  #high: Buffer | undefined;
  #lowLength = 0;
  #highLength = 0;

  /** `growth`: bytes that a byte of the text may become. */
  constructor(place: ColumnPlace, private readonly utf8: boolean, private readonly write: Writer, private readonly growth = 1) {
    super(place);
  }

  append(batch: Batch): void {
    const { arena, side, lengths, rows } = batch;
    const from = this.place.slot * BATCH_ROWS;
    let bytes = 0;
    for (let slot = from; slot < from + rows; slot++) if (lengths[slot] >= 0) bytes += lengths[slot] * this.growth + ROOM;
    this.reserve(rows);
    this.room(bytes);
    const { write, offsets, values } = this;
    let row = this.rows;
    let end = this.end;
    for (let slot = from; slot < from + rows; slot++, row++) {
      const length = lengths[slot];
      if (length < 0) {
        this.setNull(row);
      } else {
        const at = batch.offsets[slot];
        const start = end;
        end = at >= 0 ? write(arena, at, length, values, start) : write(side, ~at, length, values, start);
        if (end < 0) throw this.invalid('a value has not the text form of its type');
        this.observe(start, end);
      }
      offsets[row + 1] = end;
    }
    this.rows = row;
    this.end = end;
  }

  protected grow(capacity: number): void {
    const offsets = new Int32Array(capacity + 1);
    offsets.set(this.offsets);
    release(this.offsets.buffer);
    this.offsets = offsets;
  }

  /** Makes room for `bytes` more value bytes. */
  protected room(bytes: number): void {
    const needed = this.end + bytes;
    if (needed <= this.values.length) return;
    // What the whole row group will need if it goes on as it began, so that buffers are seldom moved.
    const expected = this.rows === 0 ? 0 : Math.min((this.end / this.rows) * this.capacity * 1.1, needed * 8);
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, expected, this.values.length * 1.25, 4096));
    larger.set(this.values.subarray(0, this.end));
    release(this.values.buffer);
    this.values = larger;
  }

  /** Appends one value for which there is room; used for metadata columns. */
  protected push(text: Buffer): void {
    const start = this.end;
    this.end = writeText(text, 0, text.length, this.values, start);
    this.observe(start, this.end);
    this.offsets[++this.rows] = this.end;
  }

  protected pushNull(): void {
    this.setNull(this.rows);
    this.offsets[++this.rows] = this.end;
  }

  override reset(): void {
    super.reset();
    this.end = 0;
  }

  /** Takes the value at [start, end) of `values` into the bounds. */
  protected observe(start: number, end: number): void {
    const { values } = this;
    const length = Math.min(end - start, PREFIX_BYTES);
    if (this.#low === undefined || this.#high === undefined) {
      this.#low = Buffer.alloc(PREFIX_BYTES);
      this.#high = Buffer.alloc(PREFIX_BYTES);
      values.copy(this.#low, 0, start, start + length);
      values.copy(this.#high, 0, start, start + length);
      this.#lowLength = this.#highLength = length;
      return;
    }
    if (comparePrefix(values, start, length, this.#low, this.#lowLength) < 0) {
      values.copy(this.#low, 0, start, start + length);
      this.#lowLength = length;
    } else if (comparePrefix(values, start, length, this.#high, this.#highLength) > 0) {
      values.copy(this.#high, 0, start, start + length);
      this.#highLength = length;
    }
  }

  /** A database with encoding SQL_ASCII sends any bytes; the library checks them all, so they are looked at here only after it refused. */
  override refused(): WalbergError | undefined {
    if (!this.utf8) return undefined;
    for (let row = 0; row < this.rows; row++) {
      if (!isUtf8(this.values.subarray(this.offsets[row], this.offsets[row + 1]))) return this.invalid('a value is not UTF-8', 'Correct the value at the source, or exclude the column.');
    }
    return undefined;
  }

  override free(): void {
    super.free();
    release(this.offsets.buffer, this.values.buffer);
  }

  byteSize(): number {
    return this.rows * 4 + this.end;
  }

  bounds(): Bounds | undefined {
    if (this.#low === undefined || this.#high === undefined) return undefined;
    const low = this.#low.subarray(0, this.#lowLength);
    const high = this.#high.subarray(0, this.#highLength);
    return this.utf8 ? { lower: truncateLowerString(low), upper: truncateUpperString(high) } : { lower: truncateLowerBinary(low), upper: truncateUpperBinary(high) };
  }

  data(): Data {
    const common = { length: this.rows, nullCount: this.nulls, nullBitmap: this.validity, valueOffsets: this.offsets.subarray(0, this.rows + 1), data: this.values.subarray(0, this.end) };
    return this.utf8 ? makeData({ type: new Utf8(), ...common }) : makeData({ type: new Binary(), ...common });
  }
}

function comparePrefix(values: Buffer, start: number, length: number, other: Buffer, otherLength: number): number {
  const common = length < otherLength ? length : otherLength;
  for (let i = 0; i < common; i++) {
    const difference = values[start + i] - other[i];
    if (difference !== 0) return difference;
  }
  return length - otherLength;
}

/** The text as it is. */
export const writeText: Writer = (bytes, at, length, out, target) => {
  if (length > 48) {
    bytes.copy(out, target, at, at + length);
  } else {
    for (let i = 0; i < length; i++) out[target + i] = bytes[at + i];
  }
  return target + length;
};

/** bytea hex text to its bytes. */
export const writeBinary: Writer = hexToBytes;

/** bytea hex text as text of another form. */
export function bytesTextWriter(form: 'base64' | 'base64-url-safe' | 'hex'): Writer {
  return (bytes, at, length, out, target) => {
    const raw = Buffer.allocUnsafe(Math.max(length - 2, 0) >> 1);
    if (hexToBytes(bytes, at, length, raw, 0) < 0) return -1;
    let text = raw.toString(form === 'hex' ? 'hex' : 'base64');
    // Padded, as java.util.Base64.getUrlEncoder writes it.
    if (form === 'base64-url-safe') text = text.replaceAll('+', '-').replaceAll('/', '_');
    return target + out.write(text, target, 'latin1');
  };
}
