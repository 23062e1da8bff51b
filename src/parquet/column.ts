import type { Data } from 'apache-arrow';
import { WalbergError } from '../errors/error.js';
import type { BoundValue } from '../iceberg/spec/bounds.js';
import type { IcebergType } from '../iceberg/spec/types.js';
import type { SpecialPolicy } from '../schema/codec.js';
import { ABOVE, BELOW, type Decoder, LOSSY, NOT_A_NUMBER, OK, type Outcome } from './decode.js';
import { release } from './release.js';
import { BATCH_ROWS, type Batch } from './scan.js';

/** What a column needs for its values, whatever their type. */
export interface ColumnPlace {
  readonly table: string;
  readonly name: string;
  readonly required: boolean;
  /** Slot of the scanned batch; -1 for metadata columns. */
  readonly slot: number;
  /** What happens to values the type cannot hold. */
  readonly special: SpecialPolicy;
}

/** Lower and upper bound of a column; the upper one may be missing when the values were too long to give one. */
export interface Bounds {
  readonly lower: BoundValue;
  readonly upper?: BoundValue;
}

/** Counts and bounds of one column of Parquet, which for a nested type is that of its elements. */
export interface LeafMetrics {
  readonly fieldId: number;
  readonly type: IcebergType;
  /** Values, nulls among them. */
  readonly values: number;
  readonly nulls: number;
  readonly nans: number;
  readonly bounds?: Bounds;
}

/**
 * One column of the file: the values of the current row group as Arrow buffers, and counts and bounds of the whole file.
 * Buffers are kept from one row group to the next.
 */
export abstract class Column {
  /** Rows and nulls of the current row group. */
  rows = 0;
  nulls = 0;
  /** Of all row groups so far. */
  totalNulls = 0;
  totalNans = 0;
  replaced = 0;
  protected capacity = 0;
  #validity = new Uint8Array(0);

  constructor(readonly place: ColumnPlace) {}

  /** Appends the values of a scanned batch. */
  abstract append(batch: Batch): void;
  /** Bytes of the current row group's values. */
  abstract byteSize(): number;
  /** The current row group as Arrow data; valid until `reset`. */
  abstract data(): Data;
  /** Bounds of all values so far, undefined when there is none or the type has none. */
  abstract bounds(): Bounds | undefined;
  /** Makes room for `capacity` values, keeping the present ones. */
  protected abstract grow(capacity: number): void;

  /** Counts and bounds of the whole file, given the column's field id and type and the number of rows. */
  metrics(fieldId: number, type: IcebergType, rows: number): readonly LeafMetrics[] {
    return [{ fieldId, type, values: rows, nulls: this.totalNulls, nans: this.totalNans, bounds: this.bounds() }];
  }

  /** The present value that the Parquet library must have refused, as an error; undefined when all are fine. */
  refused(): WalbergError | undefined {
    return undefined;
  }

  /** Begins the next row group. */
  reset(): void {
    if (this.nulls > 0) this.#validity.fill(0xff);
    this.rows = 0;
    this.nulls = 0;
  }

  /** Frees the buffers; the column cannot be used any more, but its counts and bounds can. */
  free(): void {
    release(this.#validity.buffer);
  }

  /** The Arrow validity bitmap, undefined when no row is null. */
  protected get validity(): Uint8Array | undefined {
    return this.nulls === 0 ? undefined : this.#validity;
  }

  protected isNull(row: number): boolean {
    return (this.#validity[row >> 3] & (1 << (row & 7))) === 0;
  }

  /** Makes room for `more` rows after the present ones; to be called with the expected rows of a row group before the first one. */
  reserve(more: number): void {
    const needed = this.rows + more;
    if (needed <= this.capacity) return;
    const capacity = Math.max(needed, this.capacity * 2, 256);
    const validity = new Uint8Array((capacity + 7) >> 3).fill(0xff);
    validity.set(this.#validity);
    release(this.#validity.buffer);
    this.#validity = validity;
    this.grow(capacity);
    this.capacity = capacity;
  }

  protected setNull(row: number): void {
    if (this.place.required) throw this.invalid('the column is required, and a value is NULL');
    this.#validity[row >> 3] &= ~(1 << (row & 7));
    this.nulls++;
    this.totalNulls++;
  }

  /** Error about a value of this column; never names the value. */
  protected invalid(what: string, hint?: string): WalbergError {
    const { table, name } = this.place;
    return new WalbergError('VALUE_INVALID', `${table}, column ${name}: ${what}`, { context: { table, column: name }, hint });
  }

  /** Deals with a value that could not be decoded: throws, or says by returning true that the nearest value is to be written. */
  protected replace(outcome: Outcome, row: number): boolean {
    const { special } = this.place;
    const what = WHAT[outcome];
    if (what === undefined) throw this.invalid('a value has not the text form of its type');
    if (outcome === LOSSY) throw this.invalid(what, 'Widen the scale of the Iceberg column.');
    if (special === 'fail') throw this.invalid(what, 'Set walberg.special-values to null or clamp, or correct the value at the source.');
    this.replaced++;
    if (special === 'clamp' && outcome !== NOT_A_NUMBER) return true;
    this.setNull(row);
    return false;
  }
}

const WHAT: Readonly<Record<number, string>> = {
  [ABOVE]: 'a value is above what the Iceberg type can hold, or infinity',
  [BELOW]: 'a value is below what the Iceberg type can hold, or -infinity',
  [NOT_A_NUMBER]: 'a value is NaN, which the Iceberg type cannot hold',
  [LOSSY]: 'a value has more fraction digits than the Iceberg column',
};

/** Writes the nearest value the type can hold. */
export type Clamp<T> = (out: T, index: number, above: boolean) => void;

/** A column of fixed-width values in one typed array. */
export abstract class FixedWidthColumn<T extends { readonly buffer: ArrayBufferLike }> extends Column {
  protected abstract values: T;

  override free(): void {
    super.free();
    release(this.values.buffer);
  }

  constructor(place: ColumnPlace, protected readonly decode: Decoder<T>, private readonly clamp?: Clamp<T>) {
    super(place);
  }

  append(batch: Batch): void {
    const { arena, side, offsets, lengths, rows } = batch;
    this.reserve(rows);
    const { decode, values } = this;
    const from = this.rows;
    const nullsBefore = this.nulls;
    let slot = this.place.slot * BATCH_ROWS;
    for (let row = from; row < from + rows; row++, slot++) {
      const length = lengths[slot];
      if (length < 0) {
        this.setNull(row);
        continue;
      }
      const at = offsets[slot];
      const outcome = at >= 0 ? decode(arena, at, length, values, row) : decode(side, ~at, length, values, row);
      if (outcome !== OK) this.#unusual(outcome, row);
    }
    this.rows = from + rows;
    this.observe(from, this.rows, this.nulls > nullsBefore);
  }

  /** Takes rows [from, to) into the bounds; `nulls`: some of them may be null. */
  protected abstract observe(from: number, to: number, nulls: boolean): void;

  #unusual(outcome: Outcome, row: number): void {
    // Without a clamp function there is no policy either: int and long text out of range is a defect of the schema, not a special value.
    if (this.clamp === undefined) throw this.invalid(outcome === ABOVE || outcome === BELOW ? 'a value does not fit the Iceberg type' : 'a value has not the text form of its type');
    if (this.replace(outcome, row)) this.clamp(this.values, row, outcome === ABOVE);
  }
}
