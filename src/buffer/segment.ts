import type { OldTupleKind, TupleView } from '../pgoutput/messages.js';
import type { OpenRow } from './open-rows.js';
import type { TransactionList } from './transactions.js';

/** What a segment needs to know of its table. Ordinals are positions in the source tuple. */
export interface SegmentLayout {
  readonly tableName: string;
  readonly keyOrdinals: readonly number[];
  /** Columns that an UPDATE may leave out. */
  readonly toastable: readonly number[];
}

/** Rows and keys to write, in the form the encoder takes. Metadata arrays are parallel to `rowOffsets`. */
export interface SealedRows {
  readonly arena: Uint8Array;
  readonly rowOffsets: Int32Array;
  readonly ops: Uint8Array;
  readonly transactions: Uint32Array;
}

/** What a segment leaves behind when it is sealed. */
export interface SealedSegment {
  /** Rows that stay; undefined when there are none. */
  readonly rows: SealedRows | undefined;
  /** Keys whose older rows go, as tuples of the key columns; undefined when there are none. */
  readonly deletes: { readonly arena: Uint8Array; readonly rowOffsets: Int32Array } | undefined;
  /** Rows that stay but lack a value, by written key. */
  readonly open: ReadonlyMap<string, OpenRow>;
}

/**
 * A part of one table's changes while it is filled. The tuple views are copied.
 * `transaction` is an index into the list of transactions the rows belong to.
 */
export interface Segment {
  readonly bytes: number;
  readonly isEmpty: boolean;
  insert(row: TupleView, transaction: number): void;
  update(kind: OldTupleKind, old: TupleView | undefined, row: TupleView, transaction: number): void;
  delete(kind: 'key' | 'full', old: TupleView, transaction: number): void;
  /** Whether a change of this key (in its written form) is here. */
  touches(key: string): boolean;
  /**
   * Whether the row that had this key before the segment is, as far as the segment tells, the same row still, and none of
   * these columns of it was given a value.
   */
  keeps(key: string, ordinals: readonly number[]): boolean;
  /** The segment takes no more changes; its rows belong to the caller. Ask `keeps` before. */
  seal(transactions: TransactionList): SealedSegment;
}
