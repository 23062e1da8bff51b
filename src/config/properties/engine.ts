import { declare, type Property } from '../property.js';

const engine = declare('engine', 'debezium.source.');
const offset = declare('offset', 'debezium.source.');
const BUFFERS = 'memory is bounded by bytes: walberg.buffer.max-bytes';
const POSITION = 'the position is stored with the data, in each table';
const HISTORY = 'Postgres needs no schema history';

/** Queues, threads and retries of the Java engine. */
export const ENGINE: readonly Property[] = [
  engine.accepted('max.batch.size', 'Events per batch.', 'commits follow walberg.commit.interval.ms and buffer sizes', { default: '2048' }),
  engine.accepted('max.queue.size', 'Events in the queue.', BUFFERS, { default: '8192' }),
  engine.accepted('max.queue.size.in.bytes', 'Bytes in the queue.', BUFFERS, { default: '0' }),
  engine.accepted('poll.interval.ms', 'Pause between polls.', 'the stream is pushed, not polled', { default: '500' }),
  engine.accepted('poll.dispatch.interval.ms', 'Pause between dispatches.', 'the stream is pushed, not polled', { default: '0' }),
  engine.accepted('heartbeat.interval.ms', 'Pause between heartbeats.', 'the slot moves with the keepalives of the server, also when the captured tables are quiet', { default: '0' }),
  engine.accepted('heartbeat.action.query', 'SQL run on the source at each heartbeat.', 'the slot moves without it, and the source is never written to'),
  engine.accepted('topic.heartbeat.prefix', 'Topic of heartbeats.', 'no heartbeats are written', { default: '__debezium-heartbeat' }),
  engine.accepted('topic.heartbeat.name', 'Topic of heartbeats.', 'no heartbeats are written'),
  engine.refused('topic.heartbeat.skip-consuming', 'Keep heartbeats out of the tables.', 'there are no heartbeats to write', 'Remove it.', ['true'], { default: 'true' }),
  engine.accepted('xmin.fetch.interval.ms', 'How often to read xmin.', 'xmin is not used', { default: '0' }),
  engine.refused('event.processing.failure.handling.mode', 'What to do with an event that fails.', 'skipping a change would make the table differ from its source', 'Use fail; see walberg.special-values for values that Iceberg cannot hold.', ['fail'], { default: 'fail' }),
  engine.accepted('errors.max.retries', 'Restarts after transient errors.', 'transient errors are retried without limit, others stop at once', { default: '-1' }),
  engine.accepted('retriable.restart.connector.wait.ms', 'Pause before a restart.', 'walberg.retry.initial.ms and walberg.retry.max.ms set it', { default: '10000' }),
  engine.accepted('custom.metric.tags', 'Tags of JMX metrics.', 'metrics are served at /q/metrics'),
  engine.accepted('custom.sanitize.pattern', 'Keys to hide in logs.', 'secrets are never logged'),
  engine.accepted('statistics.metrics.enabled', 'JMX statistics.', 'metrics are served at /q/metrics', { default: 'true' }),
  engine.accepted('guardrail.collections.max', 'Limit of captured tables.', 'not checked', { default: '0' }),
  engine.accepted('guardrail.collections.limit.action', 'What to do beyond that limit.', 'not checked', { default: 'warn' }),
  engine.accepted('extended.headers.enabled', 'Event headers.', 'there are no event headers', { default: 'true' }),
  engine.accepted('record.processing.<rest>', 'Threads of the engine.', 'one thread reads, walberg.encode.workers write'),
  engine.accepted('task.management.timeout.ms', 'Start and stop of the engine.', 'walberg.shutdown.timeout.ms limits the stop', { default: '180000' }),
  engine.accepted('executor.shutdown.timeout.ms', 'Stop of the engine.', 'walberg.shutdown.timeout.ms limits the stop'),
  engine.accepted('include.schema.changes', 'Schema change events.', 'tables follow their source'),
  engine.accepted('openlineage.integration.<rest>', 'Lineage events.', 'none are sent'),
];

/** Where Debezium stores positions; here they are in the tables. */
export const OFFSET: readonly Property[] = [
  offset.accepted('offset.storage', 'Java class that stores offsets.', POSITION),
  offset.accepted('offset.storage.file.filename', 'Offset file.', `${POSITION}; an existing file is not read, so a table without a position is loaded first`),
  offset.refused('offset.storage.iceberg.migrate-offset-file', 'Import of an offset file.', 'offsets of other programs are not imported', 'Remove it: tables are loaded first, then the slot is followed.'),
  offset.accepted('offset.storage.<rest>', 'Settings of the offset store.', POSITION),
  offset.accepted('offset.flush.interval.ms', 'How often offsets are stored.', 'the position is committed with the data', { default: '60000' }),
  offset.accepted('offset.flush.timeout.ms', 'Limit of storing offsets.', 'the position is committed with the data', { default: '5000' }),
  offset.accepted('offset.commit.policy', 'When offsets are stored.', 'the position is committed with the data'),
  offset.refused('offset.mismatch.strategy', 'What to do when slot and offset differ.', 'trusting the slot would skip changes', 'Remove it: a slot ahead of the tables is an error that names the way out.', ['no_validation', 'trust_offset'], { default: 'no_validation' }),
  offset.refused('lsn.flush.mode', 'Who confirms positions to the slot.', 'with manual the slot would hold back WAL for ever', 'Remove it: the slot is confirmed up to what is committed to the tables.', ['connector', 'connector_and_driver'], { default: 'connector' }),
  offset.refused('flush.lsn.source', 'Old form of lsn.flush.mode.', 'with false the slot would hold back WAL for ever', 'Remove it.', ['true'], { default: 'true' }),
  offset.accepted('schema.history.internal', 'Java class that stores schema history.', HISTORY),
  offset.accepted('schema.history.internal.<rest>', 'Settings of the schema history.', HISTORY),
  offset.accepted('database.history', 'Old name of schema.history.internal.', HISTORY),
  offset.accepted('database.history.<rest>', 'Old name of schema.history.internal.', HISTORY),
];
