import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FaultRun, type Mode, SHOP } from '../support/fault-run.js';
import { Gate } from '../support/faults.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const MODES = ['mirror', 'append'] satisfies Mode[];
const inData = (location: string): boolean => location.includes('/data/');
const QUICK = { 'walberg.shutdown.timeout.ms': '2000' };

describe('a pipeline that is told to stop', { concurrency: 3 }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());

  test('during a load: it ends without the load, and the next start loads', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const gate = new Gate();
      const pipeline = run.start({ storage: [{ on: 'write', nth: 2, where: inData, action: { kind: 'hold', gate } }] }, { 'walberg.load.chunk-pages': '1' }, { segmentBytes: 100_000 });
      await gate.reached;
      pipeline.abort();
      gate.release();
      await pipeline.stop();
      assert.equal(pipeline.sessions, 0);
      await run.rounds(1);
      await run.startLoaded();
      await run.finish();
    }, `${SHOP}; INSERT INTO item SELECT g, g, repeat('x', 100) FROM generate_series(500001, 510000) g`);
  });

  test('while the load waits for an open transaction', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const other = await bed.client(run.name);
      try {
        await other.rows("BEGIN; UPDATE item SET v = 'open'");
        const pipeline = run.start();
        await run.untilSource('the slot to be created', "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'walberg%' AND wait_event_type = 'Lock')");
        await pipeline.stop();
        await other.rows('COMMIT');
      } finally {
        await other.close();
      }
      await run.startLoaded();
      await run.finish();
    });
  });

  for (const mode of MODES) {
    test(`during a commit: that commit is waited for, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded();
        const gate = new Gate();
        pipeline.catalog.add({ on: 'commitTable', action: { kind: 'hold', gate } });
        await run.rounds(2);
        await gate.reached;
        pipeline.abort();
        gate.release();
        await pipeline.stop();
        await run.rounds(1);
        run.start();
        await run.finish();
      });
    });

    test(`with changes that are not committed yet: they are committed before it ends, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded({}, { 'walberg.commit.interval.ms': '600000' });
        const before = pipeline.accepted;
        await run.pg.rows("UPDATE item SET v = 'last words' WHERE id < 300");
        await pipeline.until('the change to arrive', () => pipeline.accepted > before);
        await pipeline.stop();
        await run.assertEqual();
      });
    });

    test(`in the middle of a large transaction: nothing of it is left, and the next start has all of it, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded({}, QUICK, { segmentBytes: 200_000, bufferMaxBytes: 600_000 });
        const gate = new Gate();
        const { length } = pipeline.commits;
        pipeline.storage.add({ on: 'write', nth: 3, times: Infinity, where: inData, action: { kind: 'hold', gate } });
        await run.pg.rows("INSERT INTO item SELECT g, g, repeat(md5(g::text), 8) FROM generate_series(100001, 140000) g; UPDATE item SET n = n + 1 WHERE id % 3 = 0; DELETE FROM item WHERE id % 10 = 0");
        await pipeline.until('reading to pause', () => pipeline.paused);
        await pipeline.stop();
        assert.equal(pipeline.commits.length, length, 'half of a transaction was committed');
        gate.release();
        await run.rounds(1);
        run.start();
        await run.finish();
      });
    });
  }

  test('while the server, the storage or the catalog is away', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded({}, { 'walberg.retry.initial.ms': '600000', 'walberg.retry.max.ms': '600000' });
      pipeline.storage.add({ on: 'write', times: Infinity, action: { kind: 'fail', code: 'STORAGE_FULL' } });
      await run.rounds(1);
      await pipeline.until('the pause', () => pipeline.failures.length === 1);
      await pipeline.stop();
      run.start();
      await run.finish();
    });
  });
});
