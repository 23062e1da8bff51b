import type { TupleView } from '../pgoutput/messages.js';
import { Arena } from './arena.js';
import { withRoom } from './growing.js';
import type { SealedRows } from './segment.js';
import { type FillSource, hasUnchanged, writeFilled } from './tuples.js';

export const ROW_DEAD = 0;
export const ROW_LIVE = 1;
/** A value is not known yet: an unchanged TOAST value that nothing in the batch tells. */
export const ROW_OPEN = 2;
export type RowState = 0 | 1 | 2;

const INITIAL_ROWS = 512;

/** Rows as they came from the wire, in order of arrival. A row that is superseded is marked dead and never decoded. */
export class Rows {
  readonly arena: Arena;
  count = 0;
  live = 0;
  open = 0;
  offsets = new Int32Array(INITIAL_ROWS);
  ops = new Uint8Array(INITIAL_ROWS);
  transactions = new Uint32Array(INITIAL_ROWS);
  states = new Uint8Array(INITIAL_ROWS);

  constructor(private readonly toastable: readonly number[], initialBytes = 65_536) {
    this.arena = new Arena(initialBytes);
  }

  /** Bytes held besides the rows themselves. */
  get overheadBytes(): number {
    return this.offsets.byteLength + this.ops.byteLength + this.transactions.byteLength + this.states.byteLength;
  }

  /** Appends a row; values it leaves out come from `sources` where they have them. Returns its index. */
  add(view: TupleView, op: number, transaction: number, sources: readonly FillSource[]): number {
    const row = this.count++;
    this.offsets = withRoom(this.offsets, row);
    this.ops = withRoom(this.ops, row);
    this.transactions = withRoom(this.transactions, row);
    this.states = withRoom(this.states, row);
    let state: RowState = ROW_LIVE;
    if (hasUnchanged(view, this.toastable)) {
      const { offset, open } = writeFilled(this.arena, view, sources);
      this.offsets[row] = offset;
      if (open) state = ROW_OPEN;
    } else {
      this.offsets[row] = this.arena.append(view.buffer, view.start, view.end);
    }
    this.ops[row] = op;
    this.transactions[row] = transaction;
    this.states[row] = state;
    if (state === ROW_OPEN) this.open++;
    this.live++;
    return row;
  }

  /** Marks a row as superseded. */
  kill(row: number): void {
    if (this.states[row] === ROW_OPEN) this.open--;
    this.states[row] = ROW_DEAD;
    this.live--;
  }

  /** The rows that stay and are complete; undefined when there are none. */
  seal(): SealedRows | undefined {
    const count = this.live - this.open;
    if (count === 0) return undefined;
    const sealed = { arena: this.arena.bytes, rowOffsets: new Int32Array(count), ops: new Uint8Array(count), transactions: new Uint32Array(count) };
    for (let row = 0, n = 0; row < this.count; row++) {
      if (this.states[row] !== ROW_LIVE) continue;
      sealed.rowOffsets[n] = this.offsets[row];
      sealed.ops[n] = this.ops[row];
      sealed.transactions[n++] = this.transactions[row];
    }
    return sealed;
  }

  /** End of the bytes of a row. Rows lie one behind the other. */
  end(row: number): number {
    return row + 1 < this.count ? this.offsets[row + 1] : this.arena.length;
  }
}
