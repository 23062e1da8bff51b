import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { testCase } from '../support/case.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const LEAD = 'CREATE TABLE lead (id int PRIMARY KEY, a text, b text)';
const ONE_COMMIT = { 'walberg.commit.interval.ms': '1500' };

describe('several changes of one key in one commit', () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());
  const get = (): TestBed => bed;

  testCase(get, 'a thousand times insert, then update in the next transaction: one row each', {
    setup: LEAD,
    action: "DO $$ BEGIN FOR i IN 1..1000 LOOP INSERT INTO lead VALUES (i, 'x', NULL); COMMIT; UPDATE lead SET b = 'y' WHERE id = i; COMMIT; END LOOP; END $$",
    config: ONE_COMMIT,
    equal: ['lead'],
    expect: async (run) => { assert.deepEqual(await run.read('lead', "SELECT toString(count()), toString(countIf(b = 'y')) FROM {table}"), [['1000', '1000']]); },
  });

  testCase(get, 'insert, update, delete, insert of one key inside one transaction', {
    setup: `${LEAD}; INSERT INTO lead VALUES (5, 'old', NULL)`,
    action: async (run) => {
      await run.sql("INSERT INTO lead VALUES (1, 'i', NULL); UPDATE lead SET b = 'u' WHERE id = 1; DELETE FROM lead WHERE id = 1; INSERT INTO lead VALUES (1, 'again', NULL)");
      await run.sql("DELETE FROM lead WHERE id = 5; INSERT INTO lead VALUES (5, 'x', 'x'); DELETE FROM lead WHERE id = 5");
      await run.sql("INSERT INTO lead VALUES (6, 'gone', NULL); DELETE FROM lead WHERE id = 6");
    },
    config: ONE_COMMIT,
    equal: ['lead'],
  });

  testCase(get, 'delete and insert of one key, over and over, in many commits', {
    setup: `${LEAD}; INSERT INTO lead VALUES (1, 'first', NULL)`,
    action: "DO $$ BEGIN FOR i IN 1..300 LOOP DELETE FROM lead WHERE id = 1; COMMIT; INSERT INTO lead VALUES (1, 'round', i::text); COMMIT; PERFORM pg_sleep(0.002); END LOOP; END $$",
    config: { 'walberg.commit.interval.ms': '100' },
    equal: ['lead'],
  });

  testCase(get, 'a key changed before and after a crash: one row with the newer value', {
    setup: 'CREATE TABLE k (id int PRIMARY KEY, v int); INSERT INTO k VALUES (1, 0), (2, 0)',
    action: async (run) => {
      await run.sql('UPDATE k SET v = 1');
      // Where a kill is armed, the second update happens while no process runs.
      await run.killed();
      await run.sql('UPDATE k SET v = 2');
    },
    equal: ['k'],
  });

  testCase(get, 'two batches that end up in one commit because the first never made it', {
    setup: 'CREATE TABLE squashed (id text PRIMARY KEY, v int); INSERT INTO squashed VALUES (\'A\', 0)',
    action: async (run) => {
      await run.sql("UPDATE squashed SET v = 1 WHERE id = 'A'; INSERT INTO squashed VALUES ('B', 1)");
      await run.killed();
      await run.sql("UPDATE squashed SET v = 2 WHERE id = 'A'; DELETE FROM squashed WHERE id = 'B'; INSERT INTO squashed VALUES ('B', 2)");
      await run.sql("UPDATE squashed SET v = 3 WHERE id = 'B'");
    },
    equal: ['squashed'],
  });

  for (const fault of ['refuse', 'lose', 'apply'] as const) {
    testCase(get, `two batches when the catalog answers the first with an error (${fault})`, {
      kills: ['none'],
      setup: "CREATE TABLE refused (id text PRIMARY KEY, v int); INSERT INTO refused VALUES ('A', 0)",
      action: async (run) => {
        await run.sql("UPDATE refused SET v = 1 WHERE id = 'A'; INSERT INTO refused VALUES ('B', 1)");
        await run.daemon.waitForLog(fault === 'refuse' ? /repeated|again in/ : /The connection to the catalog was cut/);
        await run.sql("UPDATE refused SET v = 2 WHERE id = 'A'");
        await run.settle();
        await run.sql("UPDATE refused SET v = 3 WHERE id = 'B'; DELETE FROM refused WHERE id = 'A'; INSERT INTO refused VALUES ('A', 4)");
      },
      faults: { 1: fault },
      equal: ['refused'],
    });
    testCase(get, `rows are appended once when the catalog answers with an error (${fault})`, {
      kills: ['none'],
      setup: 'CREATE TABLE refused (id int PRIMARY KEY, v int)',
      action: 'INSERT INTO refused SELECT g, g FROM generate_series(1, 100) g',
      config: { 'debezium.sink.iceberg.upsert': 'false' },
      faults: { 1: fault },
      equal: ['refused'],
    });
  }

  for (const upsert of ['true', 'false']) {
    testCase(get, `a hundred inserted rows are there once (upsert=${upsert})`, {
      setup: 'CREATE TABLE replayed (id int PRIMARY KEY, v text)',
      action: "INSERT INTO replayed SELECT g, 'row ' || g FROM generate_series(1, 100) g",
      config: { 'debezium.sink.iceberg.upsert': upsert },
      equal: ['replayed'],
    });
  }
});
