import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { compareTable, describeComparison } from '../support/compare-table.js';
import { type Daemon, startDaemon, waitUntilCaughtUp } from '../support/daemon.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

/** Names that pass from one source table to another. Rows are streamed by OID, Iceberg tables are found by name. */
describe('a name that passes to another table', { timeout: 180_000 }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed.close());

  const TABLES = "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'old'); CREATE TABLE u (id int PRIMARY KEY, v text); INSERT INTO u VALUES (1, 'other'), (2, 'more');";
  const CASES: readonly { name: string; ddl: string; running: RegExp; forAll?: boolean }[] = [
    { name: 'swapped', ddl: 'BEGIN; ALTER TABLE t RENAME TO x; ALTER TABLE u RENAME TO t; ALTER TABLE x RENAME TO u; COMMIT', running: /was given the name public\.[tu] while/ },
    { name: 'remade', ddl: "BEGIN; DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (3, 'new'); COMMIT", running: /public\.t was dropped and made again/, forAll: true },
  ];

  for (const { name, ddl, running, forAll } of CASES) {
    for (const when of ['running', 'stopped'] as const) {
      test(`${name} while it is ${when}: nothing is written under the wrong name, and what is loaded anew is equal`, async () => {
        const slot = `${name}_${when}`;
        await bed.createDatabase(slot);
        const pg = await bed.client(slot);
        let daemon: Daemon | undefined;
        try {
          await pg.rows(TABLES);
          const config = { ...bed.config(slot, slot), ...(forAll === true ? { 'debezium.source.publication.autocreate.mode': 'all_tables' } : {}) };
          daemon = await startDaemon({ config });
          await daemon.waitForLog(/streaming .* from slot/);
          if (when === 'stopped') await daemon.sigterm();
          await pg.rows(ddl);
          if (when === 'running') {
            assert.equal((await daemon.exited).code, 1);
            assert.match(daemon.logs(), running);
          }
          daemon = await startDaemon({ config });
          assert.equal((await daemon.exited).code, 1);
          assert.match(daemon.logs(), /is not the one that .* was written from/);
          // Loaded into tables of other names, as the message asks for.
          daemon = await startDaemon({ config: { ...config, 'debezium.sink.iceberg.table-namespace': `${slot}_2` } });
          await daemon.waitForLog(/streaming .* from slot/);
          await pg.rows("UPDATE t SET v = v || '!'");
          await waitUntilCaughtUp(daemon, pg, slot);
          assert.equal(await daemon.sigterm(), 0);
          for (const table of ['t', 'u']) {
            const comparison = await compareTable(pg, bed.clickhouse, table, bed.location(`${slot}_2`, table));
            assert.ok(comparison.equal, describeComparison(table, comparison));
          }
        } finally {
          await daemon?.kill9();
          await pg.close();
        }
      });
    }
  }

  test('a database that is read-only by default', async () => {
    await bed.createDatabase('readonly');
    const pg = await bed.client('readonly');
    let daemon: Daemon | undefined;
    try {
      await pg.rows("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1); ALTER DATABASE readonly SET default_transaction_read_only = on");
      daemon = await startDaemon({ config: bed.config('readonly', 'readonly') });
      await daemon.waitForLog(/streaming .* from slot/);
      assert.equal(await daemon.sigterm(), 0);
      const comparison = await compareTable(pg, bed.clickhouse, 't', bed.location('readonly', 't'));
      assert.ok(comparison.equal, describeComparison('t', comparison));
    } finally {
      await daemon?.kill9();
      await pg.close();
    }
  });
});
