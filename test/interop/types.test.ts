import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ARRAY_SAMPLES, createSampleTable, insertSampleRow, MAP_SAMPLES, sampleRows, TIME_SAMPLES, TYPE_SAMPLES, TYPE_SETUP, type TypeSample, updateSampleRow } from '../support/type-samples.js';
import { Lake, LakeRun } from './lake.js';
import { conditionOn, type Engine, sameValue } from './predicates.js';
import { type CanonicalRow, ForeignReaderError, type ForeignReader } from './readers/reader.js';
import { startClickHouse, startDuckDb, startPyIceberg, startSpark } from './readers/readers.js';
import { assertSameRows } from './same-rows.js';

const PLAIN = 'plain_types', MIRROR = 'mirrored_types', TIMES = 'times', MIRRORED_TIMES = 'mirrored_times', LISTS = 'plain_lists', MIRRORED_LISTS = 'mirrored_lists';
const ROWS = sampleRows(TYPE_SAMPLES);
const TIME_ROWS = sampleRows(TIME_SAMPLES);
const NESTED_SAMPLES: readonly TypeSample[] = [...ARRAY_SAMPLES, ...MAP_SAMPLES];
/** Ids: loaded rows are 0 to 999, streamed ones with the same values follow; see `changes`. */
const STREAMED = 1000, UPDATED = 2000, DELETED = 3000, MOVED = 4000, MOVED_TO = 5000, TOUCHED = 6000;

/** Canonical texts of the values alone. */
const valuesOf = ({ id: _id, touched: _touched, ...values }: CanonicalRow): CanonicalRow => values;

describe('every type, with its edge values, in engines that share no code', () => {
  let lake: Lake, run: LakeRun;
  const readers = {} as Record<Engine, ForeignReader>;

  before(async () => {
    const opening = Lake.open();
    [readers.spark, readers.pyiceberg, readers.duckdb, readers.clickhouse] = await Promise.all([startSpark(), startPyIceberg(), startDuckDb(), startClickHouse()]);
    lake = await opening;
    run = await LakeRun.open(lake, 'types', { 'walberg.commit.interval.ms': '20', 'debezium.source.status.update.interval.ms': '50', 'debezium.source.hstore.handling.mode': 'map' });
    for (const statement of TYPE_SETUP) await run.sql(statement);
    for (const [table, samples] of [[PLAIN, TYPE_SAMPLES], [MIRROR, TYPE_SAMPLES], [TIMES, TIME_SAMPLES], [MIRRORED_TIMES, TIME_SAMPLES], [LISTS, NESTED_SAMPLES], [MIRRORED_LISTS, NESTED_SAMPLES]] as const) {
      await run.sql(createSampleTable(table, samples));
      await load(table, samples, table === MIRROR || table === MIRRORED_TIMES || table === MIRRORED_LISTS);
    }
    await run.start([PLAIN, MIRROR, TIMES, MIRRORED_TIMES, LISTS, MIRRORED_LISTS]);
    // A commit for each row: bounds of a file are its one row's values.
    for (const [id, row] of ROWS.entries()) {
      await run.sql(insertSampleRow(PLAIN, STREAMED + id, TYPE_SAMPLES, row));
      if (id < TIME_ROWS.length) await run.sql(insertSampleRow(TIMES, STREAMED + id, TIME_SAMPLES, TIME_ROWS[id]!));
      await run.settle();
    }
    for (const [id, row] of sampleRows(NESTED_SAMPLES).entries()) await run.sql(insertSampleRow(LISTS, STREAMED + id, NESTED_SAMPLES, row));
    await change(MIRROR, TYPE_SAMPLES);
    await change(MIRRORED_LISTS, NESTED_SAMPLES);
    await change(MIRRORED_TIMES, TIME_SAMPLES);
    await run.settle();
    await run.stop();
  });

  after(async () => {
    await Promise.all(Object.values(readers).map((reader) => reader.close()));
    await run?.close();
    await lake?.close();
  });

  async function load(table: string, samples: readonly TypeSample[], changing: boolean): Promise<void> {
    for (const [id, row] of sampleRows(samples).entries()) {
      await run.sql(insertSampleRow(table, id, samples, row));
      if (!changing) continue;
      await run.sql(insertSampleRow(table, UPDATED + id, samples, samples.map(() => null)));
      for (const first of [DELETED, MOVED, TOUCHED]) await run.sql(insertSampleRow(table, first + id, samples, row));
    }
  }

  /** Each row's values arrive by INSERT, by UPDATE, and stay while others change: large ones are left out of the log then. */
  async function change(table: string, samples: readonly TypeSample[]): Promise<void> {
    const rows = sampleRows(samples);
    for (const [id, row] of rows.entries()) {
      await run.sql(insertSampleRow(table, STREAMED + id, samples, row));
      await run.sql(updateSampleRow(table, UPDATED + id, samples, row));
    }
    await run.settle();
    await run.sql(`DELETE FROM ${table} WHERE id BETWEEN ${DELETED} AND ${DELETED + 999}`);
    await run.sql(`UPDATE ${table} SET id = id + ${MOVED_TO - MOVED} WHERE id BETWEEN ${MOVED} AND ${MOVED + 999}`);
    await run.sql(`UPDATE ${table} SET touched = 1 WHERE id BETWEEN ${TOUCHED} AND ${TOUCHED + 999}`);
  }

  const typesOf = (samples: readonly TypeSample[]): Record<string, string> => ({ id: 'long', touched: 'int', ...Object.fromEntries(samples.map(({ column, iceberg }) => [column, iceberg])) });

  async function reads(engine: Engine, table: string): Promise<void> {
    const lists = table === LISTS || table === MIRRORED_LISTS;
    assertSameRows(await readers[engine].readTable(run.source(table)), (await run.rows(table)).map((row) => (lists && engine === 'clickhouse' ? withoutNullLists(row) : row)), `${engine}, ${table}`);
  }

  /** ClickHouse has no NULL of array and map types, and reads one as empty. */
  const withoutNullLists = (row: CanonicalRow): CanonicalRow => ({ ...row, ...Object.fromEntries(NESTED_SAMPLES.map(({ column }) => [column, row[column] ?? '[]'])) });

  it('the columns have the types that the manual names', async () => {
    for (const [table, samples] of [[PLAIN, TYPE_SAMPLES], [MIRROR, TYPE_SAMPLES], [TIMES, TIME_SAMPLES]] as const) {
      const { schema } = await run.metadata(table);
      assert.deepEqual(Object.fromEntries(schema.map(({ name, type }) => [name, type])), typesOf(samples), table);
    }
  });

  it('arrays are lists of what their elements are, hstore is a map, and every id is the catalog\'s', async () => {
    for (const table of [LISTS, MIRRORED_LISTS]) {
      const { schema } = await run.metadata(table);
      const ids = new Set<unknown>();
      for (const { column, iceberg } of ARRAY_SAMPLES) {
        const { 'element-id': id, ...list } = schema.find(({ name }) => name === column)!.type as Readonly<Record<string, unknown>>;
        assert.deepEqual(list, { type: 'list', element: iceberg, 'element-required': false }, column);
        ids.add(id);
      }
      for (const { column, iceberg } of MAP_SAMPLES) {
        const { 'key-id': key, 'value-id': value, ...map } = schema.find(({ name }) => name === column)!.type as Readonly<Record<string, unknown>>;
        assert.deepEqual(map, { type: 'map', key: 'string', value: 'string', 'value-required': false }, iceberg);
        ids.add(key).add(value);
      }
      assert.equal(ids.size, ARRAY_SAMPLES.length + 2 * MAP_SAMPLES.length);
    }
  });

  it('the tables are what they are meant to be: no delete in the plain ones, equality deletes in the mirrored ones', async () => {
    for (const table of [PLAIN, TIMES]) assert.equal((await run.metadata(table)).snapshots.at(-1)!.summary['total-delete-files'], '0', table);
    for (const table of [MIRROR, MIRRORED_TIMES]) assert.ok(Number((await run.metadata(table)).snapshots.at(-1)!.summary['total-equality-deletes']) > 4, table);
  });

  for (const engine of ['spark', 'duckdb', 'pyiceberg', 'clickhouse'] as const) {
    it(`${engine}: the table without deletes equals its source, value by value`, () => reads(engine, PLAIN));
    if (engine !== 'pyiceberg') it(`${engine}: the table with updates and deletes equals its source, value by value`, () => reads(engine, MIRROR));
    it(`${engine}: lists equal their source`, () => reads(engine, LISTS));
    if (engine !== 'pyiceberg') it(`${engine}: lists in a table with updates and deletes equal their source`, () => reads(engine, MIRRORED_LISTS));
    it(`${engine}: loaded and streamed values are the same`, async () => {
      const rows = new Map((await readers[engine].readTable(run.source(PLAIN))).map((row) => [Number(row.id), valuesOf(row)]));
      for (const [id] of ROWS.entries()) assertSameRows([rows.get(STREAMED + id)!], [rows.get(id)!], `row ${id}`);
    });
  }

  it('time of day: every engine that has the type reads it, with and without deletes', async () => {
    await reads('pyiceberg', TIMES);
    await reads('duckdb', TIMES);
    await reads('duckdb', MIRRORED_TIMES);
    await assert.rejects(readers.spark.readTable(run.source(TIMES)), (error) => error instanceof ForeignReaderError && /time/i.test(error.message));
  });

  for (const engine of ['spark', 'duckdb', 'pyiceberg', 'clickhouse'] as const) {
    it(`${engine}: no filter loses a row to a file's bounds`, { timeout: 300_000 }, async () => {
      await filters(engine, PLAIN, TYPE_SAMPLES, ROWS.length);
      if (engine === 'pyiceberg' || engine === 'duckdb') await filters(engine, TIMES, TIME_SAMPLES, TIME_ROWS.length);
    });
  }

  // Spark does not: Iceberg's Java library tells zeros apart in bounds and dictionaries, in tables of its own too.
  it('DuckDB, PyIceberg and ClickHouse find zeros of both signs by either', async () => {
    const all = await run.rows(PLAIN);
    for (const [column, type] of [['c_double', 'double'], ['c_real', 'float']] as const) {
      const expected = all.filter((row) => sameValue(type, row[column]!, '0000000000000000')).map((row) => row.id!).sort();
      for (const engine of ['duckdb', 'pyiceberg', 'clickhouse'] as const) {
        for (const zero of ['0000000000000000', '8000000000000000']) {
          const found = await readers[engine].readTable(run.source(PLAIN), { columns: ['id'], filter: conditionOn(engine, column, type, zero)! });
          assert.deepEqual(found.map((row) => row.id!).sort(), expected, `${engine}, ${column}`);
        }
      }
    }
  });

  /** All columns of a row in one condition: any column whose bounds were wrong would lose the row. Columns are told apart only when that happens. */
  async function filters(engine: Engine, table: string, samples: readonly TypeSample[], count: number): Promise<void> {
    const types = typesOf(samples);
    const all = await run.rows(table);
    const lost: string[] = [];
    for (let id = 0; id < count; id++) {
      const wanted = all.find((row) => row.id === String(id))!;
      const conditions = samples.flatMap(({ column }) => {
        const condition = conditionOn(engine, column, types[column]!, wanted[column]!);
        return condition === undefined ? [] : [{ column, condition }];
      });
      const expected = (columns: readonly string[]): string[] => all.filter((row) => columns.every((column) => sameValue(types[column]!, row[column]!, wanted[column]!))).map((row) => row.id!).sort();
      const found = async (used: typeof conditions): Promise<string[]> => (await readers[engine].readTable(run.source(table), { columns: ['id'], filter: used.map(({ condition }) => condition).join(' and ') })).map((row) => row.id!).sort();
      if (String(await found(conditions)) === String(expected(conditions.map(({ column }) => column)))) continue;
      lost.push(`row ${id}`);
      // Enough to see the cause.
      if (lost.length > 1) continue;
      for (const one of conditions) {
        const [is, should] = [await found([one]), expected([one.column])];
        if (String(is) !== String(should)) lost.push(`${one.condition}: rows ${is.join(' ')} instead of ${should.join(' ')}`);
      }
    }
    assert.deepEqual(lost, [], `${engine}, ${table}`);
  }
});
