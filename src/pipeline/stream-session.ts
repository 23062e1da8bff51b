import type { WalbergConfig } from '../config/config.js';
import { isWalbergError, WalbergError } from '../errors/error.js';
import type { PipelineEvents } from '../observe/events.js';
import { verifyPublication } from '../postgres/publication-setup.js';
import { ReplicationStream } from '../postgres/replication-stream.js';
import { insertLsn } from '../postgres/wal-position.js';
import { readSourceStatus } from '../postgres/source-status.js';
import { Acker } from './acker.js';
import { MemoryGate } from './memory-gate.js';
import { OpenRowResolver } from './open-row-resolver.js';
import type { OpenSource } from './open-source.js';
import type { PartWriter } from './part-writer.js';
import { LazyReadBackSession } from './read-back-session.js';
import { RetentionWatch } from './retention-watch.js';
import { SlotGuard } from './slot-guard.js';
import { StreamPosition } from './stream-position.js';
import { TableFlusher } from './table-flusher.js';
import type { TableTarget } from './table-target.js';
import { TableWriter } from './table-writer.js';
import { TransactionApplier } from './transaction-applier.js';

export interface StreamSessionOptions {
  readonly config: WalbergConfig;
  readonly source: OpenSource;
  readonly targets: readonly TableTarget[];
  /** Confirmed position of the slot. */
  readonly startLsn: bigint;
  /** The slot is guarded. `proven`: that it stands where it was left needs no sign of the stream. */
  readonly guard?: { readonly proven: boolean };
  readonly partWriter: PartWriter;
  readonly events: PipelineEvents;
  /** Ends everything of the session that is under way. */
  readonly abort: AbortController;
}

const STATUS_MS = 10_000;
/** A table is looked at this many times per commit interval. */
const TICKS_PER_INTERVAL = 20;
const MIN_TICK_MS = 10;
const MAX_TICK_MS = 250;
/** Time for what is under way to notice that the session is over. */
const SETTLE_MS = 30_000;

/** Streams changes into tables until it is told to stop or something fails. */
export class StreamSession {
  readonly #stream: ReplicationStream;
  readonly #position: StreamPosition;
  readonly #applier: TransactionApplier;
  readonly #flushers: TableFlusher[];
  readonly #acker: Acker;
  readonly #guard: SlotGuard | undefined;
  readonly #gate: MemoryGate;
  readonly #retention: RetentionWatch;
  readonly #readBack: LazyReadBackSession;
  readonly #timers: NodeJS.Timeout[] = [];
  #failure: unknown;
  #fail!: (error: unknown) => void;
  /** Rejects when something fails. */
  readonly #failed = new Promise<never>((_, reject) => { this.#fail = reject; });

  constructor(private readonly options: StreamSessionOptions) {
    const { config, source, startLsn, partWriter, events, targets, abort } = options;
    this.#failed.catch(() => {});
    this.#retention = new RetentionWatch(events);
    this.#stream = new ReplicationStream(config.source.connection, {
      slotName: config.source.slotName,
      publicationNames: [config.source.publicationName],
      serverVersionNum: source.identity.serverVersionNum,
      statusIntervalMs: config.source.statusIntervalMs,
      walSenderTimeoutMs: source.identity.walSenderTimeoutMs,
      onStart: () => events.sessionStarted({ slot: config.source.slotName, publication: config.source.publicationName, startLsn, tables: targets.map((t) => t.name) }),
    });
    this.#readBack = new LazyReadBackSession(config.source.connection);
    this.#position = new StreamPosition(startLsn, () => this.#stream.requestReply());
    this.#gate = new MemoryGate({
      maxBytes: config.pipeline.bufferMaxBytes,
      holders: () => this.#flushers.map((f) => f.writer),
      pause: () => this.#stream.pause(),
      resume: () => this.#stream.resume(),
      onChange: (bytes, paused) => events.bufferChanged(bytes, paused),
    });
    this.#flushers = targets.map((target) => {
      const writer = new TableWriter({ target, partWriter, segmentBytes: config.pipeline.segmentBytes, skippedOperations: config.source.skippedOperations, onPending: (bytes) => this.#gate.addPending(bytes) });
      return new TableFlusher({
        writer,
        partWriter,
        newResolver: () => new OpenRowResolver(target, partWriter, this.#readBack, abort.signal),
        position: this.#position,
        events,
        onProgress: () => this.#acker.update(this.#position.lsn),
        onFailure: (error) => this.fail(error),
      });
    });
    this.#acker = new Acker(() => this.#flushers, (lsn) => {
      if (this.#guard === undefined) this.#stream.confirm(lsn);
      else this.#guard.durable(lsn);
      events.confirmed(lsn);
    });
    this.#applier = new TransactionApplier({
      tables: new Map(this.#flushers.map((flusher) => [flusher.writer.target.plan.source.oid, { flusher, position: flusher.writer.target.committer.position ?? 0n }])),
      position: this.#position,
      described: source.described,
      events,
      onRows: () => this.#gate.check(),
      onBoundary: () => this.#acker.update(this.#position.lsn),
    });
    if (options.guard !== undefined) {
      this.#guard = new SlotGuard({
        slot: config.source.slotName,
        startLsn,
        proven: options.guard.proven,
        handler: this.#applier,
        confirm: (lsn) => this.#stream.confirm(lsn),
        serverLsn: () => insertLsn(source.client),
        emit: (prefix, content) => source.client.rows('SELECT pg_catalog.pg_logical_emit_message(true, $1, $2::pg_catalog.text)', [prefix, content]),
      });
    }
  }

  /** Ends the session with an error; the first one counts. */
  fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#fail(error);
  }

  /** Streams until `stop` is aborted, then commits what is whole. Rejects with what ended it otherwise. */
  async run(stop: AbortSignal): Promise<void> {
    const { config, events, source } = this.options;
    const { commitIntervalMs } = config.pipeline;
    const stopped = new Promise<void>((resolve) => {
      if (stop.aborted) resolve();
      else stop.addEventListener('abort', () => resolve(), { once: true });
    });
    const guard = this.#guard;
    if (guard !== undefined) guard.expectProofUntil(await insertLsn(source.client));
    // A server that stops ends its sessions first, and waits for its streams until all they sent is confirmed.
    source.client.once('error', () => this.fail(source.client.lost));
    const streaming = this.#stream.run(this.options.startLsn, guard ?? this.#applier);
    streaming.catch((error: unknown) => (isWalbergError(error, 'SCHEMA_CHANGED', 'TABLE_ALTERED') ? this.#commitBeforeChange() : undefined)).then(() => streaming).catch((error: unknown) => this.fail(error));
    this.#every(Math.min(MAX_TICK_MS, Math.max(MIN_TICK_MS, commitIntervalMs / TICKS_PER_INTERVAL)), () => this.#flushDue(performance.now() - commitIntervalMs));
    this.#every(STATUS_MS, () => void this.#watchSource(), true);
    if (guard !== undefined) this.#every(STATUS_MS, () => void guard.mark().catch((error: unknown) => this.fail(error)), true);
    try {
      await Promise.race([stopped, this.#failed]);
      await Promise.race([this.#drain(), this.#failed]);
      this.#acker.update(this.#position.lsn);
      await this.#stream.stop(guard === undefined ? this.#acker.confirmed : guard.confirmed);
    } finally {
      for (const timer of this.#timers) clearInterval(timer);
      const ended = this.#failure ?? new WalbergError('INTERNAL', 'the stream has ended');
      this.#position.end(ended);
      for (const flusher of this.#flushers) flusher.end(ended);
      this.options.abort.abort(this.#failure);
      await this.#stream.stop();
      await this.#settle();
      await Promise.all([this.#readBack.close(), source.client.close()]);
      events.bufferChanged(0, false);
    }
  }

  #every(ms: number, work: () => void, atOnce = false): void {
    if (atOnce) work();
    this.#timers.push(setInterval(() => {
      try {
        work();
      } catch (error) {
        this.fail(error);
      }
    }, ms));
  }

  #flushDue(acceptedBefore: number): void {
    for (const flusher of this.#flushers) {
      if (!flusher.writer.group.isEmpty && flusher.writer.group.acceptedAt <= acceptedBefore) flusher.requestFlush();
    }
    this.#gate.check();
  }

  /** Commits every whole transaction that was received. A table whose transaction does not end in time keeps its last commit. */
  async #drain(): Promise<void> {
    const patience = performance.now() + this.options.config.pipeline.shutdownTimeoutMs / 2;
    // Twice: the first round may only wait for commits that were under way.
    for (let round = 0; round < 2; round++) {
      for (const flusher of this.#flushers) flusher.requestFlush();
      // Either may wait for the end of a transaction that is half received and still has a long way to go.
      while (this.#flushers.some((f) => f.flushRequested || f.waitsForTransaction) && performance.now() < patience) await new Promise((resolve) => setTimeout(resolve, MIN_TICK_MS));
      await Promise.all(this.#flushers.filter((f) => !f.waitsForTransaction).map((f) => f.idle()));
    }
  }

  /**
   * A table has another structure from here on, and the stream has ended. Whole transactions received before have the old one:
   * a later session, which knows only the new one, may not be able to read them again. Best effort.
   */
  async #commitBeforeChange(): Promise<void> {
    const patience = performance.now() + this.options.config.pipeline.shutdownTimeoutMs / 2;
    do {
      for (const flusher of this.#flushers) if (!flusher.writer.inTransaction) flusher.requestFlush();
      await new Promise((resolve) => setTimeout(resolve, MIN_TICK_MS));
      // A value that was read back counts only when the stream has passed the read, which it never will.
    } while (this.#flushers.filter((f) => f.busy && !f.waitsForTransaction).length > this.#position.waiting && performance.now() < patience);
  }

  async #watchSource(): Promise<void> {
    const { source, config, events } = this.options;
    try {
      const status = await readSourceStatus(source.client, config.source.slotName);
      events.sourceStatus(status);
      this.#retention.look(status);
      await verifyPublication(source.client, config.source, source.refs, source.publication);
    } catch (error) {
      this.fail(error);
    }
  }

  /** A request that is still under way must not outlive the session: a later one would find a position it does not know. */
  async #settle(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => { timer = setTimeout(resolve, SETTLE_MS); });
    await Promise.race([Promise.allSettled(this.#flushers.map((f) => f.idle())), limit]);
    clearTimeout(timer);
  }
}
