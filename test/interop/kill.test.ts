import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceClient } from '../../src/postgres/client.js';
import { dropSlot } from '../support/case.js';
import { type Daemon, describeExit, startDaemon, waitUntilCaughtUp, waitWhileAlive } from '../support/daemon.js';
import { Random, testSeed } from '../support/random.js';
import { createWorkload, type Workload } from '../support/workload.js';
import { Lake, sourceRows } from './lake.js';
import type { ForeignReader } from './readers/reader.js';
import { type SparkReader, startDuckDb, startSpark } from './readers/readers.js';
import { CANONICAL_SESSION_SQL } from './readers/postgres-canonical.js';
import { assertSameRows } from './same-rows.js';

const NAME = 'kills';
const KILLS = 22;
const SHORTEST_LIFE_MS = 200;
const LONGEST_LIFE_MS = 3000;
/** Share of the processes that are killed at a random moment after their start, whatever they do; the others live on for a random time after their first commit. */
const EARLY = 0.35;
const LONGEST_AFTER_COMMIT_MS = 1500;
const SHORTEST_OUTAGE_MS = 100;
const LONGEST_OUTAGE_MS = 1500;
/** Before which kills a server is gone for a while. */
const CATALOG_OUTAGES: readonly number[] = [4, 10, 16, 20];
const STORAGE_OUTAGES: readonly number[] = [7, 13, 18, 20];
const CATCH_UP_MS = 120_000;

/**
 * The daemon dies at random moments, the catalog and the storage under it die and come back: every table ends equal to its
 * source, as engines see it that share no code with the project. Set WALBERG_TEST_SEED to repeat a run's statements and pauses.
 */
describe('a process that is killed again and again, over servers that are killed too', () => {
  let lake: Lake, spark: SparkReader, duckdb: ForeignReader;
  before(async () => { [lake, spark, duckdb] = await Promise.all([Lake.open(), startSpark(), startDuckDb()]); });
  after(async () => {
    await Promise.all([spark?.close(), duckdb?.close()]);
    await lake?.close();
  });

  test('every table ends equal to its source, and whole in itself', { timeout: 400_000 }, async (t) => {
    const seed = testSeed();
    t.diagnostic(`seed ${seed}`);
    const random = new Random(seed);
    await lake.bed.createDatabase(NAME);
    const pg = await lake.bed.client(NAME);
    await pg.rows(CANONICAL_SESSION_SQL);
    const workload = createWorkload(() => lake.bed.client(NAME), random.int(0, 2 ** 31), { largest: 20_000, pauseMs: 50 });
    try {
      await workload.setup(NAME);
      await killAgainAndAgain(t, pg, workload, random, `seed ${seed}`);
      await compare(t, pg, workload, `seed ${seed}`);
    } finally {
      workload.stop();
      await dropSlot(pg, NAME);
      await pg.close();
    }
  });

  async function killAgainAndAgain(t: TestContext, pg: SourceClient, workload: Workload, random: Random, message: string): Promise<void> {
    const properties = (): Record<string, string> => ({ ...lake.config(NAME), 'walberg.commit.interval.ms': String(random.int(300, 1000)), 'debezium.source.publication.autocreate.mode': 'disabled', 'walberg.load.chunk-pages': '8' });
    let daemon: Daemon | undefined;
    let outages: Promise<unknown> = Promise.resolve();
    const working = workload.run();
    // Looked at below; until then it must not count as unhandled.
    working.catch(() => {});
    try {
      for (let kill = 1; kill <= KILLS; kill++) {
        daemon = await startDaemon({ config: properties() });
        const early = random.chance(EARLY);
        if (!early) await Promise.race([daemon.waitForLog(/"committed /), daemon.exited, working]);
        outages = Promise.all([CATALOG_OUTAGES.includes(kill) && outage(lake.catalog, random), STORAGE_OUTAGES.includes(kill) && outage(lake.s3, random)]);
        await Promise.race([sleep(early ? random.int(SHORTEST_LIFE_MS, LONGEST_LIFE_MS) : random.int(0, LONGEST_AFTER_COMMIT_MS)), daemon.exited, working]);
        assert.equal(daemon.exit, undefined, `before kill ${kill} the daemon ended by itself: ${daemon.exit && describeExit(daemon.exit)} (${message})\n${daemon.logTail()}`);
        await daemon.kill9();
        await outages;
      }
      workload.stop();
      await working;
      t.diagnostic(`workload ${JSON.stringify(workload.statistics)}`);
      daemon = await startDaemon({ config: properties() });
      await waitUntilCaughtUp(daemon, pg, NAME, undefined, CATCH_UP_MS);
      for (const { name } of workload.tables) await waitWhileAlive(daemon, `the load of ${name}`, () => lake.isLoaded(NAME, name), CATCH_UP_MS);
      const code = await daemon.sigterm();
      assert.equal(code, 0, `exit after SIGTERM: ${describeExit(daemon.exit!)} (${message})\n${daemon.logTail()}`);
    } finally {
      await outages.catch(() => {});
      if (daemon !== undefined && daemon.exit === undefined) await daemon.kill9();
    }
  }

  /** Begins before or after the kill, ends after it or before. */
  async function outage(server: { kill(): Promise<void>; restart(): Promise<void> }, random: Random): Promise<void> {
    const [start, length] = [random.int(0, LONGEST_AFTER_COMMIT_MS), random.int(SHORTEST_OUTAGE_MS, LONGEST_OUTAGE_MS)];
    await sleep(start);
    await server.kill();
    await sleep(length);
    await server.restart();
  }

  async function compare(t: TestContext, pg: SourceClient, workload: Workload, message: string): Promise<void> {
    for (const { name, mirrored } of workload.tables) {
      const source = lake.source(NAME, name);
      const expected = await sourceRows(pg, name);
      const columns = (await pg.rows<{ name: string }>('SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum', [name])).map((row) => row.name!);
      for (const engine of [duckdb, spark]) {
        assertSameRows(await engine.readTable(source, { columns, ...(mirrored ? {} : { filter: "__op in ('r', 'c')" }) }), expected, `${engine.name}, ${name}, ${message}`, columns[0]!);
      }
      const { read, problems } = await spark.audit(source);
      t.diagnostic(`${name}: ${expected.length} rows, ${read}`);
      assert.deepEqual(problems.slice(0, 20), [], `${name}, ${message}`);
    }
  }
});
