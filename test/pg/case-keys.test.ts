import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { type CaseRun, testCase } from '../support/case.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const KEEP = { 'debezium.sink.iceberg.upsert-keep-deletes': 'true' };
const LIVE = { where: "__deleted = 'false'" };

/** A publication made by hand, for tables without a key that the program would not publish by itself. */
const publish = (tables: string) => async (run: CaseRun): Promise<void> => { await run.sql(`CREATE PUBLICATION ${run.name} FOR TABLE ${tables}`); };

describe('keys', () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());
  const get = (): TestBed => bed;

  testCase(get, 'the value of a text key changes and the old value is used again', {
    setup: "CREATE TABLE acc (code text PRIMARY KEY, n int); INSERT INTO acc VALUES ('a', 1)",
    action: async (run) => {
      await run.sql("UPDATE acc SET code = 'b'");
      await run.sql("INSERT INTO acc VALUES ('a', 2)");
    },
    equal: ['acc'],
  });

  testCase(get, 'with deleted rows kept, the deleted mark of an old key does not hide the new row of that key', {
    setup: "CREATE TABLE acc (code text PRIMARY KEY, n int); INSERT INTO acc VALUES ('a', 1)",
    action: async (run) => {
      await run.sql("UPDATE acc SET code = 'b'");
      await run.sql("INSERT INTO acc VALUES ('a', 2)");
    },
    config: KEEP,
    equal: { acc: LIVE },
  });

  testCase(get, 'with deleted rows kept, a changed key leaves its old row marked as deleted', {
    setup: "CREATE TABLE acc (code text PRIMARY KEY, n int); INSERT INTO acc VALUES ('a', 1)",
    action: "UPDATE acc SET code = 'b'",
    config: KEEP,
    equal: { acc: LIVE },
    expect: async (run) => { assert.deepEqual(await run.read('acc', 'SELECT code, __deleted FROM {table} ORDER BY code'), [['a', 'true'], ['b', 'false']]); },
  });

  const three = "CREATE TABLE doomed (id int PRIMARY KEY, v text); INSERT INTO doomed SELECT g, 'v' || g FROM generate_series(1, 3) g";
  testCase(get, 'deleted rows are marked when they are to be kept', {
    setup: three, action: 'DELETE FROM doomed WHERE id = 2', config: KEEP, equal: { doomed: LIVE },
    expect: async (run) => { assert.deepEqual(await run.read('doomed', 'SELECT toInt32(id), __deleted FROM {table} ORDER BY id'), [[1, 'false'], [2, 'true'], [3, 'false']]); },
  });
  testCase(get, 'deleted rows are gone when they are not to be kept', {
    setup: three, action: 'DELETE FROM doomed WHERE id = 2', equal: ['doomed'],
  });

  testCase(get, 'a table without a key is appended to, says so once, and shows equal rows as often as they are', {
    setup: async (run) => {
      await run.sql("CREATE TABLE log (at timestamptz, msg text); INSERT INTO log VALUES ('2024-01-01', 'before')");
      await publish('log')(run);
    },
    action: "INSERT INTO log SELECT '2024-01-02', 'same' FROM generate_series(1, 3)",
    equal: ['log'],
    expect: async (run) => {
      const notes = run.logs().split('--- ').map((part) => part.split('\n').filter((line) => /append mode: it has no primary key/.test(line)).length);
      assert.deepEqual([...new Set(notes)], [1], run.logs());
    },
  });

  testCase(get, 'a delete in a table without a key, under REPLICA IDENTITY FULL, is one row that says so', {
    setup: async (run) => {
      await run.sql("CREATE TABLE log (at timestamptz, msg text); ALTER TABLE log REPLICA IDENTITY FULL; INSERT INTO log SELECT '2024-01-02', 'same' FROM generate_series(1, 3)");
      await publish('log')(run);
    },
    action: 'DELETE FROM log WHERE ctid = (SELECT min(ctid) FROM log)',
    expect: async (run) => { assert.deepEqual(await run.read('log', 'SELECT __op, toString(count()) FROM {table} GROUP BY 1 ORDER BY 1'), [['d', '1'], ['r', '3']]); },
    loads: ['log'],
  });

  testCase(get, 'a deferrable key under REPLICA IDENTITY FULL: keys swapped, shifted and rotated in one statement', {
    setup: 'CREATE TABLE swapped (id int PRIMARY KEY DEFERRABLE, v text); ALTER TABLE swapped REPLICA IDENTITY FULL; INSERT INTO swapped SELECT g, \'v\' || g FROM generate_series(1, 20) g',
    action: async (run) => {
      await run.sql('UPDATE swapped SET id = CASE id WHEN 1 THEN 2 ELSE 1 END WHERE id IN (1, 2)');
      await run.sql('UPDATE swapped SET id = id + 1');
      await run.sql('UPDATE swapped SET id = CASE id WHEN 5 THEN 6 WHEN 6 THEN 7 ELSE 5 END WHERE id IN (5, 6, 7); DELETE FROM swapped WHERE id = 6; UPDATE swapped SET id = id - 1 WHERE id > 6');
    },
    equal: ['swapped'],
  });

  testCase(get, 'a unique index as the replica identity identifies rows instead of the primary key', {
    setup: 'CREATE TABLE indexed (id int PRIMARY KEY, code text NOT NULL, v text); CREATE UNIQUE INDEX indexed_code ON indexed (code); ALTER TABLE indexed REPLICA IDENTITY USING INDEX indexed_code; INSERT INTO indexed VALUES (1, \'a\', \'x\'), (2, \'b\', \'x\')',
    action: async (run) => {
      await run.sql("UPDATE indexed SET id = 9 WHERE code = 'a'");
      await run.sql("UPDATE indexed SET code = 'c' WHERE code = 'b'; INSERT INTO indexed VALUES (3, 'b', 'new')");
    },
    equal: ['indexed'],
  });

  testCase(get, 'a key of several columns of other types, in another order than the columns', {
    setup: "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE composed (v text, d date, m mood, n numeric(10,2), b boolean, PRIMARY KEY (m, n, d, b)); INSERT INTO composed SELECT 'v', date '2024-01-01' + g, CASE WHEN g % 2 = 0 THEN 'sad' ELSE 'ok' END::mood, g / 7.0, g % 3 = 0 FROM generate_series(1, 200) g",
    action: async (run) => {
      await run.sql("UPDATE composed SET v = 'changed' WHERE b");
      await run.sql("UPDATE composed SET n = n + 0.01 WHERE m = 'ok'; DELETE FROM composed WHERE d < '2024-02-01'");
    },
    equal: ['composed'],
  });
});
