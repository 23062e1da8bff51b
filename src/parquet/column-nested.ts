import { type Data, Field } from 'apache-arrow';
import type { WalbergError } from '../errors/error.js';
import { type Bounds, Column, type ColumnPlace, type LeafMetrics } from './column.js';
import { ElementBatch } from './element-batch.js';
import { release } from './release.js';
import { BATCH_ROWS, type Batch } from './scan.js';

/** A primitive column inside a nested one, with the field it is in Iceberg. */
export interface Child {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly column: Column;
}

/** A list or map of primitive values: Arrow offsets into columns of what is inside, which all have the same number of values. */
export abstract class NestedColumn extends Column {
  protected offsets = new Int32Array(1);
  protected readonly elements: readonly ElementBatch[];
  /** Elements of all row groups so far. */
  #totalCount = 0;
  /** Rows without any element: empty values and nulls. */
  #totalEmpty = 0;
  /** Values of this column, not of its elements, that were replaced. */
  protected ownReplaced = 0;

  constructor(place: ColumnPlace, protected readonly children: readonly Child[]) {
    super(place);
    this.elements = children.map(({ column }) => new ElementBatch(column));
  }

  /** Takes one value, which is not NULL, apart into `elements`. Throws when it cannot. */
  protected abstract take(row: number, bytes: Buffer, at: number, length: number): void;

  append(batch: Batch): void {
    const { arena, side, lengths, rows } = batch;
    this.reserve(rows);
    for (const elements of this.elements) elements.begin(batch);
    const [first] = this.elements;
    const before = first.count;
    let slot = this.place.slot * BATCH_ROWS;
    for (let row = this.rows; row < this.rows + rows; row++, slot++) {
      const length = lengths[slot];
      const count = first.count;
      const at = batch.offsets[slot];
      if (length < 0) this.setNull(row);
      else if (at >= 0) this.take(row, arena, at, length);
      else this.take(row, side, ~at, length);
      if (first.count === count) this.#totalEmpty++;
      this.offsets[row + 1] = first.count;
    }
    this.rows += rows;
    for (const elements of this.elements) elements.flush();
    this.#totalCount += first.count - before;
    this.replaced = this.children.reduce((sum, { column }) => sum + column.replaced, this.ownReplaced);
  }

  protected grow(capacity: number): void {
    const offsets = new Int32Array(capacity + 1);
    offsets.set(this.offsets);
    release(this.offsets.buffer);
    this.offsets = offsets;
  }

  override reset(): void {
    super.reset();
    for (const elements of this.elements) elements.reset();
  }

  override free(): void {
    super.free();
    for (const { column } of this.children) column.free();
    release(this.offsets.buffer);
  }

  override refused(): WalbergError | undefined {
    for (const { column } of this.children) {
      const refused = column.refused();
      if (refused !== undefined) return refused;
    }
    return undefined;
  }

  byteSize(): number {
    return this.children.reduce((sum, { column }) => sum + column.byteSize(), this.rows * 4);
  }

  /** Bounds of a nested value have no meaning. */
  bounds(): Bounds | undefined {
    return undefined;
  }

  /**
   * Counts of the elements alone, without bounds, as Java writers have them: rows without elements count as one value that is
   * null, which is what Parquet stores for them.
   */
  override metrics(): readonly LeafMetrics[] {
    return this.children.flatMap(({ id, type, column }) => column.metrics(id, type, this.#totalCount)).map((leaf) => ({
      ...leaf, values: leaf.values + this.#totalEmpty, nulls: leaf.nulls + this.#totalEmpty, bounds: undefined,
    }));
  }

  /** What Arrow data of nested types has in common. */
  protected arrow(): { length: number; nullCount: number; nullBitmap: Uint8Array | undefined; valueOffsets: Int32Array } {
    return { length: this.rows, nullCount: this.nulls, nullBitmap: this.validity, valueOffsets: this.offsets.subarray(0, this.rows + 1) };
  }
}

/** Arrow field of a child, with Iceberg's field id where the library looks for it. */
export function childField({ id, name, required }: Child, data: Data): Field {
  return new Field(name, data.type, !required, new Map([['PARQUET:field_id', String(id)]]));
}
