import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { isWalbergError } from '../errors/error.js';
import type { PipelineListener, RowCounts, SourceStatus } from './events.js';
import type { SourceLag } from './source-lag.js';

/** Every metric Walberg serves beside those of the process (process_*, nodejs_*): name and help. */
export const METRICS = {
  buildInfo: ['walberg_build_info', 'Always 1; the labels say which version runs.'],
  streaming: ['walberg_streaming', '1 while changes are streamed from the slot.'],
  sessions: ['walberg_sessions_total', 'Sessions started: connections that stream from the slot.'],
  sessionErrors: ['walberg_session_errors_total', 'Sessions that ended with an error, by error code.'],
  transactions: ['walberg_transactions_total', 'Source transactions accepted.'],
  rows: ['walberg_rows_total', 'Row changes accepted, by source table and operation.'],
  loadRows: ['walberg_load_rows', 'Rows copied by the initial load of a table.'],
  loadBytes: ['walberg_load_bytes', 'Bytes copied by the initial load of a table.'],
  loadProgress: ['walberg_load_progress_ratio', 'Finished part of the initial load of a table, 0 to 1.'],
  commits: ['walberg_commits_total', 'Iceberg snapshots committed, by table.'],
  commitRetries: ['walberg_commit_retries_total', 'Commit attempts that had to be repeated, by table.'],
  commitSeconds: ['walberg_commit_duration_seconds', 'Time of one commit, from sealed files to the accepted snapshot.'],
  freshness: ['walberg_freshness_seconds', 'Time from the commit at the source of the newest change to the committed snapshot that has it.'],
  files: ['walberg_files_total', 'Files committed, by table and content (data, deletes).'],
  bytes: ['walberg_committed_bytes_total', 'Bytes of committed files, by table.'],
  records: ['walberg_committed_records_total', 'Records in committed files, by table and content (data, deletes).'],
  lastCommit: ['walberg_last_commit_timestamp_seconds', 'Unix time of the newest commit of any table.'],
  sinceCommit: ['walberg_seconds_since_last_commit', 'Seconds since the newest commit of any table, or since the start.'],
  lagSeconds: ['walberg_source_lag_seconds', 'Age of the oldest source transaction that is not in every table yet; 0 when none waits.'],
  lagBytes: ['walberg_source_lag_bytes', 'Bytes of WAL between the end at the server and the confirmed position.'],
  acceptedLsn: ['walberg_accepted_lsn', 'End LSN of the newest accepted transaction, in bytes.'],
  confirmedLsn: ['walberg_confirmed_lsn', 'Position confirmed to the slot, in bytes.'],
  retainedBytes: ['walberg_slot_retained_bytes', 'Bytes of WAL the slot holds back on the server.'],
  safeBytes: ['walberg_slot_safe_bytes', 'Bytes of WAL that can still be written before the slot is in danger of being lost; absent when there is no limit.'],
  slotState: ['walberg_slot_state', '1 for the current wal_status of the slot, 0 for the others.'],
  bufferBytes: ['walberg_buffer_bytes', 'Bytes of changes held in memory.'],
  bufferPaused: ['walberg_buffer_paused', '1 while reading waits for the buffer to shrink.'],
  valuesReplaced: ['walberg_values_replaced_total', 'Values the Iceberg type cannot hold, replaced as walberg.special-values says.'],
  warnings: ['walberg_warnings_total', 'Warnings announced.'],
} as const satisfies Record<string, readonly [name: string, help: string]>;

/** wal_status of pg_replication_slots (System Views, pg_replication_slots). */
const WAL_STATES = ['reserved', 'extended', 'unreserved', 'lost'] as const;
const OPERATIONS = { inserts: 'insert', updates: 'update', deletes: 'delete', truncates: 'truncate' } as const satisfies Record<keyof RowCounts, string>;

type Key = keyof typeof METRICS;

/** Prometheus metrics fed by pipeline events. */
export class Metrics {
  readonly registry = new Registry();
  readonly listener: PipelineListener;
  readonly #gauges = new Map<Key, Gauge<string>>();
  readonly #counters = new Map<Key, Counter<string>>();
  readonly #histograms = new Map<Key, Histogram<string>>();
  #lastCommitMs: number;

  constructor({ version, lag, now = Date.now }: { version: string; lag: SourceLag; now?: () => number }) {
    collectDefaultMetrics({ register: this.registry });
    this.#lastCommitMs = now();
    this.#gauge('buildInfo', ['version', 'node']).set({ version, node: process.versions.node }, 1);
    for (const key of ['streaming', 'lastCommit', 'acceptedLsn', 'confirmedLsn', 'retainedBytes', 'bufferBytes', 'bufferPaused'] as const) this.#gauge(key);
    this.#gauge('slotState', ['state']);
    for (const key of ['loadRows', 'loadBytes', 'loadProgress'] as const) this.#gauge(key, ['table']);
    for (const key of ['sessions', 'transactions', 'warnings'] as const) this.#counter(key);
    this.#counter('sessionErrors', ['code']);
    this.#counter('rows', ['table', 'operation']);
    for (const key of ['commits', 'commitRetries', 'bytes'] as const) this.#counter(key, ['table']);
    for (const key of ['files', 'records'] as const) this.#counter(key, ['table', 'content']);
    this.#counter('valuesReplaced', ['table', 'column', 'policy']);
    this.#histogram('commitSeconds', [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]);
    this.#histogram('freshness', [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 900, 3600]);
    this.#computed('sinceCommit', () => (now() - this.#lastCommitMs) / 1000);
    this.#computed('lagSeconds', () => lag.ms / 1000);
    this.#computed('lagBytes', () => Number(lag.bytes));
    this.listener = this.#listen(now);
  }

  /** The exposition, in Prometheus' text format. */
  async text(): Promise<{ contentType: string; body: string }> {
    return { contentType: this.registry.contentType, body: await this.registry.metrics() };
  }

  #listen(now: () => number): PipelineListener {
    const gauge = (key: Key): Gauge<string> => this.#gauges.get(key)!;
    const counter = (key: Key): Counter<string> => this.#counters.get(key)!;
    const histogram = (key: Key): Histogram<string> => this.#histograms.get(key)!;
    return {
      sessionStarted: ({ startLsn }) => {
        counter('sessions').inc();
        gauge('streaming').set(1);
        gauge('confirmedLsn').set(Number(startLsn));
      },
      sessionEnded: ({ error }) => {
        gauge('streaming').set(0);
        if (error !== undefined) counter('sessionErrors').inc({ code: isWalbergError(error) ? error.code : 'INTERNAL' });
      },
      loadStarted: ({ table }) => gauge('loadProgress').set({ table }, 0),
      loadProgress: ({ table, rows, bytes, chunksDone, chunksTotal }) => {
        gauge('loadRows').set({ table }, rows);
        gauge('loadBytes').set({ table }, bytes);
        if (chunksTotal > 0) gauge('loadProgress').set({ table }, chunksDone / chunksTotal);
      },
      loadFinished: ({ table, rows }) => {
        gauge('loadRows').set({ table }, rows);
        gauge('loadProgress').set({ table }, 1);
      },
      transactionAccepted: ({ endLsn }) => {
        counter('transactions').inc();
        gauge('acceptedLsn').set(Number(endLsn));
      },
      rowsAccepted: (table, rows) => {
        for (const [field, operation] of Object.entries(OPERATIONS)) {
          const count = rows[field as keyof RowCounts];
          if (count > 0) counter('rows').inc({ table, operation }, count);
        }
      },
      commitFinished: (commit) => {
        const { table } = commit;
        this.#lastCommitMs = now();
        counter('commits').inc({ table });
        histogram('commitSeconds').observe(commit.durationMs / 1000);
        if (commit.newestCommitTimeMs !== undefined) histogram('freshness').observe(Math.max(0, now() - commit.newestCommitTimeMs) / 1000);
        counter('files').inc({ table, content: 'data' }, commit.dataFiles);
        counter('files').inc({ table, content: 'deletes' }, commit.deleteFiles);
        counter('records').inc({ table, content: 'data' }, commit.records);
        counter('records').inc({ table, content: 'deletes' }, commit.deletes);
        counter('bytes').inc({ table }, commit.bytes);
        gauge('lastCommit').set(this.#lastCommitMs / 1000);
      },
      commitRetried: ({ table }) => counter('commitRetries').inc({ table }),
      confirmed: (lsn) => gauge('confirmedLsn').set(Number(lsn)),
      sourceStatus: (status) => this.#slot(status),
      bufferChanged: (bytes, paused) => {
        gauge('bufferBytes').set(bytes);
        gauge('bufferPaused').set(paused ? 1 : 0);
      },
      valuesReplaced: ({ table, column, count, policy }) => counter('valuesReplaced').inc({ table, column, policy }, count),
      warning: () => counter('warnings').inc(),
    };
  }

  #slot({ retainedBytes, walStatus, safeWalSizeBytes }: SourceStatus): void {
    if (retainedBytes !== undefined) this.#gauges.get('retainedBytes')!.set(Number(retainedBytes));
    if (safeWalSizeBytes !== undefined) (this.#gauges.get('safeBytes') ?? this.#gauge('safeBytes')).set(Number(safeWalSizeBytes));
    if (walStatus === undefined) return;
    for (const state of WAL_STATES) this.#gauges.get('slotState')!.set({ state }, state === walStatus ? 1 : 0);
  }

  #gauge(key: Key, labelNames: readonly string[] = []): Gauge<string> {
    const gauge = new Gauge({ name: METRICS[key][0], help: METRICS[key][1], labelNames: [...labelNames], registers: [this.registry] });
    this.#gauges.set(key, gauge);
    return gauge;
  }

  #computed(key: Key, value: () => number): void {
    const gauge: Gauge = new Gauge({ name: METRICS[key][0], help: METRICS[key][1], registers: [this.registry], collect: (): void => gauge.set(value()) });
  }

  #counter(key: Key, labelNames: readonly string[] = []): void {
    this.#counters.set(key, new Counter({ name: METRICS[key][0], help: METRICS[key][1], labelNames: [...labelNames], registers: [this.registry] }));
  }

  #histogram(key: Key, buckets: readonly number[]): void {
    this.#histograms.set(key, new Histogram({ name: METRICS[key][0], help: METRICS[key][1], buckets: [...buckets], registers: [this.registry] }));
  }
}
