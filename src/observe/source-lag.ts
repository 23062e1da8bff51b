import type { PipelineListener } from './events.js';

/** Transactions accepted close together in time, still waiting for the slot confirmation. */
interface Waiting {
  /** Commit time at the source of the first. */
  readonly oldestCommitTimeMs: number;
  /** When the first was accepted here. */
  readonly acceptedAtMs: number;
  /** End LSN of the last. */
  endLsn: bigint;
}

const SLICE_MS = 100;
const MAX_SLICES = 512;

/**
 * How far the tables are behind the source. A transaction counts from its commit at the source until the slot is confirmed
 * past it, which is when it is durable in every table. Memory is bounded: transactions are kept in time slices, which are
 * merged in pairs when there are many, so the age of the oldest stays exact and its end becomes later at most.
 */
export class SourceLag {
  readonly #now: () => number;
  #waiting: Waiting[] = [];
  #acceptedLsn = 0n;
  #confirmedLsn = 0n;
  #currentLsn = 0n;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  readonly listener: PipelineListener = {
    sessionStarted: ({ startLsn }) => {
      // A new session streams again from the slot: what waited is announced once more.
      this.#waiting = [];
      if (startLsn > this.#confirmedLsn) this.#confirmedLsn = startLsn;
    },
    transactionAccepted: ({ endLsn, commitTimeMs }) => this.#accept(endLsn, commitTimeMs),
    confirmed: (lsn) => this.#confirm(lsn),
    sourceStatus: ({ currentLsn }) => {
      if (currentLsn !== undefined) this.#currentLsn = currentLsn;
    },
  };

  /** End LSN of the newest accepted transaction, 0 before the first. */
  get acceptedLsn(): bigint {
    return this.#acceptedLsn;
  }

  /** Position last confirmed to the slot, 0 before the first. */
  get confirmedLsn(): bigint {
    return this.#confirmedLsn;
  }

  /** Bytes of WAL between the server's end and the confirmed position, as of the last look at the server. */
  get bytes(): bigint {
    const end = this.#currentLsn > this.#acceptedLsn ? this.#currentLsn : this.#acceptedLsn;
    return end > this.#confirmedLsn && this.#confirmedLsn > 0n ? end - this.#confirmedLsn : 0n;
  }

  /** Age in milliseconds of the oldest accepted transaction that is not in every table yet; 0 when none waits. */
  get ms(): number {
    const oldest = this.#waiting.at(0);
    return oldest === undefined ? 0 : Math.max(0, this.#now() - oldest.oldestCommitTimeMs);
  }

  /** When the oldest waiting transaction was accepted here; undefined when none waits. */
  get waitingSinceMs(): number | undefined {
    return this.#waiting.at(0)?.acceptedAtMs;
  }

  #accept(endLsn: bigint, commitTimeMs: number): void {
    this.#acceptedLsn = endLsn;
    if (endLsn <= this.#confirmedLsn) return;
    const acceptedAtMs = this.#now();
    const last = this.#waiting.at(-1);
    if (last !== undefined && acceptedAtMs - last.acceptedAtMs < SLICE_MS) {
      last.endLsn = endLsn;
      return;
    }
    if (this.#waiting.length === MAX_SLICES) this.#waiting = mergePairs(this.#waiting);
    this.#waiting.push({ oldestCommitTimeMs: commitTimeMs, acceptedAtMs, endLsn });
  }

  #confirm(lsn: bigint): void {
    if (lsn > this.#confirmedLsn) this.#confirmedLsn = lsn;
    const first = this.#waiting.findIndex((w) => w.endLsn > this.#confirmedLsn);
    if (first !== 0) this.#waiting = first === -1 ? [] : this.#waiting.slice(first);
  }
}

function mergePairs(slices: readonly Waiting[]): Waiting[] {
  const merged: Waiting[] = [];
  for (let i = 0; i < slices.length; i += 2) merged.push({ ...slices[i], endLsn: (slices[i + 1] ?? slices[i]).endLsn });
  return merged;
}
