import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { type CaseRun, testCase } from '../support/case.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const APPEND = { 'debezium.sink.iceberg.upsert': 'false' };
const SETUP = "CREATE TABLE t (id int PRIMARY KEY, v varchar(20), n numeric(8,2)); INSERT INTO t SELECT g, 'v' || g, g FROM generate_series(1, 20) g";

describe('tables that follow the columns of their source', { timeout: 600_000 }, () => {
  let bed: TestBed;
  const get = (): TestBed => bed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed.close());

  /** Makes the changes while nobody reads, so that they are all in the log when the next process looks at the catalog. */
  const whileStopped = (sql: string) => async (run: CaseRun): Promise<void> => {
    await run.settle();
    await run.stop();
    await run.sql(sql);
    await run.start();
  };
  const fieldIds = (run: CaseRun): Record<string, number> => Object.fromEntries(run.state('t').schema.map((f) => [f.name, f.id]));
  const typeOf = (run: CaseRun, name: string): string => String(run.state('t').schema.find((f) => f.name === name)?.type);

  testCase(get, 'ADD COLUMN while rows flow', {
    setup: SETUP,
    action: async (run) => {
      await run.sql('ALTER TABLE t ADD x int');
      await run.sql('INSERT INTO t VALUES (100, NULL, 1, 7)');
      await run.sql('UPDATE t SET x = id WHERE id < 5; DELETE FROM t WHERE id = 6');
    },
    equal: ['t'],
    expect: async (run) => {
      assert.equal(fieldIds(run).x, 4);
      assert.doesNotMatch(run.logs(), /loaded anew/);
    },
  });

  for (const [mode, config] of [['mirror', {}], ['log', APPEND]] as const) {
    testCase(get, `ADD COLUMN while stopped, with rows of both shapes waiting (${mode})`, {
      kills: ['none'],
      setup: SETUP,
      config,
      action: whileStopped("UPDATE t SET v = 'old' WHERE id = 1; INSERT INTO t VALUES (30, 'old', 1); ALTER TABLE t ADD x int; INSERT INTO t VALUES (31, 'new', 1, 31); UPDATE t SET x = 1 WHERE id = 30; DELETE FROM t WHERE id = 31"),
      equal: mode === 'mirror' ? ['t'] : {},
      loads: ['t'],
      expect: async (run) => {
        assert.doesNotMatch(run.logs(), /loaded anew/);
        if (mode === 'log') assert.deepEqual(await run.read('t', "SELECT id, v, x FROM {table} WHERE __op <> 'r' AND id IN (1, 30) ORDER BY id, x NULLS FIRST"), [[1, 'old', null], [30, 'old', null], [30, 'old', 1]]);
      },
    });
  }

  testCase(get, 'ADD COLUMN inside a transaction, between rows', {
    setup: SETUP,
    action: async (run) => {
      await run.sql("BEGIN; INSERT INTO t VALUES (40, 'before', 1); UPDATE t SET n = 5 WHERE id = 2; ALTER TABLE t ADD x text; INSERT INTO t VALUES (41, 'after', 1, 'x'); UPDATE t SET x = 'y' WHERE id = 40; COMMIT");
    },
    equal: ['t'],
  });

  testCase(get, 'ADD COLUMN with a default', {
    setup: SETUP,
    action: async (run) => {
      await run.sql("INSERT INTO t VALUES (50, 'before', 1)");
      await run.sql("ALTER TABLE t ADD x int NOT NULL DEFAULT 5, ADD y uuid DEFAULT gen_random_uuid()");
      await run.sql("ALTER TABLE t ALTER x DROP DEFAULT, ALTER y DROP DEFAULT; UPDATE t SET v = 'touched' WHERE id = 3");
    },
    equal: ['t'],
    // once at first, once for the default; what a killed process had to say may be lost
    expect: async (run) => assert.equal(run.logs().match(/"msg":"loaded public\.t/g)?.length, 2, run.logs()),
  });

  testCase(get, 'ADD COLUMN with a default that is not constant, while stopped', {
    kills: ['none'],
    setup: SETUP,
    action: whileStopped("INSERT INTO t VALUES (60, 'old', 1); ALTER TABLE t ADD y serial; ALTER TABLE t ALTER y DROP DEFAULT; DELETE FROM t WHERE id = 4"),
    equal: ['t'],
  });

  testCase(get, 'DROP COLUMN', {
    kills: ['none', 'before-commit'],
    setup: SETUP,
    action: async (run) => {
      await run.sql("UPDATE t SET v = 'before' WHERE id = 1");
      await run.sql("ALTER TABLE t DROP n");
      await run.sql("UPDATE t SET v = 'after' WHERE id = 2; INSERT INTO t VALUES (70, 'x')");
    },
    equal: ['t'],
    expect: async (run) => {
      assert.equal(fieldIds(run).n, 3);
      assert.deepEqual(await run.read('t', 'SELECT n FROM {table} WHERE id IN (2, 70)'), [[null], [null]]);
    },
  });

  testCase(get, 'DROP and ADD of a name, with rows of the old column waiting: the new one is not mixed with it', {
    kills: ['none'],
    setup: SETUP,
    action: whileStopped("UPDATE t SET v = 'old'; ALTER TABLE t DROP v; ALTER TABLE t ADD v varchar(20); UPDATE t SET v = 'new' WHERE id = 1"),
    equal: ['t'],
  });

  testCase(get, 'DROP and ADD of a name with a type that does not fit: a clear stop', {
    kills: ['none'],
    setup: SETUP,
    action: async (run) => {
      await run.settle();
      await run.sql('ALTER TABLE t DROP v; ALTER TABLE t ADD v boolean; INSERT INTO t VALUES (80, 1, true)');
      assert.deepEqual(await run.daemon.exited, { code: 1, signal: null }, run.logs());
      assert.match(run.logs(), /TABLE_INCOMPATIBLE/);
      assert.match(run.logs(), /public\.t has column v as string, which cannot hold boolean/);
    },
    ends: 'stopped',
    loads: ['t'],
  });

  testCase(get, 'types become wider, a length changes', {
    setup: 'CREATE TABLE t (id int PRIMARY KEY, v varchar(20), n numeric(8,2)); INSERT INTO t SELECT g, g, g FROM generate_series(1, 20) g',
    action: async (run) => {
      await run.sql("UPDATE t SET v = 'before' WHERE id = 2");
      await run.sql('ALTER TABLE t ALTER id TYPE bigint, ALTER v TYPE varchar(40), ALTER n TYPE numeric(12,2)');
      await run.sql("INSERT INTO t VALUES (5000000000, repeat('x', 30), 1234567890.12); UPDATE t SET v = 'after' WHERE id = 1; DELETE FROM t WHERE id = 3");
    },
    equal: ['t'],
    expect: async (run) => {
      assert.deepEqual([typeOf(run, 'id'), typeOf(run, 'n').replace(' ', '')], ['long', 'decimal(12,2)']);
      assert.doesNotMatch(run.logs(), /loaded anew/);
    },
  });

  testCase(get, 'real becomes double precision, with rows waiting that have the digits of a real', {
    kills: ['none'],
    setup: 'CREATE TABLE t (id int PRIMARY KEY, f real); INSERT INTO t SELECT g, 0.1 FROM generate_series(1, 20) g',
    action: whileStopped('UPDATE t SET f = 0.2 WHERE id = 1; ALTER TABLE t ALTER f TYPE double precision; INSERT INTO t VALUES (30, 0.1)'),
    equal: ['t'],
    expect: async (run) => assert.equal(typeOf(run, 'f'), 'double'),
  });

  testCase(get, 'RENAME, also of the key', {
    setup: SETUP,
    action: async (run) => {
      await run.sql("UPDATE t SET v = 'before' WHERE id = 1");
      await run.sql('ALTER TABLE t RENAME v TO w; ALTER TABLE t RENAME id TO key');
      await run.sql("UPDATE t SET w = 'after' WHERE key = 2; DELETE FROM t WHERE key = 3");
    },
    equal: ['t'],
    expect: async (run) => assert.deepEqual(fieldIds(run), { key: 1, w: 2, n: 3 }),
  });

  testCase(get, 'RENAME while stopped, with rows under the old name waiting', {
    kills: ['none'],
    setup: SETUP,
    action: whileStopped("UPDATE t SET v = 'old' WHERE id < 4; ALTER TABLE t RENAME v TO w; UPDATE t SET w = 'new' WHERE id = 5"),
    equal: ['t'],
    expect: async (run) => assert.doesNotMatch(run.logs(), /loaded anew/),
  });

  testCase(get, 'two names change places', {
    kills: ['none'],
    setup: 'CREATE TABLE t (id int PRIMARY KEY, a text, b text); INSERT INTO t VALUES (1, \'a\', \'b\')',
    action: whileStopped("UPDATE t SET a = 'A'; ALTER TABLE t RENAME a TO c; ALTER TABLE t RENAME b TO a; ALTER TABLE t RENAME c TO b; INSERT INTO t VALUES (2, '2', '3')"),
    equal: ['t'],
  });

  testCase(get, 'NOT NULL is dropped from a column that the table requires', {
    kills: ['none'],
    config: { 'debezium.sink.iceberg.preserve-required-property': 'true' },
    setup: "CREATE TABLE t (id int PRIMARY KEY, v text NOT NULL); INSERT INTO t VALUES (1, 'one')",
    action: whileStopped('ALTER TABLE t ALTER v DROP NOT NULL; INSERT INTO t VALUES (2, NULL)'),
    equal: ['t'],
    expect: async (run) => assert.equal(run.state('t').schema.find((f) => f.name === 'v')?.required, false),
  });

  testCase(get, 'a column that was left out is captured', {
    kills: ['none'],
    config: { 'debezium.source.column.exclude.list': 'public.t.v' },
    setup: SETUP,
    action: async (run) => {
      await run.settle();
      await run.stop();
      await run.start({ 'debezium.source.column.exclude.list': 'public.t.nothing' });
    },
    equal: ['t'],
  });

  testCase(get, 'allow-field-addition=false: a clear stop', {
    kills: ['none'],
    config: { 'debezium.sink.iceberg.allow-field-addition': 'false' },
    setup: SETUP,
    action: async (run) => {
      await run.settle();
      await run.sql('ALTER TABLE t ADD x int; INSERT INTO t VALUES (90, NULL, 1, 7)');
      assert.deepEqual(await run.daemon.exited, { code: 1, signal: null }, run.logs());
      assert.match(run.logs(), /TABLE_INCOMPATIBLE/);
      assert.match(run.logs(), /public\.t has no column x/);
    },
    ends: 'stopped',
    loads: ['t'],
  });

});
