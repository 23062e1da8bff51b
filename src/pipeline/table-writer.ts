import { AppendSegment } from '../buffer/append-segment.js';
import { MirrorSegment } from '../buffer/mirror-segment.js';
import { lacking } from '../buffer/open-rows.js';
import type { Segment } from '../buffer/segment.js';
import { TransactionStage } from '../buffer/transaction-stage.js';
import type { SourceConfig } from '../config/config.js';
import type { DataFile } from '../iceberg/spec/types.js';
import type { OldTupleKind, TupleView } from '../pgoutput/messages.js';
import { ChangeGroup, type Part } from './change-group.js';
import type { PartWriter } from './part-writer.js';
import { metaOf } from './row-meta.js';
import type { TableTarget } from './table-target.js';

/** The transaction whose changes are arriving. */
export interface OpenTransaction {
  readonly commitTimeMicros: bigint;
  /** Position of its commit record. */
  readonly commitLsn: bigint;
  readonly xid: number;
}

export interface TableWriterOptions {
  readonly target: TableTarget;
  readonly partWriter: PartWriter;
  readonly segmentBytes: number;
  readonly skippedOperations: SourceConfig['skippedOperations'];
  /** Bytes were handed to the encoder (positive) or are at rest now (negative). */
  readonly onPending: (bytes: number) => void;
}

const MAX_INITIAL_BYTES = 32 * 1024 * 1024;

/** Takes the changes of one table and collects them in groups; a group is handed over when it is to be committed. */
export class TableWriter {
  readonly target: TableTarget;
  #segment: Segment;
  #group = new ChangeGroup();
  readonly #stage: TransactionStage | undefined;
  /** Index of the open transaction in the group, -1 when it has not touched this table. */
  #transaction = -1;
  #watched: ReadonlyMap<string, readonly number[]> = new Map();
  #lastBytes = 0;

  constructor(private readonly options: TableWriterOptions) {
    this.target = options.target;
    const { plan } = options.target;
    this.#stage = plan.matchByOldTuple ? new TransactionStage(plan.toastableOrdinals) : undefined;
    this.#segment = this.#newSegment();
  }

  /** The group that takes the changes now. */
  get group(): ChangeGroup {
    return this.#group;
  }

  get bytes(): number {
    return (this.#group.isEmpty ? 0 : this.#segment.bytes) + (this.#stage?.bytes ?? 0);
  }

  /** The open transaction has changed this table. */
  get inTransaction(): boolean {
    return this.#transaction >= 0;
  }

  /** Must be called before the first change of a transaction. */
  beginTransaction(t: OpenTransaction): void {
    if (this.#group.isEmpty) this.#group.acceptedAt = performance.now();
    this.#transaction = this.#group.transactions.add(t.commitTimeMicros, t.commitLsn, t.xid);
  }

  insert(row: TupleView): void {
    this.#group.rows++;
    if (this.#stage !== undefined) this.#stage.insert(row);
    else this.#segment.insert(row, this.#transaction);
  }

  update(kind: OldTupleKind, old: TupleView | undefined, row: TupleView): void {
    this.#group.rows++;
    if (this.#stage !== undefined) this.#stage.update(kind, old, row);
    else this.#segment.update(kind, old, row, this.#transaction);
  }

  delete(kind: 'key' | 'full', old: TupleView): void {
    this.#group.rows++;
    if (this.#stage !== undefined) this.#stage.delete(kind, old);
    else this.#segment.delete(kind, old, this.#transaction);
  }

  truncate(): void {
    this.#group.rows++;
    if (this.#segment instanceof AppendSegment) {
      this.#segment.truncate(this.#transaction);
      return;
    }
    this.#stage?.clear();
    this.#segment = this.#newSegment();
    this.#drop(this.#group.parts);
    this.#group.parts = [];
    this.#group.open = new Map();
    this.#group.truncate = true;
    for (const key of this.#watched.keys()) {
      this.#group.touched.add(key);
      this.#group.broken.add(key);
    }
  }

  /** The transaction that was open is whole. */
  endTransaction(endLsn: bigint, commitTimeMs: number): void {
    this.#stage?.apply(this.#segment, this.#transaction);
    this.#group.endLsn = endLsn;
    this.#group.newestCommitTimeMs = commitTimeMs;
    this.#transaction = -1;
  }

  /** Encodes what has been collected without waiting for the end of the group, when it has the size of a file. */
  sealIfFull(): void {
    if (this.#segment.bytes >= this.options.segmentBytes) this.seal();
  }

  seal(): void {
    if (this.#segment.isEmpty) return;
    const segment = this.#segment;
    const group = this.#group;
    group.note(segment, this.#watched);
    const { bytes } = segment;
    this.#lastBytes = bytes;
    const sealed = segment.seal(group.transactions);
    this.#segment = this.#newSegment();
    this.options.onPending(bytes);
    const files = this.#write(sealed, group).finally(() => this.options.onPending(-bytes));
    group.addPart(segment, sealed, files);
  }

  /** Hands over the group; only between transactions of this table. */
  takeGroup(): ChangeGroup {
    this.seal();
    const group = this.#group;
    this.#group = new ChangeGroup();
    return group;
  }

  /** From now on the current group notes what happens to the open rows of `group`, which was taken before it. */
  watch(group: ChangeGroup): void {
    this.#watched = new Map([...group.open].map(([key, row]) => [key, lacking(row)]));
    this.#group.touched.clear();
    this.#group.broken.clear();
  }

  unwatch(): void {
    this.#watched = new Map();
  }

  /** Whether a watched row was changed, or given one of the values it lacks, since `watch`. */
  brokeWatched(): boolean {
    if (this.#group.broken.size > 0) return true;
    for (const [key, ordinals] of this.#watched) if (!this.#segment.keeps(key, ordinals)) return true;
    // What is staged is not merged yet; it counts as a change of everything.
    return this.#stage !== undefined && !this.#stage.isEmpty;
  }

  /** Lets `group`, which was taken before, take over what has been collected since; only between transactions. */
  moveInto(group: ChangeGroup): void {
    this.#drop(group.absorb(this.takeGroup()));
  }

  #newSegment(): Segment {
    const { plan, name } = this.options.target;
    // The next segment will be about as large as the last one; a small table starts small.
    const initialBytes = Math.min(MAX_INITIAL_BYTES, Math.max(4096, this.#lastBytes));
    const layout = { tableName: name, toastable: plan.toastableOrdinals };
    if (plan.mode === 'append') return new AppendSegment({ ...layout, keyOrdinals: identityOrdinals(this.options.target), columnCount: plan.source.columns.length, skipped: new Set(this.options.skippedOperations) }, initialBytes);
    const keepDeletes = plan.mode === 'soft';
    return new MirrorSegment({ ...layout, keyOrdinals: plan.keyOrdinals, keepDeletes, deleteOnInsert: keepDeletes }, initialBytes);
  }

  async #write(sealed: ReturnType<Segment['seal']>, group: ChangeGroup): Promise<DataFile[]> {
    const { target, partWriter } = this.options;
    const { rows, deletes } = sealed;
    const data = rows === undefined ? undefined : partWriter.writeData(target, { format: 'tuple', arena: rows.arena, rowOffsets: rows.rowOffsets, meta: metaOf(target, rows, group.transactions) });
    const keys = deletes === undefined ? undefined : partWriter.writeDeletes(target, deletes);
    return (await Promise.all([data, keys])).filter((f) => f !== undefined);
  }

  #drop(parts: readonly Part[]): void {
    for (const part of parts) void part.files.then((files) => this.options.partWriter.discard(files), () => {});
  }
}

/** Columns by which the source identifies rows in old tuples, for tables that are appended to. */
function identityOrdinals({ plan: { source } }: TableTarget): number[] {
  const names = source.replicaIdentity === 'i' ? source.identityIndexColumns : source.primaryKey;
  return names.map((name) => source.columns.findIndex((c) => c.name === name)).filter((i) => i >= 0);
}
