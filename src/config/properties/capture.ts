import { BOOLEAN, declare, duration, int, LIST, oneOf, REGEX_LIST, type Property } from '../property.js';

const capture = declare('capture', 'debezium.source.');
const load = declare('load', 'debezium.source.');
const MASKING = 'column values would be written unmasked';

/** Which tables, columns and operations are read. */
export const CAPTURE: readonly Property[] = [
  capture.supported('schema.include.list', REGEX_LIST, 'Schemas to capture: regular expressions, matched whole.'),
  capture.supported('schema.exclude.list', REGEX_LIST, 'Schemas to leave out. Not together with schema.include.list.'),
  capture.supported('table.include.list', REGEX_LIST, 'Tables to capture: regular expressions on schema.table, matched whole.', { example: 'public\\\\..*' }),
  capture.supported('table.exclude.list', REGEX_LIST, 'Tables to leave out. Not together with table.include.list.'),
  capture.supported('column.include.list', REGEX_LIST, 'Columns to capture: regular expressions on schema.table.column. Key columns always stay.'),
  capture.supported('column.exclude.list', REGEX_LIST, 'Columns to leave out. Not together with column.include.list.'),
  ...['schema', 'table', 'column'].flatMap((kind) => [
    capture.alias(`${kind}.whitelist`, `debezium.source.${kind}.include.list`, `Name of ${kind}.include.list before Debezium 1.3.`),
    capture.alias(`${kind}.blacklist`, `debezium.source.${kind}.exclude.list`, `Name of ${kind}.exclude.list before Debezium 1.3.`),
  ]),
  capture.refused('column.truncate.to.<n>.chars', 'Cut text columns.', 'column values would be written whole', 'Leave the column out with column.exclude.list.'),
  capture.refused('column.mask.with.<n>.chars', 'Replace text by asterisks.', MASKING, 'Leave the column out with column.exclude.list.'),
  capture.refused('column.mask.hash.<rest>', 'Replace values by their hash.', MASKING, 'Leave the column out with column.exclude.list.'),
  capture.accepted('column.propagate.source.type', 'Add source types to event schemas.', 'there are no event schemas'),
  capture.accepted('datatype.propagate.source.type', 'Add source types to event schemas.', 'there are no event schemas'),
  capture.refused('message.key.columns', 'Columns to use as the key instead of the primary key.', 'rows are found by the replica identity', 'Set a REPLICA IDENTITY USING INDEX on these columns.'),
  capture.supported('skip.messages.without.change', BOOLEAN, 'Drop updates that touch no captured column. Without effect on mirrored tables.', { default: 'false' }),
  capture.supported('skipped.operations', LIST, 'Operations not to apply: c, u, d, t, or none.', {
    defaultWords: '`none` with upsert, `t` without',
    touches: (s) => s.boolean('debezium.sink.iceberg.upsert'),
    differs: { debezium: 't', because: 'a mirror that keeps rows which TRUNCATE removed is not equal to its source' },
  }),
  capture.accepted('tombstones.on.delete', 'Write a tombstone after each delete.', 'tombstones are for compacted Kafka topics', { default: 'true' }),
  capture.refused('signal.data.collection', 'Table with signals to the connector.', 'signals are not read, so snapshots asked for would not run', 'Restart with other include lists to add tables.'),
  capture.refused('signal.enabled.channels', 'Where signals come from.', 'signals are not read', 'Remove it.', ['source'], { default: 'source' }),
  capture.refused('signal.<rest>', 'Settings of a signal channel.', 'signals are not read', 'Remove it.'),
  capture.accepted('notification.<rest>', 'Notifications about snapshots.', 'progress is shown by logs and metrics'),
  capture.refused('message.prefix.include.list', 'Logical decoding messages to capture.', 'messages of pg_logical_emit_message are not written to tables', 'Insert into a table instead.'),
  capture.accepted('message.prefix.exclude.list', 'Logical decoding messages to leave out.', 'none are captured'),
  capture.refused('provide.transaction.metadata', 'Write transaction boundaries.', 'there is no table for them', 'Use the field txId or lsn in transforms.unwrap.add.fields.', ['false'], { default: 'false' }),
];

/** The initial load, which Debezium calls snapshot. */
export const LOAD: readonly Property[] = [
  load.supported('snapshot.mode', oneOf(['initial', 'always', 'initial_only', 'no_data', 'when_needed'], { never: 'no_data', exported: 'initial', schema_only: 'no_data' }), 'When tables are loaded before their changes are followed: once, at each start, once and stop, not at all, or also when the position was lost.', {
    default: 'initial',
    example: 'initial',
    refusedValues: {
      configuration_based: 'not available; choose initial, initial_only, no_data, when_needed or always',
      custom: 'a Java class cannot run here; choose initial, initial_only, no_data, when_needed or always',
    },
  }),
  load.accepted('snapshot.mode.<rest>', 'Details of snapshot.mode configuration_based and custom.', 'these modes are not available'),
  load.refused('snapshot.include.collection.list', 'Captured tables that are loaded.', 'every captured table is loaded', 'Use table.include.list, or snapshot.mode=no_data for all.'),
  load.refused('snapshot.select.statement.overrides', 'Own SELECT per table.', 'the load reads whole tables', 'Use a row filter in the publication, or a view of the Iceberg table.'),
  load.refused('snapshot.select.statement.overrides.<table>', 'Own SELECT of a table.', 'the load reads whole tables', 'Use a row filter in the publication, or a view of the Iceberg table.'),
  load.refused('snapshot.query.mode', 'How the load selects.', 'the load reads whole tables', 'Remove it.', ['select_all'], { default: 'select_all' }),
  load.accepted('snapshot.query.mode.<rest>', 'Java class of snapshot.query.mode custom.', 'that mode is not available'),
  load.accepted('snapshot.fetch.size', 'Rows per fetch.', 'the load copies (COPY) and has no fetches', { default: '10240' }),
  load.supported('snapshot.max.threads', int(1, 64), 'Connections that copy in parallel, from one exported snapshot.', {
    default: '2',
    differs: { debezium: '1', because: 'parts of a table are copied from the same exported snapshot, so the result is the same' },
  }),
  load.accepted('legacy.snapshot.max.threads', 'One thread per table.', 'tables are copied in parts', { default: 'false' }),
  load.accepted('snapshot.isolation.mode', 'Isolation of the load.', 'an exported snapshot (repeatable read) is used always', { default: 'serializable' }),
  load.accepted('snapshot.locking.mode', 'Table locks during the load.', 'an exported snapshot needs none', { default: 'none' }),
  load.accepted('snapshot.locking.mode.<rest>', 'Java class of snapshot.locking.mode custom.', 'an exported snapshot needs no locks'),
  load.accepted('snapshot.lock.timeout.ms', 'Wait for table locks.', 'no locks are taken', { default: '10000' }),
  load.accepted('snapshot.delay.ms', 'Pause before the load.', 'the load starts at once', { type: duration() }),
  load.accepted('streaming.delay.ms', 'Pause between load and changes.', 'changes follow at once', { default: '0' }),
  load.accepted('snapshot.tables.order.by.row.count', 'Order of tables in the load.', 'tables are copied in parallel'),
  load.accepted('incremental.snapshot.<rest>', 'Incremental snapshots.', 'they are started by signals, which are not read'),
  load.accepted('read.only', 'Incremental snapshots without writing to the source.', 'the source is never written to'),
];
