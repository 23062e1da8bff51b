import { BOOLEAN, declare, duration, int, LIST, oneOf, REGEX, size, TEXT, type Property } from '../property.js';

const sink = declare('catalog', 'debezium.sink.');
const catalog = declare('catalog', 'debezium.sink.iceberg.');
const storage = declare('storage', 'debezium.sink.iceberg.');
const batch = declare('batch', 'debezium.sink.batch.');
const S3 = 'debezium.sink.iceberg.s3.';
const NOT_YET = 'is not available';

/** The catalog that holds the tables. */
export const CATALOG: readonly Property[] = [
  sink.supported('type', oneOf(['iceberg']), 'The sink.', {
    default: 'iceberg',
    example: 'iceberg',
    refusedValues: { icebergevents: 'one table of all events as JSON is not written; use iceberg, which writes one table per source table' },
  }),
  catalog.supported('type', oneOf(['rest', 'hadoop']), 'Catalog: an Iceberg REST server, or a file system with a version hint. Required unless catalog-impl is set.', {
    example: 'rest',
    refusedValues: {
      hive: `the Hive metastore ${NOT_YET}; use rest with a server in front of it`,
      glue: `AWS Glue ${NOT_YET}, because its REST endpoint wants AWS request signatures; use rest with another server`,
      jdbc: `the JDBC catalog ${NOT_YET}; use rest with a server in front of it`,
      nessie: `the Nessie protocol ${NOT_YET}; Nessie also speaks REST: type=rest and uri=http://host:19120/iceberg`,
    },
  }),
  catalog.supported('catalog-impl', oneOf(['rest', 'hadoop'], { 'org.apache.iceberg.rest.RESTCatalog': 'rest', 'org.apache.iceberg.hadoop.HadoopCatalog': 'hadoop' }), 'Java class of the catalog, in place of type.', {
    refusedValues: {
      'org.apache.iceberg.hive.HiveCatalog': `the Hive metastore ${NOT_YET}; use type=rest with a server in front of it`,
      'org.apache.iceberg.aws.glue.GlueCatalog': `AWS Glue ${NOT_YET}; use type=rest with another server`,
      'org.apache.iceberg.jdbc.JdbcCatalog': `the JDBC catalog ${NOT_YET}; use type=rest with a server in front of it`,
      'org.apache.iceberg.nessie.NessieCatalog': `the Nessie protocol ${NOT_YET}; Nessie also speaks REST: type=rest and uri=http://host:19120/iceberg`,
    },
  }),
  catalog.supported('warehouse', TEXT, 'Root of the tables: a URI (s3://bucket/path, file:///path) or, for REST, the name the server knows. Required for hadoop.', { example: 's3://lake/warehouse' }),
  catalog.supported('catalog-name', TEXT, 'Name of the catalog in messages.', { default: 'default' }),
  catalog.supported('uri', TEXT, 'Address of the REST server. Required for rest.', { example: 'http://localhost:8181' }),
  catalog.supported('prefix', TEXT, 'Path element of the REST server, when it does not announce one itself.'),
  catalog.supported('token', TEXT, 'Bearer token of the REST server.', { secret: true }),
  catalog.supported('credential', TEXT, 'OAuth2 client credentials for the REST server, client-id:client-secret.', { secret: true }),
  catalog.supported('oauth2-server-uri', TEXT, 'Token endpoint, when it is not the REST server itself.'),
  catalog.supported('scope', TEXT, 'OAuth2 scope.', { default: 'catalog' }),
  catalog.supported('header.<name>', TEXT, 'HTTP header of each request to the REST server.', { secret: true }),
  catalog.refused('rest.auth.type', 'How to authenticate at the REST server.', 'only bearer tokens and OAuth2 client credentials are sent', 'Use token or credential, or header.Authorization.', ['none', 'oauth2']),
  catalog.refused('rest.sigv4-enabled', 'AWS request signatures.', 'requests are not signed', 'Use a REST server with OAuth2.', ['false'], { default: 'false' }),
  catalog.refused('ref', 'Nessie branch or tag.', 'the branch would not be used', 'For Nessie over REST put the branch into the address: uri=http://host:19120/iceberg/branch.', ['main']),
  catalog.accepted('jdbc.<rest>', 'Settings of the JDBC catalog.', 'that catalog is not available'),
  catalog.accepted('clients', 'Size of the connection pool of the catalog.', 'connections are opened as needed', { default: '2' }),
  catalog.accepted('cache-enabled', 'Cache of tables in the Java catalog.', 'tables are re-read when their state matters'),
  catalog.accepted('cache.expiration-interval-ms', 'Cache of tables in the Java catalog.', 'tables are re-read when their state matters'),
  catalog.accepted('io-impl', 'Java class that reads and writes files.', 'the storage follows from the scheme of the warehouse', { default: 'org.apache.iceberg.io.ResolvingFileIO' }),
];

/** S3, under Iceberg's names and the older Hadoop ones. */
export const STORAGE: readonly Property[] = [
  storage.supported('s3.endpoint', TEXT, 'Address of the S3 server; unset = AWS.', { example: 'http://localhost:9000' }),
  storage.supported('s3.access-key-id', TEXT, 'Access key; unset = the default chain of the AWS SDK.', { secret: true, example: '${AWS_ACCESS_KEY_ID}' }),
  storage.supported('s3.secret-access-key', TEXT, 'Secret of the access key.', { secret: true, example: '${AWS_SECRET_ACCESS_KEY}' }),
  storage.supported('s3.session-token', TEXT, 'Session token of temporary keys.', { secret: true }),
  storage.supported('s3.path-style-access', BOOLEAN, 'Bucket in the path instead of the host name; most servers other than AWS want true.', { default: 'false', example: 'true' }),
  storage.supported('client.region', TEXT, 'AWS region; unset = AWS_REGION.', { example: 'us-east-1' }),
  storage.supported('s3.multipart.part-size-bytes', size(5 * 1024 * 1024, 5 * 1024 * 1024 * 1024), 'Files larger than this are uploaded in parts of this size.', { default: '33554432' }),
  storage.alias('s3.region', 'debezium.sink.iceberg.client.region', 'Other name of client.region.'),
  storage.alias('fs.s3a.access.key', `${S3}access-key-id`, 'Hadoop name of s3.access-key-id.', { secret: true }),
  storage.alias('fs.s3a.secret.key', `${S3}secret-access-key`, 'Hadoop name of s3.secret-access-key.', { secret: true }),
  storage.alias('fs.s3a.session.token', `${S3}session-token`, 'Hadoop name of s3.session-token.', { secret: true }),
  storage.alias('fs.s3a.endpoint', `${S3}endpoint`, 'Hadoop name of s3.endpoint. Without a scheme, fs.s3a.connection.ssl.enabled decides between https and http.'),
  storage.alias('fs.s3a.endpoint.region', 'debezium.sink.iceberg.client.region', 'Hadoop name of client.region.'),
  storage.alias('fs.s3a.path.style.access', `${S3}path-style-access`, 'Hadoop name of s3.path-style-access.'),
  storage.supported('fs.s3a.connection.ssl.enabled', BOOLEAN, 'Scheme of an fs.s3a.endpoint without one.', { default: 'true' }),
  storage.supported('fs.defaultFS', TEXT, 'File system of a warehouse without a scheme.'),
  storage.accepted('fs.<rest>', 'Other Hadoop settings.', 'Hadoop is not used'),
  storage.accepted('com.amazonaws.<rest>', 'Settings of the older AWS SDK for Java.', 'that SDK is not used'),
  storage.accepted('hadoop.<rest>', 'Other Hadoop settings.', 'Hadoop is not used'),
  storage.refused('s3.sse.<rest>', 'Encryption of objects by the server.', 'objects would be written without that header', 'Set default encryption on the bucket.', ['none']),
  storage.refused('s3.remote-signing-enabled', 'Let the REST server sign S3 requests.', 'requests are signed with own keys', 'Give s3.access-key-id and s3.secret-access-key, or a role.', ['false'], { default: 'false' }),
];

/** How changes are gathered into commits. */
export const BATCH: readonly Property[] = [
  batch.supported('batch-size-wait', oneOf(['NoBatchSizeWait', 'MaxBatchSizeWait'], { DynamicBatchSizeWait: 'MaxBatchSizeWait' }), 'NoBatchSizeWait: commits follow walberg.commit.interval.ms. MaxBatchSizeWait: max-wait-ms is the commit interval, unless walberg.commit.interval.ms is set.', { default: 'NoBatchSizeWait' }),
  batch.supported('batch-size-wait.max-wait-ms', duration(1), 'Commit interval with MaxBatchSizeWait.', { default: '300000' }),
  batch.accepted('batch-size-wait.wait-interval-ms', 'How often the queue is looked at.', 'commits follow a timer and buffer sizes', { default: '10000' }),
  batch.supported('concurrent-uploads', int(1, 64), 'Tables committed in parallel.', {
    default: '4',
    differs: { debezium: '1', because: 'each table has its own position, so the order between tables does not matter' },
  }),
  batch.accepted('concurrent-uploads.timeout-minutes', 'Limit of parallel writes.', 'each request has its own limit', { default: '60' }),
  batch.accepted('metrics.<rest>', 'Beans the Java sink reads queue sizes from.', 'there are no Java beans'),
];

const tables = declare('tables', 'debezium.sink.iceberg.');

/** Names, modes and properties of the tables. */
export const TABLES: readonly Property[] = [
  tables.supported('table-namespace', TEXT, 'Namespace of the tables; dots separate levels.', { default: 'default', example: 'shop' }),
  tables.supported('table-prefix', TEXT, 'Put before each table name.', { example: 'cdc_' }),
  tables.supported('destination-regexp', REGEX, 'Java regular expression, replaced in the destination (topic.prefix.schema.table) before dots become underscores.'),
  tables.supported('destination-regexp-replace', TEXT, 'Replacement of destination-regexp, with $1 and ${name} as in Java.'),
  tables.supported('destination-uppercase-table-names', BOOLEAN, 'Table names, with prefix, in upper case.', { default: 'false' }),
  tables.supported('destination-lowercase-table-names', BOOLEAN, 'Table names, with prefix, in lower case.', { default: 'false' }),
  tables.refused('table-mapper', 'Java bean that names tables.', 'a Java class cannot run here', 'Use destination-regexp, table-prefix and the case settings.', ['default-mapper'], { default: 'default-mapper' }),
  tables.supported('upsert', BOOLEAN, 'true: each table mirrors its source. false: one row per change is appended. Older releases of the Java sink documented true as the default, so set it.', { default: 'false', example: 'true' }),
  tables.supported('upsert-keep-deletes', BOOLEAN, "With upsert: true keeps deleted rows with __deleted = 'true', false removes them.", { default: 'true', example: 'false' }),
  tables.refused('upsert-dedup-column', 'Column that decides which change of a key wins inside a batch.', 'the newest change in WAL order wins always, as in the source', 'Remove it.', ['__source_ts_ns', '__source_ts_us', '__source_ts_ms', '__ts_ns', '__ts_us', '__ts_ms', '__source_lsn', '__lsn']),
  tables.accepted('upsert-op-field', 'Column with the operation.', 'operations come from the stream, not from a column; transforms.unwrap.add.fields names the column', { default: '__op' }),
  tables.refused('upsert-use-dv', 'Deletion vectors.', 'format version 2 has no deletion vectors', 'Remove it.', ['false'], { default: 'false' }),
  tables.refused('format-version', 'Format version of new tables.', 'tables are written in format version 2', 'Use 2.', ['2'], {
    default: '2',
    differs: { debezium: '3 (unreleased) or 2', because: 'most readers know version 2 in full' },
  }),
  tables.supported('create-identifier-fields', BOOLEAN, 'Key columns of new tables are identifier fields and required.', { default: 'true' }),
  tables.supported('preserve-required-property', BOOLEAN, 'NOT NULL columns of new tables are required.', { default: 'false' }),
  tables.supported('allow-field-addition', BOOLEAN, 'Tables follow the columns of their source: new ones are added, types become wider, names change, and what the source drops stays and is NULL from then on. false: a source column that the table lacks, or that does not fit, stops Walberg.', {
    default: 'true',
    notedValues: { false: 'stops Walberg at a new column, where the Java sink drops its values; leave columns out by name with debezium.source.column.exclude.list' },
  }),
  tables.supported('excluded-columns', LIST, 'Columns neither created nor written.'),
  tables.refused('nested-as-variant', 'Nested values as variant.', 'format version 2 has no variant', 'Remove it: json and jsonb are strings.', ['false'], { default: 'false' }),
  tables.refused('partition-by', 'Partition fields of new tables.', 'tables are written without partitions', 'Remove it.'),
  tables.refused('partition-by.<destination>', 'Partition fields of one table.', 'tables are written without partitions', 'Remove it.'),
  tables.refused('partition-field', 'Older form of partition-by.', 'tables are written without partitions', 'Remove it.'),
  tables.supported('table-properties.<property>', TEXT, 'Property of the tables Walberg creates.'),
  tables.supported('table-default.<property>', TEXT, 'Property of the tables Walberg creates, as the Java catalog names it.'),
  tables.supported('table-override.<property>', TEXT, 'Property of the tables Walberg creates; wins over the others.'),
  tables.refused('write.format.default', 'File format of data files.', 'data files are Parquet', 'Use parquet.', ['parquet'], { default: 'parquet' }),
  tables.refused('write.data.path', 'Where data files go.', 'files go below the location of the table', 'Set warehouse.'),
  tables.refused('write.metadata.path', 'Where metadata files go.', 'files go below the location of the table', 'Set warehouse.'),
  tables.refused('write.location-provider.impl', 'Java class that places data files.', 'a Java class cannot run here', 'Remove it.'),
  tables.refused('write.object-storage.enabled', 'Hashed prefixes in file paths.', 'files go to data/ below the location of the table', 'Remove it.', ['false'], { default: 'false' }),
  tables.supported('write.<property>', TEXT, 'Property of the tables Walberg creates (write.…).'),
  tables.accepted('openlineage-enabled', 'Lineage event after each commit.', 'none are sent', { default: 'false' }),
  tables.accepted('openlineage.<rest>', 'Settings of lineage events.', 'none are sent'),
];
