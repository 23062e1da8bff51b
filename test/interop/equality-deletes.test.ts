import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Lake, LakeRun } from './lake.js';
import { type CanonicalRow, ForeignReaderError, type ForeignReader } from './readers/reader.js';
import { type PyIcebergReader, type SparkReader, startClickHouse, startDuckDb, startPyIceberg, startSpark } from './readers/readers.js';
import { assertSameRows } from './same-rows.js';

/** Tables by the type of their key; `key(n)` gives the key's columns of row n in SQL, different for every n from -2000 to 2000. */
interface KeyedTable { readonly table: string; readonly columns: string; readonly key: string; readonly of: (n: string) => string }

const KEYED: readonly KeyedTable[] = [
  { table: 'k_int', columns: 'k integer', key: 'k', of: (n) => n },
  { table: 'k_bigint', columns: 'k bigint', key: 'k', of: (n) => `${n}::bigint * 4503599627370497` },
  { table: 'k_uuid', columns: 'k uuid', key: 'k', of: (n) => `md5((${n})::text)::uuid` },
  // Long ones with one beginning, so that bounds are cut; the empty one; astral ones.
  { table: 'k_text', columns: 'k text', key: 'k', of: (n) => `CASE WHEN ${n} = 0 THEN '' WHEN (${n}) % 3 = 0 THEN '😀' || ${n} ELSE 'one beginning of many characters ' || ${n} END` },
  { table: 'k_date', columns: 'k date', key: 'k', of: (n) => `date '1970-01-01' + (${n}) * 100` },
  // Neighbours by a microsecond, on both sides of 1970.
  { table: 'k_timestamp', columns: 'k timestamp', key: 'k', of: (n) => `timestamp '1970-01-01' + (${n}) * interval '1 microsecond'` },
  { table: 'k_timestamptz', columns: 'k timestamptz', key: 'k', of: (n) => `timestamptz '2024-03-31 00:00+00' + (${n}) * interval '1 hour 1 microsecond'` },
  { table: 'k_decimal', columns: 'k numeric(9,2)', key: 'k', of: (n) => `(${n}) * 100.01` },
  { table: 'k_decimal_38', columns: 'k numeric(38,10)', key: 'k', of: (n) => `(${n}) * 1234567890123456789012.0000000001` },
  { table: 'k_bytea', columns: 'k bytea', key: 'k', of: (n) => `CASE WHEN ${n} = 0 THEN ''::bytea ELSE decode(repeat('ff', 17) || md5((${n})::text), 'hex') END` },
  { table: 'k_boolean_int', columns: 'flag boolean, i integer', key: 'flag, i', of: (n) => `(${n}) % 2 = 0, floor((${n}) / 2.0)::integer` },
  // Written as text, though Postgres compares them otherwise: 1.10 = 1.1, 'A' = 'a', padding.
  { table: 'k_numeric', columns: 'k numeric', key: 'k', of: (n) => `(${n})::numeric(12, 4)` },
  { table: 'k_citext', columns: 'k citext', key: 'k', of: (n) => `'Key ' || ${n}` },
  { table: 'k_char', columns: 'k character(12)', key: 'k', of: String },
  // The key is neither first nor in the order of the columns.
  { table: 'k_composite', columns: 'day date, a text, u uuid', key: 'a, u, day', of: (n) => `date '2024-01-01' + (${n}) % 5, (ARRAY['', 'ä', 'k:1'])[abs((${n}) % 3) + 1], md5((${n})::text)::uuid` },
];
const ROWS = 200;
/** Rows that are changed in commits of their own: bounds of their delete files are the one key. */
const ALONE = [11, -13, 0] as const;

describe('equality deletes, in engines that share no code', () => {
  let lake: Lake, spark: SparkReader, pyiceberg: PyIcebergReader, duckdb: ForeignReader, clickhouse: ForeignReader;
  /** Those that apply equality deletes. */
  let engines: ForeignReader[] = [];

  before(async () => {
    const opening = Lake.open();
    [spark, pyiceberg, duckdb, clickhouse] = await Promise.all([startSpark(), startPyIceberg(), startDuckDb(), startClickHouse()]);
    engines = [spark, duckdb, clickhouse];
    lake = await opening;
  });
  after(async () => {
    await Promise.all([...engines, pyiceberg].map((reader) => reader?.close()));
    await lake?.close();
  });

  async function everyEngine(run: LakeRun, table: string, expected: readonly CanonicalRow[], id: string, options: Parameters<ForeignReader['readTable']>[1] = {}): Promise<void> {
    for (const engine of engines) assertSameRows(await engine.readTable(run.source(table), options), expected, `${engine.name}, ${table}`, id);
  }
  const refusesDeletes = (error: unknown): boolean => error instanceof ForeignReaderError && error.isEqualityDeleteRefusal;

  describe('keys of every type', () => {
    let run: LakeRun;
    /** What each table held after each step, and the snapshot that showed it. */
    const stages: { readonly rows: Record<string, CanonicalRow[]>; readonly snapshots: Record<string, bigint | undefined> }[] = [];

    before(async () => {
      run = await LakeRun.open(lake, 'keys');
      await run.sql('CREATE EXTENSION citext');
      for (const { table, columns, key, of } of KEYED) {
        await run.sql(`CREATE TABLE ${table} (n integer NOT NULL, v text, ${columns}, PRIMARY KEY (${key}))`);
        await run.sql(`INSERT INTO ${table} SELECT n, 'loaded', ${of('n')} FROM generate_series(${-ROWS / 2}, ${ROWS / 2 - 1}) n`);
      }
      await run.sql("CREATE TABLE untouched (n integer PRIMARY KEY, v text); INSERT INTO untouched SELECT g, 'loaded' FROM generate_series(1, 100) g");
      await run.start([...KEYED.map(({ table }) => table), 'untouched']);
      await stage();
      await everyTable(({ table }) => `UPDATE ${table} SET v = 'updated' WHERE n % 3 = 0`);
      await stage();
      // Deletes, the same keys again, and keys born, changed and gone in one transaction.
      await everyTable(({ table, of }) => `DELETE FROM ${table} WHERE n % 5 = 0;
        INSERT INTO ${table} SELECT n, 'again', ${of('n')} FROM generate_series(${-ROWS / 2}, ${ROWS / 2 - 1}) n WHERE n % 10 = 0;
        INSERT INTO ${table} SELECT n, 'short', ${of('n')} FROM generate_series(500, 510) n; UPDATE ${table} SET v = 'shorter' WHERE n >= 500; DELETE FROM ${table} WHERE n BETWEEN 503 AND 507`);
      await stage();
      // Other bytes for a key that Postgres holds for the same: the log tells it as a change of the key.
      await run.sql("BEGIN; UPDATE k_numeric SET k = trim_scale(k), v = 'trimmed' WHERE n BETWEEN 20 AND 40; UPDATE k_citext SET k = upper(k::text)::citext, v = 'upper' WHERE n BETWEEN 20 AND 40; COMMIT");
      for (const n of ALONE) {
        await everyTable(({ table }) => (n === 11 ? `DELETE FROM ${table} WHERE n = ${n}` : `UPDATE ${table} SET v = 'alone' WHERE n = ${n}`));
        await run.settle();
      }
      await everyTable(({ table, columns, of }) => `UPDATE ${table} SET (${columns.split(', ').map((column) => column.split(' ')[0]).join(', ')}) = ROW(${of('(n + 1000)')}), n = n + 1000 WHERE n % 7 = 0 AND n < 500`);
      await run.sql("INSERT INTO untouched SELECT g, 'streamed' FROM generate_series(101, 200) g");
      await stage();
      await run.stop();
    });
    after(() => run?.close());

    const everyTable = async (sql: (table: KeyedTable) => string): Promise<void> => { for (const table of KEYED) await run.sql(`BEGIN; ${sql(table)}\n; COMMIT`); };

    async function stage(): Promise<void> {
      await run.settle();
      const found: (typeof stages)[number] = { rows: {}, snapshots: {} };
      for (const table of [...KEYED.map((k) => k.table), 'untouched']) {
        found.rows[table] = await run.rows(table);
        found.snapshots[table] = (await run.metadata(table)).currentSnapshotId;
      }
      stages.push(found);
    }

    for (const { table } of KEYED) {
      it(`${table}: Spark, DuckDB and ClickHouse read it like the source; PyIceberg refuses it because of its equality deletes`, async () => {
        assert.ok(Number((await run.metadata(table)).snapshots.at(-1)!.summary['total-equality-deletes']) > ROWS / 3);
        await everyEngine(run, table, stages.at(-1)!.rows[table]!, 'n');
        await assert.rejects(pyiceberg.readTable(run.source(table)), refusesDeletes);
      });
    }

    it('a table that was only inserted into has no deletes: PyIceberg reads it like the source, and so do the others', async () => {
      await everyEngine(run, 'untouched', stages.at(-1)!.rows.untouched!, 'n');
      assertSameRows(await pyiceberg.readTable(run.source('untouched')), stages.at(-1)!.rows.untouched!, 'pyiceberg', 'n');
    });

    it('older snapshots show the earlier states', async () => {
      for (const table of ['k_uuid', 'k_composite']) {
        for (const { rows, snapshots } of stages.slice(0, -1)) await everyEngine(run, table, rows[table]!, 'n', { snapshotId: snapshots[table]! });
        // Before the first delete PyIceberg has nothing to refuse.
        assertSameRows(await pyiceberg.readTable(run.source(table), { snapshotId: stages[0]!.snapshots[table]! }), stages[0]!.rows[table]!, `pyiceberg, ${table}`, 'n');
        await assert.rejects(pyiceberg.readTable(run.source(table), { snapshotId: stages[1]!.snapshots[table]! }), refusesDeletes);
      }
    });

    it('filters on keys find the newest row and no older one', async () => {
      for (const [table, filter] of [['k_int', 'k = 3'], ['k_int', 'k between -20 and 20'], ['k_int', 'k = 1007'], ['k_text', "k = ''"], ['k_composite', "a = 'ä' and n > 0"], ['k_decimal', 'n in (-100, -7, 9)'], ['k_numeric', "k = '31'"], ['k_citext', "k = 'KEY 31'"]] as const) {
        const expected = await run.sql(`SELECT n::text AS n, v FROM ${table} WHERE ${filter}`);
        await everyEngine(run, table, expected, 'n', { columns: ['n', 'v'], filter });
      }
    });
  });

  it('a time of day as key: DuckDB reads it like the source (Spark has no such type, ClickHouse cuts it to seconds)', async () => {
    const run = await LakeRun.open(lake, 'times');
    try {
      const key = "time '12:00' + g * interval '1 microsecond'";
      await run.sql(`CREATE TABLE timed (at time PRIMARY KEY, n integer, v text); INSERT INTO timed SELECT ${key}, g, 'loaded' FROM generate_series(1, 100) g`);
      await run.start(['timed']);
      await run.sql("UPDATE timed SET v = 'updated' WHERE n % 3 = 0; DELETE FROM timed WHERE n % 7 = 0");
      await run.settle();
      await run.stop();
      assertSameRows(await duckdb.readTable(run.source('timed')), await run.rows('timed'), 'duckdb', 'n');
    } finally {
      await run.close();
    }
  });

  describe('a transaction that is written in several parts', () => {
    let run: LakeRun;
    let before_: { snapshots: number; sequenceNumber: number };

    before(async () => {
      run = await LakeRun.open(lake, 'parts', { 'walberg.buffer.segment-bytes': '1MiB', 'walberg.buffer.max-bytes': '8MiB' });
      await run.sql("CREATE TABLE big (id integer PRIMARY KEY, v text NOT NULL); INSERT INTO big SELECT g, 'loaded' FROM generate_series(1, 2000) g");
      await run.sql("CREATE TABLE emptied (id integer PRIMARY KEY, v text NOT NULL); INSERT INTO emptied SELECT g, 'loaded' FROM generate_series(1, 2000) g");
      await run.start(['big', 'emptied']);
      await run.settle();
      const { snapshots } = await run.metadata('big');
      before_ = { snapshots: snapshots.length, sequenceNumber: snapshots.at(-1)!.sequenceNumber };
      const wide = (text: string): string => `'${text} ' || repeat(md5(g::text), 4)`;
      await run.sql(`BEGIN;
        INSERT INTO big SELECT g, ${wide('first')} FROM generate_series(2001, 30000) g;
        UPDATE big SET v = 'second ' || v WHERE id % 3 = 0;
        DELETE FROM big WHERE id % 5 = 0;
        INSERT INTO big SELECT g, ${wide('again')} FROM generate_series(1, 30000) g WHERE g % 10 = 0;
        UPDATE big SET v = 'third' WHERE id % 30 = 0;
        UPDATE big SET id = id + 100000 WHERE id % 7 = 0;
        DELETE FROM big WHERE id BETWEEN 25001 AND 26000;
        COMMIT`);
      await run.sql(`BEGIN;
        INSERT INTO emptied SELECT g, ${wide('before')} FROM generate_series(2001, 15000) g;
        UPDATE emptied SET v = 'changed' WHERE id < 3000;
        TRUNCATE emptied;
        INSERT INTO emptied SELECT g, ${wide('after')} FROM generate_series(1, 15000) g;
        UPDATE emptied SET v = 'changed ' || v WHERE id % 2 = 0;
        DELETE FROM emptied WHERE id % 9 = 0;
        COMMIT`);
      await run.settle();
      await run.stop();
    });
    after(() => run?.close());

    it('is one snapshot with several sequence numbers, and every engine reads it right', async () => {
      const { snapshots } = await run.metadata('big');
      assert.equal(snapshots.length, before_.snapshots + 1);
      const { id, sequenceNumber } = snapshots.at(-1)!;
      const numbers = (await spark.sql(run.source('big'), `SELECT DISTINCT sequence_number AS number FROM {table}.entries WHERE snapshot_id = ${id} AND status = 1 ORDER BY number`)).map(({ number }) => Number(number));
      assert.ok(numbers.length > 3, `sequence numbers ${numbers.join()}`);
      assert.ok(numbers[0]! > before_.sequenceNumber && numbers.at(-1)! <= sequenceNumber, `${numbers.join()} within ${before_.sequenceNumber} and ${sequenceNumber}`);
      await everyEngine(run, 'big', await run.rows('big'), 'id');
    });

    it('a TRUNCATE in the middle takes the parts before it', async () => {
      await everyEngine(run, 'emptied', await run.rows('emptied'), 'id');
    });
  });

  describe('TRUNCATE', () => {
    let run: LakeRun;
    before(async () => {
      run = await LakeRun.open(lake, 'truncated');
      for (const table of ['refilled', 'left_empty']) await run.sql(`CREATE TABLE ${table} (id integer PRIMARY KEY, v text); INSERT INTO ${table} SELECT g, 'loaded' FROM generate_series(1, 300) g`);
      await run.start(['refilled', 'left_empty']);
      for (const table of ['refilled', 'left_empty']) await run.sql(`UPDATE ${table} SET v = 'updated' WHERE id % 2 = 0; DELETE FROM ${table} WHERE id % 3 = 0`);
      await run.settle();
      await run.sql("TRUNCATE refilled, left_empty; INSERT INTO refilled SELECT g, 'after' FROM generate_series(100, 200) g");
      await run.settle();
      await run.stop();
    });
    after(() => run?.close());

    it('leaves what was inserted after it, and no delete file: PyIceberg reads the table again', async () => {
      for (const table of ['refilled', 'left_empty']) {
        const expected = await run.rows(table);
        await everyEngine(run, table, expected, 'id');
        assertSameRows(await pyiceberg.readTable(run.source(table)), expected, `pyiceberg, ${table}`);
        assert.deepEqual(await spark.sql(run.source(table), 'SELECT count(*) AS files FROM {table}.delete_files'), [{ files: '0' }]);
      }
    });
  });

  describe('soft deletes', () => {
    let run: LakeRun;
    before(async () => {
      run = await LakeRun.open(lake, 'soft', { 'debezium.sink.iceberg.upsert-keep-deletes': 'true' });
      await run.sql("CREATE TABLE kept (id uuid PRIMARY KEY, n integer, v text); INSERT INTO kept SELECT md5(g::text)::uuid, g, 'loaded' FROM generate_series(1, 300) g");
      await run.start(['kept']);
      await run.sql("UPDATE kept SET v = 'updated' WHERE n % 2 = 0");
      await run.settle();
      await run.sql("CREATE TABLE gone AS WITH d AS (DELETE FROM kept WHERE n % 3 = 0 RETURNING id, n) SELECT * FROM d");
      await run.settle();
      // Deleted ones come back.
      await run.sql("INSERT INTO kept SELECT id, n, 'again' FROM gone WHERE n % 2 = 0; DELETE FROM gone WHERE n % 2 = 0");
      await run.settle();
      await run.stop();
    });
    after(() => run?.close());

    it('rows of the source are not marked, deleted ones are there once and marked', async () => {
      await everyEngine(run, 'kept', await run.rows('kept'), 'n', { columns: ['id', 'n', 'v'], filter: "__deleted = 'false'" });
      await everyEngine(run, 'kept', await run.sql('SELECT id::text AS id FROM gone'), 'id', { columns: ['id'], filter: "__deleted = 'true'" });
    });
  });
});
