import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HadoopCatalog } from '../../src/iceberg/catalog/hadoop.js';
import { LEFT_OUT } from '../../src/pipeline/left-out.js';
import { FileStorage } from '../../src/storage/file.js';
import { compareTable, describeComparison } from '../support/compare-table.js';
import { type Daemon, startDaemon, waitUntilCaughtUp } from '../support/daemon.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const TABLES = 'debezium.source.table.include.list';
const COLUMNS = 'debezium.source.column.exclude.list';
const UPSERT = 'debezium.sink.iceberg.upsert';

type Start = (config: Record<string, string>, faults?: Parameters<typeof startDaemon>[0]['faults']) => Promise<Daemon>;

/** What is left out for a while changes meanwhile; put back, it must not look as if nothing had happened. */
describe('a table or column that is left out of the capture and put back', { timeout: 180_000 }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed.close());

  async function scene(name: string, play: (run: (config: Record<string, string>, sql: string) => Promise<void>, start: Start) => Promise<void>): Promise<void> {
    await bed.createDatabase(name);
    const pg = await bed.client(name);
    const daemons: Daemon[] = [];
    const start: Start = async (config, faults) => {
      const daemon = await startDaemon({ config: { ...bed.config(name, name), ...config }, faults });
      daemons.push(daemon);
      return daemon;
    };
    try {
      await pg.rows("CREATE TABLE a (id int PRIMARY KEY, v text); CREATE TABLE b (id int PRIMARY KEY, v text, w text); INSERT INTO b SELECT g, 'v', 'w' FROM generate_series(1, 5) g");
      await play(async (config, sql) => {
        const daemon = await start(config);
        await daemon.waitForLog(/streaming .* from slot/);
        await pg.rows(sql);
        await waitUntilCaughtUp(daemon, pg, name);
        assert.equal(await daemon.sigterm(), 0);
      }, start);
      const comparison = await compareTable(pg, bed.clickhouse, 'b', bed.location(name, 'b'), name.startsWith('log') ? { where: "__op IN ('r', 'c')" } : {});
      assert.ok(comparison.equal, describeComparison('b', comparison));
    } finally {
      for (const daemon of daemons) if (daemon.exit === undefined) await daemon.kill9();
      await pg.close();
    }
  }

  const both = { [TABLES]: 'public\\.(a|b)' };

  test('the table is loaded anew when it comes back', () => scene('back', async (run) => {
    await run(both, "UPDATE b SET v = 'first' WHERE id = 1");
    await run({ [TABLES]: 'public\\.a' }, "UPDATE b SET v = 'missed' WHERE id = 2; DELETE FROM b WHERE id = 3; INSERT INTO b VALUES (6, 'missed', 'w'); INSERT INTO a VALUES (1, 'a')");
    await run(both, "UPDATE b SET v = 'last' WHERE id = 4");
    // And the mark is gone: a further start loads nothing.
    await run(both, "INSERT INTO b VALUES (7, 'more', 'w')");
  }));

  test('also when the process is killed before the load has ended', () => scene('back_killed', async (run, start) => {
    await run(both, '');
    await run({ [TABLES]: 'public\\.a' }, "DELETE FROM b WHERE id = 3; INSERT INTO a VALUES (1, 'a')");
    const daemon = await start(both, { 1: 'kill-before' });
    await Promise.race([daemon.exited, daemon.waitForLog(/streaming .* from slot/)]);
    assert.equal(daemon.exit?.signal, 'SIGKILL', 'nothing was loaded');
    const second = await start(both);
    await second.waitForLog(/streaming .* from slot/);
    assert.equal(await second.sigterm(), 0);
  }));

  test('a column comes back with the values it has now', () => scene('column', async (run) => {
    await run(both, '');
    await run({ ...both, [COLUMNS]: 'public\\.b\\.w' }, "UPDATE b SET w = 'missed' WHERE id = 2; INSERT INTO b VALUES (6, 'x', 'missed')");
    await run(both, "UPDATE b SET v = 'last' WHERE id = 4");
  }));

  test('a process that has to wait for the slot marks nothing', () => scene('second', async (run, start) => {
    await run(both, '');
    const first = await start(both);
    await first.waitForLog(/streaming .* from slot/);
    const second = await start({ [TABLES]: 'public\\.a', 'debezium.source.slot.max.retries': '0' });
    assert.equal((await second.exited).code, 1);
    assert.match(second.logs(), /is in use by/);
    assert.equal(await first.sigterm(), 0);
    const { metadata } = (await new HadoopCatalog({ name: 'x', warehouse: bed.warehouse, storage: new FileStorage() }).loadTable({ namespace: ['second'], name: 'src_public_b' }))!;
    assert.equal(metadata.properties[LEFT_OUT], undefined);
    assert.notEqual(metadata.properties['walberg.lsn'], undefined);
  }));

  test('a log that would have a gap is refused', () => scene('log', async (run, start) => {
    const log = { ...both, [UPSERT]: 'false' };
    await run(log, '');
    await run({ [TABLES]: 'public\\.a', [UPSERT]: 'false' }, "INSERT INTO a VALUES (1, 'a')");
    const daemon = await start(log);
    assert.equal((await daemon.exited).code, 1);
    assert.match(daemon.logs(), /was left out for a while/);
  }));
});
