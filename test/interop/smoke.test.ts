import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  CompleteMultipartUploadCommand, CreateMultipartUploadCommand, GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client, UploadPartCommand,
} from '@aws-sdk/client-s3';
import { ForeignReaderError, sortRows, type CanonicalRow, type ForeignReader, type TableSource } from './readers/reader.js';
import { startClickHouse, startDuckDb, startPyIceberg, startSpark, type NewColumn, type PyIcebergReader, type SparkReader } from './readers/readers.js';
import { startRestCatalog, type RestCatalog } from './servers/rest-catalog.js';
import { startS3Server, type S3Server } from './servers/s3.js';

/** Two appends; the second has a NULL in every column. Each value is already the text that every reader must give, but for floats and nested ones. */
const FIRST: readonly NewColumn[] = [
  { name: 'id', type: 'int64', values: [1, 2] },
  { name: 'flag', type: 'bool', values: [true, false] },
  { name: 'small', type: 'int32', values: [-2147483648, 2147483647] },
  { name: 'single', type: 'float', values: ['0.1', 'NaN'] },
  { name: 'wide', type: 'double', values: ['-0.0', '1e300'] },
  { name: 'money', type: 'decimal', values: ['-12345678901234567890123456789012.3456', '0.0000'] },
  { name: 'local', type: 'timestamp', values: ['-62135596800000000', '253402300799999999'] },
  { name: 'instant', type: 'timestamptz', values: ['-62135596800000000', '1700000000123457'] },
  { name: 'day', type: 'date', values: ['-719162', '2932896'] },
  { name: 'bytes', type: 'binary', values: ['00ff80', ''] },
  { name: 'text', type: 'string', values: ['"é\n😀\u0001\\', ''] },
  { name: 'tags', type: 'list', values: [['a', null, '"'], []] },
  { name: 'counts', type: 'map', values: [[['b', 2], ['a', null]], []] },
  { name: 'pair', type: 'struct', values: [{ a: 1, b: null }, { a: null, b: 'x' }] },
];
const SECOND: readonly NewColumn[] = FIRST.map((column) => ({ ...column, values: column.name === 'id' ? [3] : [null] }));

const EXPECTED: readonly CanonicalRow[] = [
  {
    id: '1', flag: 'true', small: '-2147483648', single: '3fb99999a0000000', wide: '8000000000000000', money: '-12345678901234567890123456789012.3456',
    local: '-62135596800000000', instant: '-62135596800000000', day: '-719162', bytes: '00ff80', text: '"é\n😀\u0001\\',
    tags: '["a",null,"\\""]', counts: '[["a",null],["b","2"]]', pair: '{"a":"1","b":null}',
  },
  {
    id: '2', flag: 'false', small: '2147483647', single: '7ff8000000000000', wide: '7e37e43c8800759c', money: '0.0000',
    local: '253402300799999999', instant: '1700000000123457', day: '2932896', bytes: '', text: '',
    tags: '[]', counts: '[]', pair: '{"a":null,"b":"x"}',
  },
  Object.fromEntries(FIRST.map(({ name }) => [name, name === 'id' ? '3' : null])),
];

/** What ClickHouse, whose lists, maps and structs are not nullable, shows in place of NULL. */
const CLICKHOUSE_EMPTY: Readonly<Record<string, string>> = { tags: '[]', counts: '[]', pair: '{"a":null,"b":null}' };

function asClickHouseShows(row: CanonicalRow): CanonicalRow {
  return Object.fromEntries(Object.entries(row).map(([name, text]) => [name, text ?? CLICKHOUSE_EMPTY[name] ?? null]));
}

describe('foreign servers and readers', () => {
  let s3: S3Server, catalog: RestCatalog, spark: SparkReader, pyiceberg: PyIcebergReader, duckdb: ForeignReader, clickhouse: ForeignReader;
  let readers: ForeignReader[] = [];

  before(async () => {
    s3 = await startS3Server();
    await s3.createBucket('lake');
    catalog = await startRestCatalog({ warehouse: 's3://lake/warehouse', s3 });
    readers = [spark, pyiceberg, duckdb, clickhouse] = await Promise.all([startSpark(), startPyIceberg(), startDuckDb(), startClickHouse()]);
  });

  after(async () => {
    await Promise.all(readers.map((reader) => reader.close()));
    await catalog?.stop();
    await s3?.stop();
  });

  const inCatalog = (table: string): TableSource => ({ kind: 'rest', uri: catalog.uri, namespace: 'smoke', table, s3 });
  const at = (made: { location: string; metadataLocation: string }): TableSource => ({ kind: 'path', location: made.location, metadataLocation: made.metadataLocation, s3 });

  async function everyReader(source: TableSource, expected: readonly CanonicalRow[], options: Parameters<ForeignReader['readTable']>[1] = {}): Promise<void> {
    for (const reader of readers) {
      const known = reader === clickhouse ? expected.map(asClickHouseShows) : expected;
      assert.deepEqual(sortRows(await reader.readTable(source, options)), sortRows(known), reader.name);
    }
  }

  it('all readers name their versions', async () => {
    assert.match(await spark.version(), /^Spark 3\.5\.\d+, Iceberg 1\.\d+\.\d+$/);
    assert.match(await pyiceberg.version(), /^PyIceberg \d+\.\d+\.\d+, PyArrow \d+/);
    assert.match(await duckdb.version(), /^DuckDB \d+\.\d+\.\d+, iceberg extension \w+$/);
    assert.match(await clickhouse.version(), /^ClickHouse \d+\.\d+\.\d+\.\d+$/);
  });

  it('all readers agree on every type, on S3 through the catalog and by metadata file', async () => {
    const source = inCatalog('types');
    const made = await pyiceberg.createTable(source, [FIRST, SECOND]);
    await everyReader(source, EXPECTED);
    await everyReader(at(made), EXPECTED);
  });

  it('columns, filters and older snapshots', async () => {
    const source = inCatalog('slices');
    const made = await pyiceberg.createTable(source, [FIRST, SECOND]);
    await everyReader(source, [{ text: '', id: '2' }], { columns: ['text', 'id'], filter: "id = 2 and text = ''" });
    await everyReader(source, [{ id: '3' }], { columns: ['id'], filter: 'flag is null' });
    await everyReader(source, EXPECTED.slice(0, 2), { snapshotId: made.snapshotIds[0]! });
    await everyReader(at(made), EXPECTED.slice(0, 2), { snapshotId: made.snapshotIds[0]! });
  });

  it('a killed catalog has its tables when it is back, and takes new commits', async () => {
    const source = inCatalog('survivor');
    await pyiceberg.createTable(source, [[FIRST[0]!]]);
    await catalog.kill();
    await assert.rejects(fetch(`${catalog.uri}/v1/config`));
    await catalog.restart();
    await everyReader(source, [{ id: '1' }, { id: '2' }]);
    await spark.sql(source, 'INSERT INTO {table} VALUES (7)');
    await everyReader(source, [{ id: '1' }, { id: '2' }, { id: '7' }]);
  });

  it('a killed S3 server has its objects when it is back', async () => {
    const source = inCatalog('objects');
    await pyiceberg.createTable(source, [[FIRST[0]!]]);
    await s3.kill();
    await s3.restart();
    await everyReader(source, [{ id: '1' }, { id: '2' }]);
  });

  it('Spark, DuckDB and ClickHouse apply equality deletes; PyIceberg refuses them and says so', async () => {
    const source = inCatalog('deletes');
    await pyiceberg.createTable(source, [[FIRST[0]!, FIRST[10]!], [SECOND[0]!, SECOND[10]!]]);
    await spark.deleteByEquality(source, 'id', ['2']);
    const expected = [{ id: '1', text: EXPECTED[0]!.text! }, { id: '3', text: null }];
    for (const reader of [spark, duckdb, clickhouse]) assert.deepEqual(sortRows(await reader.readTable(source)), sortRows(expected), reader.name);
    await assert.rejects(pyiceberg.readTable(source), (error) => error instanceof ForeignReaderError && error.isEqualityDeleteRefusal);
    // Any other failure must not pass for that reason.
    await assert.rejects(pyiceberg.readTable(inCatalog('missing')), (error) => error instanceof ForeignReaderError && error.errorType === 'NoSuchTableError' && !error.isEqualityDeleteRefusal);
  });

  it('Spark as a foreign writer: position deletes, compaction, expiry', async () => {
    const source = inCatalog('foreign');
    const made = await pyiceberg.createTable(source, [[FIRST[0]!, FIRST[10]!], [SECOND[0]!, SECOND[10]!]]);
    const expected = [{ id: '2', text: '' }, { id: '3', text: null }];
    await spark.sql(source, "ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', 'format-version' = '2')");
    // A file of two rows, so that one of them is deleted by position and not with its file.
    await spark.sql(source, 'DELETE FROM {table} WHERE id = 1');
    const files = await spark.sql(source, 'SELECT content, count(*) AS n FROM {table}.files GROUP BY content');
    assert.deepEqual(sortRows(files), [{ content: '0', n: '2' }, { content: '1', n: '1' }]);
    await everyReader(source, expected);
    await spark.sql(source, "CALL {catalog}.system.rewrite_data_files(table => 'smoke.foreign', options => map('rewrite-all', 'true'))");
    await spark.sql(source, "CALL {catalog}.system.expire_snapshots(table => 'smoke.foreign', older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)");
    await everyReader(source, expected);
    await assert.rejects(spark.readTable(source, { snapshotId: made.snapshotIds[0]! }), ForeignReaderError);
  });

  it('uuid and time: all who know the type agree', async () => {
    const columns: NewColumn[] = [
      { name: 'id', type: 'int64', values: [1, 2] },
      { name: 'u', type: 'uuid', values: ['00112233-4455-6677-8899-aabbccddeeff', null] },
    ];
    const uuids = inCatalog('uuids');
    await pyiceberg.createTable(uuids, [columns]);
    await everyReader(uuids, [{ id: '1', u: '00112233-4455-6677-8899-aabbccddeeff' }, { id: '2', u: null }]);
    const times = inCatalog('times');
    await pyiceberg.createTable(times, [[columns[0]!, { name: 'at', type: 'time', values: ['86399999999', null] }]]);
    for (const reader of [pyiceberg, duckdb]) assert.deepEqual(sortRows(await reader.readTable(times)), [{ id: '1', at: '86399999999' }, { id: '2', at: null }], reader.name);
    await assert.rejects(spark.readTable(times), ForeignReaderError);
  });

  it('tables in a local folder: through a catalog with a file warehouse, and by metadata file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'walberg-smoke-'));
    const local = await startRestCatalog({ warehouse: folder });
    try {
      const source: TableSource = { kind: 'rest', uri: local.uri, namespace: 'smoke', table: 'local' };
      const made = await pyiceberg.createTable(source, [FIRST, SECOND]);
      await everyReader(source, EXPECTED);
      const bare = { kind: 'path', location: made.location, metadataLocation: made.metadataLocation.replace(/^file:\/*/, '/') } as const;
      assert.ok(existsSync(bare.metadataLocation));
      await everyReader(bare, EXPECTED);
      await everyReader({ ...bare, metadataLocation: `file://${bare.metadataLocation}` }, EXPECTED);
    } finally {
      await local.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('the S3 server lets one of many conditional writes win, and joins parts', async () => {
    const client = new S3Client({ endpoint: s3.endpoint, region: s3.region, forcePathStyle: true, credentials: s3 });
    try {
      const race = await Promise.allSettled(Array.from({ length: 16 }, (_, i) => client.send(new PutObjectCommand({ Bucket: 'lake', Key: 'race', Body: String(i), IfNoneMatch: '*' }))));
      assert.equal(race.filter(({ status }) => status === 'fulfilled').length, 1);
      const refused = race.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
      assert.equal((refused.reason as { name: string }).name, 'PreconditionFailed');

      const target = { Bucket: 'lake', Key: 'parts' };
      const { UploadId } = await client.send(new CreateMultipartUploadCommand(target));
      const bodies = [Buffer.alloc(5 * 1024 * 1024, 1), Buffer.alloc(7, 2)];
      const parts = await Promise.all(bodies.map(async (Body, i) => ({ PartNumber: i + 1, ETag: (await client.send(new UploadPartCommand({ ...target, UploadId, PartNumber: i + 1, Body }))).ETag })));
      assert.deepEqual((await client.send(new ListObjectsV2Command({ Bucket: 'lake', Prefix: 'parts' }))).Contents, undefined);
      await client.send(new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts: parts } }));
      const whole = await (await client.send(new GetObjectCommand(target))).Body!.transformToByteArray();
      assert.ok(Buffer.concat(bodies).equals(whole));
      const wrong = new S3Client({ endpoint: s3.endpoint, region: s3.region, forcePathStyle: true, credentials: { ...s3, secretAccessKey: 'other' } });
      await assert.rejects(wrong.send(new GetObjectCommand(target)), (error: { name: string }) => error.name === 'SignatureDoesNotMatch');
      wrong.destroy();
    } finally {
      client.destroy();
    }
  });

  it('servers die with the process that started them, however it ends', async () => {
    const script = `import { startS3Server } from ${JSON.stringify(new URL('./servers/s3.js', import.meta.url).href)};
      const server = await startS3Server();
      console.log(JSON.stringify({ endpoint: server.endpoint, folder: server.folder }));
      setInterval(() => {}, 1000);`;
    const owner = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    owner.once('exit', (status) => assert.equal(status, null, 'the owner ended by itself'));
    const { endpoint, folder } = JSON.parse(String((await once(owner.stdout, 'data'))[0])) as { endpoint: string; folder: string };
    assert.equal((await fetch(endpoint)).status, 403);
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    // Nothing announces the end of a process that is not our child: ask until it is gone, within the test's own time limit.
    while (await fetch(endpoint).then(() => true, () => false) || existsSync(folder)) await new Promise((resolve) => setTimeout(resolve, 20));
  });
});
