import type { Checks } from './checks.js';
import type { ConnectionConfig, SourceConfig } from './config.js';
import type { Settings } from './settings.js';

const S = 'debezium.source.';

/** The source part of the configuration. */
export function assembleSource(settings: Settings, checks: Checks): SourceConfig {
  for (const kind of ['schema', 'table', 'column']) checks.exclusive(`${S}${kind}.include.list`, `${S}${kind}.exclude.list`);
  const upsert = settings.boolean('debezium.sink.iceberg.upsert');
  if (settings.boolean(`${S}skip.messages.without.change`)) {
    if (upsert) checks.note('no-effect', `${S}skip.messages.without.change`, 'has no effect: an update that changes nothing leaves a mirrored table as it is.');
    else if (!checks.reported('debezium.sink.iceberg.upsert')) checks.refused(`${S}skip.messages.without.change`, 'is refused without upsert: every change is a row.', 'Remove it, or filter when reading.');
  }
  return {
    connection: connection(settings, checks),
    topicPrefix: checks.required(`${S}topic.prefix`),
    slotName: settings.string(`${S}slot.name`)!,
    slotDropOnStop: settings.boolean(`${S}slot.drop.on.stop`),
    slotMaxRetries: settings.number(`${S}slot.max.retries`),
    slotRetryDelayMs: settings.number(`${S}slot.retry.delay.ms`),
    publicationName: settings.string(`${S}publication.name`)!,
    publicationAutocreate: settings.choice(`${S}publication.autocreate.mode`),
    publishViaPartitionRoot: settings.boolean(`${S}publish.via.partition.root`),
    schemaInclude: settings.patterns(`${S}schema.include.list`),
    schemaExclude: settings.patterns(`${S}schema.exclude.list`),
    tableInclude: settings.patterns(`${S}table.include.list`),
    tableExclude: settings.patterns(`${S}table.exclude.list`),
    columnInclude: settings.patterns(`${S}column.include.list`),
    columnExclude: settings.patterns(`${S}column.exclude.list`),
    snapshotMode: settings.choice(`${S}snapshot.mode`),
    snapshotMaxThreads: settings.number(`${S}snapshot.max.threads`),
    skippedOperations: skippedOperations(settings, checks, upsert),
    statusIntervalMs: settings.number(`${S}status.update.interval.ms`),
    types: {
      decimalMode: settings.choice(`${S}decimal.handling.mode`),
      timeMode: settings.choice(`${S}time.precision.mode`),
      binaryMode: settings.choice(`${S}binary.handling.mode`),
      arrayMode: settings.choice('walberg.array-handling'),
      hstoreMode: settings.choice(`${S}hstore.handling.mode`),
      intervalMode: settings.choice(`${S}interval.handling.mode`),
      specialValues: settings.choice('walberg.special-values'),
    },
  };
}

function connection(settings: Settings, checks: Checks): ConnectionConfig {
  const file = (name: string): string | undefined => settings.string(`${S}database.${name}`);
  checks.together(`${S}database.sslcert`, `${S}database.sslkey`);
  return {
    host: checks.required(`${S}database.hostname`),
    port: settings.number(`${S}database.port`),
    user: checks.required(`${S}database.user`),
    password: settings.string(`${S}database.password`),
    database: checks.required(`${S}database.dbname`),
    sslMode: settings.choice(`${S}database.sslmode`),
    sslRootCert: file('sslrootcert'),
    sslCert: file('sslcert'),
    sslKey: file('sslkey'),
    sslKeyPassword: file('sslpassword'),
    tcpKeepAlive: settings.boolean(`${S}database.tcpKeepAlive`),
    queryTimeoutMs: settings.number(`${S}database.query.timeout.ms`),
  };
}

function skippedOperations(settings: Settings, checks: Checks, upsert: boolean): SourceConfig['skippedOperations'] {
  const name = `${S}skipped.operations`;
  if (!settings.isSet(name)) return upsert ? [] : ['t'];
  const operations = settings.list(name).map((o) => o.toLowerCase());
  if (operations.length === 1 && operations[0] === 'none') return [];
  const unknown = operations.filter((o) => !['c', 'u', 'd', 't'].includes(o));
  if (unknown.length > 0) checks.invalid(name, `has unknown operations: ${unknown.join(', ')}.`, 'Expected: c, u, d, t, or none alone.');
  return [...new Set(operations)] as SourceConfig['skippedOperations'];
}
