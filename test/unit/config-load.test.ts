import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import type { WalbergConfig } from '../../src/config/config.js';
import { loadConfig, type LoadResult } from '../../src/config/load.js';
import { PROPERTIES } from '../../src/config/properties.js';
import { describeConfiguration, problemsAsError } from '../../src/config/report.js';

const folder = mkdtempSync(join(tmpdir(), 'walberg-config-'));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
function file(text: string): string {
  const path = join(folder, `${++files}.properties`);
  writeFileSync(path, text);
  return path;
}

const MINIMAL = `
debezium.source.database.hostname=db
debezium.source.database.user=u
debezium.source.database.dbname=d
debezium.source.topic.prefix=dbz
debezium.sink.iceberg.type=rest
debezium.sink.iceberg.uri=http://catalog:8181
`;

function config(text: string, env: NodeJS.ProcessEnv = {}): WalbergConfig {
  const result = loadConfig({ file: file(MINIMAL + text), env });
  assert.deepEqual(result.problems, []);
  return result.config!;
}

const problemsOf = (text: string, env: NodeJS.ProcessEnv = {}): string[] => loadConfig({ file: file(MINIMAL + text), env }).problems.map((p) => `${p.code} ${p.key}`);
const noteOf = (result: Pick<LoadResult, 'notes'>, key: string): string | undefined => result.notes.find((n) => n.key === key)?.kind;

test('what is missing is reported at once', () => {
  const { config, problems } = loadConfig({});
  assert.equal(config, undefined);
  assert.deepEqual(problems.map((p) => p.key), [
    'debezium.source.database.hostname', 'debezium.source.database.user', 'debezium.source.database.dbname', 'debezium.source.topic.prefix', 'debezium.sink.iceberg.type',
  ]);
});

test('bad values, refusals, contradictions and missing values are reported together, each once, with its line', () => {
  const { problems } = loadConfig({
    file: file([
      'debezium.source.database.port=many',
      'debezium.sink.iceberg.partition-by=day(ts)',
      'debezium.source.table.include.list=a',
      'debezium.source.table.exclude.list=b',
      'debezium.source.topic.prefix=spaces are bad',
      'debezium.sink.iceberg.type=glue',
      'walberg.commit.interval=1s',
      'debezium.transforms=route',
      'debezium.transforms.route.type=org.apache.kafka.connect.transforms.RegexRouter',
    ].join('\n')),
  });
  const places = Object.fromEntries(problems.map((p) => [p.key, p.origin?.kind === 'file' ? p.origin.line : undefined]));
  assert.deepEqual(places, {
    'debezium.source.database.port': 1,
    'debezium.sink.iceberg.partition-by': 2,
    'debezium.source.table.exclude.list': 4,
    'debezium.source.topic.prefix': 5,
    'debezium.sink.iceberg.type': 6,
    'walberg.commit.interval': 7,
    'debezium.transforms.route.type': 9,
    'debezium.source.database.hostname': undefined,
    'debezium.source.database.user': undefined,
    'debezium.source.database.dbname': undefined,
  });
  assert.equal(problems.length, Object.keys(places).length, 'no property twice');
  assert.match(problems.find((p) => p.key === 'walberg.commit.interval')!.message, /Did you mean walberg\.commit\.interval\.ms\?/);
  const error = problemsAsError(problems);
  assert.equal(error.policy, 'config');
  for (const p of problems) assert.ok(error.message.includes(p.key!));
});

test('a file that cannot be read is the one problem, in words', () => {
  for (const [path, reason] of [[join(folder, 'none.properties'), 'there is no such file'], [folder, 'it is a folder']]) {
    const { problems, notes } = loadConfig({ file: path });
    assert.deepEqual(problems.map((p) => [p.code, p.message]), [['CONFIG_UNREADABLE', `${path} cannot be read: ${reason}.`]]);
    assert.deepEqual(notes, []);
    assert.equal(problemsAsError(problems).code, 'CONFIG_UNREADABLE');
  }
});

test('what is missing is told with what it is', () => {
  for (const { message, remedy } of loadConfig({}).problems) {
    assert.equal(message, 'is required.');
    assert.match(remedy, /^(?!Set debezium)[A-Z].*\.$/);
    assert.ok(!remedy.includes('Required'));
  }
});

test('a bad value is not followed by problems that come from its absence', () => {
  const I = 'debezium.sink.iceberg.';
  const S = 'debezium.source.';
  for (const [text, key] of [
    [`${I}upsert=treu\n${S}skip.messages.without.change=true`, `${I}upsert`],
    [`${I}s3.access-key-id=a\n${I}s3.secret-access-key=\${NOPE}`, `${I}s3.secret-access-key`],
    [`${S}database.sslcert=/c\n${S}database.sslkey=\${NOPE}`, `${S}database.sslkey`],
    ['walberg.buffer.max-bytes=much\nwalberg.buffer.segment-bytes=512MiB', 'walberg.buffer.max-bytes'],
    ['walberg.retry.max.ms=long\nwalberg.retry.initial.ms=5m', 'walberg.retry.max.ms'],
    ['debezium.transforms=flat\ndebezium.transforms.flat.type=${NOPE}', 'debezium.transforms.flat.type'],
    [`${I}destination-regexp=(\n${I}destination-regexp-replace=$1`, `${I}destination-regexp`],
  ]) {
    const result = loadConfig({ file: file(MINIMAL + text) });
    assert.deepEqual(result.problems.map((p) => p.key), [key], text);
    assert.deepEqual(result.notes.filter((n) => n.kind === 'no-effect'), [], text);
  }
  const untyped = MINIMAL.replace('debezium.sink.iceberg.type=rest', 'debezium.sink.iceberg.catalog-impl=org.apache.iceberg.hive.HiveCatalog');
  assert.deepEqual(loadConfig({ file: file(untyped) }).problems.map((p) => `${p.code} ${p.key}`), [`CONFIG_REFUSED ${I}catalog-impl`]);
  const mistyped = MINIMAL.replace('database.hostname', 'database.hostnam');
  assert.deepEqual(loadConfig({ file: file(mistyped) }).problems.map((p) => p.key), [`${S}database.hostnam`]);
});

test('a broken escape does not print the line', () => {
  const { problems } = loadConfig({ file: file('debezium.source.database.password=hunter2\\u00zz') });
  assert.equal(problems[0].code, 'CONFIG_UNREADABLE');
  assert.ok(!JSON.stringify(problems).includes('hunter2'));
});

test('override wins over environment, environment over file, the last line over earlier ones', () => {
  const path = file(`${MINIMAL}quarkus.http.port=1\nquarkus.http.port=2\n`);
  const port = (env: NodeJS.ProcessEnv, overrides: Record<string, string>): number => loadConfig({ file: path, env, overrides }).config!.observe.httpPort;
  assert.equal(port({}, {}), 2);
  assert.equal(port({ QUARKUS_HTTP_PORT: '3' }, {}), 3);
  assert.equal(port({ QUARKUS_HTTP_PORT: '3' }, { 'quarkus.http.port': '4' }), 4);
});

test('environment names follow the MicroProfile rule: exact, then underscores, then upper case', () => {
  const prefix = (env: NodeJS.ProcessEnv): string => config('', env).sink.tablePrefix;
  assert.equal(prefix({ 'debezium.sink.iceberg.table-prefix': 'a' }), 'a');
  assert.equal(prefix({ debezium_sink_iceberg_table_prefix: 'b' }), 'b');
  assert.equal(prefix({ DEBEZIUM_SINK_ICEBERG_TABLE_PREFIX: 'c' }), 'c');
  assert.equal(prefix({ 'debezium.sink.iceberg.table-prefix': 'a', DEBEZIUM_SINK_ICEBERG_TABLE_PREFIX: 'c' }), 'a');
  assert.equal(prefix({ DEBEZIUM_SINK_ICEBERG_TABLE_PREFIX: '' }), '', 'empty is unset');
});

test('the whole configuration may come from the environment', () => {
  const env = {
    DEBEZIUM_SOURCE_DATABASE_HOSTNAME: 'db', DEBEZIUM_SOURCE_DATABASE_USER: 'u', DEBEZIUM_SOURCE_DATABASE_DBNAME: 'd', DEBEZIUM_SOURCE_TOPIC_PREFIX: 'dbz',
    DEBEZIUM_SINK_ICEBERG_CATALOG_IMPL: 'org.apache.iceberg.hadoop.HadoopCatalog', DEBEZIUM_SINK_ICEBERG_WAREHOUSE: 's3a://lake/w',
    DEBEZIUM_SINK_ICEBERG_FS_S3A_ACCESS_KEY: 'AK', DEBEZIUM_SINK_ICEBERG_FS_S3A_SECRET_KEY: 'SK',
    DEBEZIUM_TRANSFORMS_UNWRAP_ADD_FIELDS: 'op',
    DEBEZIUM_SINK_ICEBERG_HEADER_X_TENANT: 'blue',
    DEBEZIUM_SINK_ICEBERG_SOME_NEW_OPTION: '1',
  };
  const { config, problems, notes } = loadConfig({ env });
  assert.deepEqual(problems, []);
  assert.equal(config!.sink.catalog.type, 'hadoop');
  assert.equal(config!.sink.s3.accessKeyId, 'AK');
  assert.deepEqual(config!.sink.metaFields?.map((f) => f.column), ['__op', '__deleted']);
  assert.deepEqual(config!.sink.catalog.headers, { 'x.tenant': 'blue' });
  assert.deepEqual(config!.sink.catalog.properties, { 'some.new.option': '1' });
  assert.equal(noteOf({ notes }, 'debezium.sink.iceberg.some.new.option'), 'unknown');
});

test('a name in the file keeps its spelling when the environment sets it', () => {
  const { sink } = config('debezium.sink.iceberg.header.X-Tenant=red', { DEBEZIUM_SINK_ICEBERG_HEADER_X_TENANT: 'blue' });
  assert.deepEqual(sink.catalog.headers, { 'X-Tenant': 'blue' });
});

test('what Kubernetes announces about a service named walberg is no setting, unknown variables stop nothing', () => {
  const result = loadConfig({ file: file(MINIMAL), env: { WALBERG_PORT: 'tcp://10.0.0.1:80', WALBERG_PORT_80_TCP: 'x', WALBERG_SERVICE_HOST: 'x', WALBERG_FUTURE: '1', PATH: '/bin', DEBEZIUM_VERSION: '3' } });
  assert.deepEqual(result.problems, []);
  assert.deepEqual(result.notes.filter((n) => n.kind === 'unknown').map((n) => n.key), ['walberg.future']);
});

test('unknown names: those of other programs stop nothing', () => {
  const result = loadConfig({ file: file(`${MINIMAL}debezium.source.of.another=x\ndebezium.source.pol.interval.ms=5\ndebezium.sink.iceberg.my-own=1\nmy.own.variable=1\n%dev.quarkus.http.port=1\n`) });
  assert.deepEqual(result.problems, []);
  const unknown = result.notes.filter((n) => n.kind === 'unknown');
  assert.deepEqual(unknown.map((n) => n.key), ['debezium.source.of.another', 'debezium.source.pol.interval.ms', 'debezium.sink.iceberg.my-own', '%dev.quarkus.http.port']);
  assert.match(unknown[1].message, /has no effect\. Did you mean debezium\.source\.poll\.interval\.ms\?/);
  assert.deepEqual(result.config!.sink.catalog.properties, { 'my-own': '1' });
});

test('a slip in a name with an effect is a problem, from wherever it comes', () => {
  for (const [key, meant] of [
    ['debezium.source.table.include.lst', 'debezium.source.table.include.list'],
    ['debezium.source.slot-name', 'debezium.source.slot.name'],
    ['debezium.source.Table.Include.List', 'debezium.source.table.include.list'],
    ['debezium.source.table.include', 'debezium.source.table.include.list'],
    ['debezium.source.message.key.column', 'debezium.source.message.key.columns'],
    ['debezium.sink.iceberg.upsrt', 'debezium.sink.iceberg.upsert'],
    ['debezium.sink.iceberg.table-namespaces', 'debezium.sink.iceberg.table-namespace'],
    ['debezium.sink.upsert', 'debezium.sink.iceberg.upsert'],
    ['debezium.sourc.table.include.list', 'debezium.source.table.include.list'],
    ['table.include.list', 'debezium.source.table.include.list'],
    ['source.table.include.list', 'debezium.source.table.include.list'],
    ['debezium.transforms.unwrap.add.field', 'debezium.transforms.unwrap.add.fields'],
  ]) {
    const { problems } = loadConfig({ file: file(`${MINIMAL}${key}=hunter2`) });
    assert.deepEqual(problems.map((p) => [p.code, p.key, p.value]), [['CONFIG_INVALID', key, undefined]], key);
    assert.ok(problems[0].message.endsWith(`Did you mean ${meant}?`), key);
  }
  assert.deepEqual(problemsOf('', { DEBEZIUM_SOURCE_TABLE_INCLUDE_LST: 'a', WALBERG_COMMIT_INTERVALL_MS: '1' }), ['CONFIG_INVALID debezium.source.table.include.lst', 'CONFIG_INVALID walberg.commit.intervall.ms']);
});

test('a filter by a name of another connector is a problem, though no name is near', () => {
  for (const key of ['database.include.list', 'collection.exclude.list', 'tables.to.include', 'table.filter', 'columnBlacklisted']) {
    assert.deepEqual(problemsOf(`debezium.source.${key}=a`), key === 'tables.to.include' ? [] : [`CONFIG_INVALID debezium.source.${key}`], key);
  }
});

test('a variable with the end of a name of ours is the user’s own when it is used', () => {
  assert.equal(config('slot.name=mine\ndebezium.source.slot.name=${slot.name}').source.slotName, 'mine');
  assert.deepEqual(problemsOf('slot.name=mine'), ['CONFIG_INVALID slot.name']);
});

test('filters under their old names count, and exclude each other', () => {
  for (const kind of ['schema', 'table', 'column'] as const) {
    for (const [old, list, field] of [['whitelist', 'include', `${kind}Include`], ['blacklist', 'exclude', `${kind}Exclude`]] as const) {
      const result = loadConfig({ file: file(`${MINIMAL}debezium.source.${kind}.${old}=a.b`) });
      assert.deepEqual(result.problems, []);
      assert.ok(result.config!.source[field][0].test('A.B'));
      assert.deepEqual(result.notes.filter((n) => n.kind === 'other-name').map((n) => n.message), [`is another name of debezium.source.${kind}.${list}.list.`]);
    }
    assert.deepEqual(problemsOf(`debezium.source.${kind}.whitelist=a\ndebezium.source.${kind}.blacklist=b`), [`CONFIG_INVALID debezium.source.${kind}.blacklist`]);
  }
});

test('a mode that nobody chose is told', () => {
  const told = (text: string): boolean => loadConfig({ file: file(MINIMAL + text) }).notes.some((n) => n.key === 'debezium.sink.iceberg.upsert' && /one row per change/.test(n.message));
  assert.equal(told(''), true);
  assert.equal(told('debezium.sink.iceberg.upsert=false'), false);
});

test('new columns: tables follow them; false stops at them, which is told because Debezium drops their values', () => {
  const key = 'debezium.sink.iceberg.allow-field-addition';
  const load = (text: string) => loadConfig({ file: file(MINIMAL + text) });
  const notes = (text: string): string[] => load(text).notes.filter((n) => n.key === key).map((n) => n.message);
  for (const [text, follows] of [['', true], [`${key}=true`, true], [`${key}=false`, false], [`${key}=no`, false]] as const) assert.equal(load(text).config?.sink.allowFieldAddition, follows, text);
  assert.deepEqual([notes(''), notes(`${key}=true`)], [[], []]);
  assert.match(notes(`${key}=false`).join(), /stops Walberg/);
});

test('the report of a good file says first that it is valid and what it means', () => {
  const S3 = 'debezium.sink.iceberg.s3.access-key-id=hunter2\ndebezium.sink.iceberg.s3.secret-access-key=hunter2\n';
  const path = file(`${MINIMAL}${S3}debezium.source.database.password=hunter2\ndebezium.source.table.include.list=public.orders,public\\\\.c.*\nwalberg.commit.interval.ms=2s\ndebezium.sink.iceberg.upsert=true\ndebezium.sink.iceberg.upsert-keep-deletes=false\ndebezium.sink.iceberg.table-namespace=shop\nquarkus.banner=x\n`);
  const report = describeConfiguration(loadConfig({ file: path }), path);
  assert.deepEqual(report.split('\n').slice(0, 4), [
    `${path} is valid.`,
    'Source: u@db:5432/d, slot debezium, publication dbz_publication, tables public.orders, public\\.c.*',
    'Target: rest http://catalog:8181, namespace shop, mirror of rows (hard deletes), commit every 2 s',
    '',
  ]);
  assert.ok(report.indexOf('Accepted without effect:') < report.indexOf("Defaults that are not Debezium's:"));
  assert.ok(!report.includes('hunter2'));
  assert.deepEqual(loadConfig({}).summary, [], 'not of a configuration with problems');
});

test('the summary names filters, modes and places, and no user part of an address', () => {
  const summary = (text: string): string => loadConfig({ file: file(MINIMAL + text) }).summary.join(' ');
  assert.match(summary(''), /all tables .*one row per change, commit every 10 s$/);
  assert.match(summary('debezium.source.schema.include.list=a\ndebezium.source.table.exclude.list=a.b\ndebezium.source.column.exclude.list=a.c.d'), /publication, schemas a, without tables a\.b, without columns a\.c\.d Target/);
  assert.match(summary('debezium.sink.iceberg.upsert=true\nwalberg.commit.interval.ms=120s'), /soft deletes.*every 2 min$/);
  assert.match(summary('debezium.sink.iceberg.type=hadoop\ndebezium.sink.iceberg.warehouse=/tmp/lake'), /Target: hadoop \/tmp\/lake, namespace default/);
  const secret = summary('debezium.sink.iceberg.uri=http://me:hunter2@catalog/x?token=hunter2\ndebezium.sink.iceberg.warehouse=s3://k:hunter2@lake/w\ndebezium.sink.iceberg.s3.endpoint=http://k:hunter2@s3:9000');
  assert.match(secret, /rest http:\/\/catalog\/x, warehouse s3:\/\/lake\/w, S3 at http:\/\/s3:9000/);
  assert.ok(!secret.includes('hunter2'));
});

test('values are expanded from other properties, the environment and defaults', () => {
  const text = 'region=eu\ndebezium.sink.iceberg.client.region=${region}-${ZONE:west}\ndebezium.source.database.password=${DB_PASSWORD}\ndebezium.sink.iceberg.table-prefix=a$$${none:}b\n';
  const { sink, source } = config(text, { DB_PASSWORD: 'p$$w' });
  assert.equal(sink.s3.region, 'eu-west');
  assert.equal(source.connection.password, 'p$w');
  assert.equal(sink.tablePrefix, 'a$b');
  const missing = loadConfig({ file: file(`${MINIMAL}debezium.source.database.password=\${NO_SUCH}`) });
  assert.deepEqual(missing.problems.map((p) => p.key), ['debezium.source.database.password']);
  assert.match(missing.problems[0].message, /NO_SUCH/);
});

test('secrets never appear in problems or notes', () => {
  const secretKeys = PROPERTIES.filter((p) => p.secret === true).map((p) => p.name.replace(/<[^>]+>/, 'authorization'));
  assert.ok(secretKeys.length >= 10);
  fc.assert(fc.property(fc.subarray(secretKeys, { minLength: 1 }), fc.constantFrom('', '${', '${NOPE}', ' $$ '), (keys, noise) => {
    const overrides = Object.fromEntries(keys.map((key) => [key, `hunter2${noise}`]));
    const result = loadConfig({ overrides: { ...overrides, 'debezium.sink.iceberg.secret-of-others': 'hunter2' } });
    assert.ok(!JSON.stringify([result.problems, result.notes]).includes('hunter2'));
    assert.ok(!describeConfiguration(result).includes('hunter2'));
  }));
});

test('Hadoop names of S3 settings count, Iceberg names win', () => {
  const text = 'debezium.sink.iceberg.fs.s3a.endpoint=minio:9000\ndebezium.sink.iceberg.fs.s3a.path.style.access=true\ndebezium.sink.iceberg.fs.s3a.access.key=old\ndebezium.sink.iceberg.fs.s3a.secret.key=oldsecret\n';
  assert.deepEqual(config(`${text}debezium.sink.iceberg.fs.s3a.connection.ssl.enabled=false`).sink.s3, {
    endpoint: 'http://minio:9000', region: undefined, accessKeyId: 'old', secretAccessKey: 'oldsecret', sessionToken: undefined, pathStyleAccess: true, multipartBytes: 32 * 1024 * 1024,
  });
  const both = config(`debezium.sink.iceberg.s3.endpoint=https://s3.example\n${text}debezium.sink.iceberg.s3.access-key-id=new`).sink.s3;
  assert.deepEqual([both.endpoint, both.accessKeyId, both.secretAccessKey], ['https://s3.example', 'new', 'oldsecret']);
  assert.equal(config(text).sink.s3.endpoint, 'https://minio:9000');
  assert.deepEqual(problemsOf('debezium.sink.iceberg.s3.endpoint=minio:9000'), ['CONFIG_INVALID debezium.sink.iceberg.s3.endpoint']);
});

test('a warehouse without a scheme is on fs.defaultFS', () => {
  const hadoop = 'debezium.sink.iceberg.type=hadoop\n';
  assert.equal(config(`${hadoop}debezium.sink.iceberg.fs.defaultFS=s3a://lake/\ndebezium.sink.iceberg.warehouse=/w`).sink.catalog.warehouse, 's3a://lake/w');
  assert.equal(config(`${hadoop}debezium.sink.iceberg.warehouse=file:///w`).sink.catalog.warehouse, 'file:///w');
  assert.deepEqual(problemsOf(`${hadoop}debezium.sink.iceberg.warehouse=w`), ['CONFIG_INVALID debezium.sink.iceberg.warehouse']);
  assert.deepEqual(problemsOf(`${hadoop}debezium.sink.iceberg.warehouse=gs://b/w`), ['CONFIG_REFUSED debezium.sink.iceberg.warehouse']);
  assert.deepEqual(problemsOf(hadoop), ['CONFIG_INVALID debezium.sink.iceberg.warehouse']);
});

test('filters are Debezium’s: comma-separated, whole names, any case', () => {
  const { tableInclude } = config('debezium.source.table.include.list=public\\\\.ord.*, Sales\\\\.(a|b)\\\\,c ,');
  assert.equal(tableInclude(0, 'public.orders'), true);
  assert.equal(tableInclude(0, 'PUBLIC.Orders'), true);
  assert.equal(tableInclude(0, 'publicxorders'), false);
  assert.equal(tableInclude(0, 'my.public.orders'), false);
  assert.equal(tableInclude(1, 'sales.b,c'), true);
  assert.equal(tableInclude(1, 'sales.b,cd'), false);
  function config(text: string): { tableInclude: (i: number, name: string) => boolean } {
    const result = loadConfig({ file: file(MINIMAL + text) });
    assert.equal(result.config!.source.tableInclude.length, 2);
    return { tableInclude: (i, name) => result.config!.source.tableInclude[i].test(name) };
  }
});

test('snapshot.mode takes the old names', () => {
  const mode = (value: string): string => config(`debezium.source.snapshot.mode=${value}`).source.snapshotMode;
  assert.deepEqual(['never', 'no_data', 'exported', 'initial', 'INITIAL_ONLY', 'when_needed', 'always'].map(mode), ['no_data', 'no_data', 'initial', 'initial', 'initial_only', 'when_needed', 'always']);
});

test('value modes: the native type unless asked, Debezium’s when asked', () => {
  assert.deepEqual(config('').source.types, { decimalMode: 'precise', timeMode: 'native', binaryMode: 'bytes', arrayMode: 'list', hstoreMode: 'text', intervalMode: 'text', specialValues: 'fail' });
  assert.deepEqual(config('debezium.source.decimal.handling.mode=double\ndebezium.source.time.precision.mode=isostring\ndebezium.source.binary.handling.mode=base64-url-safe\nwalberg.array-handling=text\ndebezium.source.hstore.handling.mode=map\ndebezium.source.interval.handling.mode=string\nwalberg.special-values=null').source.types,
    { decimalMode: 'double', timeMode: 'isostring', binaryMode: 'base64-url-safe', arrayMode: 'text', hstoreMode: 'map', intervalMode: 'string', specialValues: 'null' });
  const adaptive = loadConfig({ file: file(`${MINIMAL}debezium.source.time.precision.mode=adaptive`) });
  assert.equal(adaptive.config!.source.types.timeMode, 'native');
  assert.equal(noteOf(adaptive, 'debezium.source.time.precision.mode'), 'different');
});

test('skipped operations: none for a mirror, truncate for appended rows, otherwise as asked', () => {
  const skipped = (text: string): readonly string[] => config(text).source.skippedOperations;
  const upsert = 'debezium.sink.iceberg.upsert=true\n';
  assert.deepEqual(skipped(''), ['t']);
  assert.deepEqual(skipped(upsert), []);
  assert.deepEqual(skipped(`${upsert}debezium.source.skipped.operations=t`), ['t']);
  assert.deepEqual(skipped('debezium.source.skipped.operations=none'), []);
  assert.deepEqual(skipped('debezium.source.skipped.operations=C, d,d'), ['c', 'd']);
  assert.deepEqual(problemsOf('debezium.source.skipped.operations=c,none'), ['CONFIG_INVALID debezium.source.skipped.operations']);
});

test('the commit interval is Walberg’s, or the longest wait of MaxBatchSizeWait', () => {
  const interval = (text: string): number => config(text).pipeline.commitIntervalMs;
  const waits = 'debezium.sink.batch.batch-size-wait=MaxBatchSizeWait\ndebezium.sink.batch.batch-size-wait.max-wait-ms=60000\n';
  assert.equal(interval(''), 10_000);
  assert.equal(interval('walberg.commit.interval.ms=2s'), 2000);
  assert.equal(interval(waits), 60_000);
  assert.equal(interval(waits.replace('Max', 'Dynamic')), 60_000);
  assert.equal(interval(`${waits}walberg.commit.interval.ms=1000`), 1000);
  assert.equal(interval('debezium.sink.batch.batch-size-wait.max-wait-ms=60000'), 10_000);
});

test('compression: Walberg’s property, or the table property of Iceberg', () => {
  const compression = (text: string): unknown => config(text).pipeline.compression;
  assert.deepEqual(compression(''), { codec: 'zstd' });
  assert.deepEqual(compression('walberg.parquet.compression=none'), { codec: 'none' });
  assert.deepEqual(compression('debezium.sink.iceberg.write.parquet.compression-codec=gzip\ndebezium.sink.iceberg.write.parquet.compression-level=9'), { codec: 'gzip', level: 9 });
  assert.deepEqual(compression('debezium.sink.iceberg.write.parquet.compression-codec=gzip\nwalberg.parquet.compression=snappy'), { codec: 'snappy' });
  assert.deepEqual(problemsOf('walberg.parquet.compression=zstd:23'), ['CONFIG_INVALID walberg.parquet.compression']);
  assert.deepEqual(problemsOf('debezium.sink.iceberg.write.parquet.compression-codec=brotli'), ['CONFIG_REFUSED walberg.parquet.compression']);
});

test('table properties: override over own over write and default, what would change files is refused', () => {
  const I = 'debezium.sink.iceberg.';
  assert.deepEqual(config(`${I}table-default.a=1\n${I}table-default.b=1\n${I}table-properties.b=2\n${I}table-properties.c=2\n${I}table-override.c=3\n${I}write.metadata.delete-after-commit.enabled=true`).sink.tableProperties,
    { a: '1', b: '2', c: '3', 'write.metadata.delete-after-commit.enabled': 'true' });
  assert.deepEqual(problemsOf(`${I}table-properties.format-version=3`), [`CONFIG_REFUSED ${I}table-properties.format-version`]);
  assert.deepEqual(problemsOf(`${I}table-override.write.format.default=orc`), [`CONFIG_REFUSED ${I}table-override.write.format.default`]);
  assert.deepEqual(problemsOf(`${I}table-properties.format-version=2`), []);
});

test('the status port: http.port, or management.port where that is set', () => {
  const port = (text: string): number => config(text).observe.httpPort;
  assert.equal(port(''), 8080);
  assert.equal(port('quarkus.http.port=0'), 0);
  assert.equal(port('quarkus.http.port=8081\nquarkus.management.port=9001'), 9001);
  assert.equal(port('quarkus.http.port=8081\nquarkus.management.port=9001\nquarkus.management.enabled=false'), 8081);
});

test('Java log levels are pino’s', () => {
  const level = (value: string): string => config(`quarkus.log.level=${value}`).observe.logLevel;
  assert.deepEqual(['OFF', 'SEVERE', 'WARNING', 'Info', 'FINE', 'FINEST', 'ALL'].map(level), ['silent', 'error', 'warn', 'info', 'debug', 'trace', 'trace']);
});

test('contradictions', () => {
  const I = 'debezium.sink.iceberg.';
  for (const [text, expected] of [
    [`${I}catalog-impl=org.apache.iceberg.hadoop.HadoopCatalog`, `CONFIG_INVALID ${I}catalog-impl`],
    [`${I}uri=catalog`, `CONFIG_INVALID ${I}uri`],
    [`${I}s3.access-key-id=a`, `CONFIG_INVALID ${I}s3.access-key-id`],
    [`${I}s3.secret-access-key=a`, `CONFIG_INVALID ${I}s3.secret-access-key`],
    [`${I}destination-uppercase-table-names=true\n${I}destination-lowercase-table-names=true`, `CONFIG_INVALID ${I}destination-lowercase-table-names`],
    [`${I}table-namespace=a..b`, `CONFIG_INVALID ${I}table-namespace`],
    [`${I}destination-regexp=a\n${I}destination-regexp-replace=$1`, `CONFIG_INVALID ${I}destination-regexp-replace`],
    ['debezium.source.database.sslcert=/c', 'CONFIG_INVALID debezium.source.database.sslcert'],
    ['debezium.source.schema.include.list=a\ndebezium.source.schema.exclude.list=b', 'CONFIG_INVALID debezium.source.schema.exclude.list'],
    ['walberg.buffer.segment-bytes=1GiB', 'CONFIG_INVALID walberg.buffer.segment-bytes'],
    ['walberg.retry.initial.ms=2m', 'CONFIG_INVALID walberg.retry.initial.ms'],
    ['debezium.source.skip.messages.without.change=true', 'CONFIG_REFUSED debezium.source.skip.messages.without.change'],
  ]) assert.deepEqual(problemsOf(text), [expected]);
});
