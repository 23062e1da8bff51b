import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test, type TestContext } from 'node:test';
import { compareTable, describeComparison } from '../support/compare-table.js';
import { startDaemon, waitUntilCaughtUp, waitWhileAlive } from '../support/daemon.js';
import { isLoaded } from '../support/iceberg-table.js';
import { testSeed } from '../support/random.js';
import { newerNode, olderPostgres } from '../support/readers.js';
import { openTestBed } from '../support/test-bed.js';
import { createWorkload } from '../support/workload.js';

/** Transactions of the workload before and after the process is killed. */
const STEPS = 60;

/** The other tests run on the newest Postgres and on the Node that runs them. */
const COMBINATIONS: readonly { readonly postgres?: 15 | 16; readonly node?: 'newer' }[] = [{ postgres: 15 }, { postgres: 16, node: 'newer' }, { node: 'newer' }];

for (const { postgres, node } of COMBINATIONS) {
  test(`tables equal their source with Postgres ${postgres ?? 'as installed'} and ${node === undefined ? 'the running Node' : 'Node 24'}`, { timeout: 180_000 }, async (t) => {
    await play(t, postgres, node === undefined ? process.execPath : newerNode());
  });
}

async function play(t: TestContext, postgres: 15 | 16 | undefined, nodeBinary: string): Promise<void> {
  const bed = await openTestBed({}, postgres === undefined ? undefined : olderPostgres(postgres));
  const name = 'versions';
  try {
    const seed = testSeed();
    await bed.createDatabase(name);
    const pg = await bed.client(name);
    const [{ version }] = await pg.rows<{ version: string }>("SELECT current_setting('server_version') AS version");
    t.diagnostic(`Postgres ${version}, Node ${execFileSync(nodeBinary, ['--version'], { encoding: 'utf8' }).trim()}, seed ${seed}`);
    if (postgres !== undefined) assert.equal(Number.parseInt(version, 10), postgres);
    const workload = createWorkload(() => bed.client(name), seed, { largest: 5000 });
    await workload.setup(name);
    const config = { ...bed.config(name, name), 'debezium.source.publication.autocreate.mode': 'disabled' };
    let daemon = await startDaemon({ config, nodeBinary });
    await workload.run(STEPS);
    for (const table of workload.tables) await waitWhileAlive(daemon, `the load of ${table.name}`, () => isLoaded(bed.location(name, table.name)));
    await daemon.kill9();
    daemon = await startDaemon({ config, nodeBinary });
    await workload.run(STEPS);
    await waitUntilCaughtUp(daemon, pg, name);
    assert.equal(await daemon.sigterm(), 0);
    const wrong: string[] = [];
    for (const { name: table, mirrored } of workload.tables) {
      const comparison = await compareTable(pg, bed.clickhouse, table, bed.location(name, table), mirrored ? {} : { where: "__op IN ('r', 'c')" });
      if (!comparison.equal) wrong.push(describeComparison(table, comparison));
    }
    assert.deepEqual(wrong, [], `seed ${seed}`);
    await pg.close();
  } finally {
    await bed.close();
  }
}
