import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WalbergError } from '../../src/errors/error.js';
import { broadcast, type CommitInfo, type PipelineEvents } from '../../src/observe/events.js';
import { Metrics, METRICS } from '../../src/observe/metrics.js';
import { SourceLag } from '../../src/observe/source-lag.js';

const COMMIT: CommitInfo = { table: 'public.t', snapshotId: 1n, sequenceNumber: 2n, endLsn: 300n, dataFiles: 2, deleteFiles: 1, bytes: 1000, records: 10, deletes: 3, durationMs: 700, attempts: 1, newestCommitTimeMs: 58_500 };

function setup(): { events: PipelineEvents; at: (ms: number) => void; read: () => Promise<Map<string, number>>; text: () => Promise<string> } {
  let now = 0;
  const lag = new SourceLag(() => now);
  const metrics = new Metrics({ version: '1.2.3', lag, now: () => now });
  const text = async (): Promise<string> => (await metrics.text()).body;
  return {
    events: broadcast([lag.listener, metrics.listener]),
    at: (ms) => { now = ms; },
    text,
    read: async () => new Map((await text()).split('\n').filter((line) => line !== '' && !line.startsWith('#')).map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))])),
  };
}

test('the exposition follows the text format: each sample belongs to a metric with HELP and TYPE', async () => {
  const { text } = setup();
  const declared = new Set<string>();
  for (const line of (await text()).split('\n').filter((l) => l !== '')) {
    const type = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary)$/.exec(line);
    if (type !== null) declared.add(type[1]);
    else if (!line.startsWith('# HELP ')) {
      const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+)$/.exec(line);
      assert.ok(sample, line);
      assert.ok(declared.has(sample[1]) || declared.has(sample[1].replace(/_(bucket|sum|count)$/, '')), line);
      assert.ok(!Number.isNaN(Number(sample[3].replace('+Inf', 'Infinity'))) || sample[3] === 'Nan', line);
    }
  }
});

test('every metric of the list is registered, under its own prefix, and those of the process are there', async () => {
  const { text, events } = setup();
  events.sourceStatus({ safeWalSizeBytes: 1n });
  const body = await text();
  const names = Object.values(METRICS).map(([name]) => name);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) {
    assert.match(name, /^walberg_[a-z_]+$/);
    assert.ok(body.includes(`# TYPE ${name} `), name);
  }
  assert.match(body, /^process_resident_memory_bytes [0-9]/m);
});

test('rows, transactions and commits are counted', async () => {
  const { events, at, read } = setup();
  events.rowsAccepted('public.t', { inserts: 5, updates: 2, deletes: 0, truncates: 1 });
  events.rowsAccepted('public.t', { inserts: 1, updates: 0, deletes: 3, truncates: 0 });
  events.transactionAccepted({ endLsn: 0x1_0000_0000n, commitTimeMs: 0 });
  at(60_000);
  events.commitFinished(COMMIT);
  events.commitRetried({ table: 'public.t', attempt: 1, error: new Error('x') });
  const values = await read();
  const rows = (operation: string): number | undefined => values.get(`walberg_rows_total{table="public.t",operation="${operation}"}`);
  assert.deepEqual(['insert', 'update', 'delete', 'truncate'].map(rows), [6, 2, 3, 1]);
  assert.equal(values.get('walberg_transactions_total'), 1);
  assert.equal(values.get('walberg_accepted_lsn'), 2 ** 32);
  assert.equal(values.get('walberg_commits_total{table="public.t"}'), 1);
  assert.equal(values.get('walberg_commit_retries_total{table="public.t"}'), 1);
  assert.equal(values.get('walberg_files_total{table="public.t",content="data"}'), 2);
  assert.equal(values.get('walberg_files_total{table="public.t",content="deletes"}'), 1);
  assert.equal(values.get('walberg_committed_bytes_total{table="public.t"}'), 1000);
  assert.equal(values.get('walberg_committed_records_total{table="public.t",content="deletes"}'), 3);
  assert.equal(values.get('walberg_commit_duration_seconds_bucket{le="0.5"}'), 0);
  assert.equal(values.get('walberg_commit_duration_seconds_bucket{le="1"}'), 1);
  assert.equal(values.get('walberg_freshness_seconds_sum'), 1.5);
  assert.equal(values.get('walberg_last_commit_timestamp_seconds'), 60);
});

test('lag and time since the last commit are computed when read', async () => {
  const { events, at, read } = setup();
  events.sessionStarted({ slot: 's', publication: 'p', startLsn: 100n, tables: ['public.t'] });
  events.transactionAccepted({ endLsn: 300n, commitTimeMs: 0 });
  at(7000);
  let values = await read();
  assert.equal(values.get('walberg_source_lag_seconds'), 7);
  assert.equal(values.get('walberg_source_lag_bytes'), 200);
  assert.equal(values.get('walberg_seconds_since_last_commit'), 7);
  events.commitFinished(COMMIT);
  events.confirmed(300n);
  at(9000);
  values = await read();
  assert.equal(values.get('walberg_source_lag_seconds'), 0);
  assert.equal(values.get('walberg_source_lag_bytes'), 0);
  assert.equal(values.get('walberg_seconds_since_last_commit'), 2);
  assert.equal(values.get('walberg_confirmed_lsn'), 300);
});

test('sessions, slot, buffer, load and replaced values', async () => {
  const { events, read } = setup();
  const started = { slot: 's', publication: 'p', startLsn: 1n, tables: [] };
  events.sessionStarted(started);
  assert.equal((await read()).get('walberg_streaming'), 1);
  events.sessionEnded({ error: new WalbergError('SOURCE_UNREACHABLE', 'x'), retryInMs: 1 });
  events.sessionStarted(started);
  events.sessionEnded({});
  events.sourceStatus({ retainedBytes: 5n, walStatus: 'extended', safeWalSizeBytes: 9n });
  events.bufferChanged(77, true);
  events.loadStarted({ table: 'public.t', estimatedRows: 8, estimatedBytes: 1 });
  events.loadProgress({ table: 'public.t', rows: 4, bytes: 40, chunksDone: 1, chunksTotal: 4 });
  events.valuesReplaced({ table: 'public.t', column: 'c', count: 3, policy: 'null' });
  events.warning({ message: 'm' });
  let values = await read();
  assert.equal(values.get('walberg_streaming'), 0);
  assert.equal(values.get('walberg_sessions_total'), 2);
  assert.equal(values.get('walberg_session_errors_total{code="SOURCE_UNREACHABLE"}'), 1);
  assert.equal(values.get('walberg_slot_retained_bytes'), 5);
  assert.equal(values.get('walberg_slot_safe_bytes'), 9);
  assert.deepEqual(['reserved', 'extended', 'unreserved', 'lost'].map((s) => values.get(`walberg_slot_state{state="${s}"}`)), [0, 1, 0, 0]);
  assert.equal(values.get('walberg_buffer_bytes'), 77);
  assert.equal(values.get('walberg_buffer_paused'), 1);
  assert.equal(values.get('walberg_load_rows{table="public.t"}'), 4);
  assert.equal(values.get('walberg_load_progress_ratio{table="public.t"}'), 0.25);
  assert.equal(values.get('walberg_values_replaced_total{table="public.t",column="c",policy="null"}'), 3);
  assert.equal(values.get('walberg_warnings_total'), 1);
  events.loadFinished({ table: 'public.t', rows: 9, durationMs: 1, lsn: 1n });
  values = await read();
  assert.equal(values.get('walberg_load_progress_ratio{table="public.t"}'), 1);
  assert.equal(values.get('walberg_load_rows{table="public.t"}'), 9);
});

test('a table name cannot break the exposition', async () => {
  const { events, text } = setup();
  events.commitRetried({ table: 'a"b\\c\nd', attempt: 1, error: new Error('x') });
  assert.ok((await text()).includes('walberg_commit_retries_total{table="a\\"b\\\\c\\nd"} 1\n'));
});
