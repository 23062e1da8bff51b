import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WalbergError } from '../../src/errors/error.js';
import { broadcast, type CommitInfo, type PipelineEvents } from '../../src/observe/events.js';
import { logListener } from '../../src/observe/log-listener.js';
import { createLogger, describeError } from '../../src/observe/logging.js';

type Line = Record<string, unknown> & { level: string; msg: string };
const COMMIT: CommitInfo = { table: 'public.t', snapshotId: 9007199254740993n, sequenceNumber: 2n, endLsn: 0x16_b374d848n, dataFiles: 2, deleteFiles: 1, bytes: 1000, records: 10, deletes: 1, durationMs: 1234, attempts: 1 };

function setup(logLevel: 'trace' | 'debug' | 'info' = 'info'): { events: PipelineEvents; lines: () => Line[]; at: (ms: number) => void } {
  let text = '';
  let now = 0;
  const logger = createLogger({ logLevel, logJson: true }, { write: (chunk: string) => { text += chunk; } });
  return { events: broadcast([logListener(logger, () => now)]), lines: () => text.split('\n').filter((l) => l !== '').map((l) => JSON.parse(l) as Line), at: (ms) => { now = ms; } };
}

test('a commit is one line with everything about it', () => {
  const { events, lines } = setup();
  events.commitStarted({ table: 'public.t', endLsn: 1n, rows: 11 });
  events.commitFinished(COMMIT);
  events.confirmed(1n);
  const [line, ...rest] = lines();
  assert.deepEqual(rest, []);
  assert.equal(line.level, 'info');
  assert.equal(line.msg, 'committed public.t: 10 records, 1 delete in 1.2 s');
  assert.equal(line.lsn, '16/B374D848');
  assert.equal(line.snapshot, '9007199254740993', 'all digits');
  assert.match(line.time as string, /^\d{4}-\d\d-\d\dT/);
});

test('load progress at most every 10 s per table', () => {
  const { events, lines, at } = setup();
  events.loadStarted({ table: 'a', estimatedRows: 100, estimatedBytes: 1 });
  for (let ms = 1000; ms <= 30_000; ms += 1000) {
    at(ms);
    events.loadProgress({ table: 'a', rows: ms, bytes: 1, chunksDone: ms / 1000, chunksTotal: 30 });
  }
  events.loadFinished({ table: 'a', rows: 30_000, durationMs: 30_000, lsn: 1n });
  assert.deepEqual(lines().map((l) => l.msg), ['loading a, about 100 rows', 'loading a: 10000 rows, 33 %', 'loading a: 20000 rows, 66 %', 'loading a: 30000 rows, 100 %', 'loaded a: 30000 rows in 30.0 s']);
});

test('sessions that are tried again warn and say what to do', () => {
  const { events, lines } = setup();
  const error = new WalbergError('SOURCE_UNREACHABLE', 'connection refused', { context: { host: 'db', lsn: 5n }, cause: new Error('ECONNREFUSED') });
  events.sessionEnded({ error, retryInMs: 1500.876 });
  events.sessionEnded({});
  const [again, clean] = lines();
  assert.deepEqual([again.level, clean.level], ['warn', 'info']);
  assert.equal(again.code, 'SOURCE_UNREACHABLE');
  assert.equal(again.retryInMs, 1501);
  assert.deepEqual(again.context, { host: 'db', lsn: 5 });
  assert.deepEqual(again.causes, ['ECONNREFUSED']);
  assert.equal(typeof again.hint, 'string');
  assert.ok(!('stack' in again));
  assert.match(again.msg, /again in 1\.5 s: connection refused/);
});

test('errors that end the process are left to who ends it; those that only meet a stop warn', () => {
  const { events, lines } = setup();
  for (const code of ['SLOT_MISSING', 'INTERNAL', 'TABLE_MISSING', 'SLOT_TAKEN'] as const) events.sessionEnded({ error: new WalbergError(code, 'x') });
  assert.deepEqual(lines(), []);
  events.sessionEnded({ error: new WalbergError('CATALOG_UNREACHABLE', 'no answer') });
  assert.deepEqual(lines().map((l) => [l.level, l.code]), [['warn', 'CATALOG_UNREACHABLE']]);
  assert.match(lines()[0].msg, /during the stop.*no answer$/);
});

test('an error is described once: causes that repeat the message are left out', () => {
  const cause = new Error('socket closed', { cause: new Error('EPIPE', { cause: new Error('EPIPE') }) });
  assert.deepEqual(describeError(new WalbergError('SOURCE_PRIVILEGE', 'permission denied', { cause: new Error('permission denied', { cause }) })).causes, ['socket closed', 'EPIPE']);
  assert.ok(!('causes' in describeError(new WalbergError('SOURCE_PRIVILEGE', 'cannot read: permission denied', { cause: new Error('permission denied') }))));
});

test('numbers are whole milliseconds, and other fractions short', () => {
  const { events, lines } = setup();
  events.commitFinished({ ...COMMIT, durationMs: 25.947927000001073 });
  events.warning({ message: 'w', context: { lagMs: 498.8762, share: 0.123456 } });
  assert.equal(lines()[0].durationMs, 26);
  assert.deepEqual(lines()[1].context, { lagMs: 499, share: 0.123 });
});

test('the slot is told when its state changes; danger comes as a warning of its own', () => {
  const { events, lines } = setup('debug');
  for (const walStatus of ['reserved', 'reserved', 'extended', 'unreserved', 'unreserved', 'lost']) events.sourceStatus({ walStatus, retainedBytes: 1n });
  assert.deepEqual(lines().map((l) => [l.level, l.walStatus]), ['reserved', 'extended', 'unreserved', 'lost'].map((state) => ['debug', state]));
});

test('replaced values are told once a minute per column', () => {
  const { events, lines, at } = setup();
  for (const [ms, column] of [[0, 'a'], [1000, 'a'], [1000, 'b'], [60_000, 'a']] as const) {
    at(ms);
    events.valuesReplaced({ table: 't', column, count: 1, policy: 'null' });
  }
  assert.deepEqual(lines().map((l) => l.column), ['a', 'b', 'a']);
});

test('warnings carry their context, 64-bit numbers included', () => {
  const { events, lines } = setup();
  events.warning({ message: 'careful', context: { lsn: 18446744073709551615n, table: 't' } });
  events.warning({ message: 'bare' });
  assert.deepEqual(lines().map((l) => [l.level, l.msg, l.context]), [['warn', 'careful', { lsn: '18446744073709551615', table: 't' }], ['warn', 'bare', undefined]]);
});

test('the level is kept, silent is silent', () => {
  const { events, lines } = setup('info');
  events.bufferChanged(1, true);
  assert.deepEqual(lines(), []);
  const debug = setup('debug');
  for (const paused of [false, true, true, false]) debug.events.bufferChanged(1, paused);
  assert.deepEqual(debug.lines().map((l) => l.msg), ['reading waits for the buffer', 'reading goes on']);
});

test('text for people: one line, level and message, no colours when it is no terminal', () => {
  let text = '';
  const logger = createLogger({ logLevel: 'info', logJson: false }, { isTTY: false, write: (chunk: string) => { text += chunk; } });
  broadcast([logListener(logger)]).commitFinished(COMMIT);
  assert.match(text, /^\[\d{4}-\d\d-\d\d [0-9:.]+\] INFO: committed public\.t: 10 records, 1 delete in 1\.2 s \{.*\}\n$/);
});

test('text for people says the message of an error once', () => {
  let text = '';
  const logger = createLogger({ logLevel: 'info', logJson: false }, { isTTY: false, write: (chunk: string) => { text += chunk; } });
  const error = new WalbergError('SOURCE_PRIVILEGE', 'permission denied for database shop', { cause: new Error('permission denied for database shop'), hint: 'GRANT it' });
  logger.fatal(describeError(error), error.message);
  assert.equal(text.split('permission denied').length - 1, 1, text);
  assert.match(text, /GRANT it/);
});
