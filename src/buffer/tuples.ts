import { LENGTH_NULL, LENGTH_UNCHANGED_TOAST, type TupleView } from '../pgoutput/messages.js';
import { TupleBuffer } from '../pgoutput/tuple.js';
import type { Arena } from './arena.js';

const KIND_NULL = 0x6e; // n
const KIND_UNCHANGED = 0x75; // u
const KIND_TEXT = 0x74; // t

/** Where an unchanged TOAST value may be taken from, in order of preference. */
export interface FillSource {
  readonly view: TupleView;
  /** Only these columns carry values; undefined = all do (a 'key' tuple has null markers elsewhere). */
  readonly ordinals: readonly number[] | undefined;
}

/** True when any of the columns that may be stored out of line was not sent. */
export function hasUnchanged(view: TupleView, toastable: readonly number[]): boolean {
  const { lengths } = view;
  for (let i = 0; i < toastable.length; i++) if (lengths[toastable[i]] === LENGTH_UNCHANGED_TOAST) return true;
  return false;
}

/** A second view for a tuple that lies in an arena. */
export function viewOf(bytes: Uint8Array, start: number, end: number): TupleBuffer {
  const view = new TupleBuffer();
  view.read(bytes, start, end);
  return view;
}

function writeColumn(arena: Arena, view: TupleView, ordinal: number): void {
  const length = view.lengths[ordinal];
  if (length === LENGTH_NULL) return arena.byte(KIND_NULL);
  if (length === LENGTH_UNCHANGED_TOAST) return arena.byte(KIND_UNCHANGED);
  arena.byte(KIND_TEXT);
  arena.int32(length);
  arena.append(view.buffer, view.offsets[ordinal], view.offsets[ordinal] + length);
}

/**
 * Writes a tuple with every unchanged column taken from the first source that has a value for it. `sources` may lie in the
 * same arena. Returns where it begins and whether a column is still unknown.
 */
export function writeFilled(arena: Arena, view: TupleView, sources: readonly FillSource[]): { offset: number; open: boolean } {
  const size = view.end - view.start + sources.reduce((sum, s) => sum + s.view.end - s.view.start, 0);
  // Before the first write: growing would move a source that lies in this arena.
  arena.reserve(size + 16);
  const offset = arena.length;
  let open = false;
  arena.int16(view.columnCount);
  for (let i = 0; i < view.columnCount; i++) {
    if (view.lengths[i] !== LENGTH_UNCHANGED_TOAST) {
      writeColumn(arena, view, i);
      continue;
    }
    const source = sources.find((s) => i < s.view.columnCount && s.view.lengths[i] !== LENGTH_UNCHANGED_TOAST && (s.ordinals === undefined || s.ordinals.includes(i)));
    if (source === undefined) open = true;
    writeColumn(arena, source?.view ?? view, i);
  }
  return { offset, open };
}

/** Writes a tuple of the named columns only: the row of an equality delete file, and the form in which keys are compared. */
export function writeKey(arena: Arena, view: TupleView, ordinals: readonly number[]): number {
  const offset = arena.length;
  arena.int16(ordinals.length);
  for (const ordinal of ordinals) writeColumn(arena, view, ordinal);
  return offset;
}

/** Writes a tuple of the columns at `ordinals`, in that order; -1 stands for NULL. */
export function writeMapped(arena: Arena, view: TupleView, ordinals: Int32Array): void {
  arena.int16(ordinals.length);
  for (const ordinal of ordinals) {
    if (ordinal < 0) arena.byte(KIND_NULL);
    else writeColumn(arena, view, ordinal);
  }
}

/** Writes a tuple from text values; `undefined` keeps what `view` has. */
export function writePatched(arena: Arena, view: TupleView, values: ReadonlyMap<number, string | null>): number {
  const offset = arena.length;
  arena.int16(view.columnCount);
  for (let i = 0; i < view.columnCount; i++) {
    const value = view.lengths[i] === LENGTH_UNCHANGED_TOAST ? values.get(i) : undefined;
    if (value === undefined) writeColumn(arena, view, i);
    else if (value === null) arena.byte(KIND_NULL);
    else {
      const bytes = Buffer.from(value, 'utf8');
      arena.byte(KIND_TEXT);
      arena.int32(bytes.length);
      arena.append(bytes, 0, bytes.length);
    }
  }
  return offset;
}
