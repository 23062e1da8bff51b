import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { type CaseRun, testCase } from '../support/case.js';
import { waitWhileAlive } from '../support/daemon.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const NEVER = { 'walberg.commit.interval.ms': '600000' };

/** Waits for a number of status messages from the daemon to the server. */
async function statusMessages(run: CaseRun, count: number): Promise<void> {
  const seen = new Set<string>();
  await waitWhileAlive(run.daemon, `${count} status messages`, async () => {
    for (const { reply_time } of await run.sql('SELECT s.reply_time::text FROM pg_stat_replication s JOIN pg_replication_slots r ON r.active_pid = s.pid WHERE r.slot_name = $1', [run.name])) if (reply_time !== null) seen.add(reply_time);
    return seen.size > count;
  });
}

/** Process id of the server's side of the stream. */
async function walsender(run: CaseRun): Promise<string> {
  let pid: string | null = null;
  await waitWhileAlive(run.daemon, 'the stream', async () => {
    pid = (await run.sql('SELECT active_pid::text AS pid FROM pg_replication_slots WHERE slot_name = $1', [run.name]))[0]?.pid ?? null;
    return pid !== null;
  });
  return pid!;
}

async function withServerSetting(run: CaseRun, name: string, value: string, work: () => Promise<void>): Promise<void> {
  await run.sql(`ALTER SYSTEM SET ${name} = '${value}'`);
  await run.sql('SELECT pg_reload_conf()');
  try {
    await work();
  } finally {
    await run.sql(`ALTER SYSTEM RESET ${name}`);
    await run.sql('SELECT pg_reload_conf()');
  }
}

/** Writes to a table that is not captured. */
const write = (run: CaseRun, megabytes: number): Promise<unknown> => run.sql(`INSERT INTO noise SELECT repeat(md5(g::text), 300) FROM generate_series(1, ${megabytes * 100}) g`);

describe('positions', () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());
  const get = (): TestBed => bed;

  testCase(get, 'many rows of one COPY share a position: none is left out', {
    setup: 'CREATE TABLE copied (id int PRIMARY KEY)',
    action: "COPY copied FROM PROGRAM 'seq 1 5000'",
    equal: ['copied'],
  });

  testCase(get, 'a COPY whose reader dies while it arrives', {
    kills: ['none'],
    setup: 'CREATE TABLE copied (id int PRIMARY KEY, v text)',
    action: async (run) => {
      for (let round = 0; round < 3; round++) {
        const copying = run.sql(`COPY copied FROM PROGRAM 'seq -f "%.0f	row" ${round * 40_000 + 1} ${(round + 1) * 40_000}'`);
        await copying;
        await run.killAndStart();
      }
    },
    equal: ['copied'],
  });

  testCase(get, 'the transaction after a durable one is not taken for it', {
    kills: ['none'],
    setup: 'CREATE TABLE single (id int PRIMARY KEY)',
    action: async (run) => {
      for (let i = 0; i < 12; i++) {
        await run.sql('INSERT INTO single VALUES ($1)', [i * 2]);
        await run.settle();
        await run.daemon.kill9();
        await run.sql('INSERT INTO single VALUES ($1)', [i * 2 + 1]);
        await run.start();
      }
    },
    equal: ['single'],
  });

  testCase(get, 'what is received but not committed is not confirmed, however much is written elsewhere', {
    kills: ['none'],
    setup: 'CREATE TABLE waiting (id int PRIMARY KEY); CREATE TABLE noise (x text); ALTER TABLE noise ALTER x SET STORAGE EXTERNAL',
    action: async (run) => {
      await run.killAndStart(NEVER);
      await walsender(run);
      await run.sql('INSERT INTO waiting SELECT generate_series(1, 100)');
      await write(run, 20);
      await statusMessages(run, 4);
      await run.killAndStart();
    },
    config: { 'debezium.source.table.include.list': 'public\\.waiting' },
    equal: ['waiting'],
  });

  testCase(get, 'a commit that hangs is not confirmed, however much is written elsewhere', {
    setup: 'CREATE TABLE hanging (id int PRIMARY KEY); CREATE TABLE noise (x text); ALTER TABLE noise ALTER x SET STORAGE EXTERNAL',
    kills: ['none'],
    action: async (run) => {
      await run.sql('INSERT INTO hanging VALUES (1)');
      await write(run, 10);
      await statusMessages(run, 4);
      await run.daemon.kill9();
      run.disarm();
      await run.start();
    },
    faults: { '*': 'slow' },
    config: { 'debezium.source.table.include.list': 'public\\.hanging' },
    equal: ['hanging'],
  });

  testCase(get, 'a change that waits for its commit is committed by a clean stop', {
    kills: ['none'],
    setup: 'CREATE TABLE waiting (id int PRIMARY KEY)',
    action: async (run) => {
      await run.stop();
      await run.start(NEVER);
      await walsender(run);
      await run.sql('INSERT INTO waiting SELECT generate_series(1, 100)');
      const [{ lsn }] = await run.sql('SELECT pg_current_wal_insert_lsn()::text AS lsn');
      // Received, which the write position says; the flush position stays where the tables are.
      await waitWhileAlive(run.daemon, 'the rows to arrive', async () => (await run.sql('SELECT (s.write_lsn >= $2::pg_lsn)::text AS done FROM pg_stat_replication s JOIN pg_replication_slots r ON r.active_pid = s.pid WHERE r.slot_name = $1', [run.name, lsn]))[0]?.done === 'true');
      await run.stop();
      await run.assertEqual('waiting');
      await run.start();
    },
    equal: ['waiting'],
  });

  testCase(get, 'quiet tables beside a busy one: the slot follows, and nothing is committed', {
    kills: ['none'],
    setup: 'CREATE TABLE quiet (id int PRIMARY KEY); INSERT INTO quiet VALUES (1); CREATE TABLE noise (x text); ALTER TABLE noise ALTER x SET STORAGE EXTERNAL',
    action: async (run) => {
      await run.settle();
      const { version } = run.state('quiet');
      for (let i = 0; i < 3; i++) {
        await write(run, 30);
        await run.settle();
      }
      assert.equal(run.state('quiet').version, version);
    },
    config: { 'debezium.source.table.include.list': 'public\\.quiet' },
    equal: ['quiet'],
  });

  testCase(get, 'a quiet table does not hold back the slot of a busy one', {
    setup: 'CREATE TABLE busy (id int PRIMARY KEY); CREATE TABLE quiet (id int PRIMARY KEY); INSERT INTO quiet VALUES (1)',
    action: async (run) => {
      const { version } = run.state('quiet');
      for (let i = 0; i < 5; i++) {
        await run.sql('INSERT INTO busy SELECT generate_series($1::int * 100, $1::int * 100 + 99)', [i]);
        await run.settle();
      }
      assert.equal(run.state('quiet').version, version, 'the quiet table has been committed to');
    },
    equal: ['busy', 'quiet'],
  });

  testCase(get, 'logical messages of others are passed over', {
    setup: 'CREATE TABLE mail (id int PRIMARY KEY)',
    action: "SELECT pg_logical_emit_message(false, 'other', decode('00ff', 'hex')); SELECT pg_logical_emit_message(true, 'other', 'text'); INSERT INTO mail VALUES (1)",
    equal: ['mail'],
  });

  testCase(get, 'a slot that was dropped: refused, nothing written', {
    kills: ['none'],
    setup: 'CREATE TABLE lost (id int PRIMARY KEY); INSERT INTO lost SELECT generate_series(1, 10)',
    action: async (run) => {
      await run.settle();
      await run.stop();
      const { version } = run.state('lost');
      await run.sql('SELECT pg_drop_replication_slot($1)', [run.name]);
      await run.sql('INSERT INTO lost SELECT generate_series(11, 20)');
      assert.equal(await run.startAndStop(), 1, run.logs());
      assert.match(run.daemon.logs(), /SLOT_MISSING/);
      assert.equal(run.state('lost').version, version);
      // Neither must a slot made by another attempt count as the old one.
      assert.equal(await run.startAndStop(), 1, run.logs());
      assert.deepEqual(await run.sql('SELECT slot_name FROM pg_replication_slots WHERE slot_name = $1', [run.name]), []);
    },
    ends: 'stopped',
    equal: { lost: { sourceWhere: 'id <= 10' } },
  });

  testCase(get, 'a slot that was dropped, with reloads allowed: equal again, deletes of the gap included, also when killed on the way', {
    kills: ['none'],
    setup: 'CREATE TABLE lost (id int PRIMARY KEY, v text); INSERT INTO lost SELECT g, \'v\' FROM generate_series(1, 10) g',
    action: async (run) => {
      await run.settle();
      await run.stop();
      await run.sql('SELECT pg_drop_replication_slot($1)', [run.name]);
      await run.sql("DELETE FROM lost WHERE id = 3; UPDATE lost SET v = 'w' WHERE id = 4; INSERT INTO lost SELECT g, 'x' FROM generate_series(11, 20) g");
      await run.start();
      await waitWhileAlive(run.daemon, 'the new slot', async () => (await run.sql('SELECT slot_name FROM pg_replication_slots WHERE slot_name = $1', [run.name])).length === 1);
      await run.killAndStart();
      await run.loaded();
    },
    config: { 'debezium.source.snapshot.mode': 'when_needed' },
    equal: ['lost'],
  });

  testCase(get, 'a slot that Postgres has given up: told so, and nothing written', {
    kills: ['none'],
    setup: 'CREATE TABLE kept (id int PRIMARY KEY); INSERT INTO kept VALUES (1), (2), (3); CREATE TABLE noise (x text); ALTER TABLE noise ALTER x SET STORAGE EXTERNAL',
    action: async (run) => {
      await run.settle();
      await run.stop();
      await withServerSetting(run, 'max_slot_wal_keep_size', '1MB', async () => {
        await run.sql('DELETE FROM kept WHERE id = 2');
        await write(run, 100);
        await run.sql('CHECKPOINT');
        assert.deepEqual(await run.sql('SELECT wal_status FROM pg_replication_slots WHERE slot_name = $1', [run.name]), [{ wal_status: 'lost' }]);
      });
      assert.equal(await run.startAndStop(), 1, run.logs());
      assert.match(run.daemon.logs(), /SLOT_LOST/);
      assert.deepEqual(await run.read('kept', 'SELECT toInt32(id) FROM {table} ORDER BY id'), [[1], [2], [3]]);
    },
    ends: 'stopped',
    config: { 'debezium.source.table.include.list': 'public\\.kept' },
    loads: ['kept'],
  });

  testCase(get, 'a short wal_sender_timeout, much to do and a slow catalog: one session throughout', {
    kills: ['none'],
    setup: 'CREATE TABLE steady (id int PRIMARY KEY, v text)',
    action: (run) => withServerSetting(run, 'wal_sender_timeout', '1s', async () => {
      // The setting counts from the session's beginning.
      await run.killAndStart();
      const pid = await walsender(run);
      for (let i = 0; i < 10; i++) await run.sql("INSERT INTO steady SELECT g, repeat('x', 100) FROM generate_series($1::int * 20000 + 1, $1::int * 20000 + 20000) g", [i]);
      await run.settle();
      assert.equal(await walsender(run), pid, run.logs());
    }),
    faults: { '*': 'slow' },
    equal: ['steady'],
  });

  testCase(get, 'wal_sender_timeout=0: the session stays, and rows arrive', {
    kills: ['none'],
    setup: 'CREATE TABLE steady (id int PRIMARY KEY)',
    action: (run) => withServerSetting(run, 'wal_sender_timeout', '0', async () => {
      await run.killAndStart();
      const pid = await walsender(run);
      await statusMessages(run, 5);
      await run.sql('INSERT INTO steady VALUES (1)');
      await run.settle();
      assert.equal(await walsender(run), pid, run.logs());
    }),
    equal: ['steady'],
  });
});
