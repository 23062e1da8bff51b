import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { SourceClient } from '../../src/postgres/client.js';
import { FaultRun, type Mode, SHOP } from '../support/fault-run.js';
import { Gate } from '../support/faults.js';
import { isLoaded } from '../support/iceberg-table.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const MODES = ['mirror', 'append'] satisfies Mode[];
const ofTable = (table: string) => (location: string): boolean => location.includes('/data/') && location.includes(`_${table}/`);
const LARGE = `${SHOP}; INSERT INTO item SELECT g, g, repeat('x', 100) FROM generate_series(500001, 510000) g`;
/** Many chunks and many files. */
const PIECES = { 'walberg.load.chunk-pages': '1', 'debezium.source.snapshot.max.threads': '2' };

describe('loads that are disturbed', { concurrency: 4 }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed({ max_replication_slots: '40', max_wal_senders: '40' }); });
  after(() => bed?.close());

  for (const mode of MODES) {
    test(`a load that fails in its middle begins again, and each row is there once, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded({ storage: [{ on: 'write', nth: 4, times: 2, where: ofTable('item'), action: { kind: 'fail', code: 'STORAGE_FULL' } }] }, PIECES, { segmentBytes: 100_000 });
        assert.ok(pipeline.storage.exhausted);
        assert.ok(pipeline.loadsStarted > 2, 'the load did not begin again');
        const count = Number((await bed.clickhouse.query('SELECT count() FROM {table}', bed.location(run.name, 'item')))[0]![0]);
        assert.equal(count, 10_800);
        await run.rounds(2);
        await run.finish();
      }, LARGE);
    });

    test(`the second table fails after the first was loaded, and both change meanwhile, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const gate = new Gate();
        const pipeline = run.start({ storage: [{ on: 'write', where: ofTable('item'), action: { kind: 'hold', gate } }, { on: 'write', nth: 2, where: ofTable('item'), times: 1, action: { kind: 'fail', code: 'STORAGE_FULL' } }] }, {}, { segmentBytes: 100_000 });
        await gate.reached;
        assert.ok(isLoaded(bed.location(run.name, 'doc')), 'the tables are not loaded in the order that this test needs');
        // In append mode these are in the load of one table and in the changes of the other, so only the mirror can count them.
        if (mode === 'mirror') await run.rounds(2);
        gate.release();
        await pipeline.streaming();
        await run.count();
        assert.ok(pipeline.failures.includes('STORAGE_FULL'));
        await run.rounds(1);
        await run.finish();
      }, LARGE);
    });
  }

  for (const mode of MODES) {
    test(`snapshot.mode=always: what was loaded before the interruption is not loaded twice, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const always = { 'debezium.source.snapshot.mode': 'always' };
        const pipeline = await run.startLoaded({ storage: [{ on: 'write', where: ofTable('item'), action: { kind: 'fail', code: 'STORAGE_FULL' } }] }, always);
        assert.deepEqual(pipeline.failures, ['STORAGE_FULL']);
        for (const [table, rows] of [['doc', 20], ['item', 800]] as const) assert.deepEqual(await bed.clickhouse.query('SELECT toString(count()) FROM {table}', bed.location(run.name, table)), [[String(rows)]]);
        await run.rounds(1);
        await run.finish();
      });
    });
  }

  test('snapshot.mode=when_needed: the load that a lost slot needs is interrupted, and begins again', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const whenNeeded = { 'debezium.source.snapshot.mode': 'when_needed' };
      await (await run.startLoaded({}, whenNeeded)).stop();
      await run.pg.rows('SELECT pg_drop_replication_slot($1)', [run.name]);
      await run.rounds(2);
      const pipeline = await run.startLoaded({ storage: [{ on: 'write', where: ofTable('item'), action: { kind: 'fail', code: 'STORAGE_FULL' } }] }, whenNeeded);
      assert.deepEqual(pipeline.failures, ['STORAGE_FULL']);
      await run.rounds(1);
      await run.finish();
    });
  });

  test('snapshot.mode=when_needed: the load that a lost slot needs is interrupted, and another process goes on', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const whenNeeded = { 'debezium.source.snapshot.mode': 'when_needed' };
      await (await run.startLoaded({}, whenNeeded)).stop();
      await run.pg.rows('SELECT pg_drop_replication_slot($1)', [run.name]);
      await run.rounds(2);
      const pipeline = run.start({ storage: [{ on: 'write', where: ofTable('item'), action: { kind: 'fail', code: 'STORAGE_AUTH' } }] }, whenNeeded);
      assert.equal((await pipeline.fails()).code, 'STORAGE_AUTH');
      await run.startLoaded({}, whenNeeded);
      await run.finish();
    });
  });

  test('changes before, during and after the load of each table', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const gates = [new Gate(), new Gate(), new Gate()] as const;
      const pipeline = run.start({
        storage: [{ on: 'write', where: ofTable('doc'), action: { kind: 'hold', gate: gates[0] } }, { on: 'write', where: ofTable('item'), action: { kind: 'hold', gate: gates[1] } }],
        catalog: [{ on: 'commitTable', nth: 2, action: { kind: 'hold', gate: gates[2] } }],
      });
      for (const gate of gates) {
        await gate.reached;
        await run.rounds(1);
        gate.release();
      }
      await pipeline.streaming();
      await run.rounds(1);
      await run.finish();
    });
  });

  const STATEMENTS: Record<string, string> = {
    TRUNCATE: 'TRUNCATE item',
    'VACUUM FULL': 'VACUUM FULL item',
    'ALTER TABLE that rewrites': 'ALTER TABLE item ALTER n TYPE bigint',
    'CLUSTER': 'CLUSTER item USING item_pkey',
  };
  for (const [name, sql] of Object.entries(STATEMENTS)) {
    for (const held of ['item', 'doc']) {
      test(`${name} of a table ${held === 'item' ? 'that is being loaded' : 'whose turn has not come'}`, async () => {
        await FaultRun.with(bed, 'mirror', async (run) => {
          const gate = new Gate();
          const pipeline = run.start({ storage: [{ on: 'write', where: ofTable(held), action: { kind: 'hold', gate } }] }, PIECES);
          await gate.reached;
          const other = await bed.client(run.name);
          try {
            const rewritten = other.rows(sql);
            rewritten.catch(() => {});
            await waits(run, other);
            gate.release();
            await rewritten;
            await pipeline.streaming();
            await run.rounds(1);
            await run.finish();
          } finally {
            await other.close();
          }
        });
      });
    }

    test(`${name} just before the table is locked`, async () => {
      await FaultRun.with(bed, 'mirror', async (run) => {
        const other = await bed.client(run.name);
        try {
          // The load's own slot waits for this transaction, and its snapshot then shows the table as it left it.
          await other.rows(name === 'VACUUM FULL' || name === 'CLUSTER' ? 'BEGIN; LOCK TABLE item IN ACCESS SHARE MODE' : `BEGIN; ${sql}`);
          const pipeline = run.start();
          await run.untilSource('the load to wait for it', "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'virtualxid')) OR EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'item'::regclass) OR EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = current_database())");
          await other.rows('COMMIT');
          await pipeline.streaming();
          await run.rounds(1);
          await run.finish();
        } finally {
          await other.close();
        }
      });
    });
  }
});

/** The session of `other` waits for a lock. */
async function waits(run: FaultRun, other: SourceClient): Promise<void> {
  await run.untilSource('the statement to wait', `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pid = ${other.backendPid})`);
}
