import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FaultRun } from '../support/fault-run.js';
import { Gate } from '../support/faults.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

/** A server that cuts streams whose client is silent for five seconds. */
describe('a server with wal_sender_timeout = 5s', { concurrency: true }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed({ wal_sender_timeout: '5s' }); });
  after(() => bed?.close());

  test('a commit takes thirty seconds: nothing is cut, and everything arrives', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded({}, { 'debezium.source.status.update.interval.ms': '10000' });
      pipeline.catalog.add({ on: 'commitTable', action: { kind: 'slow', ms: 30_000 } });
      await run.rounds(3);
      await run.finish();
      assert.deepEqual([pipeline.sessions, pipeline.failures], [1, []]);
    });
  });

  test('reading pauses for twelve seconds because nothing can be written: nothing is cut, and everything arrives', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded({}, { 'debezium.source.status.update.interval.ms': '10000' }, { bufferMaxBytes: 300_000, segmentBytes: 60_000 });
      const gate = new Gate();
      pipeline.storage.add({ on: 'write', times: Infinity, where: (location) => location.includes('/data/'), action: { kind: 'hold', gate } });
      // More than the sockets on both sides take.
      await run.pg.rows("INSERT INTO item SELECT g, g, repeat(md5(g::text), 10) FROM generate_series(10001, 70000) g");
      await pipeline.until('reading to pause', () => pipeline.paused);
      setTimeout(() => gate.release(), 12_000);
      await run.rounds(1);
      await run.finish();
      assert.deepEqual([pipeline.sessions, pipeline.failures], [1, []]);
    });
  });

  test('the pipeline is quiet for longer than the server waits', async () => {
    await FaultRun.with(bed, 'append', async (run) => {
      const pipeline = await run.startLoaded({}, { 'debezium.source.status.update.interval.ms': '60000' });
      await sleep(11_000);
      await run.rounds(1);
      await run.finish();
      assert.deepEqual([pipeline.sessions, pipeline.failures], [1, []]);
    });
  });
});
