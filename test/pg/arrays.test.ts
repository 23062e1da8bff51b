import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CANONICAL_SESSION_SQL, postgresCanonicalSql } from '../interop/readers/postgres-canonical.js';
import { CaseRun, testCase } from '../support/case.js';
import { bigEndian, physicalRows } from '../support/parquet-rows.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';
import { ARRAY_SAMPLES, createSampleTable, insertSampleRow, sampleRows, TYPE_SETUP, type TypeSample, updateSampleRow } from '../support/type-samples.js';

/** `time[]` too, which not every engine reads. */
const SAMPLES: readonly TypeSample[] = [...ARRAY_SAMPLES, { column: 'a_time', type: 'time[]', iceberg: 'time', values: ['{23:59:59.999999,NULL}', '{}', null] }];
const ROWS = sampleRows(SAMPLES);
/** Ids of rows whose values come by the load, by INSERT, by UPDATE, and stay while another column changes. */
const STREAMED = 1000, UPDATED = 2000, TOUCHED = 3000;

/** The canonical text of a list as the file holds it. */
function canonical(type: string, list: unknown): string | null {
  return list === null ? null : JSON.stringify((list as unknown[]).map((value) => (value === null ? null : elementText(type, value))));
}

function elementText(type: string, value: unknown): string {
  const scale = /^decimal\(\d+, (\d+)\)$/.exec(type)?.[1];
  if (scale !== undefined) return decimalText(bigEndian(value), Number(scale));
  if (type === 'float' || type === 'double') {
    const bits = Buffer.alloc(8);
    bits.writeDoubleBE(value as number);
    return bits.toString('hex');
  }
  const hex = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : '';
  if (type === 'binary') return hex;
  if (type === 'uuid') return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  return String(value);
}

function decimalText(unscaled: bigint, scale: number): string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  return `${unscaled < 0n ? '-' : ''}${scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`}`;
}

describe('arrays', () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());
  const get = (): TestBed => bed;

  testCase(get, 'of every element type equal their source when loaded, inserted, updated and left alone', {
    setup: async (run) => {
      for (const statement of [...TYPE_SETUP, createSampleTable('lists', ARRAY_SAMPLES)]) await run.sql(statement);
      for (const [id, row] of sampleRows(ARRAY_SAMPLES).entries()) {
        for (const first of [0, TOUCHED]) await run.sql(insertSampleRow('lists', first + id, ARRAY_SAMPLES, row));
        await run.sql(insertSampleRow('lists', UPDATED + id, ARRAY_SAMPLES, ARRAY_SAMPLES.map(() => null)));
      }
    },
    action: async (run) => {
      for (const [id, row] of sampleRows(ARRAY_SAMPLES).entries()) {
        await run.sql(insertSampleRow('lists', STREAMED + id, ARRAY_SAMPLES, row));
        await run.sql(updateSampleRow('lists', UPDATED + id, ARRAY_SAMPLES, row));
      }
      await run.sql(`UPDATE lists SET touched = 1 WHERE id >= ${TOUCHED}`);
    },
    equal: ['lists'],
    expect: async (run) => {
      const types = new Map(run.state('lists').schema.map(({ name, type }) => [name, type]));
      for (const { column, iceberg } of ARRAY_SAMPLES) {
        const { 'element-id': id, ...list } = types.get(column) as { 'element-id': number };
        assert.deepEqual(list, { type: 'list', element: iceberg, 'element-required': false }, column);
        assert.ok(id > types.size, column);
      }
    },
    kills: ['none', 'after-commit'],
  });

  testCase(get, 'are in the files as they are in the source, NULL apart from empty, loaded and streamed alike', {
    setup: async (run) => {
      for (const statement of [...TYPE_SETUP, createSampleTable('plain', SAMPLES)]) await run.sql(statement);
      for (const [id, row] of ROWS.entries()) await run.sql(insertSampleRow('plain', id, SAMPLES, row));
    },
    action: async (run) => {
      for (const [id, row] of ROWS.entries()) await run.sql(insertSampleRow('plain', STREAMED + id, SAMPLES, row));
    },
    loads: ['plain'],
    expect: async (run) => {
      const folder = join(run.location('plain'), 'data');
      const rows = (await Promise.all(readdirSync(folder).map((name) => physicalRows({ bytes: readFileSync(join(folder, name)) })))).flat();
      const found = new Map(rows.map(([id, ...values]) => [String(id), SAMPLES.map(({ iceberg }, i) => canonical(iceberg, values[i]))]));
      await run.sql(CANONICAL_SESSION_SQL);
      const source = await run.sql(`SELECT id::text AS id, ${SAMPLES.map(({ column, type, base }) => `${postgresCanonicalSql(column, base ?? type)} AS ${column}`).join(', ')} FROM plain`);
      assert.equal(found.size, 2 * ROWS.length);
      assert.equal(rows.length, source.length);
      for (const { id, ...values } of source) assert.deepEqual(found.get(id!), Object.values(values), `row ${id}`);
    },
    kills: ['none'],
  });

  it('are text when asked for, in key columns, and in a table that has them as text', async () => {
    const run = await CaseRun.open(bed, 'array_text', { setup: '', action: '', equal: ['t'] }, 'none');
    try {
      await run.sql("CREATE TABLE t (path int[] PRIMARY KEY, tags text[], grid int[][]); INSERT INTO t VALUES ('{1,2}', '{a,NULL}', '{{1,2},{3,4}}')");
      const types = (): unknown[] => run.state('t').schema.map(({ type }) => type);
      await run.start({ 'walberg.array-handling': 'text' });
      await run.loaded();
      await run.sql("INSERT INTO t VALUES ('{3}', '{}', NULL)");
      await run.settle();
      await run.stop();
      assert.deepEqual(types(), ['string', 'string', 'string']);
      await run.start();
      await run.sql("INSERT INTO t VALUES ('{}', '{{a},{b}}', '{7}'); UPDATE t SET tags = '{\"x y\"}' WHERE path = '{3}'; DELETE FROM t WHERE path = '{1,2}'");
      await run.settle();
      await run.stop();
      assert.deepEqual(types(), ['string', 'string', 'string']);
      assert.deepEqual(await run.read('t', 'SELECT path, tags, grid FROM {table} ORDER BY path'), [['{3}', '{"x y"}', null], ['{}', '{{a},{b}}', '{7}']]);
    } finally {
      await run.close();
    }
  });

  it('of several dimensions in a list column stop it, or become NULL when asked for', async () => {
    const run = await CaseRun.open(bed, 'array_dimensions', { setup: '', action: '', equal: ['t'] }, 'none');
    try {
      await run.sql("CREATE TABLE t (id int PRIMARY KEY, tags text[]); INSERT INTO t VALUES (1, '{a}')");
      await run.start();
      await run.loaded();
      await run.sql("INSERT INTO t VALUES (2, '{{a,b}}')");
      const { code } = await run.daemon.exited;
      assert.equal(code, 1);
      assert.match(run.logs(), /"code":"VALUE_INVALID".*public\.t, column tags: an array has more than one dimension/);
      await run.start({ 'walberg.special-values': 'null' });
      await run.settle();
      await run.stop();
      assert.deepEqual(await run.read('t', 'SELECT toString(id), tags FROM {table} ORDER BY id'), [['1', ['a']], ['2', []]]);
      assert.match(run.logs(), /1 value of public\.t\.tags replaced/);
    } finally {
      await run.close();
    }
  });
});
