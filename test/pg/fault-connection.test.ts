import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FaultRun, type Mode } from '../support/fault-run.js';
import { Gate } from '../support/faults.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const MODES = ['mirror', 'append'] satisfies Mode[];

describe('connections that are cut', { concurrency: 3 }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());

  for (const mode of MODES) {
    test(`the replication connection, again and again, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded();
        for (let i = 0; i < 4; i++) {
          await run.rounds(1);
          const { sessions } = pipeline;
          assert.equal(await run.cut('walberg stream'), 1);
          await run.rounds(1);
          await pipeline.until('the next session', () => pipeline.sessions > sessions);
        }
        await run.finish();
      });
    });

    test(`all connections, while a commit is held, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded();
        const gate = new Gate();
        pipeline.catalog.add({ on: 'commitTable', action: { kind: 'hold', gate } });
        await run.rounds(2);
        await gate.reached;
        await run.pg.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'walberg%'");
        await run.rounds(1);
        gate.release();
        await pipeline.until('the next session', () => pipeline.sessions === 2);
        await run.finish();
      });
    });
  }

  test('the connections of a load', async () => {
    for (const cut of ['walberg load', 'walberg']) {
      await FaultRun.with(bed, 'mirror', async (run) => {
        const gate = new Gate();
        const pipeline = run.start({ storage: [{ on: 'write', where: (location) => location.includes('/data/'), action: { kind: 'hold', gate } }] }, { 'debezium.source.snapshot.max.threads': '2', 'walberg.load.chunk-pages': '1' });
        await gate.reached;
        assert.ok(await run.cut(cut) > 0);
        gate.release();
        await pipeline.streaming();
        await run.rounds(1);
        await run.finish();
      });
    }
  });

  test('the connection that reads values back, while it reads', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded();
      const [changer, locker] = await Promise.all([bed.client(run.name), bed.client(run.name)]);
      try {
        await changer.rows("BEGIN; UPDATE doc SET title = 'the large value stays' WHERE id < 9");
        // Waits for the change, and then makes the reader wait.
        const locked = locker.rows('BEGIN; LOCK TABLE doc IN ACCESS EXCLUSIVE MODE');
        await run.untilSource('the lock to be asked for', "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND relation = 'doc'::regclass");
        await changer.rows('COMMIT');
        await locked;
        await run.untilSource('the reader to wait', "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'walberg read-back' AND wait_event_type = 'Lock'");
        assert.equal(await run.cut('walberg read-back'), 1);
        await pipeline.until('the session to end', () => pipeline.failures.length === 1);
        await locker.rows('COMMIT');
      } finally {
        await Promise.all([changer.close(), locker.close()]);
      }
      await run.finish();
    });
  });

  test('the connection that reads values back, when it is idle', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded();
      for (let i = 1; i <= 2; i++) {
        await run.rounds(1);
        await run.settled();
        assert.equal(await run.cut('walberg read-back'), 1);
        await run.pg.rows(`UPDATE doc SET title = 'after cut ${i}'`);
        await run.settled();
      }
      assert.ok(pipeline.failures.every((code) => code === 'SOURCE_SHUTDOWN' || code === 'SOURCE_UNREACHABLE'), pipeline.failures.join());
      await run.finish();
    });
  });
});
