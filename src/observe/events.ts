/**
 * What the pipeline announces. It never formats a log line or touches a metric itself: logging, metrics and health are
 * listeners. No event carries row values. LSNs are unsigned 64-bit; times are milliseconds since 1970 unless named otherwise.
 */
export interface RowCounts {
  readonly inserts: number;
  readonly updates: number;
  readonly deletes: number;
  readonly truncates: number;
}

export interface CommitInfo {
  readonly table: string;
  readonly snapshotId: bigint;
  readonly sequenceNumber: bigint;
  readonly endLsn: bigint;
  readonly dataFiles: number;
  readonly deleteFiles: number;
  readonly bytes: number;
  readonly records: number;
  readonly deletes: number;
  readonly durationMs: number;
  readonly attempts: number;
  /** Source commit time of the newest transaction in the commit; undefined for loads. */
  readonly newestCommitTimeMs?: number;
}

export interface SourceStatus {
  /** Bytes of WAL the slot holds back. */
  readonly retainedBytes?: bigint;
  /** pg_replication_slots.wal_status. */
  readonly walStatus?: string;
  readonly safeWalSizeBytes?: bigint;
  /** max_slot_wal_keep_size: a slot that keeps more is lost; undefined = no limit. */
  readonly keepBytes?: bigint;
  /** Current end of WAL on the server. */
  readonly currentLsn?: bigint;
}

export interface PipelineEvents {
  sessionStarted(info: { slot: string; publication: string; startLsn: bigint; tables: readonly string[] }): void;
  sessionEnded(info: { error?: Error; retryInMs?: number }): void;
  tableReady(info: { table: string; target: string; mode: 'mirror' | 'soft' | 'append'; position: bigint | undefined; note?: string }): void;
  loadStarted(info: { table: string; estimatedRows: number; estimatedBytes: number }): void;
  loadProgress(info: { table: string; rows: number; bytes: number; chunksDone: number; chunksTotal: number }): void;
  loadFinished(info: { table: string; rows: number; durationMs: number; lsn: bigint }): void;
  /** A transaction was accepted into memory. */
  transactionAccepted(info: { endLsn: bigint; commitTimeMs: number }): void;
  /** Rows accepted since the last such event, per table. Announced per transaction or per 10,000 rows, not per row. */
  rowsAccepted(table: string, rows: RowCounts): void;
  commitStarted(info: { table: string; endLsn: bigint; rows: number }): void;
  commitFinished(info: CommitInfo): void;
  commitRetried(info: { table: string; attempt: number; error: Error }): void;
  /** The position reported to the slot moved. */
  confirmed(lsn: bigint): void;
  sourceStatus(status: SourceStatus): void;
  bufferChanged(bytes: number, paused: boolean): void;
  valuesReplaced(info: { table: string; column: string; count: number; policy: string }): void;
  warning(info: { message: string; context?: Readonly<Record<string, string | number | bigint | boolean | undefined>> }): void;
}

/** Every event optional, for listeners. */
export type PipelineListener = Partial<PipelineEvents>;

const EVENT_NAMES = ['sessionStarted', 'sessionEnded', 'tableReady', 'loadStarted', 'loadProgress', 'loadFinished', 'transactionAccepted', 'rowsAccepted',
  'commitStarted', 'commitFinished', 'commitRetried', 'confirmed', 'sourceStatus', 'bufferChanged', 'valuesReplaced', 'warning'] as const satisfies readonly (keyof PipelineEvents)[];

/** One emitter that calls every listener in order. */
export function broadcast(listeners: readonly PipelineListener[]): PipelineEvents {
  const out: Record<string, (...args: unknown[]) => void> = {};
  for (const name of EVENT_NAMES) {
    const targets = listeners.filter((l) => l[name] !== undefined);
    out[name] = (...args: unknown[]) => { for (const l of targets) (l[name] as (...a: unknown[]) => void)(...args); };
  }
  return out as unknown as PipelineEvents;
}
