import { type Data, Decimal, FixedSizeBinary, makeData } from 'apache-arrow';
import { type Bounds, type ColumnPlace, FixedWidthColumn } from './column.js';
import { fixedDecoder, decodeUuid } from './decode-bytes.js';
import { clampDecimal, decimalDecoder } from './decode-decimal.js';
import { release } from './release.js';

/** decimal(precision, scale): four little-endian 32-bit words a value. */
export class DecimalColumn extends FixedWidthColumn<Uint32Array> {
  protected values = new Uint32Array(0);
  #low: Uint32Array | undefined;
  #high: Uint32Array | undefined;

  constructor(place: ColumnPlace, private readonly precision: number, private readonly scale: number) {
    super(place, decimalDecoder(precision, scale), clampDecimal(precision));
  }

  protected grow(capacity: number): void {
    const values = new Uint32Array(4 * capacity);
    values.set(this.values);
    release(this.values.buffer);
    this.values = values;
  }
  protected observe(from: number, to: number, nulls: boolean): void {
    const { values } = this;
    for (let row = from; row < to; row++) {
      if (nulls && this.isNull(row)) continue;
      if (this.#low === undefined || this.#high === undefined) {
        this.#low = values.slice(4 * row, 4 * row + 4);
        this.#high = this.#low.slice();
      } else if (compareWords(values, 4 * row, this.#low) < 0) {
        for (let word = 0; word < 4; word++) this.#low[word] = values[4 * row + word];
      } else if (compareWords(values, 4 * row, this.#high) > 0) {
        for (let word = 0; word < 4; word++) this.#high[word] = values[4 * row + word];
      }
    }
  }
  byteSize(): number {
    return this.rows * 16;
  }
  bounds(): Bounds | undefined {
    if (this.#low === undefined || this.#high === undefined) return undefined;
    return { lower: unscaled(this.#low), upper: unscaled(this.#high) };
  }
  data(): Data {
    return makeData({ type: new Decimal(this.scale, this.precision, 128), length: this.rows, nullCount: this.nulls, nullBitmap: this.validity, data: this.values });
  }
}

function compareWords(values: Uint32Array, at: number, other: Uint32Array): number {
  const top = (values[at + 3] | 0) - (other[3] | 0);
  if (top !== 0) return top;
  for (let word = 2; word >= 0; word--) {
    const difference = values[at + word] - other[word];
    if (difference !== 0) return difference;
  }
  return 0;
}

function unscaled(words: Uint32Array): bigint {
  return (BigInt(words[3] | 0) << 96n) | (BigInt(words[2]) << 64n) | (BigInt(words[1]) << 32n) | BigInt(words[0]);
}

/** fixed(L). Bounds are the whole values. */
export class FixedColumn extends FixedWidthColumn<Uint8Array> {
  protected values = new Uint8Array(0);
  #low: Uint8Array | undefined;
  #high: Uint8Array | undefined;

  constructor(place: ColumnPlace, protected readonly width: number, decode = fixedDecoder(width)) {
    super(place, decode);
  }

  protected grow(capacity: number): void {
    const values = new Uint8Array(this.width * capacity);
    values.set(this.values);
    release(this.values.buffer);
    this.values = values;
  }
  protected observe(from: number, to: number, nulls: boolean): void {
    const { values, width } = this;
    for (let row = from; row < to; row++) {
      if (nulls && this.isNull(row)) continue;
      const value = values.subarray(row * width, (row + 1) * width);
      if (this.#low === undefined || Buffer.compare(value, this.#low) < 0) this.#low = value.slice();
      if (this.#high === undefined || Buffer.compare(value, this.#high) > 0) this.#high = value.slice();
    }
  }
  byteSize(): number {
    return this.rows * this.width;
  }
  bounds(): Bounds | undefined {
    if (this.#low === undefined || this.#high === undefined) return undefined;
    return { lower: this.#low, upper: this.#high };
  }
  data(): Data {
    return makeData({ type: new FixedSizeBinary(this.width), length: this.rows, nullCount: this.nulls, nullBitmap: this.validity, data: this.values });
  }
}

/** uuid. No bounds: readers order uuids differently and would skip files that hold the value. */
export class UuidColumn extends FixedColumn {
  constructor(place: ColumnPlace) {
    super(place, 16, decodeUuid);
  }
  protected override observe(): void {}
}
