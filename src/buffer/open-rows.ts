import { LENGTH_UNCHANGED_TOAST, type TupleView } from '../pgoutput/messages.js';
import { Arena } from './arena.js';
import { viewOf, writeFilled, writePatched } from './tuples.js';

/** A row that lacks a value which was not sent because it did not change. */
export interface OpenRow {
  /** The whole tuple, pgoutput form, unchanged columns marked. */
  readonly tuple: Uint8Array;
  readonly op: number;
  readonly commitTimeMicros: bigint;
  readonly commitLsn: bigint;
  readonly xid: number;
  /**
   * The row goes on from the row that had this key before the segment, so what it lacks is what that row had. False when the
   * key was taken over from another row meanwhile.
   */
  readonly continues: boolean;
}

/** The key in written form as a Map key: one character per byte. */
export function keyText(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}

/** The text values of a written key, in key column order. */
export function keyValues(key: string): string[] {
  const bytes = Buffer.from(key, 'latin1');
  const view = viewOf(bytes, 0, bytes.length);
  return Array.from({ length: view.columnCount }, (_, i) => textOf(view, i));
}

function textOf(view: TupleView, ordinal: number): string {
  return Buffer.from(view.buffer.buffer, view.buffer.byteOffset + view.offsets[ordinal], view.lengths[ordinal]).toString('utf8');
}

/** Ordinals of the columns a row lacks. */
export function lacking(row: OpenRow): number[] {
  const view = viewOf(row.tuple, 0, row.tuple.length);
  return Array.from({ length: view.columnCount }, (_, i) => i).filter((i) => view.lengths[i] === LENGTH_UNCHANGED_TOAST);
}

/** `later` with what it lacks taken from the row it goes on from, as far as that has it. */
export function continueFrom(earlier: OpenRow, later: OpenRow): OpenRow {
  const arena = new Arena(earlier.tuple.length + later.tuple.length + 16);
  writeFilled(arena, viewOf(later.tuple, 0, later.tuple.length), [{ view: viewOf(earlier.tuple, 0, earlier.tuple.length), ordinals: undefined }]);
  return { ...later, tuple: arena.bytes.subarray(0, arena.length), continues: earlier.continues };
}

/** Rows with the values found for them, in the form the encoder takes. */
export function patchRows(rows: readonly { readonly row: OpenRow; readonly values: ReadonlyMap<number, string | null> }[]): { arena: Uint8Array; rowOffsets: Int32Array } {
  const arena = new Arena(65_536);
  const rowOffsets = Int32Array.from(rows, ({ row, values }) => writePatched(arena, viewOf(row.tuple, 0, row.tuple.length), values));
  return { arena: arena.bytes, rowOffsets };
}
