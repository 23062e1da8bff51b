import { OP_CREATE, OP_DELETE, OP_TRUNCATE, OP_UPDATE } from '../parquet/encode-types.js';
import type { OldTupleKind, TupleView } from '../pgoutput/messages.js';
import { Arena } from './arena.js';
import { Rows, ROW_LIVE, ROW_OPEN } from './rows.js';
import type { SealedSegment, Segment, SegmentLayout } from './segment.js';
import { viewOf } from './tuples.js';

export interface AppendSegmentLayout extends SegmentLayout {
  readonly columnCount: number;
  /** Operations that leave no row. */
  readonly skipped: ReadonlySet<'c' | 'u' | 'd' | 't'>;
}

/**
 * Every change as one row, in order. A changed key is a delete of the old and a create of the new one, as Debezium has it.
 * A value that was not sent stays unknown: a later state of the row would not be what this change made.
 */
export class AppendSegment implements Segment {
  readonly #rows: Rows;

  constructor(private readonly layout: AppendSegmentLayout, initialBytes?: number) {
    this.#rows = new Rows(layout.toastable, initialBytes);
  }

  get bytes(): number {
    return this.#rows.arena.length + this.#rows.overheadBytes;
  }

  get isEmpty(): boolean {
    return this.#rows.count === 0;
  }

  insert(row: TupleView, transaction: number): void {
    if (!this.layout.skipped.has('c')) this.#rows.add(row, OP_CREATE, transaction, []);
  }

  update(kind: OldTupleKind, old: TupleView | undefined, row: TupleView, transaction: number): void {
    if (this.layout.skipped.has('u')) return;
    const fill = old === undefined ? [] : [{ view: old, ordinals: kind === 'full' ? undefined : this.layout.keyOrdinals }];
    if (old === undefined || this.layout.keyOrdinals.length === 0 || !this.#keyChanged(old, row)) {
      this.#rows.add(row, OP_UPDATE, transaction, fill);
      return;
    }
    this.#rows.add(old, OP_DELETE, transaction, []);
    this.#rows.add(row, OP_CREATE, transaction, fill);
  }

  delete(_kind: 'key' | 'full', old: TupleView, transaction: number): void {
    if (!this.layout.skipped.has('d')) this.#rows.add(old, OP_DELETE, transaction, []);
  }

  /** A row of NULLs that says the table was truncated here. */
  truncate(transaction: number): void {
    if (this.layout.skipped.has('t')) return;
    const arena = new Arena(2 + this.layout.columnCount);
    arena.int16(this.layout.columnCount);
    for (let i = 0; i < this.layout.columnCount; i++) arena.byte(0x6e);
    this.#rows.add(viewOf(arena.bytes, 0, arena.length), OP_TRUNCATE, transaction, []);
  }

  seal(): SealedSegment {
    const rows = this.#rows;
    for (let row = 0; row < rows.count; row++) if (rows.states[row] === ROW_OPEN) rows.states[row] = ROW_LIVE;
    rows.open = 0;
    return { rows: rows.seal(), deletes: undefined, open: new Map() };
  }

  touches(): boolean {
    return false;
  }

  keeps(): boolean {
    return true;
  }

  #keyChanged(old: TupleView, row: TupleView): boolean {
    return this.layout.keyOrdinals.some((k) => {
      if (row.lengths[k] < -1) return false;
      return old.lengths[k] !== row.lengths[k] || !sameBytes(old, row, k);
    });
  }
}

function sameBytes(a: TupleView, b: TupleView, column: number): boolean {
  for (let i = 0; i < a.lengths[column]; i++) if (a.buffer[a.offsets[column] + i] !== b.buffer[b.offsets[column] + i]) return false;
  return true;
}
