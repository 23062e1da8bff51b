import { type Data, Field, List, makeData } from 'apache-arrow';
import type { WalbergError } from '../errors/error.js';
import type { IcebergType, ListType } from '../iceberg/spec/types.js';
import { type ElementSink, MANY_DIMENSIONS, NO_ARRAY, parseArray } from './array-text.js';
import { type Bounds, Column, type ColumnPlace, type LeafMetrics } from './column.js';
import { release } from './release.js';
import { BATCH_ROWS, type Batch, SLOT_NULL } from './scan.js';

const BACKSLASH = 0x5c;

/** Elements found in arrays, as a batch of one slot for the column of the elements. */
class ElementBatch implements Batch {
  arena: Buffer = Buffer.alloc(0);
  side: Buffer = Buffer.alloc(0);
  readonly offsets = new Int32Array(BATCH_ROWS);
  readonly lengths = new Int32Array(BATCH_ROWS);
  readonly first = 0;
  rows = 0;
  sideEnd = 0;

  /** Makes room for `length` bytes behind `sideEnd`. */
  room(length: number): void {
    if (this.sideEnd + length <= this.side.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.side.length * 2, this.sideEnd + length, 4096));
    larger.set(this.side.subarray(0, this.sideEnd));
    this.side = larger;
  }
}

/**
 * list of a primitive type, from the text of one-dimensional arrays: Arrow offsets into a column of the elements. An array of
 * more dimensions goes by the special policy; as there is no nearest list, clamp makes it null too.
 */
export class ListColumn extends Column implements ElementSink {
  #offsets = new Int32Array(1);
  /** Elements of the current row group, and of all so far. */
  #count = 0;
  #totalCount = 0;
  /** Rows without any element: empty arrays and nulls. */
  #totalEmpty = 0;
  #manyDimensions = 0;
  readonly #elements = new ElementBatch();
  readonly #delimiter: number;

  constructor(place: ColumnPlace, private readonly type: ListType, private readonly child: Column, delimiter: string) {
    super(place);
    this.#delimiter = delimiter.charCodeAt(0);
  }

  append(batch: Batch): void {
    const { arena, side, lengths, rows } = batch;
    this.reserve(rows);
    this.#elements.arena = arena;
    const before = this.#count;
    let slot = this.place.slot * BATCH_ROWS;
    for (let row = this.rows; row < this.rows + rows; row++, slot++) {
      const length = lengths[slot];
      const count = this.#count;
      if (length < 0) {
        this.setNull(row);
      } else {
        const at = batch.offsets[slot];
        const outcome = at >= 0 ? parseArray(arena, at, length, this.#delimiter, this) : parseArray(side, ~at, length, this.#delimiter, this);
        if (outcome === MANY_DIMENSIONS) this.#special(row);
        else if (outcome === NO_ARRAY) throw this.invalid('a value has not the text form of its type');
      }
      if (this.#count === count) this.#totalEmpty++;
      this.#offsets[row + 1] = this.#count;
    }
    this.rows += rows;
    this.#flush();
    this.#totalCount += this.#count - before;
    this.replaced = this.#manyDimensions + this.child.replaced;
  }

  element(bytes: Buffer, at: number, length: number): void {
    const elements = this.#elements;
    if (elements.rows === BATCH_ROWS) this.#flush();
    elements.lengths[elements.rows] = length;
    if (bytes === elements.arena) {
      elements.offsets[elements.rows] = at;
    } else {
      elements.room(length);
      elements.offsets[elements.rows] = ~elements.sideEnd;
      elements.sideEnd += bytes.copy(elements.side, elements.sideEnd, at, at + length);
    }
    elements.rows++;
    this.#count++;
  }

  escapedElement(bytes: Buffer, at: number, length: number): void {
    const elements = this.#elements;
    if (elements.rows === BATCH_ROWS) this.#flush();
    elements.room(length);
    const { side } = elements;
    const from = elements.sideEnd;
    let out = from;
    for (let pos = at; pos < at + length; pos++) {
      if (bytes[pos] === BACKSLASH) pos++;
      side[out++] = bytes[pos];
    }
    elements.offsets[elements.rows] = ~from;
    elements.lengths[elements.rows] = out - from;
    elements.sideEnd = out;
    elements.rows++;
    this.#count++;
  }

  nullElement(): void {
    const elements = this.#elements;
    if (elements.rows === BATCH_ROWS) this.#flush();
    elements.lengths[elements.rows++] = SLOT_NULL;
    this.#count++;
  }

  /** Hands the elements found so far to their column. */
  #flush(): void {
    const elements = this.#elements;
    if (elements.rows > 0) this.child.append(elements);
    elements.rows = 0;
    elements.sideEnd = 0;
  }

  #special(row: number): void {
    if (this.place.special === 'fail') {
      throw this.invalid('an array has more than one dimension, which the list of the Iceberg table cannot hold',
        'Set walberg.special-values=null to write NULL for such arrays, or write arrays as text to a new table with walberg.array-handling=text.');
    }
    this.#manyDimensions++;
    this.setNull(row);
  }

  protected grow(capacity: number): void {
    const offsets = new Int32Array(capacity + 1);
    offsets.set(this.#offsets);
    release(this.#offsets.buffer);
    this.#offsets = offsets;
  }

  override reset(): void {
    super.reset();
    this.child.reset();
    this.#count = 0;
  }

  override free(): void {
    super.free();
    this.child.free();
    release(this.#offsets.buffer);
  }

  override refused(): WalbergError | undefined {
    return this.child.refused();
  }

  byteSize(): number {
    return this.rows * 4 + this.child.byteSize();
  }

  /** Bounds of a list have no meaning. */
  bounds(): Bounds | undefined {
    return undefined;
  }

  /**
   * Counts of the elements alone, without bounds, as Java writers have them: rows without elements count as one value that is
   * null, which is what Parquet stores for them.
   */
  override metrics(_fieldId: number, _type: IcebergType): readonly LeafMetrics[] {
    return this.child.metrics(this.type['element-id'], this.type.element, this.#totalCount).map((leaf) => ({
      ...leaf, values: leaf.values + this.#totalEmpty, nulls: leaf.nulls + this.#totalEmpty, bounds: undefined,
    }));
  }

  data(): Data {
    const child = this.child.data();
    const element = new Field('element', child.type, true, new Map([['PARQUET:field_id', String(this.type['element-id'])]]));
    return makeData({ type: new List(element), length: this.rows, nullCount: this.nulls, nullBitmap: this.validity, valueOffsets: this.#offsets.subarray(0, this.rows + 1), child });
  }
}
