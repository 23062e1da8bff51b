import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CatalogAction, CatalogFault } from '../support/fault-catalog.js';
import { FaultRun, type Mode } from '../support/fault-run.js';
import { Gate } from '../support/faults.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const MODES = ['mirror', 'append'] satisfies Mode[];
const commits = (action: CatalogAction, times = 1): CatalogFault => ({ on: 'commitTable', times, action });

const PASSING: Record<string, CatalogFault> = {
  'a conflict': commits({ kind: 'conflict' }),
  'conflicts until the attempts run out': commits({ kind: 'conflict' }, 7),
  'a 500, not applied': commits({ kind: 'unknown-not-applied' }),
  'a 500, not applied, until the attempts run out': commits({ kind: 'unknown-not-applied' }, 7),
  'a time-out, applied': commits({ kind: 'unknown-applied' }, 2),
  'a conflict told to a client that repeated what was applied': commits({ kind: 'fail-after', code: 'COMMIT_CONFLICT' }),
  'a 503': commits({ kind: 'unavailable' }, 2),
  'a 503 until the attempts run out': commits({ kind: 'unavailable' }, 9),
  'the table cannot be loaded': { on: 'loadTable', times: 4, action: { kind: 'fail', code: 'CATALOG_UNREACHABLE' } },
};

/** Settled within the commit: the session goes on. */
const WITHIN_COMMIT = new Set(['a conflict', 'a 500, not applied', 'a time-out, applied', 'a conflict told to a client that repeated what was applied', 'a 503']);

describe('a catalog that fails', { concurrency: 3 }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());

  for (const [name, fault] of Object.entries(PASSING)) {
    for (const mode of MODES) {
      test(`${name}, ${mode}`, async () => {
        await FaultRun.with(bed, mode, async (run) => {
          const pipeline = await run.startLoaded({ catalog: [fault] }, { 'walberg.commit.retries': '3' });
          assert.ok(pipeline.catalog.exhausted, 'the fault did not meet the load');
          pipeline.catalog.add(fault);
          // A running session reads its tables only when a commit has failed.
          if (fault.on === 'loadTable') pipeline.catalog.add(commits({ kind: 'conflict' }));
          await run.rounds(3);
          await run.finish();
          assert.ok(pipeline.catalog.exhausted, 'the fault did not meet the changes');
          if (WITHIN_COMMIT.has(name)) assert.deepEqual(pipeline.failures, []);
        });
      });
    }
  }

  for (const mode of MODES) {
    test(`the reply of a created table is lost, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded({ catalog: [{ on: 'createTable', action: { kind: 'fail-after', code: 'COMMIT_UNKNOWN' } }, { on: 'createTable', nth: 2, action: { kind: 'unknown-not-applied' } }] });
        assert.ok(pipeline.catalog.exhausted);
        await run.rounds(1);
        await run.finish();
      });
    });

    test(`a request that nobody waits for any more lands in the next session, before its first commit, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded({}, { 'walberg.commit.retries': '1' });
        const late = new Gate();
        const { catalog } = pipeline;
        const onItem = { where: ({ name }: { name: string }) => name.endsWith('item') };
        catalog.add({ ...commits({ kind: 'unknown-applied-later', gate: late }), ...onItem });
        const land = async (): Promise<void> => {
          late.release();
          const [outcome] = await Promise.all(catalog.late);
          assert.equal(outcome?.status, 'fulfilled', 'the late request was to land');
        };
        catalog.add({ ...commits({ kind: 'run', run: land }), ...onItem, nth: 2 });
        await run.rounds(2);
        await run.settled();
        assert.deepEqual(pipeline.failures, ['COMMIT_UNKNOWN', 'POSITION_CHANGED']);
        await run.rounds(1);
        await run.finish();
      });
    });

    test(`a request that nobody waits for any more arrives after the next session's commit, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded({}, { 'walberg.commit.retries': '1' });
        const late = new Gate();
        pipeline.catalog.add(commits({ kind: 'unknown-applied-later', gate: late }, 2));
        await run.rounds(2);
        await run.settled();
        late.release();
        for (const outcome of await Promise.all(pipeline.catalog.late)) assert.equal(outcome.status, 'rejected', 'the late request landed on top of its successor');
        await run.rounds(1);
        await run.finish();
      });
    });

    test(`a request that is still under way lands between an attempt and the next, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded();
        const late = new Gate();
        const { catalog } = pipeline;
        const onItem = { where: ({ name }: { name: string }) => name.endsWith('item') };
        catalog.add({ ...commits({ kind: 'unknown-applied-later', gate: late }), ...onItem });
        catalog.add({ ...commits({ kind: 'run', run: async () => { late.release(); await Promise.all(catalog.late); } }), ...onItem, nth: 2 });
        await run.rounds(2);
        await run.settled();
        assert.ok(catalog.exhausted);
        assert.deepEqual(pipeline.failures, [], 'its own commit was taken for somebody else\'s');
        await run.finish();
      });
    });

    test(`the authorisation expires: it stops, and a new start finishes, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded();
        pipeline.catalog.add(commits({ kind: 'auth-expired' }));
        await run.rounds(2);
        assert.equal((await pipeline.fails()).code, 'CATALOG_AUTH');
        run.start();
        await run.rounds(1);
        await run.finish();
      });
    });
  }

  test('the catalog is not there when the pipeline starts, and comes back', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = run.start({ catalog: [{ on: ['loadTable', 'createTable', 'ensureNamespace'], times: 3, action: { kind: 'fail', code: 'CATALOG_UNREACHABLE' } }] });
      await pipeline.streaming();
      assert.deepEqual(pipeline.failures, ['CATALOG_UNREACHABLE', 'CATALOG_UNREACHABLE', 'CATALOG_UNREACHABLE']);
      await run.rounds(1);
      await run.finish();
    });
  });

  test('the authorisation is refused while a table is loaded: it stops, and a new start loads it', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      run.start({ catalog: [{ ...commits({ kind: 'auth-expired' }), nth: 2 }] });
      assert.equal((await run.pipeline.fails()).code, 'CATALOG_AUTH');
      await run.rounds(1);
      await run.startLoaded();
      await run.finish();
    });
  });
});
