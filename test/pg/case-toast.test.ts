import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { testCase } from '../support/case.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

/** Text of 32 × n characters that does not compress, so that it is stored out of line. */
const big = (pieces: number): string => `(SELECT string_agg(md5(random()::text || g), '') FROM generate_series(1, ${pieces}) g)`;
const DOC = `CREATE TABLE doc (id int PRIMARY KEY, title text, body text); ALTER TABLE doc ALTER body SET STORAGE EXTERNAL; INSERT INTO doc SELECT g, 'a', ${big(625)} FROM generate_series(1, 3) g;`;

describe('values stored out of line that an update leaves out', () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());
  const get = (): TestBed => bed;

  testCase(get, 'a large text stays when another column is updated, and no placeholder appears', {
    setup: DOC,
    action: "UPDATE doc SET title = 'b' WHERE id = 1",
    equal: ['doc'],
    expect: async (run) => {
      assert.deepEqual(await run.read('doc', "SELECT toString(countIf(position(body, '__debezium') > 0)), toString(min(length(body))) FROM {table}"), [['0', '20000']]);
    },
  });

  testCase(get, 'fifty json documents of 3 to 15 kB stay when a status changes in all rows', {
    setup: `CREATE TABLE inv (id int PRIMARY KEY, state text, details jsonb); INSERT INTO inv SELECT g, 'new', jsonb_build_object('k', (SELECT string_agg(md5(random()::text || h || g), '') FROM generate_series(1, 100 + g * 8) h)) FROM generate_series(1, 50) g`,
    action: "UPDATE inv SET state = 'paid'",
    equal: ['inv'],
  });

  testCase(get, 'a json document stays when a number beside it changes', {
    setup: `CREATE TABLE beside (id int PRIMARY KEY, doc jsonb, n int); INSERT INTO beside SELECT 1, jsonb_build_object('k', ${big(400)}), 1`,
    action: 'UPDATE beside SET n = 2 WHERE id = 1',
    equal: ['beside'],
  });

  testCase(get, 'updates with and without the large value in one commit: the last large value counts', {
    setup: DOC,
    action: async (run) => {
      await run.sql("UPDATE doc SET title = 'c'");
      await run.sql(`UPDATE doc SET body = ${big(626)} WHERE id < 3`);
      await run.sql("UPDATE doc SET title = 'd'");
    },
    config: { 'walberg.commit.interval.ms': '1500' },
    equal: ['doc'],
  });

  testCase(get, 'updates with and without the large value inside one transaction', {
    setup: DOC,
    action: `UPDATE doc SET title = 'c'; UPDATE doc SET body = ${big(626)} WHERE id < 3; UPDATE doc SET title = 'd'; UPDATE doc SET body = NULL WHERE id = 2; UPDATE doc SET title = 'e'`,
    equal: ['doc'],
  });

  testCase(get, 'a row inserted and then updated in one commit keeps the large value of the insert', {
    setup: DOC,
    action: async (run) => {
      await run.sql(`INSERT INTO doc SELECT 10, 'new', ${big(300)}`);
      await run.sql("UPDATE doc SET title = 'changed' WHERE id = 10");
    },
    config: { 'walberg.commit.interval.ms': '1500' },
    equal: ['doc'],
  });

  testCase(get, 'a required binary value of 9000 bytes stays when a number changes', {
    setup: `CREATE TABLE place (id bigint PRIMARY KEY, kind smallint, data bytea NOT NULL); ALTER TABLE place ALTER data SET STORAGE EXTERNAL; INSERT INTO place SELECT 1, 1, substr(decode(${big(600)}, 'hex'), 1, 9000)`,
    action: 'UPDATE place SET kind = kind + 1',
    equal: ['place'],
    expect: async (run) => { assert.deepEqual(await run.read('place', 'SELECT toString(length(data)) FROM {table}'), [['9000']]); },
  });

  testCase(get, 'a process that has just started, with nothing in memory, keeps the large value', {
    setup: DOC,
    action: async (run) => {
      if (run.kill === 'none') {
        await run.stop();
        await run.start();
      }
      await run.sql("UPDATE doc SET title = 'z'");
    },
    equal: ['doc'],
  });

  testCase(get, 'REPLICA IDENTITY FULL: updates that change nothing and updates beside the large value', {
    setup: `CREATE TABLE whole (id int PRIMARY KEY, doc jsonb, n int); ALTER TABLE whole REPLICA IDENTITY FULL; INSERT INTO whole SELECT 1, jsonb_build_object('k', ${big(400)}), 1`,
    action: async (run) => {
      await run.sql('UPDATE whole SET n = n');
      await run.sql('UPDATE whole SET n = 3 WHERE id = 1');
    },
    equal: ['whole'],
  });

  testCase(get, 'a changed key takes the untouched large value along', {
    setup: `CREATE TABLE moved (id int PRIMARY KEY, big text); ALTER TABLE moved ALTER big SET STORAGE EXTERNAL; INSERT INTO moved SELECT 1, ${big(300)}`,
    action: 'UPDATE moved SET id = 7 WHERE id = 1',
    equal: ['moved'],
  });

  testCase(get, 'the key changes to that of a row deleted in the same transaction, large values untouched', {
    setup: DOC,
    action: async (run) => {
      await run.sql('DELETE FROM doc WHERE id = 2; UPDATE doc SET id = 2 WHERE id = 1');
      await run.sql("UPDATE doc SET title = 'after' WHERE id = 2");
    },
    equal: ['doc'],
  });

  testCase(get, 'the row is changed again while its large value is still to be found', {
    setup: DOC,
    action: async (run) => {
      for (let i = 0; i < 40; i++) {
        await run.sql(`UPDATE doc SET title = 'round ${i}' WHERE id = 1`);
        if (i % 4 === 3) await run.sql(`UPDATE doc SET body = ${big(200 + i)} WHERE id = 1`);
        if (i % 10 === 9) await run.sql(`DELETE FROM doc WHERE id = 3; INSERT INTO doc SELECT 3, 'again', ${big(200 + i)}`);
      }
    },
    config: { 'walberg.commit.interval.ms': '100' },
    equal: ['doc'],
  });

  testCase(get, 'REPLICA IDENTITY FULL on a uuid key: insert, an update of nothing, delete', {
    setup: 'CREATE TABLE brief (id uuid PRIMARY KEY, d text); ALTER TABLE brief REPLICA IDENTITY FULL',
    action: async (run) => {
      await run.sql("INSERT INTO brief VALUES ('11111111-1111-1111-1111-111111111111', 'x')");
      await run.sql('UPDATE brief SET d = d');
      await run.sql('DELETE FROM brief');
      await run.sql("INSERT INTO brief VALUES ('22222222-1111-1111-1111-111111111111', 'stays')");
    },
    equal: ['brief'],
  });

  testCase(get, 'REPLICA IDENTITY FULL: the key is the primary key alone', {
    setup: "CREATE TABLE keyed (id int PRIMARY KEY, v text); ALTER TABLE keyed REPLICA IDENTITY FULL; INSERT INTO keyed VALUES (1, 'a')",
    action: async (run) => {
      await run.sql("INSERT INTO keyed VALUES (2, 'b')");
      await run.sql("UPDATE keyed SET v = 'c' WHERE id = 1");
      await run.sql('DELETE FROM keyed WHERE id = 2');
    },
    equal: ['keyed'],
    expect: async (run) => {
      const { schema, identifierFieldIds } = run.state('keyed');
      assert.deepEqual(identifierFieldIds.map((id) => schema.find((f) => f.id === id)?.name), ['id']);
    },
  });

  testCase(get, 'primary keys change, alone and right after the insert in the same transaction', {
    setup: "CREATE TABLE renumbered (id int PRIMARY KEY, v text); INSERT INTO renumbered VALUES (1, 'a')",
    action: async (run) => {
      await run.sql('UPDATE renumbered SET id = 1001 WHERE id = 1');
      await run.sql("BEGIN; INSERT INTO renumbered VALUES (2, 'b'); UPDATE renumbered SET id = 2002 WHERE id = 2; COMMIT");
    },
    equal: ['renumbered'],
  });

  testCase(get, 'the primary key is dropped while rows flow: a clear stop that names the table', {
    kills: ['none'],
    setup: 'CREATE TABLE unkeyed (id int PRIMARY KEY, v int); INSERT INTO unkeyed VALUES (1, 1)',
    action: async (run) => {
      await run.sql('INSERT INTO unkeyed VALUES (2, 2)');
      await run.settle();
      await run.sql('ALTER TABLE unkeyed DROP CONSTRAINT unkeyed_pkey');
      await run.sql('INSERT INTO unkeyed VALUES (3, 3)');
      assert.deepEqual(await run.daemon.exited, { code: 1, signal: null }, run.logs());
      assert.match(run.logs(), /SCHEMA_CHANGED/);
      assert.match(run.logs(), /public\.unkeyed/);
    },
    ends: 'stopped',
    equal: { unkeyed: { sourceWhere: 'id < 3', key: ['id'] } },
  });
});
