import { BOOLEAN, declare, duration, int, oneOf, text, TEXT, type Property } from '../property.js';

const { supported, accepted, refused } = declare('connection', 'debezium.source.');
const CONNECTOR = 'io.debezium.connector.postgresql.PostgresConnector';

/** How to reach the source and how to name it. */
export const CONNECTION: readonly Property[] = [
  refused('connector.class', 'Java class of the connector. Only the Postgres connector has a counterpart here, so it may be left out.', 'Walberg reads Postgres only', `Use ${CONNECTOR}, or keep Debezium Server for other databases.`, [CONNECTOR], { default: CONNECTOR }),
  accepted('name', 'Name of the connector.', 'positions are kept per slot and table, not per connector name'),
  accepted('tasks.max', 'Number of connector tasks.', 'a slot has one reader', { default: '1' }),
  supported('database.hostname', TEXT, 'Host name or address of the Postgres server, or the directory of its Unix socket. Required.', { example: 'localhost' }),
  supported('database.port', int(1, 65535), 'Port of the Postgres server.', { default: '5432', example: '5432' }),
  supported('database.user', TEXT, 'Role that may replicate and read the captured tables. Required.', { example: 'walberg' }),
  supported('database.password', TEXT, 'Password of the role.', { secret: true, example: '${PGPASSWORD}' }),
  supported('database.dbname', TEXT, 'Name of the database. Required.', { example: 'shop' }),
  supported('database.sslmode', oneOf(['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']), "TLS as libpq's sslmode of the same name.", { default: 'prefer', example: 'prefer' }),
  supported('database.sslrootcert', TEXT, 'PEM file with the certificates of the trusted authorities.'),
  supported('database.sslcert', TEXT, 'PEM file with the client certificate.'),
  supported('database.sslkey', TEXT, 'PEM file with the key of the client certificate.'),
  supported('database.sslpassword', TEXT, 'Password of the key file.', { secret: true }),
  refused('database.sslfactory', 'Java class that makes TLS sockets.', 'a Java class cannot run here, and some of them skip verification', 'Use database.sslmode: require encrypts without verification, verify-full verifies.'),
  supported('database.tcpKeepAlive', BOOLEAN, 'TCP keepalive probes on the connections.', { default: 'true' }),
  supported('database.query.timeout.ms', duration(), 'Time limit of one catalog query; copies have none. 0 = none.', { default: '600000' }),
  refused('database.initial.statements', 'SQL run on each new connection.', 'the session settings are fixed so that values have one text form', 'Use ALTER ROLE … SET for settings that do not change how values are printed.'),
  accepted('database.connection.factory.class', 'Java class that makes connections.', 'a Java class cannot run here'),
  accepted('database.server.name', "Name of topic.prefix before Debezium 2.0.", 'topic.prefix took its place'),
  accepted('database.server.id', 'Setting of the MySQL connector.', 'Postgres has no such id'),
  supported('topic.prefix', text(/[A-Za-z0-9._-]+/, 'letters, digits, dots, underscores and hyphens'), 'First part of the destination name: table = prefix + topic.prefix + schema + table. Called database.server.name before Debezium 2.0. Required.', { example: 'dbz' }),
  refused('topic.delimiter', 'Text between the parts of the destination name.', 'another delimiter gives other table names', 'Use destination-regexp and destination-regexp-replace to form names.', ['.'], { default: '.' }),
  refused('topic.naming.strategy', 'Java class that forms destination names.', 'a Java class cannot run here', 'Use destination-regexp, table-prefix and the case settings of the sink.', ['io.debezium.schema.SchemaTopicNamingStrategy'], { default: 'io.debezium.schema.SchemaTopicNamingStrategy' }),
  accepted('topic.transaction', 'Name of the topic of transaction metadata.', 'no such topic is written', { default: 'transaction' }),
  accepted('topic.cache.size', 'Cached destination names.', 'names are computed once per table', { default: '10000' }),
  supported('plugin.name', oneOf(['pgoutput']), "Logical decoding plugin. pgoutput is part of Postgres; the others are not read.", {
    default: 'pgoutput',
    refusedValues: {
      decoderbufs: 'only pgoutput is read; a slot made for decoderbufs cannot be read either, so choose a new slot.name',
      wal2json: 'only pgoutput is read; a slot made for wal2json cannot be read either, so choose a new slot.name',
    },
    differs: { debezium: 'decoderbufs', because: 'pgoutput is part of every supported server; a slot made for another plugin cannot be read' },
    example: 'pgoutput',
  }),
  supported('slot.name', text(/[a-z0-9_]{1,63}/, 'at most 63 lower-case letters, digits and underscores'), 'Replication slot. Created when missing.', { default: 'debezium', example: 'walberg' }),
  supported('slot.drop.on.stop', BOOLEAN, 'Drop the slot on a clean stop. What changes afterwards is lost to the tables.', { default: 'false' }),
  supported('slot.max.retries', int(0), 'Attempts to get a slot that another process holds.', { default: '6' }),
  supported('slot.retry.delay.ms', duration(), 'Pause between these attempts.', { default: '10000' }),
  refused('slot.failover', 'Create the slot as a failover slot (Postgres 17).', 'the slot is created without that option', "Create it before the start: SELECT pg_create_logical_replication_slot('name', 'pgoutput', failover => true).", ['false'], { default: 'false' }),
  refused('slot.stream.params', 'Further options of the decoding plugin, k=v;k=v.', 'other plugin options change the stream', 'Remove it.'),
  supported('publication.name', text(/.{1,63}/, 'at most 63 characters'), 'Publication to read. Created when missing.', { default: 'dbz_publication', example: 'walberg' }),
  supported('publication.autocreate.mode', oneOf(['all_tables', 'disabled', 'filtered', 'no_tables']), 'What to create when the publication is missing: one for all tables, nothing, one for the captured tables, or an empty one.', {
    default: 'filtered',
    differs: { debezium: 'all_tables', because: 'a publication for all tables needs a superuser and makes UPDATE and DELETE fail on every table without a replica identity' },
    example: 'filtered',
  }),
  supported('publish.via.partition.root', BOOLEAN, 'Publish changes of partitions as changes of their root table.', { default: 'false' }),
  refused('replica.identity.autoset.values', 'Replica identities to set on source tables.', 'the source is not altered', 'Run ALTER TABLE … REPLICA IDENTITY yourself.'),
  supported('status.update.interval.ms', duration(1), 'Pause between status messages to the server.', { default: '10000' }),
];
