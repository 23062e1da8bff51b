import type { OldTupleKind, TupleView } from '../pgoutput/messages.js';
import { Arena } from './arena.js';
import { keyText } from './open-rows.js';
import type { Segment } from './segment.js';
import { hasUnchanged, viewOf, writeFilled } from './tuples.js';

/**
 * The net effect of one transaction on a table whose keys may repeat while it runs (a deferrable key under REPLICA IDENTITY
 * FULL): `id = id + 1` passes through states in which two rows have one key, so the key does not say which row an event
 * means. The whole old tuple does. A row born and gone in the transaction leaves nothing; all deletes come before all
 * inserts. Holds the transaction as a whole.
 */
export class TransactionStage {
  /** Rows written by this transaction, by their bytes; a table may hold equal rows. */
  #born = new Map<string, { tuple: Uint8Array; count: number }>();
  #gone: { kind: 'key' | 'full'; tuple: Uint8Array }[] = [];
  #bytes = 0;

  constructor(private readonly toastable: readonly number[]) {}

  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#born.size === 0 && this.#gone.length === 0;
  }

  insert(row: TupleView): void {
    this.#add(copyOf(row));
  }

  update(kind: OldTupleKind, old: TupleView | undefined, row: TupleView): void {
    let tuple = copyOf(row);
    if (old !== undefined) {
      if (hasUnchanged(row, this.toastable)) tuple = filled(row, old);
      this.delete(kind === 'full' ? 'full' : 'key', old);
    }
    this.#add(tuple);
  }

  delete(kind: 'key' | 'full', old: TupleView): void {
    const tuple = copyOf(old);
    const text = keyText(tuple, 0, tuple.length);
    const born = this.#born.get(text);
    if (born === undefined) this.#gone.push({ kind, tuple });
    else if (--born.count === 0) this.#born.delete(text);
    this.#bytes += born === undefined ? tuple.length + 64 : 0;
  }

  /** Everything before it in this transaction is void. */
  clear(): void {
    this.#born = new Map();
    this.#gone = [];
    this.#bytes = 0;
  }

  /** Merges the net effect into the segment; the stage is empty afterwards. */
  apply(segment: Segment, transaction: number): void {
    for (const { kind, tuple } of this.#gone) segment.delete(kind, viewOf(tuple, 0, tuple.length), transaction);
    for (const { tuple, count } of this.#born.values()) {
      for (let i = 0; i < count; i++) segment.insert(viewOf(tuple, 0, tuple.length), transaction);
    }
    this.clear();
  }

  #add(tuple: Uint8Array): void {
    const text = keyText(tuple, 0, tuple.length);
    const same = this.#born.get(text);
    if (same === undefined) this.#born.set(text, { tuple, count: 1 });
    else same.count++;
    this.#bytes += tuple.length * 2 + 64;
  }
}

function copyOf(view: TupleView): Uint8Array {
  return new Uint8Array(view.buffer.subarray(view.start, view.end));
}

function filled(row: TupleView, old: TupleView): Uint8Array {
  const arena = new Arena(row.end - row.start + old.end - old.start + 16);
  writeFilled(arena, row, [{ view: old, ordinals: undefined }]);
  return arena.bytes.subarray(0, arena.length);
}
