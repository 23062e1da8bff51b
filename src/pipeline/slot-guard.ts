import { WalbergError } from '../errors/error.js';
import type { OldTupleKind, Relation, ReplicationHandler, TupleView } from '../pgoutput/messages.js';
import { formatLsn } from '../postgres/lsn.js';

/** Prefix of the markers' logical messages; their content is the name of the slot. */
export const MARKER_PREFIX = 'walberg.slot';

/** A new marker is worth its WAL when this much has come since the last: an idle server must stay idle. */
const MARKER_BYTES = 65_536n;

export interface SlotGuardOptions {
  readonly slot: string;
  /** Confirmed position of the slot. */
  readonly startLsn: bigint;
  /** That the slot stands where it was left needs no marker. */
  readonly proven: boolean;
  readonly handler: ReplicationHandler;
  readonly confirm: (lsn: bigint) => void;
  /** How far the server has written WAL. */
  readonly serverLsn: () => Promise<bigint>;
  /** Commits a transaction with one logical message. */
  readonly emit: (prefix: string, content: string) => Promise<unknown>;
}

/**
 * Stands between the stream and who takes it, and leaves the slot only where its first delivery is a marker: a transaction of
 * our own that holds one logical message. What is confirmed is the beginning of the commit record of a marker, which makes the
 * server send that very marker again as the first transaction of the next session (a transaction is skipped when its commit
 * record begins before the confirmed position; src/backend/replication/logical/snapbuild.c, SnapBuildXactNeedsSkip). A slot
 * that was made anew, or advanced past that marker, sends something else first, or nothing.
 */
export class SlotGuard implements ReplicationHandler {
  #proven: boolean;
  /** A valid slot has sent its marker when the stream gets here. */
  #proofDueAt = 0n;
  #confirmed = 0n;
  #durable = 0n;
  /** Beginning of the transaction at hand. */
  #beginLsn: bigint | undefined;
  /** Received markers beyond the confirmed one, oldest first. */
  #markers: bigint[] = [];
  /** About where the newest marker lies, made or received; 0 = there is none. */
  #newest = 0n;
  #underWay = false;

  constructor(private readonly options: SlotGuardOptions) {
    this.#proven = options.proven;
  }

  /** What was confirmed to the slot by this session; 0 before. */
  get confirmed(): bigint {
    return this.#confirmed;
  }

  /** `serverLsn`: the end of WAL before the stream starts; a marker that was left lies before it. */
  expectProofUntil(serverLsn: bigint): void {
    this.#proofDueAt = serverLsn;
  }

  /** Everything up to `lsn` is durable: confirms the newest marker at or before it. */
  durable(lsn: bigint): void {
    if (lsn > this.#durable) this.#durable = lsn;
    const count = this.#markers.findLastIndex((marker) => marker <= this.#durable) + 1;
    if (count === 0) return;
    this.#confirmed = this.#markers.splice(0, count)[count - 1];
    this.options.confirm(this.#confirmed);
  }

  /**
   * Makes a marker when there is none yet, or when the server has written enough since the last; whether that one has arrived does
   * not matter, so a stream that is behind finds markers on its way.
   */
  async mark(): Promise<void> {
    if (!this.#proven || this.#underWay) return;
    this.#underWay = true;
    try {
      const lsn = await this.options.serverLsn();
      if (this.#newest > 0n && lsn < this.#newest + MARKER_BYTES) return;
      await this.options.emit(MARKER_PREFIX, this.options.slot);
      if (lsn > this.#newest) this.#newest = lsn;
    } finally {
      this.#underWay = false;
    }
  }

  begin(finalLsn: bigint, commitTimeMicros: bigint, xid: number): void {
    this.#beginLsn = finalLsn;
    this.options.handler.begin(finalLsn, commitTimeMicros, xid);
  }

  commit(commitLsn: bigint, endLsn: bigint, commitTimeMicros: bigint): void {
    this.#requireProof();
    this.#beginLsn = undefined;
    this.options.handler.commit(commitLsn, endLsn, commitTimeMicros);
  }

  relation(relation: Relation): void {
    this.#requireProof();
    this.options.handler.relation(relation);
  }

  insert(oid: number, row: TupleView): void {
    this.options.handler.insert(oid, row);
  }

  update(oid: number, kind: OldTupleKind, old: TupleView | undefined, row: TupleView): void {
    this.options.handler.update(oid, kind, old, row);
  }

  delete(oid: number, kind: 'key' | 'full', old: TupleView): void {
    this.options.handler.delete(oid, kind, old);
  }

  truncate(oids: readonly number[], cascade: boolean, restartIdentity: boolean): void {
    this.options.handler.truncate(oids, cascade, restartIdentity);
  }

  message(transactional: boolean, lsn: bigint, prefix: string, content: Uint8Array): void {
    this.options.handler.message?.(transactional, lsn, prefix, content);
    if (!transactional || this.#beginLsn === undefined || prefix !== MARKER_PREFIX || new TextDecoder().decode(content) !== this.options.slot) return;
    // The slot must stand at this very marker: a later one says nothing about what lies between.
    if (!this.#proven && this.#beginLsn === this.options.startLsn) this.#proven = true;
    this.#requireProof();
    if (this.#beginLsn > this.#newest) this.#newest = this.#beginLsn;
    this.#markers.push(this.#beginLsn);
  }

  keepalive(endLsn: bigint, serverTimeMicros: bigint): void {
    if (!this.#proven && this.#beginLsn === undefined && endLsn >= this.#proofDueAt) this.#requireProof();
    this.options.handler.keepalive(endLsn, serverTimeMicros);
  }

  #requireProof(): void {
    if (this.#proven) return;
    const { slot, startLsn } = this.options;
    throw new WalbergError('SLOT_MOVED', `Replication slot ${slot} stands at ${formatLsn(startLsn)}, which is not where Walberg left it`, { context: { slot, position: formatLsn(startLsn) } });
  }
}
