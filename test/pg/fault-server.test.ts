import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { PostgresServer } from '../../src/demo/postgres-server.js';
import { FaultRun, type Mode } from '../support/fault-run.js';
import { Gate } from '../support/faults.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const MODES = ['mirror', 'append'] satisfies Mode[];
const RESTARTS: Record<string, (server: PostgresServer) => Promise<void>> = {
  'is restarted (fast)': (server) => server.restart('fast'),
  'is restarted (immediate)': (server) => server.restart('immediate'),
  'is killed and started again': async (server) => { await server.kill(); await server.start(); },
};

/** One at a time: each test ends the server that all share. */
describe('a server that goes down', () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());

  for (const [name, restart] of Object.entries(RESTARTS)) {
    test(`${name} with changes received and not committed, in both modes at once`, async () => {
      const runs = await Promise.all(MODES.map((mode) => FaultRun.open(bed, mode)));
      try {
        await Promise.all(runs.map(async (run) => {
          const pipeline = await run.startLoaded();
          await run.rounds(1);
          await run.settled();
          // The commit is asked for and its outcome open while the server goes down.
          pipeline.catalog.add({ on: 'commitTable', action: { kind: 'slow', ms: 500 } });
          const before = pipeline.accepted;
          await run.rounds(2);
          await pipeline.until('the changes to arrive', () => pipeline.accepted > before);
          await run.pg.close();
        }));
        await restart(bed.server);
        await Promise.all(runs.map(async (run) => {
          await run.reconnect();
          await run.rounds(2);
          await run.finish();
          assert.ok(run.pipeline.sessions >= 2, 'the pipeline did not notice the restart');
        }));
      } finally {
        for (const run of runs) await run.close();
      }
    });

    test(`${name} while a table is loaded`, async () => {
      await FaultRun.with(bed, 'mirror', async (run) => {
        const gate = new Gate();
        const pipeline = run.start({ storage: [{ on: 'write', where: (location) => location.includes('/data/'), action: { kind: 'hold', gate } }] });
        await gate.reached;
        await run.pg.close();
        await restart(bed.server);
        gate.release();
        await run.reconnect();
        await run.rounds(1);
        await pipeline.streaming();
        await run.finish();
      });
    });
  }

  test('stays down for a while: the pipeline waits for it', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded();
      await run.rounds(1);
      await run.pg.close();
      await bed.server.stop('immediate');
      const { length } = pipeline.failures;
      await pipeline.until('some attempts to connect', () => pipeline.failures.length >= length + 4);
      await bed.server.start();
      await run.reconnect();
      await run.rounds(1);
      await run.finish();
    });
  });
});
