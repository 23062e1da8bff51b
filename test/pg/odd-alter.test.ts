import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { compareTable, describeComparison } from '../support/compare-table.js';
import { type Daemon, startDaemon, waitUntilCaughtUp } from '../support/daemon.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

/** A commit interval in which nothing is committed by itself. */
const NEVER = { 'walberg.commit.interval.ms': '600000' };

describe('a column that goes while changes wait for their commit', { timeout: 120_000 }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed.close());

  const CASES: readonly { name: string; before: string; alter: string }[] = [
    { name: 'rows_wait', before: "INSERT INTO t VALUES (2, 'two', 2); INSERT INTO o VALUES (1)", alter: 'ALTER TABLE t DROP w' },
    { name: 'others_need_values', before: "INSERT INTO t VALUES (2, 'two', 2); UPDATE b SET n = 1; INSERT INTO o VALUES (1)", alter: 'ALTER TABLE t DROP w' },
    { name: 'last_statement', before: "INSERT INTO o SELECT g FROM generate_series(1, 1000) g; UPDATE t SET v = 'changed', w = 3", alter: 'BEGIN; INSERT INTO o VALUES (-1); ALTER TABLE t DROP w; COMMIT' },
  ];
  for (const { name, before: change, alter } of CASES) {
    test(`${name}: it is told, and the next process goes on from there`, async () => {
      await bed.createDatabase(name);
      const pg = await bed.client(name);
      let daemon: Daemon | undefined;
      try {
        await pg.rows("CREATE TABLE t (id int PRIMARY KEY, v text, w int); INSERT INTO t VALUES (1, 'one', 1); CREATE TABLE o (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY, n int, v text); INSERT INTO b SELECT 1, 0, string_agg(md5(g::text), '') FROM generate_series(1, 500) g");
        daemon = await startDaemon({ config: { ...bed.config(name, name), ...NEVER } });
        await daemon.waitForLog(/streaming .* from slot/);
        await pg.rows(change);
        await pg.rows(alter);
        await pg.rows("INSERT INTO t VALUES (3, 'three')");
        await daemon.waitForLog(/Column w of table public\.t is no longer sent/);
        await daemon.kill9();
        daemon = await startDaemon({ config: bed.config(name, name) });
        await daemon.waitForLog(/streaming .* from slot/);
        await pg.rows("UPDATE t SET v = v || '!'");
        await waitUntilCaughtUp(daemon, pg, name);
        assert.equal(await daemon.sigterm(), 0);
        for (const table of ['t', 'o', 'b']) {
          const comparison = await compareTable(pg, bed.clickhouse, table, bed.location(name, table));
          assert.ok(comparison.equal, describeComparison(table, comparison));
        }
      } finally {
        await daemon?.kill9();
        await pg.close();
      }
    });
  }
});
