import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WalbergError } from '../../src/errors/error.js';
import { broadcast, type CommitInfo, type PipelineEvents } from '../../src/observe/events.js';
import { Health } from '../../src/observe/health.js';
import { SourceLag } from '../../src/observe/source-lag.js';

const COMMIT: CommitInfo = { table: 't', snapshotId: 1n, sequenceNumber: 2n, endLsn: 300n, dataFiles: 1, deleteFiles: 0, bytes: 1, records: 1, deletes: 0, durationMs: 1, attempts: 1 };
const SESSION = { slot: 's', publication: 'p', startLsn: 100n, tables: ['t'] };

function setup(): { events: PipelineEvents; at: (ms: number) => void; state: () => string; health: Health } {
  let now = 0;
  const lag = new SourceLag(() => now);
  const health = new Health({ lag, limits: { notReadyAfterMs: 1000, notLiveAfterMs: 5000 }, now: () => now });
  return { events: broadcast([lag.listener, health.listener]), at: (ms) => { now = ms; }, state: () => `${health.report('live').status} ${health.report('ready').status} ${health.report('started').status}`, health };
}

test('starting is live and not ready; streaming is ready; waiting for the source is live and not ready', () => {
  const { events, state, health } = setup();
  assert.equal(state(), 'UP DOWN DOWN');
  events.sessionStarted(SESSION);
  assert.equal(state(), 'UP UP UP');
  events.sessionEnded({ error: new WalbergError('SOURCE_UNREACHABLE', 'x'), retryInMs: 500 });
  assert.equal(state(), 'UP DOWN UP');
  const streaming = health.report('ready').checks.find((c) => c.name === 'streaming')!;
  assert.deepEqual(streaming.data, { state: 'waiting', lastError: 'SOURCE_UNREACHABLE' });
  events.sessionStarted(SESSION);
  assert.equal(state(), 'UP UP UP');
  events.sessionEnded({});
  assert.equal(health.report('ready').checks[0].data!.state, 'stopped');
});

test('hours without a change are healthy', () => {
  const { events, at, state } = setup();
  events.sessionStarted(SESSION);
  at(10 * 3_600_000);
  assert.equal(state(), 'UP UP UP');
});

test('a change that waits without progress makes it not ready, then not live; a commit heals both', () => {
  const { events, at, state } = setup();
  events.sessionStarted(SESSION);
  at(60_000);
  events.transactionAccepted({ endLsn: 300n, commitTimeMs: 0 });
  assert.equal(state(), 'UP UP UP', 'an old commit time alone is a backlog, not a fault');
  at(61_000);
  assert.equal(state(), 'UP UP UP');
  at(61_001);
  assert.equal(state(), 'UP DOWN UP');
  at(65_000);
  assert.equal(state(), 'UP DOWN UP');
  at(65_001);
  assert.equal(state(), 'DOWN DOWN UP');
  events.commitFinished(COMMIT);
  assert.equal(state(), 'UP UP UP');
  events.confirmed(300n);
  at(99_000);
  assert.equal(state(), 'UP UP UP');
});

test('retries keep the process live but not ready: a restart would not help', () => {
  const { events, at, state } = setup();
  events.sessionStarted(SESSION);
  events.transactionAccepted({ endLsn: 300n, commitTimeMs: 0 });
  for (let ms = 1000; ms < 20_000; ms += 1000) {
    at(ms);
    events.commitRetried({ table: 't', attempt: 1, error: new Error('503') });
  }
  assert.equal(state(), 'UP DOWN UP');
});

test('a load counts as progress', () => {
  const { events, at, state } = setup();
  events.sessionStarted(SESSION);
  events.transactionAccepted({ endLsn: 300n, commitTimeMs: 0 });
  at(5000);
  events.loadProgress({ table: 't', rows: 1, bytes: 1, chunksDone: 1, chunksTotal: 2 });
  assert.equal(state(), 'UP UP UP');
});

test('all checks together', () => {
  const { events, health } = setup();
  events.sessionStarted(SESSION);
  const report = health.report('all');
  assert.deepEqual(report.checks.map((c) => [c.name, c.status]), [['process', 'UP'], ['streaming', 'UP'], ['commits', 'UP']]);
  assert.deepEqual(report.checks[2].data, { lagSeconds: 0, lagBytes: '0' });
  assert.equal(report.status, 'UP');
  events.sessionEnded({});
  assert.equal(health.report('all').status, 'DOWN', 'one is enough');
});
