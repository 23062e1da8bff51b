import type { Column } from './column.js';
import { BATCH_ROWS, type Batch, SLOT_NULL } from './scan.js';

const BACKSLASH = 0x5c;

/** Elements found in the text of nested values, handed on as batches of one slot to the column that holds them. */
export class ElementBatch implements Batch {
  arena: Buffer = Buffer.alloc(0);
  side: Buffer = Buffer.alloc(0);
  readonly offsets = new Int32Array(BATCH_ROWS);
  readonly lengths = new Int32Array(BATCH_ROWS);
  readonly first = 0;
  rows = 0;
  /** Elements since the last `reset`, those not handed on yet among them. */
  count = 0;
  #sideEnd = 0;

  constructor(private readonly column: Column) {}

  /** To be called before the elements of a scanned batch: bytes of its arena are referred to, others are copied. */
  begin(batch: Batch): void {
    this.arena = batch.arena;
  }

  /** The element in `bytes[at, at + length)` as it is. */
  add(bytes: Buffer, at: number, length: number): void {
    const row = this.#next();
    this.lengths[row] = length;
    if (bytes === this.arena) {
      this.offsets[row] = at;
      return;
    }
    this.#room(length);
    this.offsets[row] = ~this.#sideEnd;
    this.#sideEnd += bytes.copy(this.side, this.#sideEnd, at, at + length);
  }

  /** The element in `bytes[at, at + length)`, where each backslash stands for the byte behind it. */
  addEscaped(bytes: Buffer, at: number, length: number): void {
    const row = this.#next();
    this.#room(length);
    const { side } = this;
    let out = this.#sideEnd;
    for (let pos = at; pos < at + length; pos++) {
      if (bytes[pos] === BACKSLASH) pos++;
      side[out++] = bytes[pos];
    }
    this.offsets[row] = ~this.#sideEnd;
    this.lengths[row] = out - this.#sideEnd;
    this.#sideEnd = out;
  }

  addNull(): void {
    this.lengths[this.#next()] = SLOT_NULL;
  }

  /** Hands on what is left; to be called before the scanned batch goes. */
  flush(): void {
    if (this.rows > 0) this.column.append(this);
    this.rows = 0;
    this.#sideEnd = 0;
  }

  /** Begins the next row group. */
  reset(): void {
    this.count = 0;
    this.column.reset();
  }

  /** Row of a new element. */
  #next(): number {
    if (this.rows === BATCH_ROWS) this.flush();
    this.count++;
    return this.rows++;
  }

  #room(length: number): void {
    if (this.#sideEnd + length <= this.side.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.side.length * 2, this.#sideEnd + length, 4096));
    larger.set(this.side.subarray(0, this.#sideEnd));
    this.side = larger;
  }
}
