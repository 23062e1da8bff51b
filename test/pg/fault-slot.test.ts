import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startPostgres, type PostgresServer } from '../../src/demo/postgres-server.js';
import { isWalbergError } from '../../src/errors/error.js';
import { connect } from '../../src/postgres/client.js';
import { formatLsn } from '../../src/postgres/lsn.js';
import { readSlot } from '../../src/postgres/slot.js';
import { ReplicationStream } from '../../src/postgres/replication-stream.js';
import { FaultRun, type Mode, type PipelineRun, SHOP } from '../support/fault-run.js';
import { Gate } from '../support/faults.js';
import { RecordingHandler } from '../support/recording-handler.js';
import { connectionOf, openTestBed, type TestBed } from '../support/test-bed.js';

const MODES = ['mirror', 'append'] satisfies Mode[];

/** A reader of the slot that is not Walberg and confirms nothing. Resolves with what gives the slot back. */
async function takeSlot(run: FaultRun): Promise<() => Promise<void>> {
  let begun!: () => void;
  const beginning = new Promise<void>((resolve) => { begun = resolve; });
  const stream = new ReplicationStream(connectionOf(run.bed.server, run.name), {
    slotName: run.name, publicationNames: [run.name], serverVersionNum: run.pg.serverVersionNum, statusIntervalMs: 1000, walSenderTimeoutMs: 60_000, applicationName: 'another reader', onStart: begun,
  });
  const running = stream.run(0n, new RecordingHandler());
  await Promise.race([beginning, running]);
  return async () => { await stream.stop(); await running; };
}

/** Cuts the stream and does `work` before the pipeline looks for its slot again. */
async function betweenSessions(run: FaultRun, pipeline: PipelineRun, work: () => Promise<void>): Promise<void> {
  const gate = new Gate();
  pipeline.catalog.add({ on: 'loadTable', action: { kind: 'hold', gate } });
  await run.cut('walberg stream');
  await gate.reached;
  await work();
  gate.release();
}

describe('a slot that is not there for the pipeline', { concurrency: 4 }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed({ max_replication_slots: '40', max_wal_senders: '40' }); });
  after(() => bed?.close());

  for (const mode of MODES) {
    test(`another process reads from it: the pipeline waits, and goes on when it is free, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        await (await run.startLoaded()).stop();
        const release = await takeSlot(run);
        const pipeline = run.start();
        await run.rounds(2);
        await pipeline.until('the slot to be taken', () => pipeline.failures.includes('SLOT_TAKEN'));
        assert.equal(pipeline.sessions, 0);
        await release();
        await run.finish();
      });
    });
  }

  test('another process keeps it: the pipeline ends when its attempts are used up, and a later one loses nothing', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      await (await run.startLoaded()).stop();
      const release = await takeSlot(run);
      const pipeline = run.start({}, { 'debezium.source.slot.max.retries': '1' });
      await run.rounds(1);
      assert.equal((await pipeline.fails()).code, 'SLOT_TAKEN');
      assert.deepEqual(pipeline.failures, ['SLOT_TAKEN', 'SLOT_TAKEN']);
      await release();
      run.start();
      await run.finish();
    });
  });

  test('attempts to get the slot are counted anew once it was got, also when nothing was written in between', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded({}, { 'debezium.source.slot.max.retries': '1' });
      for (let i = 1; i <= 2; i++) {
        let release!: () => Promise<void>;
        await betweenSessions(run, pipeline, async () => { release = await takeSlot(run); });
        await pipeline.until('the slot to be taken', () => pipeline.failures.filter((c) => c === 'SLOT_TAKEN').length === i);
        await release();
        await pipeline.until('the next session', () => pipeline.sessions === i + 1);
      }
      await run.rounds(1);
      await run.finish();
    });
  });

  test('it is dropped while the pipeline runs', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded();
      await run.rounds(1);
      await betweenSessions(run, pipeline, async () => { await run.pg.rows('SELECT pg_drop_replication_slot($1)', [run.name]); });
      assert.equal((await pipeline.fails()).code, 'SLOT_MISSING');
      assert.equal(await readSlot(run.pg, run.name), undefined, 'a new slot hides what was lost');
    });
  });

  test('it is dropped while the pipeline is stopped', async () => {
    await FaultRun.with(bed, 'append', async (run) => {
      await (await run.startLoaded()).stop();
      await run.pg.rows('SELECT pg_drop_replication_slot($1)', [run.name]);
      assert.equal((await run.start().fails()).code, 'SLOT_MISSING');
      assert.equal(await readSlot(run.pg, run.name), undefined, 'a new slot hides what was lost');
    });
  });

  for (const mode of MODES) {
    test(`a pipeline that lost the slot commits after its successor: refused, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const first = await run.startLoaded();
        await run.rounds(1);
        await run.settled();
        const second = run.start();
        await second.until('the slot to be taken', () => second.failures.includes('SLOT_TAKEN'));
        const gate = new Gate();
        first.catalog.add({ on: 'commitTable', times: 2, action: { kind: 'hold', gate } });
        await run.rounds(1);
        await gate.reached;
        const late = first.commits.length;
        await run.cut('walberg stream');
        await second.streaming();
        await run.rounds(1);
        await run.settled(second);
        gate.release();
        await first.until('the end of its session', () => first.failures.length > 0);
        assert.equal(first.commits.length, late, 'it committed');
        await run.rounds(1);
        await run.settled(second);
        await first.stop().catch((error: unknown) => { if (!isWalbergError(error, 'COMMIT_FENCED')) throw error; });
        await second.stop();
        await run.assertEqual();
      });
    });

    test(`a pipeline that lost the slot commits just before its successor: that one reads its position again, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const first = await run.startLoaded();
        const second = run.start();
        await second.until('the slot to be taken', () => second.failures.includes('SLOT_TAKEN'));
        const gate = new Gate();
        const onItem = { on: 'commitTable', where: ({ name }: { name: string }) => name.endsWith('item') } as const;
        first.catalog.add({ ...onItem, action: { kind: 'hold', gate } });
        second.catalog.add({ ...onItem, action: { kind: 'run', run: async () => { gate.release(); await first.until('the end of its session', () => first.failures.length > 0); } } });
        await run.rounds(1);
        await gate.reached;
        await run.cut('walberg stream');
        await second.until('the position to be read again', () => second.failures.includes('POSITION_CHANGED'));
        await run.rounds(1);
        await run.untilSource('either of them to confirm everything', `SELECT confirmed_flush_lsn >= '${formatLsn(await run.lsn())}' FROM pg_replication_slots WHERE slot_name = '${run.name}'`);
        await Promise.all([first.stop(), second.stop()]);
        await run.assertEqual();
      });
    });
  }
});

/** The publication is looked at every ten seconds, so these take their time. */
describe('a publication that is changed', { concurrency: true }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed({ max_replication_slots: '40', max_wal_senders: '40' }); });
  after(() => bed?.close());

  const drop = (run: FaultRun, table: string): void => rmSync(bed.location(run.name, table), { recursive: true });

  test('it is dropped: the pipeline stops, also when it is started again, until the tables are loaded anew', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded();
      await run.pg.rows(`DROP PUBLICATION ${run.name}`);
      await run.rounds(1);
      assert.equal((await pipeline.fails()).code, 'PUBLICATION_MISSING');
      assert.equal((await run.start().fails()).code, 'PUBLICATION_MISSING', 'changes were not published, and it goes on');
      for (const table of run.tables) drop(run, table);
      await run.startLoaded();
      await run.rounds(1);
      await run.finish();
    });
  });

  test('it is dropped while the pipeline is stopped', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      await (await run.startLoaded()).stop();
      await run.pg.rows(`DROP PUBLICATION ${run.name}`);
      await run.rounds(1);
      assert.equal((await run.start().fails()).code, 'PUBLICATION_MISSING');
    });
  });

  test('it is dropped and made again: the pipeline stops', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded();
      await run.pg.rows(`DROP PUBLICATION ${run.name}; INSERT INTO item VALUES (-5, 0, 'not published'); CREATE PUBLICATION ${run.name} FOR TABLE item, doc`);
      assert.equal((await pipeline.fails()).code, 'PUBLICATION_MISSING');
    });
  });

  test('a table is taken out: the pipeline stops, also when it is started again, until that table is loaded anew', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded();
      await run.pg.rows(`ALTER PUBLICATION ${run.name} DROP TABLE item`);
      await run.rounds(1);
      assert.equal((await pipeline.fails()).code, 'PUBLICATION_INCOMPLETE');
      assert.equal((await run.start().fails()).code, 'PUBLICATION_INCOMPLETE', 'changes were not published, and it goes on');
      drop(run, 'item');
      await run.startLoaded();
      await run.rounds(1);
      await run.finish();
    });
  });

  test('a table of the source is dropped: the pipeline stops, and a new start goes on without it', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      const pipeline = await run.startLoaded();
      await run.pg.rows('DROP TABLE doc');
      assert.equal((await pipeline.fails()).code, 'PUBLICATION_INCOMPLETE');
      run.start();
      await run.pg.rows("UPDATE item SET v = 'alone'");
      await run.settled();
      await run.pipeline.stop();
      await run.assertEqual(['item']);
    });
  });
});

describe('a server that is not the one the tables come from', () => {
  let bed: TestBed;
  const servers: PostgresServer[] = [];
  before(async () => { bed = await openTestBed(); });
  after(async () => {
    for (const server of servers) await server.destroy();
    await bed?.close();
  });
  const elsewhere = (server: PostgresServer): Record<string, string> => ({ 'debezium.source.database.port': String(server.port), 'debezium.source.database.password': server.password });

  test('another cluster is refused', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      await (await run.startLoaded()).stop();
      const other = await startPostgres();
      servers.push(other);
      const pg = await connect(connectionOf(other));
      try {
        await pg.rows(`CREATE DATABASE ${run.name}`);
        const same = await connect(connectionOf(other, run.name));
        try {
          await same.rows(`SET search_path = public; ${SHOP}`);
          assert.equal((await run.start({}, elsewhere(other)).fails()).code, 'SOURCE_OTHER_CLUSTER');
          assert.equal(await readSlot(same, run.name), undefined, 'a slot was made there');
          assert.deepEqual(await same.rows('SELECT pubname FROM pg_publication'), [], 'a publication was made there');
        } finally {
          await same.close();
        }
      } finally {
        await pg.close();
      }
    });
  });

  test('a server restored from an older backup is refused', async () => {
    await FaultRun.with(bed, 'mirror', async (run) => {
      await (await run.startLoaded()).stop();
      await run.pg.close();
      await bed.server.stop('fast');
      const folder = mkdtempSync(join(tmpdir(), 'walberg-backup-'));
      const dataDir = join(folder, 'data');
      spawnSync('chmod', ['755', folder]);
      assert.equal(spawnSync('cp', ['-a', bed.server.dataDir, dataDir]).status, 0);
      try {
        await bed.server.start();
        await run.reconnect();
        run.start();
        await run.rounds(2);
        await run.settled();
        await run.pipeline.stop();
        const restored = await startPostgres({ dataDir, password: bed.server.password });
        servers.push(restored);
        assert.equal((await run.start({}, elsewhere(restored)).fails()).code, 'SOURCE_BEHIND');
        // The server that is not behind goes on.
        run.start();
        await run.rounds(1);
        await run.finish();
        await restored.destroy();
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  });
});
