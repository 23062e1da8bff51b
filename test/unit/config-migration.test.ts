import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadConfig, type LoadResult } from '../../src/config/load.js';
import { targetTableName } from '../../src/config/naming.js';
import { describeConfiguration } from '../../src/config/report.js';

const folder = mkdtempSync(join(tmpdir(), 'walberg-migration-'));
after(() => rmSync(folder, { recursive: true }));

function load(text: string, env: NodeJS.ProcessEnv = {}): LoadResult {
  const file = join(folder, 'application.properties');
  writeFileSync(file, text);
  return loadConfig({ file, env });
}

/** What someone has who runs Debezium Server with the Java sink on a Hadoop catalog in S3. */
const HADOOP_S3 = String.raw`
debezium.sink.type = iceberg
debezium.sink.iceberg.type = hadoop
debezium.sink.iceberg.catalog-name = lake
debezium.sink.iceberg.warehouse = s3a://lake/warehouse
debezium.sink.iceberg.table-namespace = raw
debezium.sink.iceberg.table-prefix = cdc_
debezium.sink.iceberg.upsert = true
debezium.sink.iceberg.upsert-keep-deletes = true
debezium.sink.iceberg.upsert-dedup-column = __source_ts_ns
debezium.sink.iceberg.write.format.default = parquet
debezium.sink.iceberg.io-impl = org.apache.iceberg.hadoop.HadoopFileIO
debezium.sink.iceberg.fs.defaultFS = s3a://lake
debezium.sink.iceberg.fs.s3a.aws.credentials.provider = org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider
debezium.sink.iceberg.fs.s3a.access.key = ${"$"}{S3_KEY}
debezium.sink.iceberg.fs.s3a.secret.key = ${"$"}{S3_SECRET}
debezium.sink.iceberg.fs.s3a.endpoint = http://s3:9000
debezium.sink.iceberg.fs.s3a.path.style.access = true
debezium.sink.iceberg.com.amazonaws.services.s3.enableV4 = true
debezium.sink.batch.batch-size-wait = MaxBatchSizeWait
debezium.sink.batch.batch-size-wait.max-wait-ms = 120000
debezium.sink.batch.metrics.snapshot-mbean = debezium.postgres:type=connector-metrics,context=snapshot,server=dbz

debezium.source.connector.class = io.debezium.connector.postgresql.PostgresConnector
debezium.source.offset.storage = io.debezium.server.iceberg.offset.IcebergOffsetBackingStore
debezium.source.offset.storage.iceberg.table-name = offsets
debezium.source.offset.flush.interval.ms = 0
debezium.source.schema.history.internal = io.debezium.server.iceberg.history.IcebergSchemaHistory
debezium.source.schema.history.internal.iceberg.table-name = history
debezium.source.database.hostname = db
debezium.source.database.port = 5433
debezium.source.database.user = cdc
debezium.source.database.password = ${"$"}{DB_PASSWORD}
debezium.source.database.dbname = shop
debezium.source.topic.prefix = dbz
debezium.source.plugin.name = pgoutput
debezium.source.slot.name = cdc_slot
debezium.source.publication.name = cdc_pub
debezium.source.publication.autocreate.mode = filtered
debezium.source.table.include.list = public.orders,public.customers
debezium.source.decimal.handling.mode = double
debezium.source.time.precision.mode = isostring
debezium.source.max.batch.size = 20000
debezium.source.max.queue.size = 81290
debezium.source.heartbeat.interval.ms = 10000
debezium.source.heartbeat.action.query = UPDATE heartbeat SET ts = now()

debezium.format.value = json
debezium.format.key = json
debezium.format.value.schemas.enable = true
debezium.format.key.schemas.enable = true

debezium.transforms = unwrap
debezium.transforms.unwrap.type = io.debezium.transforms.ExtractNewRecordState
debezium.transforms.unwrap.add.fields = op,table,source.ts_ms,source.ts_ns,db,ts_ms
debezium.transforms.unwrap.delete.tombstone.handling.mode = rewrite
debezium.transforms.unwrap.drop.tombstones = true

quarkus.http.port = 8088
quarkus.log.level = INFO
quarkus.log.console.json = false
quarkus.log.category."org.apache.hadoop".level = ERROR
`;

const ENV = { S3_KEY: 'key', S3_SECRET: 'secret', DB_PASSWORD: 'password', JAVA_OPTS: '-Xmx2g', ENABLE_DEBEZIUM_SCRIPTING: 'false', LIB_METRICS: 'x' };

test('a Java sink’s file is taken as it is, and means the same', () => {
  const { config, problems, notes } = load(HADOOP_S3, ENV);
  assert.deepEqual(problems, []);
  assert.deepEqual(notes.filter((n) => n.kind === 'unknown'), []);
  assert.ok(config);
  assert.equal(targetTableName(config, 'public', 'orders'), 'cdc_dbz_public_orders');
  assert.deepEqual(config.sink.catalog, {
    type: 'hadoop', name: 'lake', warehouse: 's3a://lake/warehouse', uri: undefined, prefix: undefined, token: undefined, credential: undefined, oauth2ServerUri: undefined, scope: 'catalog', headers: {}, properties: {},
  });
  assert.deepEqual([config.sink.s3.endpoint, config.sink.s3.accessKeyId, config.sink.s3.secretAccessKey, config.sink.s3.pathStyleAccess], ['http://s3:9000', 'key', 'secret', true]);
  assert.deepEqual([config.sink.upsert, config.sink.upsertKeepDeletes], [true, true]);
  assert.deepEqual(config.sink.metaFields?.map((f) => f.column), ['__op', '__table', '__source_ts_ms', '__source_ts_ns', '__db', '__ts_ms', '__deleted']);
  assert.equal(config.pipeline.commitIntervalMs, 120_000);
  assert.deepEqual([config.source.connection.port, config.source.slotName, config.source.types.decimalMode, config.source.types.timeMode], [5433, 'cdc_slot', 'double', 'isostring']);
  assert.deepEqual([config.observe.httpPort, config.observe.logJson], [8088, false]);
});

test('the report says what has no effect and why, and which defaults differ', () => {
  const report = describeConfiguration(load(HADOOP_S3, ENV));
  assert.ok(!report.includes('problem'));
  const lines = report.split('\n');
  const line = (key: string): string => lines.find((l) => l.includes(key)) ?? '';
  assert.match(line('debezium.source.offset.storage '), /\(line \d+\) has no effect: the position is stored with the data/);
  assert.match(line('heartbeat.action.query'), /has no effect: the slot moves without it/);
  assert.match(line('fs.s3a.access.key'), /is another name of debezium\.sink\.iceberg\.s3\.access-key-id/);
  assert.match(line('batch-size-wait '), /sets the commit interval to 120000 ms/);
  assert.match(line('skipped.operations'), /TRUNCATE/);
  assert.ok(!report.includes('decimal.handling.mode'), 'it is set, so its default does not matter');
  for (const secret of ['secret', 'password']) assert.ok(!report.includes(`= ${secret}`));
});

test('what would change data stops the start, all of it at once', () => {
  const { problems } = load(`${HADOOP_S3}
debezium.sink.iceberg.partition-by = day(ordered_at)
debezium.sink.iceberg.format-version = 3
debezium.source.message.key.columns = public.orders:number
debezium.source.signal.data.collection = public.signals
debezium.source.converters = mine
debezium.source.column.mask.hash.SHA-256.with.salt.abc = public.customers.email
debezium.source.event.processing.failure.handling.mode = skip
debezium.source.snapshot.select.statement.overrides.public.orders = SELECT 1
`, ENV);
  assert.deepEqual(new Set(problems.map((p) => p.code)), new Set(['CONFIG_REFUSED']));
  assert.equal(problems.length, 8);
  for (const p of problems) assert.ok(p.origin?.kind === 'file' && /^[A-Z].*[.]$/.test(p.remedy), p.key);
});
