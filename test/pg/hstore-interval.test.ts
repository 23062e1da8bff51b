import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { type CaseRun, testCase } from '../support/case.js';
import { physicalRows } from '../support/parquet-rows.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const SETUP = `CREATE EXTENSION hstore; CREATE TABLE t (id int PRIMARY KEY, h hstore, i interval, hs hstore[], "is" interval[], touched int);
  INSERT INTO t VALUES (1, '"a"=>"1", "b"=>NULL, "q\\""=>"😀\\\\"', '1 year -2 mons 3 days -04:05:06.5', '{"a=>1",NULL}', '{"1 day",NULL}'), (2, '', '0', '{}', '{}'), (3, NULL, NULL, NULL, NULL);`;
/** The same values by INSERT, by UPDATE, and the loaded ones left alone. */
const ACTION = `INSERT INTO t SELECT id + 10, h, i, hs, "is" FROM t; INSERT INTO t (id) SELECT id + 20 FROM t WHERE id < 10;
  UPDATE t SET (h, i, hs, "is") = (SELECT h, i, hs, "is" FROM t s WHERE s.id = t.id - 20) WHERE id > 20; UPDATE t SET touched = 1 WHERE id < 10`;

const INTERVALS = ['P0Y10M3DT-4H-5M-6.5S', 'P0Y0M0DT0H0M0S', null];
const INTERVAL_LISTS = [['P0Y0M1DT0H0M0S', null], [], null];

describe('hstore and interval in the forms that can be asked for', () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());
  const get = (): TestBed => bed;

  /** Columns h, i, hs and is of the rows in all data files: loaded, touched, inserted and updated ones. */
  async function expectRows(run: CaseRun, maps: readonly unknown[], elements: readonly unknown[]): Promise<void> {
    const folder = join(run.location('t'), 'data');
    const files = await Promise.all(readdirSync(folder).map((name) => physicalRows({ bytes: readFileSync(join(folder, name)) })));
    // Delete files have the key alone.
    const rows = files.flat().filter((row) => row.length > 5);
    const newest = new Map(rows.map((row) => [`${String(row[0])} ${String(row[5])}`, row]));
    for (const [at, first] of [[0, '1'], [1, '2'], [2, '3']] as const) {
      for (const key of [`${first} null`, `${first} 1`, `1${first} null`]) assert.deepEqual(newest.get(key)?.slice(1, 5), [maps[at], INTERVALS[at], elements[at], INTERVAL_LISTS[at]], key);
    }
    const updated = rows.filter((row) => Number(row[0]) > 20 && row[1] !== null);
    assert.deepEqual(updated.map((row) => row.slice(1, 5)).sort(), [0, 1].map((at) => [maps[at], INTERVALS[at], elements[at], INTERVAL_LISTS[at]]).sort());
  }
  const types = (run: CaseRun): unknown[] => run.state('t').schema.slice(1, 5).map(({ type }) => (typeof type === 'string' ? type : (type as { type: string }).type));

  testCase(get, 'a map of strings and ISO 8601', {
    config: { 'debezium.source.hstore.handling.mode': 'map', 'debezium.source.interval.handling.mode': 'string' },
    setup: SETUP,
    action: async (run) => { for (const statement of ACTION.split('; ')) { await run.sql(statement); await run.settle(); } },
    loads: ['t'],
    expect: async (run) => {
      assert.deepEqual(types(run), ['map', 'string', 'list', 'list']);
      await expectRows(run, [{ a: '1', b: null, 'q"': '😀\\' }, {}, null], [['"a"=>"1"', null], [], null]);
      assert.deepEqual(await run.read('t', "SELECT toString(id), h['a'], i FROM {table} ORDER BY id LIMIT 3"), [['1', '1', INTERVALS[0]], ['2', null, INTERVALS[1]], ['3', null, null]]);
    },
    kills: ['none'],
  });

  testCase(get, 'a JSON object and ISO 8601', {
    config: { 'debezium.source.hstore.handling.mode': 'json', 'debezium.source.interval.handling.mode': 'string' },
    setup: SETUP,
    action: async (run) => { for (const statement of ACTION.split('; ')) { await run.sql(statement); await run.settle(); } },
    loads: ['t'],
    expect: async (run) => {
      assert.deepEqual(types(run), ['string', 'string', 'list', 'list']);
      await expectRows(run, ['{"a":"1","b":null,"q\\"":"😀\\\\"}', '{}', null], [['{"a":"1"}', null], [], null]);
    },
    kills: ['none'],
  });
});
