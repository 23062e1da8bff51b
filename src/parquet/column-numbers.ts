import { Bool, type Data, type DateDay, Float32, Float64, type Int32, type Int64, makeData, type TimeMicrosecond, type TimestampMicrosecond } from 'apache-arrow';
import { type Bounds, type Clamp, type ColumnPlace, FixedWidthColumn } from './column.js';
import { type Decoder } from './decode.js';
import { decodeBoolean } from './decode-integers.js';
import { release } from './release.js';

/** boolean, one bit a value. */
export class BooleanColumn extends FixedWidthColumn<Uint8Array> {
  protected values = new Uint8Array(0);
  #seen = 0; // 1 false, 2 true

  constructor(place: ColumnPlace) {
    super(place, decodeBoolean);
  }

  protected grow(capacity: number): void {
    const values = new Uint8Array((capacity + 7) >> 3);
    values.set(this.values);
    release(this.values.buffer);
    this.values = values;
  }
  override reset(): void {
    super.reset();
    this.values.fill(0);
  }
  protected observe(from: number, to: number): void {
    for (let row = from; row < to && this.#seen !== 3; row++) {
      if (!this.isNull(row)) this.#seen |= (this.values[row >> 3] >> (row & 7)) & 1 ? 2 : 1;
    }
  }
  byteSize(): number {
    return this.rows >> 3;
  }
  bounds(): Bounds | undefined {
    if (this.#seen === 0) return undefined;
    return { lower: (this.#seen & 1) === 0, upper: (this.#seen & 2) !== 0 };
  }
  data(): Data {
    return makeData({ type: new Bool(), length: this.rows, nullCount: this.nulls, nullBitmap: this.validity, data: this.values });
  }
}

/** int and date. */
export class Int32Column extends FixedWidthColumn<Int32Array> {
  protected values = new Int32Array(0);
  #low = Infinity;
  #high = -Infinity;

  constructor(place: ColumnPlace, private readonly type: Int32 | DateDay, decode: Decoder<Int32Array>, clamp?: Clamp<Int32Array>) {
    super(place, decode, clamp);
  }

  protected grow(capacity: number): void {
    const values = new Int32Array(capacity);
    values.set(this.values);
    release(this.values.buffer);
    this.values = values;
  }
  protected observe(from: number, to: number, nulls: boolean): void {
    const { values } = this;
    let low = this.#low;
    let high = this.#high;
    for (let row = from; row < to; row++) {
      if (nulls && this.isNull(row)) continue;
      const value = values[row];
      if (value < low) low = value;
      if (value > high) high = value;
    }
    this.#low = low;
    this.#high = high;
  }
  byteSize(): number {
    return this.rows * 4;
  }
  bounds(): Bounds | undefined {
    if (this.#low > this.#high) return undefined;
    return { lower: this.#low, upper: this.#high };
  }
  data(): Data {
    // All types of the union have this layout; the declaration wants one of them.
    return makeData({ type: this.type as Int32, length: this.rows, nullCount: this.nulls, nullBitmap: this.validity, data: this.values });
  }
}

/** long, time and timestamps: little-endian halves of 64-bit integers in an Int32Array. */
export class Int64Column extends FixedWidthColumn<Int32Array> {
  protected values = new Int32Array(0);
  #empty = true;
  #lowHigh = 0;
  #lowLow = 0;
  #highHigh = 0;
  #highLow = 0;

  constructor(place: ColumnPlace, private readonly type: Int64 | TimeMicrosecond | TimestampMicrosecond, decode: Decoder<Int32Array>, clamp?: Clamp<Int32Array>) {
    super(place, decode, clamp);
  }

  protected grow(capacity: number): void {
    const values = new Int32Array(2 * capacity);
    values.set(this.values);
    release(this.values.buffer);
    this.values = values;
  }
  protected observe(from: number, to: number, nulls: boolean): void {
    const { values } = this;
    for (let row = from; row < to; row++) {
      if (nulls && this.isNull(row)) continue;
      const low = values[2 * row] >>> 0;
      const high = values[2 * row + 1];
      if (this.#empty) {
        this.#empty = false;
        this.#lowHigh = this.#highHigh = high;
        this.#lowLow = this.#highLow = low;
        continue;
      }
      if (high < this.#lowHigh || (high === this.#lowHigh && low < this.#lowLow)) {
        this.#lowHigh = high;
        this.#lowLow = low;
      }
      if (high > this.#highHigh || (high === this.#highHigh && low > this.#highLow)) {
        this.#highHigh = high;
        this.#highLow = low;
      }
    }
  }
  byteSize(): number {
    return this.rows * 8;
  }
  bounds(): Bounds | undefined {
    if (this.#empty) return undefined;
    return { lower: joined(this.#lowHigh, this.#lowLow), upper: joined(this.#highHigh, this.#highLow) };
  }
  data(): Data {
    const data = new BigInt64Array(this.values.buffer, 0, this.rows);
    return makeData({ type: this.type as Int64, length: this.rows, nullCount: this.nulls, nullBitmap: this.validity, data });
  }

  /** Appends one 64-bit value given as halves; used for metadata columns, which have no text. */
  protected push(low: number, high: number): void {
    this.values[2 * this.rows] = low;
    this.values[2 * this.rows + 1] = high;
    this.rows++;
  }
}

function joined(high: number, low: number): bigint {
  return (BigInt(high) << 32n) | BigInt(low);
}

/** float and double; NaN counted, kept out of the bounds; -0 as a lower and +0 as an upper bound when zero is an end. */
export class FloatColumn extends FixedWidthColumn<Float32Array | Float64Array> {
  protected values: Float32Array | Float64Array;
  #low = Infinity;
  #high = -Infinity;
  #seen = false;

  constructor(place: ColumnPlace, private readonly single: boolean, decode: Decoder<Float32Array> | Decoder<Float64Array>) {
    super(place, decode as Decoder<Float32Array | Float64Array>);
    this.values = single ? new Float32Array(0) : new Float64Array(0);
  }

  protected grow(capacity: number): void {
    const values = this.single ? new Float32Array(capacity) : new Float64Array(capacity);
    values.set(this.values);
    release(this.values.buffer);
    this.values = values;
  }
  protected observe(from: number, to: number, nulls: boolean): void {
    const { values } = this;
    for (let row = from; row < to; row++) {
      if (nulls && this.isNull(row)) continue;
      const value = values[row];
      if (value !== value) {
        this.totalNans++;
        continue;
      }
      this.#seen = true;
      if (value < this.#low) this.#low = value;
      if (value > this.#high) this.#high = value;
    }
  }
  byteSize(): number {
    return this.rows * (this.single ? 4 : 8);
  }
  bounds(): Bounds | undefined {
    if (!this.#seen) return undefined;
    return { lower: this.#low === 0 ? -0 : this.#low, upper: this.#high === 0 ? 0 : this.#high };
  }
  data(): Data {
    const common = { length: this.rows, nullCount: this.nulls, nullBitmap: this.validity };
    const { values } = this;
    return values instanceof Float32Array ? makeData({ type: new Float32(), data: values, ...common }) : makeData({ type: new Float64(), data: values, ...common });
  }
}
