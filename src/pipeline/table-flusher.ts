import type { DataFile } from '../iceberg/spec/types.js';
import type { PipelineEvents } from '../observe/events.js';
import type { Outstanding } from './acker.js';
import type { ChangeGroup } from './change-group.js';
import type { OpenRowResolver } from './open-row-resolver.js';
import type { PartWriter } from './part-writer.js';
import type { StreamPosition } from './stream-position.js';
import type { TableWriter } from './table-writer.js';

export interface TableFlusherOptions {
  readonly writer: TableWriter;
  readonly partWriter: PartWriter;
  readonly newResolver: () => OpenRowResolver;
  readonly position: StreamPosition;
  readonly events: PipelineEvents;
  /** A commit is done, or a wait is over: positions may have moved. */
  readonly onProgress: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** Brings groups of one table into snapshots, one at a time, while the next group is being collected. */
export class TableFlusher implements Outstanding {
  readonly writer: TableWriter;
  #inFlight: Promise<void> | undefined;
  /** Position before the oldest change that is not durable. */
  #durableLsn: bigint | undefined;
  #boundary: { resolve(): void; reject(error: unknown): void } | undefined;
  #requested = false;

  constructor(private readonly options: TableFlusherOptions) {
    this.writer = options.writer;
  }

  get durableLsn(): bigint | undefined {
    return this.#durableLsn;
  }

  get busy(): boolean {
    return this.#inFlight !== undefined;
  }

  /** The first change of a transaction is about to be accepted; everything up to `streamLsn` came before it. */
  outstandingFrom(streamLsn: bigint): void {
    this.#durableLsn ??= streamLsn;
  }

  /** A commit is wanted and waits for the end of a transaction or of another commit. */
  get flushRequested(): boolean {
    return this.#requested;
  }

  /** Commits what has been collected: now, or as soon as no transaction is half received and no other commit under way. */
  requestFlush(): void {
    this.#requested = true;
    this.#flush();
  }

  /** A transaction that touched this table has ended. */
  atBoundary(): void {
    this.#boundary?.resolve();
    if (this.#requested) this.#flush();
  }

  /** A commit is under way and goes on only when the transaction that is being received has ended. */
  get waitsForTransaction(): boolean {
    return this.#boundary !== undefined;
  }

  /** Nothing more will be received. */
  end(error: unknown): void {
    this.#boundary?.reject(error);
  }

  #flush(): void {
    if (this.busy || this.writer.inTransaction) return;
    this.#requested = false;
    if (this.writer.group.isEmpty) return;
    const group = this.writer.takeGroup();
    this.writer.watch(group);
    this.#inFlight = this.#finish(group).then(() => {
      this.#inFlight = undefined;
      this.#durableLsn = this.writer.group.isEmpty ? undefined : group.endLsn;
      this.options.onProgress();
      if (this.#requested) this.#flush();
    }, (error: unknown) => this.options.onFailure(error));
  }

  /** Resolves when no commit is under way. */
  async idle(): Promise<void> {
    await this.#inFlight;
  }

  async #finish(group: ChangeGroup): Promise<void> {
    const lastFiles = await this.#complete(group);
    this.writer.unwatch();
    const steps = await Promise.all(group.parts.map((p) => p.files));
    // Rows completed last belong to the last step: every delete of their keys lies in it or before it.
    const lastStep = Math.max(0, steps.length - 1);
    const files = [...steps.flatMap((step, sequenceStep) => step.map((f) => ({ ...f, sequenceStep }))), ...lastFiles.map((f) => ({ ...f, sequenceStep: lastStep }))];
    // Rows born and gone leave nothing to write, and would leave nothing again.
    if (files.length > 0 || group.truncate) await this.#commit(group, files);
  }

  /** Writes the rows that lack values, reading these from the source until what was read is known to fit. */
  async #complete(group: ChangeGroup): Promise<DataFile[]> {
    while (group.open.size > 0) {
      const read = await this.options.newResolver().read(group);
      await this.options.position.reached(read.readLsn);
      if (!this.writer.brokeWatched()) return read.files;
      await this.options.partWriter.discard(read.files);
      await this.#untilBoundary();
      this.writer.moveInto(group);
      this.writer.watch(group);
    }
    return [];
  }

  async #untilBoundary(): Promise<void> {
    while (this.writer.inTransaction) await new Promise<void>((resolve, reject) => { this.#boundary = { resolve, reject }; });
    this.#boundary = undefined;
  }

  async #commit(group: ChangeGroup, files: readonly DataFile[]): Promise<void> {
    const { target } = this.writer;
    const { events } = this.options;
    const dataFiles = files.filter((f) => f.content === 0);
    const deleteFiles = files.filter((f) => f.content !== 0);
    const sum = (of: readonly DataFile[], key: 'recordCount' | 'fileSizeInBytes'): number => of.reduce((n, f) => n + f[key], 0);
    events.commitStarted({ table: target.name, endLsn: group.endLsn, rows: group.rows });
    const result = await target.committer.commit({ dataFiles, deleteFiles, truncate: group.truncate, schemaId: target.schemaId, endLsn: group.endLsn });
    events.commitFinished({
      table: target.name,
      snapshotId: result.snapshotId,
      sequenceNumber: result.sequenceNumber,
      endLsn: group.endLsn,
      dataFiles: dataFiles.length,
      deleteFiles: deleteFiles.length,
      bytes: sum(files, 'fileSizeInBytes'),
      records: sum(dataFiles, 'recordCount'),
      deletes: sum(deleteFiles, 'recordCount'),
      durationMs: result.durationMs,
      attempts: result.attempts,
      newestCommitTimeMs: group.newestCommitTimeMs,
    });
  }
}
