import { metaFields } from './chain.js';
import type { Checks } from './checks.js';
import type { CatalogConfig, S3Config, SinkConfig } from './config.js';
import { JavaRegexError, translateJavaReplacement } from './java-regex.js';
import type { Settings } from './settings.js';
import { tableProperties } from './table-properties.js';

const I = 'debezium.sink.iceberg.';

/** The sink part of the configuration. `passedThrough` are unknown keys under debezium.sink.iceberg. */
export function assembleSink(settings: Settings, checks: Checks, passedThrough: Readonly<Record<string, string>>): SinkConfig {
  const meta = metaFields(settings);
  checks.problems.push(...meta.problems);
  if (!settings.isSet(`${I}upsert`) && !checks.reported(`${I}upsert`)) {
    checks.note('default', `${I}upsert`, 'is false: one row per change is appended. Older releases of the Java sink documented true; set it to true for tables that mirror their source.');
  }
  const destinationRegexp = settings.pattern(`${I}destination-regexp`);
  return {
    catalog: catalog(settings, checks, passedThrough),
    s3: s3(settings, checks),
    namespace: namespace(settings, checks),
    tablePrefix: settings.string(`${I}table-prefix`) ?? '',
    destinationRegexp,
    destinationReplace: destinationReplace(settings, checks, destinationRegexp),
    tableNameCase: nameCase(settings, checks),
    upsert: settings.boolean(`${I}upsert`),
    upsertKeepDeletes: settings.boolean(`${I}upsert-keep-deletes`),
    createIdentifierFields: settings.boolean(`${I}create-identifier-fields`),
    preserveRequired: settings.boolean(`${I}preserve-required-property`),
    allowFieldAddition: settings.boolean(`${I}allow-field-addition`),
    excludedColumns: settings.list(`${I}excluded-columns`),
    metaFields: meta.fields,
    tableProperties: tableProperties(settings, checks),
    concurrentUploads: settings.number('debezium.sink.batch.concurrent-uploads'),
  };
}

function catalog(settings: Settings, checks: Checks, passedThrough: Readonly<Record<string, string>>): CatalogConfig {
  const byType = settings.string(`${I}type`);
  const byClass = settings.string(`${I}catalog-impl`);
  const type = (byType ?? byClass) as CatalogConfig['type'] | undefined;
  if (type === undefined) {
    if (!checks.reported(`${I}catalog-impl`)) checks.required(`${I}type`, 'Set it to rest (with uri) or hadoop (with warehouse).');
  } else if (byType !== undefined && byClass !== undefined && byType !== byClass) checks.invalid(`${I}catalog-impl`, `contradicts ${I}type=${byType}.`, 'Remove one of the two.');
  if (type === 'rest') checkUri(checks, checks.required(`${I}uri`));
  const warehouse = warehouseLocation(settings, checks, type);
  return {
    type: type ?? 'hadoop',
    name: settings.string(`${I}catalog-name`)!,
    warehouse,
    uri: settings.string(`${I}uri`),
    prefix: settings.string(`${I}prefix`),
    token: settings.string(`${I}token`),
    credential: settings.string(`${I}credential`),
    oauth2ServerUri: settings.string(`${I}oauth2-server-uri`),
    scope: settings.string(`${I}scope`)!,
    headers: Object.fromEntries([...settings.withPrefix(`${I}header.`)].map(([name, { value }]) => [name, value as string])),
    properties: passedThrough,
  };
}

function checkUri(checks: Checks, uri: string): void {
  if (uri !== '' && !/^https?:\/\/[^/]/.test(uri)) checks.invalid(`${I}uri`, 'is not the address of a REST server.', 'Expected: http://… or https://….');
}

const STORES = /^(s3|s3a|s3n|file):/;
const OTHER_STORES = /^(gs|abfs|abfss|wasb|wasbs|adl|hdfs|oss|viewfs):/;

/** The warehouse, on `fs.defaultFS` when it has no scheme itself, as Hadoop resolves it. */
function warehouseLocation(settings: Settings, checks: Checks, type: CatalogConfig['type'] | undefined): string {
  const name = `${I}warehouse`;
  const given = type === 'hadoop' ? checks.required(name) : settings.string(name) ?? '';
  const defaultFs = settings.string(`${I}fs.defaultFS`);
  const onDefault = defaultFs !== undefined && given.startsWith('/') && STORES.test(defaultFs);
  const warehouse = onDefault ? defaultFs.replace(/\/+$/, '') + given : given;
  if (OTHER_STORES.test(warehouse)) checks.refused(name, 'is refused: this storage is not available.', 'Use s3://…, or a local path.');
  else if (type === 'hadoop' && warehouse !== '' && !STORES.test(warehouse) && !warehouse.startsWith('/')) {
    checks.invalid(name, 'is neither a URI nor an absolute path.', 'Expected: s3://bucket/path, file:///path or /path.');
  }
  return warehouse;
}

function s3(settings: Settings, checks: Checks): S3Config {
  const key = settings.string(`${I}s3.access-key-id`);
  const secret = settings.string(`${I}s3.secret-access-key`);
  checks.together(`${I}s3.access-key-id`, `${I}s3.secret-access-key`, 'to use the default chain of the AWS SDK');
  return {
    endpoint: endpoint(settings, checks),
    region: settings.string(`${I}client.region`),
    accessKeyId: key,
    secretAccessKey: secret,
    sessionToken: settings.string(`${I}s3.session-token`),
    pathStyleAccess: settings.boolean(`${I}s3.path-style-access`),
    multipartBytes: settings.number(`${I}s3.multipart.part-size-bytes`),
  };
}

function endpoint(settings: Settings, checks: Checks): string | undefined {
  const text = settings.string(`${I}s3.endpoint`);
  if (text === undefined || /^https?:\/\/[^/]/.test(text)) return text;
  const hadoopName = settings.setting(`${I}s3.endpoint`)?.key === `${I}fs.s3a.endpoint`;
  if (hadoopName && !text.includes('://')) return `${settings.boolean(`${I}fs.s3a.connection.ssl.enabled`) ? 'https' : 'http'}://${text}`;
  checks.invalid(`${I}s3.endpoint`, 'is not the address of an S3 server.', 'Expected: http://… or https://….');
  return undefined;
}

function namespace(settings: Settings, checks: Checks): readonly string[] {
  const levels = settings.string(`${I}table-namespace`)!.split('.');
  if (levels.some((level) => level === '')) checks.invalid(`${I}table-namespace`, 'has an empty level.', 'Expected: name, or name.name.');
  return levels;
}

function destinationReplace(settings: Settings, checks: Checks, pattern: RegExp | undefined): string {
  const name = `${I}destination-regexp-replace`;
  const replacement = settings.string(name) ?? '';
  if (pattern === undefined) {
    if (settings.isSet(name) && !checks.reported(`${I}destination-regexp`)) checks.note('no-effect', name, `has no effect without ${I}destination-regexp.`);
    return replacement;
  }
  try {
    return translateJavaReplacement(replacement, pattern);
  } catch (error) {
    if (!(error instanceof JavaRegexError)) throw error;
    checks.invalid(name, `cannot be used: ${error.message}.`, 'Expected: text with $1 or ${name}; in the file write $${name}.');
    return '';
  }
}

function nameCase(settings: Settings, checks: Checks): SinkConfig['tableNameCase'] {
  const upper = settings.boolean(`${I}destination-uppercase-table-names`);
  const lower = settings.boolean(`${I}destination-lowercase-table-names`);
  if (upper && lower) checks.invalid(`${I}destination-lowercase-table-names`, `cannot be true together with ${I}destination-uppercase-table-names.`, 'Remove one of the two.');
  return upper ? 'upper' : lower ? 'lower' : 'keep';
}
