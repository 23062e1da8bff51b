import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Daemon, startDaemon, waitUntilCaughtUp } from '../support/daemon.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const UPSERT = 'debezium.sink.iceberg.upsert';
const KEEP = 'debezium.sink.iceberg.upsert-keep-deletes';

/** The rows of one mode are not those of another: a table that goes on in another mode would keep what it must not hold. */
describe('a table whose mode is changed between two starts', { timeout: 180_000 }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed.close());

  const CASES: readonly { name: string; first: Record<string, string>; next: Record<string, string>; refused: RegExp }[] = [
    { name: 'kept_to_mirror', first: { [UPSERT]: 'true', [KEEP]: 'true' }, next: { [UPSERT]: 'true', [KEEP]: 'false' }, refused: /written in soft mode .* mirror mode/ },
    { name: 'log_to_mirror', first: { [UPSERT]: 'false' }, next: { [UPSERT]: 'true', [KEEP]: 'false' }, refused: /written in append mode .* mirror mode/ },
    { name: 'log_to_kept', first: { [UPSERT]: 'false' }, next: { [UPSERT]: 'true', [KEEP]: 'true' }, refused: /written in append mode .* soft mode/ },
  ];

  for (const { name, first, next, refused } of CASES) {
    test(`${name}: refused, and the old mode goes on`, async () => {
      await bed.createDatabase(name);
      const pg = await bed.client(name);
      let daemon: Daemon | undefined;
      const run = async (config: Record<string, string>, sql: string): Promise<void> => {
        daemon = await startDaemon({ config: { ...bed.config(name, name), ...config } });
        await daemon.waitForLog(/streaming .* from slot/);
        await pg.rows(sql);
        await waitUntilCaughtUp(daemon, pg, name);
        assert.equal(await daemon.sigterm(), 0);
      };
      try {
        await pg.rows("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a'), (2, 'b')");
        await run(first, 'DELETE FROM t WHERE id = 1');
        const [before] = await bed.clickhouse.query('SELECT count() FROM {table}', bed.location(name, 't'));
        daemon = await startDaemon({ config: { ...bed.config(name, name), ...next } });
        assert.equal((await daemon.exited).code, 1);
        assert.match(daemon.logs(), refused);
        assert.deepEqual((await bed.clickhouse.query('SELECT count() FROM {table}', bed.location(name, 't')))[0], before);
        await run(first, "INSERT INTO t VALUES (1, 'again')");
        const rows = await bed.clickhouse.query("SELECT v FROM {table} WHERE id = 1 AND __deleted = 'false' AND v = 'again'", bed.location(name, 't'));
        assert.deepEqual(rows, [['again']]);
      } finally {
        await daemon?.kill9();
        await pg.close();
      }
    });
  }
});
