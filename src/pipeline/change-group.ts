import { continueFrom, type OpenRow } from '../buffer/open-rows.js';
import type { SealedSegment, Segment } from '../buffer/segment.js';
import { TransactionList } from '../buffer/transactions.js';
import type { DataFile } from '../iceberg/spec/types.js';

/** Files of one sealed segment. */
export interface Part {
  readonly files: Promise<DataFile[]>;
}

/**
 * The changes of one table that become one snapshot: whole transactions, in parts. Every part takes a sequence number of its
 * own inside the snapshot, so that the deletes of a later part reach the rows of an earlier one; no index over the whole group is
 * needed, and memory stays bounded however long a transaction is.
 */
export class ChangeGroup {
  readonly transactions = new TransactionList();
  parts: Part[] = [];
  /** Rows that lack a value; they are written last. */
  open = new Map<string, OpenRow>();
  /** Everything that was in the table before is gone. */
  truncate = false;
  /** End of the last transaction. */
  endLsn = 0n;
  newestCommitTimeMs: number | undefined;
  /** When the first change was accepted, monotonic milliseconds. */
  acceptedAt = 0;
  rows = 0;
  /** Keys another group waits for: touched here, and no longer what they were. See `note`. */
  readonly touched = new Set<string>();
  readonly broken = new Set<string>();

  get isEmpty(): boolean {
    return this.transactions.count === 0;
  }

  /** Remembers what a segment, about to be sealed, does to the rows another group is waiting for. */
  note(segment: Segment, watched: ReadonlyMap<string, readonly number[]>): void {
    for (const [key, ordinals] of watched) {
      if (!segment.touches(key)) continue;
      this.touched.add(key);
      if (!segment.keeps(key, ordinals)) this.broken.add(key);
    }
  }

  /** Open rows of earlier parts meet the changes of later ones, in which the row of a key may have become `another`. */
  #mergeOpen(later: ReadonlyMap<string, OpenRow>, touches: (key: string) => boolean, another: (key: string) => boolean): void {
    for (const [key, row] of this.open) {
      if (!touches(key)) continue;
      const next = later.get(key);
      if (next === undefined) this.open.delete(key);
      else this.open.set(key, next.continues && !another(key) ? continueFrom(row, next) : next);
    }
    for (const [key, row] of later) if (!this.open.has(key)) this.open.set(key, row);
  }

  addPart(segment: Segment, sealed: SealedSegment, files: Promise<DataFile[]>): void {
    if (this.open.size > 0 || sealed.open.size > 0) this.#mergeOpen(sealed.open, (key) => segment.touches(key), () => false);
    this.parts.push({ files });
    // Whoever finishes the group sees the failure; until then it must not count as unhandled.
    files.catch(() => {});
  }

  /** Takes over the changes that follow this group directly. */
  absorb(next: ChangeGroup): Part[] {
    const dropped = next.truncate ? this.parts : [];
    if (next.truncate) {
      this.parts = [];
      this.open = next.open;
      this.truncate = true;
    } else {
      // With several parts, what a later one left out may have been set by an earlier one.
      this.#mergeOpen(next.open, (key) => next.touched.has(key), (key) => next.broken.has(key));
    }
    this.parts.push(...next.parts);
    const { transactions: t } = next;
    for (let i = 0; i < t.count; i++) this.transactions.add(t.commitTimesMicros[i], t.commitLsns[i], t.xids[i]);
    if (next.endLsn > this.endLsn) this.endLsn = next.endLsn;
    this.newestCommitTimeMs = next.newestCommitTimeMs ?? this.newestCommitTimeMs;
    this.rows += next.rows;
    return dropped;
  }
}
