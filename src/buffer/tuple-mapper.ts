import type { TupleView } from '../pgoutput/messages.js';
import { TupleBuffer } from '../pgoutput/tuple.js';
import { Arena } from './arena.js';
import { writeMapped } from './tuples.js';

/** Rewrites tuples of one relation into the column order of another. What it returns is valid until the next tuple of the same kind. */
export class TupleMapper {
  readonly #row = { arena: new Arena(4096), view: new TupleBuffer() };
  readonly #old = { arena: new Arena(4096), view: new TupleBuffer() };

  /** `ordinals`: for each column of the result its place in the tuples that come, -1 = NULL. */
  constructor(private readonly ordinals: Int32Array) {}

  row(view: TupleView): TupleView {
    return this.#map(view, this.#row);
  }

  /** An old tuple, which is needed beside the new one. */
  old(view: TupleView): TupleView {
    return this.#map(view, this.#old);
  }

  #map(view: TupleView, { arena, view: mapped }: { readonly arena: Arena; readonly view: TupleBuffer }): TupleView {
    arena.length = 0;
    writeMapped(arena, view, this.ordinals);
    mapped.read(arena.bytes, 0, arena.length);
    return mapped;
  }
}
