import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { dropSlot } from '../support/case.js';
import { compareTable, describeComparison } from '../support/compare-table.js';
import { type Daemon, describeExit, startDaemon, waitUntilCaughtUp } from '../support/daemon.js';
import { Random, testSeed } from '../support/random.js';
import { openTestBed } from '../support/test-bed.js';

const KILLS = 12;
const NAME = 'kill_alter';
/** Dropped or renamed once each: a column that came and was renamed between two looks stops the process, as documented. */
const OLD = Array.from({ length: 30 }, (_, i) => `old${i}`);
const SETUP = `CREATE TABLE t (id bigserial PRIMARY KEY, n int, big text, ${OLD.map((c) => `${c} int DEFAULT 1`).join(', ')}); ALTER TABLE t ALTER big SET STORAGE EXTERNAL;
  INSERT INTO t (n, big) SELECT g, repeat(md5(g::text), 100) FROM generate_series(1, 500) g`;

/** Columns come, go and change their names while the process is killed again and again. */
test('a table whose columns change under load ends equal to its source after any kills', { timeout: 300_000 }, async (t) => {
  const bed = await openTestBed();
  const seed = testSeed();
  t.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  await bed.createDatabase(NAME);
  const pg = await bed.client(NAME);
  const writer = await bed.client(NAME);
  let daemon: Daemon | undefined;
  let working = true;
  const altered: string[] = [];
  const work = async (): Promise<void> => {
    const old = [...OLD];
    const columns = [...OLD];
    for (let step = 1; working; step++) {
      const change = (): string => random.pick([
        `INSERT INTO t (n, big) SELECT g, repeat(md5(random()::text), 100) FROM generate_series(1, ${random.int(1, 20)}) g`,
        `UPDATE t SET n = n + 1 WHERE id % ${random.int(2, 40)} = 0`,
        `UPDATE t SET big = repeat(md5(n::text), 90) WHERE id % ${random.int(20, 60)} = 0`,
        `DELETE FROM t WHERE id % ${random.int(50, 90)} = 0`,
        `UPDATE t SET ${random.pick(columns)} = n WHERE id % ${random.int(2, 30)} = 0`,
      ]);
      await writer.rows(Array.from({ length: random.int(1, 4) }, change).join('; '));
      // A function of Postgres takes 100 arguments, which the comparison needs for as many columns.
      if (columns.length > 70 || !random.chance(0.06)) continue;
      const c = `c${step}`;
      const before = change();
      const kind = old.length === 0 ? 0 : random.int(0, 3);
      const gone = kind >= 2 ? old.pop()! : undefined;
      if (gone !== undefined) columns.splice(columns.indexOf(gone), 1);
      const sql = kind === 0 ? `ADD COLUMN ${c} bigint` : kind === 1 ? `ADD COLUMN ${c} bigint DEFAULT ${step}` : kind === 2 ? `DROP COLUMN ${gone}` : `RENAME COLUMN ${gone} TO ${c}`;
      if (kind !== 2) columns.push(c);
      // Sometimes between changes of one transaction.
      await writer.rows(random.chance(0.3) ? `BEGIN; ${before}; ALTER TABLE t ${sql}; UPDATE t SET n = n + 1 WHERE id % 7 = 0; COMMIT` : `ALTER TABLE t ${sql}`);
      altered.push(sql);
      await sleep(random.int(0, 300));
    }
  };
  try {
    await writer.rows(SETUP);
    const config = { ...bed.config(NAME, NAME), 'debezium.source.table.include.list': 'public\\.t', 'walberg.retry.initial.ms': '50' };
    const worked = work();
    worked.catch(() => {});
    for (let kill = 1; kill <= KILLS; kill++) {
      daemon = await startDaemon({ config });
      await Promise.race([daemon.waitForLog(/streaming .* from slot/), daemon.exited, worked]);
      await Promise.race([sleep(random.int(0, 2500)), daemon.exited, worked]);
      assert.equal(daemon.exit, undefined, `it ended by itself: ${daemon.exit && describeExit(daemon.exit)} after ${altered.join(', ')} (seed ${seed})\n${daemon.logTail()}`);
      await daemon.kill9();
    }
    working = false;
    await worked;
    daemon = await startDaemon({ config });
    await waitUntilCaughtUp(daemon, pg, NAME, undefined, 120_000);
    assert.equal(await daemon.sigterm(), 0);
    t.diagnostic(`${altered.length} changes of columns`);
    assert.ok(altered.length >= KILLS / 2, 'too few changes of columns to prove anything');
    const comparison = await compareTable(pg, bed.clickhouse, 't', bed.location(NAME, 't'));
    assert.ok(comparison.equal, `${describeComparison('t', comparison)} after ${altered.join(', ')} (seed ${seed})`);
  } finally {
    working = false;
    if (daemon !== undefined && daemon.exit === undefined) await daemon.kill9();
    await dropSlot(pg, NAME);
    await Promise.all([pg.close(), writer.close()]);
    await bed.close();
  }
});

test('columns that change while a load waits to begin are loaded as they are then', { timeout: 120_000 }, async () => {
  const bed = await openTestBed();
  const name = 'waits';
  await bed.createDatabase(name);
  const pg = await bed.client(name);
  const holder = await bed.client(name);
  let daemon: Daemon | undefined;
  try {
    await pg.rows("CREATE TABLE first (id int PRIMARY KEY); CREATE TABLE t (id int PRIMARY KEY, a text, b text); INSERT INTO t SELECT g, 'a', 'b' FROM generate_series(1, 50) g");
    const config = (tables: string): Record<string, string> => ({ ...bed.config(name, name), 'debezium.source.table.include.list': tables, 'walberg.retry.initial.ms': '50' });
    daemon = await startDaemon({ config: config('public\\.first') });
    await daemon.waitForLog(/streaming .* from slot/);
    assert.equal(await daemon.sigterm(), 0);
    // The slot is there; that of the load waits for this transaction, when the table has been planned.
    await holder.rows('BEGIN; SELECT pg_current_xact_id()');
    daemon = await startDaemon({ config: config('public\\.(first|t)') });
    await daemon.waitForLog(/The load waits for open transactions/);
    await pg.rows("ALTER TABLE t ADD COLUMN c int; UPDATE t SET c = id; ALTER TABLE t RENAME a TO x; ALTER TABLE t RENAME b TO a; ALTER TABLE t RENAME x TO b");
    await holder.rows('COMMIT');
    await daemon.waitForLog(/streaming .* from slot/);
    await waitUntilCaughtUp(daemon, pg, name);
    assert.equal(await daemon.sigterm(), 0);
    const comparison = await compareTable(pg, bed.clickhouse, 't', bed.location(name, 't'));
    assert.ok(comparison.equal, describeComparison('t', comparison));
  } finally {
    if (daemon !== undefined && daemon.exit === undefined) await daemon.kill9();
    await dropSlot(pg, name);
    await Promise.all([pg.close(), holder.close()]);
    await bed.close();
  }
});
