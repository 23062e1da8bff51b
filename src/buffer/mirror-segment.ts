import { OP_CREATE, OP_DELETE, OP_UPDATE } from '../parquet/encode-types.js';
import { LENGTH_UNCHANGED_TOAST, type OldTupleKind, type TupleView } from '../pgoutput/messages.js';
import { TupleBuffer } from '../pgoutput/tuple.js';
import { Arena } from './arena.js';
import { withRoom } from './growing.js';
import { KeyIndex } from './key-index.js';
import { keyText, type OpenRow } from './open-rows.js';
import { Rows, ROW_OPEN } from './rows.js';
import type { SealedSegment, Segment, SegmentLayout } from './segment.js';
import type { TransactionList } from './transactions.js';
import { type FillSource, viewOf, writeFilled } from './tuples.js';

/** The key may have a row in the table from before this segment. */
const FLAG_DELETE = 1;
/** The newest row goes on from the row that had the key before this segment. */
const FLAG_CONTINUES = 2;

export interface MirrorSegmentLayout extends SegmentLayout {
  /** Deleted rows stay as rows marked deleted. */
  readonly keepDeletes: boolean;
  /** An INSERT replaces what has the key already: deleted rows that were kept, or rows a load brings later. */
  readonly deleteOnInsert: boolean;
}

/**
 * The net effect of a run of changes, by key: at most one row and at most one delete per key. A key that is first seen in an
 * INSERT had no row before, so it needs no delete, and when it is deleted again nothing is left of it.
 */
export class MirrorSegment implements Segment {
  readonly #rows: Rows;
  readonly #keys: KeyIndex;
  /** Newest row of each entry, -1 = none. */
  #entryRows = new Int32Array(512);
  #entryFlags = new Uint8Array(512);
  /** For the row an update starts from. */
  readonly #previous = new TupleBuffer();

  constructor(private readonly layout: MirrorSegmentLayout, initialBytes?: number) {
    this.#rows = new Rows(layout.toastable, initialBytes);
    this.#keys = new KeyIndex(layout.keyOrdinals, layout.tableName);
  }

  get bytes(): number {
    return this.#rows.arena.length + this.#keys.keys.length + this.#rows.overheadBytes + this.#keys.overheadBytes + this.#entryRows.byteLength + this.#entryFlags.byteLength;
  }

  get isEmpty(): boolean {
    return this.#keys.size === 0;
  }

  insert(row: TupleView, transaction: number): void {
    this.#put(row, OP_CREATE, transaction, this.layout.deleteOnInsert ? FLAG_DELETE : 0, []);
  }

  update(kind: OldTupleKind, old: TupleView | undefined, row: TupleView, transaction: number): void {
    const { keyOrdinals } = this.layout;
    const fill: FillSource[] = old === undefined ? [] : [{ view: old, ordinals: kind === 'full' ? undefined : keyOrdinals }];
    const whole = old === undefined ? row : withKey(row, keyOrdinals, fill);
    if (old === undefined || sameKey(old, whole, keyOrdinals)) {
      this.#put(whole, OP_UPDATE, transaction, FLAG_DELETE | FLAG_CONTINUES, fill);
      return;
    }
    // The new key had no row before, or its row has gone in an earlier change of this stream.
    const from = this.#keys.find(old);
    if (from >= 0 && this.#entryRows[from] >= 0) fill.push({ view: this.#rowView(this.#entryRows[from]), ordinals: undefined });
    this.#put(whole, OP_UPDATE, transaction, this.layout.deleteOnInsert ? FLAG_DELETE : 0, fill);
    this.#remove(old, transaction);
  }

  delete(_kind: 'key' | 'full', old: TupleView, transaction: number): void {
    this.#remove(old, transaction);
  }

  seal(transactions: TransactionList): SealedSegment {
    const deletes: number[] = [];
    const open = new Map<string, OpenRow>();
    const keys = this.#keys;
    for (let entry = 0; entry < keys.size; entry++) {
      if ((this.#entryFlags[entry] & FLAG_DELETE) !== 0) deletes.push(keys.keyOffsets[entry]);
      const row = this.#entryRows[entry];
      if (row >= 0 && this.#rows.states[row] === ROW_OPEN) open.set(keyText(keys.keys.bytes, keys.keyOffsets[entry], keys.keyEnd(entry)), this.#openRow(entry, row, transactions));
    }
    return {
      rows: this.#rows.seal(),
      // The keys stay here for `touches`, so the encoder gets a copy of the bytes.
      deletes: deletes.length === 0 ? undefined : { arena: new Uint8Array(keys.keys.bytes.subarray(0, keys.keys.length)), rowOffsets: Int32Array.from(deletes) },
      open,
    };
  }

  touches(key: string): boolean {
    return this.#entryOf(key) >= 0;
  }

  keeps(key: string, ordinals: readonly number[]): boolean {
    const entry = this.#entryOf(key);
    if (entry < 0) return true;
    if ((this.#entryFlags[entry] & FLAG_CONTINUES) === 0) return false;
    const row = this.#entryRows[entry];
    if (row < 0 || this.#rows.states[row] !== ROW_OPEN) return false;
    const view = this.#rowView(row);
    return ordinals.every((i) => view.lengths[i] === LENGTH_UNCHANGED_TOAST);
  }

  #entryOf(key: string): number {
    const bytes = Buffer.from(key, 'latin1');
    return this.#keys.find(viewOf(bytes, 0, bytes.length), this.layout.keyOrdinals.map((_, i) => i));
  }

  #openRow(entry: number, row: number, transactions: TransactionList): OpenRow {
    const rows = this.#rows;
    const transaction = rows.transactions[row];
    return {
      tuple: new Uint8Array(rows.arena.bytes.subarray(rows.offsets[row], rows.end(row))),
      op: rows.ops[row],
      commitTimeMicros: transactions.commitTimesMicros[transaction],
      commitLsn: transactions.commitLsns[transaction],
      xid: transactions.xids[transaction],
      continues: (this.#entryFlags[entry] & FLAG_CONTINUES) !== 0,
    };
  }

  /** Sets the row of its key. `firstFlags` apply when the key is new here; a known key keeps its own. */
  #put(row: TupleView, op: number, transaction: number, firstFlags: number, fill: FillSource[]): void {
    const known = this.#keys.size;
    const entry = this.#keys.findOrAdd(row);
    if (this.#keys.size > known) {
      this.#addEntry(entry, firstFlags);
    } else {
      const previous = this.#entryRows[entry];
      // An update of a row that is here goes on from it; what is put on a key without a row is another row.
      if (previous < 0) this.#entryFlags[entry] &= ~FLAG_CONTINUES;
      else {
        if (op === OP_UPDATE && this.layout.toastable.length > 0 && (firstFlags & FLAG_CONTINUES) !== 0) fill.push({ view: this.#rowView(previous), ordinals: undefined });
        else this.#entryFlags[entry] &= ~FLAG_CONTINUES;
        this.#rows.kill(previous);
      }
    }
    this.#entryRows[entry] = this.#rows.add(row, op, transaction, fill);
  }

  #remove(old: TupleView, transaction: number): void {
    if (this.layout.keepDeletes) {
      this.#put(old, OP_DELETE, transaction, FLAG_DELETE, []);
      return;
    }
    const known = this.#keys.size;
    const entry = this.#keys.findOrAdd(old);
    if (this.#keys.size > known) {
      this.#addEntry(entry, FLAG_DELETE);
      return;
    }
    if (this.#entryRows[entry] >= 0) this.#rows.kill(this.#entryRows[entry]);
    this.#entryRows[entry] = -1;
    this.#entryFlags[entry] &= ~FLAG_CONTINUES;
  }

  #addEntry(entry: number, flags: number): void {
    this.#entryRows = withRoom(this.#entryRows, entry);
    this.#entryFlags = withRoom(this.#entryFlags, entry);
    this.#entryRows[entry] = -1;
    this.#entryFlags[entry] = flags;
  }

  #rowView(row: number): TupleView {
    this.#previous.read(this.#rows.arena.bytes, this.#rows.offsets[row], this.#rows.arena.length);
    return this.#previous;
  }
}

/** A key column may itself be stored out of line and then be left out of the new row; the old tuple has it. */
function withKey(row: TupleView, keyOrdinals: readonly number[], fill: readonly FillSource[]): TupleView {
  if (!keyOrdinals.some((k) => row.lengths[k] === LENGTH_UNCHANGED_TOAST)) return row;
  const arena = new Arena(row.end - row.start + 64);
  writeFilled(arena, row, fill);
  return viewOf(arena.bytes, 0, arena.length);
}

function sameKey(old: TupleView, row: TupleView, keyOrdinals: readonly number[]): boolean {
  return keyOrdinals.every((k) => {
    if (old.lengths[k] !== row.lengths[k]) return false;
    for (let b = 0; b < old.lengths[k]; b++) if (old.buffer[old.offsets[k] + b] !== row.buffer[row.offsets[k] + b]) return false;
    return true;
  });
}
