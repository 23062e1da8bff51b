import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FaultRun, type Mode, SHOP } from '../support/fault-run.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const MODES = ['mirror', 'append'] satisfies Mode[];
const inData = (location: string): boolean => location.includes('/data/');

/** Far more rows than a part holds; later statements touch rows of every earlier part. */
const HUGE = (append: boolean): string => `BEGIN;
  INSERT INTO item SELECT g, g, 'born ' || g FROM generate_series(100001, 300000) g;
  UPDATE item SET n = -n WHERE id % 50 = 0;
  DELETE FROM item WHERE id % 70 = 0;
  UPDATE item SET id = id + 1000000 WHERE id % 110 = 0;
  INSERT INTO item SELECT g, 0, 'again' FROM generate_series(100001, 300000) g WHERE g % 70 = 0 AND g % 3 = 0;
  UPDATE item SET v = 'last' WHERE id % 210 = 0;
  INSERT INTO doc SELECT g, 'born', (SELECT string_agg(md5(g::text || h), '') FROM generate_series(1, 80) h) FROM generate_series(1001, 1500) g;
  UPDATE doc SET title = 'the large value stays';
  ${append ? '' : "UPDATE doc SET id = id + 10000 WHERE id % 4 = 0; UPDATE doc SET title = 'again' WHERE id % 3 = 0;"}
  COMMIT`;

describe('transactions of their own kind', { concurrency: 2 }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());

  for (const mode of MODES) {
    test(`200,000 rows in parts that go to files before the transaction ends, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded({}, {}, { segmentBytes: 500_000, bufferMaxBytes: 4_000_000 });
        pipeline.storage.add({ on: 'write', nth: 8, where: inData, action: { kind: 'fail', code: 'STORAGE_UNREACHABLE' } });
        await run.pg.rows(HUGE(mode === 'append'));
        await run.rounds(1);
        await run.finish();
        assert.deepEqual(pipeline.failures, []);
        assert.ok(Math.max(...pipeline.commits.map((c) => c.dataFiles)) > 10, 'it was not sealed in parts');
      });
    });
  }

  test('200,000 rows, and the session fails in their middle: nothing of the half is left', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded({}, {}, { segmentBytes: 500_000 });
      pipeline.storage.add({ on: 'write', nth: 8, where: inData, action: { kind: 'fail', code: 'STORAGE_FULL' } });
      const { length } = pipeline.commits;
      await run.pg.rows(HUGE(false));
      await pipeline.until('the session to fail', () => pipeline.failures.includes('STORAGE_FULL'));
      assert.equal(pipeline.commits.length, length);
      await run.rounds(1);
      await run.finish();
    });
  });

  test('TRUNCATE between rows of one transaction, again and again', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded({}, {}, { segmentBytes: 100_000 });
      await run.pg.rows(`BEGIN; INSERT INTO item SELECT g, 1, 'before' FROM generate_series(2001, 4000) g; UPDATE item SET n = n + 1; UPDATE doc SET title = 'before'; TRUNCATE item, doc;
        INSERT INTO item SELECT g, 2, 'after' FROM generate_series(1, 3000) g; INSERT INTO doc SELECT g, 'after', (SELECT string_agg(md5(g::text || h), '') FROM generate_series(1, 90) h) FROM generate_series(1, 5) g;
        UPDATE item SET v = 'after, again' WHERE id % 2 = 0; UPDATE doc SET title = 'after, again'; COMMIT`);
      await run.settled();
      await run.assertEqual();
      // A transaction before it, itself, and one after it in one commit, whose first attempts fail.
      pipeline.catalog.add({ on: 'commitTable', times: 3, action: { kind: 'unknown-not-applied' } });
      await run.pg.rows("UPDATE item SET n = n + 1 WHERE id < 100; UPDATE doc SET title = 'changed'");
      await run.pg.rows("BEGIN; DELETE FROM item WHERE id % 3 = 0; TRUNCATE item; TRUNCATE item; INSERT INTO item VALUES (1, 1, 'only'); TRUNCATE doc; COMMIT");
      await run.pg.rows("INSERT INTO item SELECT g, 3, 'next' FROM generate_series(2, 50) g; UPDATE item SET n = 4 WHERE id = 1");
      await run.settled();
      await run.assertEqual();
      await run.pg.rows('BEGIN; INSERT INTO item SELECT g, 5, NULL FROM generate_series(1000, 1100) g; TRUNCATE item; SAVEPOINT s; TRUNCATE doc; INSERT INTO doc VALUES (77, NULL, NULL); ROLLBACK TO s; COMMIT');
      await run.finish();
    });
  });

  test('TRUNCATE while rows wait for values from the source', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      await run.startLoaded();
      for (let i = 0; i < 5; i++) {
        await run.pg.rows(`UPDATE doc SET title = 'open ${i}'`);
        await run.pg.rows(`TRUNCATE doc; INSERT INTO doc SELECT g, 'new ${i}', (SELECT string_agg(md5(g::text || h), '') FROM generate_series(1, 100) h) FROM generate_series(1, 20) g`);
        await run.pg.rows(`UPDATE doc SET title = 'open again ${i}' WHERE id % 2 = 0; DELETE FROM doc WHERE id % 5 = 0`);
      }
      await run.finish();
    });
  });

  test('a value changes before it is read for an earlier change: no snapshot shows a row that never was', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded();
      const [changer, locker] = await Promise.all([bed.client(run.name), bed.client(run.name)]);
      try {
        await changer.rows("BEGIN; UPDATE big SET title = 'first'; UPDATE doc SET title = 'first' WHERE id < 9");
        const locked = locker.rows('BEGIN; LOCK TABLE big IN ACCESS EXCLUSIVE MODE');
        await run.untilSource('the lock to be asked for', "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND relation = 'big'::regclass");
        await changer.rows('COMMIT');
        await locked;
        // One reader serves all tables: while it waits for this one, the other's turn does not come.
        await run.untilSource('the reader to wait', "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'walberg read-back' AND wait_event_type = 'Lock'");
        const commits = (): number => pipeline.commits.filter((c) => c.table === 'public.doc').length;
        const before = commits();
        pipeline.catalog.add({ on: 'commitTable', nth: 2, where: ({ name }) => name.endsWith('doc'), action: { kind: 'slow', ms: 2000 } });
        await changer.rows("UPDATE doc SET title = 'second', body = repeat('new', 1000) WHERE id < 9");
        await locker.rows('COMMIT');
        await pipeline.until('the commit', () => commits() > before);
        assert.deepEqual(await bed.clickhouse.query("SELECT toString(count()) FROM {table} WHERE title = 'first' AND startsWith(body, 'new')", bed.location(run.name, 'doc')), [['0']]);
      } finally {
        await Promise.all([changer.close(), locker.close()]);
      }
      await run.finish();
    }, `${SHOP}; CREATE TABLE big (LIKE doc INCLUDING ALL); INSERT INTO big SELECT * FROM doc WHERE id = 1`, ['big', 'doc', 'item']);
  });

  test('TRUNCATE is no change of a table that is appended to, and the rows around it are', async () => {
    await FaultRun.with(bed, 'append', async (run) => {
      await run.startLoaded();
      await run.pg.rows("BEGIN; INSERT INTO item VALUES (90001, 1, 'before'); TRUNCATE item; INSERT INTO item VALUES (90002, 2, 'after'); COMMIT");
      await run.settled();
      await run.pipeline.stop();
      const rows = await bed.clickhouse.query("SELECT __op, toString(id) FROM {table} WHERE __op != 'r' AND __op != 't' ORDER BY id", bed.location(run.name, 'item'));
      assert.deepEqual(rows, [['c', '90001'], ['c', '90002']]);
    });
  });
});
