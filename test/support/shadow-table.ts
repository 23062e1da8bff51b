import { keyValues, type OpenRow } from '../../src/buffer/open-rows.js';
import type { SealedSegment } from '../../src/buffer/segment.js';
import { viewOf } from '../../src/buffer/tuples.js';

/** A row as texts; undefined marks a value that was not sent. */
export type ShadowRow = readonly (string | null | undefined)[];

/** Reads a tuple by the plainest means. */
export function readTuple(bytes: Uint8Array, start = 0): ShadowRow {
  const view = viewOf(bytes, start, bytes.length);
  return Array.from({ length: view.columnCount }, (_, i) => {
    if (view.lengths[i] === -1) return null;
    if (view.lengths[i] === -2) return undefined;
    return Buffer.from(view.buffer.subarray(view.offsets[i], view.offsets[i] + view.lengths[i])).toString('utf8');
  });
}

/** An Iceberg table as readers see it: rows with sequence numbers, hidden by equality deletes with a higher one. */
export class ShadowTable {
  #rows: { key: string; row: ShadowRow; sequence: number }[] = [];
  #sequence = 0;

  constructor(private readonly keyOf: (row: ShadowRow) => string) {}

  /** Applies parts, each with a sequence number of its own, then the rows that were completed last, in the last part's. */
  commit(parts: readonly SealedSegment[], completed: readonly ShadowRow[], truncate: boolean): void {
    if (truncate) this.#rows = [];
    if (parts.length === 0) this.#sequence++;
    for (const part of parts) {
      this.#sequence++;
      const keys = new Set(part.deletes === undefined ? [] : [...part.deletes.rowOffsets].map((at) => JSON.stringify(readTuple(part.deletes!.arena, at))));
      this.#rows = this.#rows.filter((r) => !keys.has(r.key));
      for (const at of part.rows?.rowOffsets ?? []) this.#add(readTuple(part.rows!.arena, at));
    }
    for (const row of completed) this.#add(row);
  }

  #add(row: ShadowRow): void {
    this.#rows.push({ key: this.keyOf(row), row, sequence: this.#sequence });
  }

  /** Live rows as sorted text; a key that is there twice shows twice. */
  content(): string[] {
    return this.#rows.map((r) => JSON.stringify(r.row)).sort();
  }
}

/** The key of an open row's map entry, in the form `ShadowTable` uses. */
export function openKey(key: string): string {
  return JSON.stringify(keyValues(key));
}

/** What an open row looks like once its missing values are known. */
export function completed(row: OpenRow, source: ShadowRow): ShadowRow {
  return readTuple(row.tuple).map((v, i) => (v === undefined ? source[i] : v));
}
