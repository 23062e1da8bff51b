import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parsePosition } from '../../src/iceberg/commit/position.js';
import { formatLsn } from '../../src/postgres/lsn.js';
import { readSlot } from '../../src/postgres/slot.js';
import { FaultRun, type PipelineRun } from '../support/fault-run.js';
import { readTableState } from '../support/iceberg-table.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const STRICT = { 'walberg.slot.guard': 'strict' };
const OFF = { 'walberg.slot.guard': 'off' };

describe('a slot that is guarded', { concurrency: 4 }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed({ max_replication_slots: '40', max_wal_senders: '40' }); });
  after(() => bed?.close());

  const confirmedOf = async (run: FaultRun): Promise<bigint> => (await readSlot(run.pg, run.name))!.confirmedFlushLsn!;

  /** Loads, follows some rounds, and leaves the slot at a marker. */
  async function started(run: FaultRun): Promise<PipelineRun> {
    const pipeline = await run.startLoaded({}, STRICT);
    await run.rounds(2);
    await run.settled();
    const base = parsePosition(readTableState(bed.location(run.name, 'item'))!.properties['walberg.slot-guard']);
    await run.untilSource('a marker to be confirmed', `SELECT confirmed_flush_lsn > '${formatLsn(base)}'::pg_lsn FROM pg_replication_slots WHERE slot_name = '${run.name}'`);
    return pipeline;
  }

  test('stops and lost connections are no gap', async () => {
    await FaultRun.with(bed, 'append', async (run) => {
      await (await started(run)).stop();
      const left = await confirmedOf(run);
      // What was applied already is sent again, and changes nothing.
      await (await run.startLoaded({}, STRICT)).stop();
      assert.equal(await confirmedOf(run), left);
      const pipeline = await run.startLoaded({}, STRICT);
      for (let i = 1; i <= 3; i++) {
        await run.rounds(1);
        await run.cut('walberg stream');
        await pipeline.until('another session', () => pipeline.sessions > i);
      }
      await run.rounds(1);
      await run.finish();
    });
  });

  test('made anew while the pipeline is stopped: refused, however quiet the tables were', async () => {
    for (const quiet of [true, false]) {
      await FaultRun.with(bed, 'mirror', async (run) => {
        await (await started(run)).stop();
        await run.pg.rows('SELECT pg_drop_replication_slot($1)', [run.name]);
        if (!quiet) await run.rounds(1);
        await run.pg.rows("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [run.name]);
        const stands = await confirmedOf(run);
        if (!quiet) await run.rounds(1);
        const pipeline = run.start({}, STRICT);
        assert.equal((await pipeline.fails()).code, 'SLOT_MOVED');
        assert.equal(pipeline.commits.length, 0);
        assert.equal(await confirmedOf(run), stands, 'it was confirmed');
      });
    }
  });

  test('made anew between two sessions of a pipeline: refused', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await started(run);
      let made: Promise<unknown> | undefined;
      pipeline.catalog.add({ on: 'loadTable', action: { kind: 'run', run: async () => { made ??= run.pg.rows('SELECT pg_drop_replication_slot($1)', [run.name]).then(() => run.rounds(1)).then(() => run.pg.rows("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [run.name])); await made; } } });
      await run.cut('walberg stream');
      assert.equal((await pipeline.fails()).code, 'SLOT_MOVED');
    });
  });

  test('advanced by hand: refused', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      await (await started(run)).stop();
      await run.rounds(1);
      await run.pg.rows('SELECT pg_replication_slot_advance($1, pg_current_wal_lsn())', [run.name]);
      assert.equal((await run.start({}, STRICT).fails()).code, 'SLOT_MOVED');
    });
  });

  test('switched off the slot moves freely, and switched on again it is guarded from where it is', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      await (await started(run)).stop();
      await run.startLoaded({}, OFF);
      await run.rounds(1);
      await run.settled();
      await run.pipeline.stop();
      await (await started(run)).stop();
      await run.assertEqual();
      await run.pg.rows('SELECT pg_replication_slot_advance($1, pg_current_wal_lsn())', [run.name]);
      assert.equal((await run.start({}, STRICT).fails()).code, 'SLOT_MOVED');
    });
  });
});

test('a guarded slot does not keep the server from stopping', async () => {
  const bed = await openTestBed();
  try {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded({}, STRICT);
      await run.rounds(1);
      await run.settled();
      await run.pg.close();
      await bed.server.restart('fast');
      await run.reconnect();
      await pipeline.until('the next session', () => pipeline.sessions > 1);
      await run.rounds(1);
      await run.finish();
    });
  } finally {
    await bed.close();
  }
});
