import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceClient } from '../../src/postgres/client.js';
import { assertReplayEqualsSource, eventCounts, startCounting } from '../support/append-replay.js';
import { dropSlot } from '../support/case.js';
import { compareTable, describeComparison } from '../support/compare-table.js';
import { type Daemon, describeExit, startDaemon, waitUntilCaughtUp, waitWhileAlive } from '../support/daemon.js';
import { isLoaded, readTableState } from '../support/iceberg-table.js';
import { Random, testSeed } from '../support/random.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';
import { createWorkload, type Workload } from '../support/workload.js';

/** Kills at any moment from the start of the process: most hit the start or the load. */
const EARLY_KILLS = 6;
const EARLY_LIFE_MS = [200, 2000] as const;
/** Kills at any moment from the beginning of the stream, or from the first commit. */
const LATE_KILLS = 16;
const LATE_LIFE_MS = 2000;
const SOON_MS = 300;
const CATCH_UP_MS = 120_000;
const COMMITTED = /"msg":"committed /;
const STREAMING = /"msg":"streaming /;

/**
 * Whatever moment the process dies at, and however often, every table ends equal to its source. Set WALBERG_TEST_SEED to
 * repeat a run's statements and pauses.
 */
describe('a process that is killed again and again', () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());

  test('mirrored tables end equal to their source, a table without a key has each row once', { timeout: 300_000 }, async (t) => {
    await play(t, bed, { name: 'mirror', early: EARLY_KILLS, late: LATE_KILLS, config: {} });
  });

  test('tables that are appended to hold each change once, in order', { timeout: 300_000 }, async (t) => {
    await play(t, bed, {
      name: 'append', early: 0, late: 8, config: { 'debezium.sink.iceberg.upsert': 'false', 'debezium.transforms.unwrap.add.fields': 'op,lsn' },
      // Swapped keys cannot be told from a list of changes by key.
      workload: { truncate: false, largest: 20_000, only: ['wl_serial', 'wl_uuid', 'wl_composite', 'wl_toast', 'wl_full', 'wl_log'] },
    });
  });
});

interface Play {
  readonly name: string;
  readonly early: number;
  readonly late: number;
  readonly config: Readonly<Record<string, string>>;
  readonly workload?: Parameters<typeof createWorkload>[2];
}

async function play(t: TestContext, bed: TestBed, { name, early, late, config, workload: options }: Play): Promise<void> {
  const seed = testSeed();
  t.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  const append = name === 'append';
  await bed.createDatabase(name);
  const pg = await bed.client(name);
  const workload = createWorkload(() => bed.client(name), random.int(0, 2 ** 31), options);
  const properties = (): Record<string, string> => ({
    ...bed.config(name, name), 'walberg.commit.interval.ms': String(random.int(300, 1000)),
    'debezium.source.publication.autocreate.mode': 'disabled', 'walberg.load.chunk-pages': '8', ...config,
  });
  let daemon: Daemon | undefined;
  try {
    await workload.setup(name);
    if (append) {
      // Changes can be counted from a moment when the load is over and nothing is written.
      daemon = await startDaemon({ config: properties() });
      await loaded(daemon, bed, name, workload);
      await startCounting(pg, 'counting');
    }
    const working = workload.run();
    // Looked at below; until then it must not count as unhandled.
    working.catch(() => {});
    const live = async (until: (daemon: Daemon) => Promise<unknown>): Promise<void> => {
      daemon ??= await startDaemon({ config: properties() });
      await Promise.race([until(daemon), daemon.exited, working]);
      assert.equal(daemon.exit, undefined, `the daemon ended by itself: ${daemon.exit && describeExit(daemon.exit)} (seed ${seed})\n${daemon.logTail()}`);
      await daemon.kill9();
      daemon = undefined;
    };
    for (let kill = 1; kill <= early; kill++) await live(() => sleep(random.int(...EARLY_LIFE_MS)));
    await live((d) => loaded(d, bed, name, workload));
    const versionsBefore = versions(bed, name, workload);
    for (let kill = 1; kill <= late; kill++) {
      await live(async (d) => {
        // Half of them soon after a commit, when those of other tables are under way.
        const soon = random.chance(0.5);
        await d.waitForLog(soon ? COMMITTED : STREAMING);
        await sleep(random.int(0, soon ? SOON_MS : LATE_LIFE_MS));
      });
    }
    const commits = versions(bed, name, workload) - versionsBefore;
    t.diagnostic(`${commits} commits in ${late} lives that ended by a kill`);
    assert.ok(commits >= late / 4, `only ${commits} commits were made between the kills: the test proves nothing`);
    workload.stop();
    await working;
    t.diagnostic(`workload ${JSON.stringify(workload.statistics)}`);
    daemon = await startDaemon({ config: properties() });
    await waitUntilCaughtUp(daemon, pg, name, undefined, CATCH_UP_MS);
    await loaded(daemon, bed, name, workload);
    const code = await daemon.sigterm();
    assert.equal(code, 0, `exit after SIGTERM: ${describeExit(daemon.exit!)} (seed ${seed})\n${daemon.logTail()}`);
    await (append ? compareAppended(pg, bed, name, workload, seed) : compareMirrored(t, pg, bed, name, workload, seed));
  } finally {
    workload.stop();
    if (daemon !== undefined && daemon.exit === undefined) await daemon.kill9();
    await dropSlot(pg, name);
    await pg.close();
  }
}

async function loaded(daemon: Daemon, bed: TestBed, name: string, workload: Workload): Promise<void> {
  for (const table of workload.tables) await waitWhileAlive(daemon, `the load of ${table.name}`, () => isLoaded(bed.location(name, table.name)), CATCH_UP_MS);
}

/** Commits made to all tables together. */
function versions(bed: TestBed, name: string, workload: Workload): number {
  return workload.tables.reduce((sum, table) => sum + (readTableState(bed.location(name, table.name))?.version ?? 0), 0);
}

async function compareMirrored(t: TestContext, pg: SourceClient, bed: TestBed, name: string, workload: Workload, seed: number): Promise<void> {
  const wrong: string[] = [];
  for (const { name: table, mirrored } of workload.tables) {
    const location = bed.location(name, table);
    const comparison = await compareTable(pg, bed.clickhouse, table, location, mirrored ? {} : { where: "__op IN ('r', 'c')" });
    t.diagnostic(`${describeComparison(table, comparison)}, ${readTableState(location)!.version} versions`);
    if (!comparison.equal) wrong.push(describeComparison(table, comparison));
  }
  assert.deepEqual(wrong, [], `seed ${seed}`);
}

async function compareAppended(pg: SourceClient, bed: TestBed, name: string, workload: Workload, seed: number): Promise<void> {
  const expected = await eventCounts(pg, 'counting', name);
  for (const { name: table } of workload.tables) {
    const location = bed.location(name, table);
    const [written] = await bed.clickhouse.query("SELECT countIf(__op = 'c'), countIf(__op = 'u'), countIf(__op = 'd') FROM {table}", location);
    const [c, u, d] = written!.map(Number);
    const source = expected[table] ?? { inserts: 0, updates: 0, deletes: 0, keyChanges: 0 };
    // Under REPLICA IDENTITY FULL the log does not tell whether a key changed.
    const { inserts, updates, deletes, keyChanges } = source;
    if (table === 'wl_full') assert.equal(c - d, inserts - deletes, `changes of ${table} (seed ${seed})`);
    else assert.deepEqual({ c, u, d }, { c: inserts + keyChanges, u: updates - keyChanges, d: deletes + keyChanges }, `changes of ${table} (seed ${seed})`);
    await assertReplayEqualsSource(pg, bed.clickhouse, table, location, `seed ${seed}`);
  }
}
