import { availableParallelism } from 'node:os';
import { declare, duration, int, oneOf, size, text, type Property } from '../property.js';

const { supported } = declare('own', 'walberg.');
const MIB = 1024 * 1024;

/** Worker threads when unset: all cores but the one that reads the stream, and no more than Parquet encoding can feed. */
export function defaultEncodeWorkers(cores: number = availableParallelism()): number {
  return Math.min(4, Math.max(1, cores - 1));
}

/** What Debezium has no name for. */
export const OWN: readonly Property[] = [
  supported('commit.interval.ms', duration(1), 'Longest time from accepting a change to committing it. Shorter gives fresher tables and more snapshots and files.', { default: '10000', example: '10s' }),
  supported('commit.retries', int(1, 1000), 'Attempts of one catalog commit before the session starts again from the slot.', { default: '10' }),
  supported('buffer.max-bytes', size(8 * MIB), 'Bytes of changes held in memory, all tables together. Reading pauses above it.', { default: '128MiB', example: '128MiB' }),
  supported('buffer.segment-bytes', size(MIB), 'Bytes of changes of one table that are encoded as one file.', { default: '32MiB' }),
  supported('encode.workers', text(/auto|[1-9][0-9]?/, 'auto, or 1 to 99'), 'Threads that encode Parquet. auto = cores less one, at least 1 and at most 4.', { default: 'auto' }),
  supported('parquet.row-group-rows', int(1000, 100_000_000), 'Rows of one row group.', { default: '1000000' }),
  supported('parquet.compression', text(/(zstd|gzip)(:[0-9]{1,2})?|snappy|none|uncompressed/, 'zstd, zstd:LEVEL, gzip, gzip:LEVEL, snappy or none'), 'Compression of data and delete files. A level is checked and has no effect: the Parquet library always takes the default of the codec.', { default: 'zstd' }),
  supported('load.chunk-pages', int(1, 0x7fffffff), 'Pages (8 KiB) of a source table that one COPY of the load reads.', { default: '8192' }),
  supported('slot.guard', oneOf(['off', 'strict']), 'strict notices at each start that the slot was dropped and created again, or advanced by hand: changes that were skipped are refused (SLOT_MOVED) instead of missed. It writes a logical message into the WAL of the source, at most every 10 s, and the slot is confirmed only up to the newest of them.', { default: 'off' }),
  supported('shutdown.timeout.ms', duration(1), 'Longest time of a clean stop, which commits what is buffered.', { default: '25000' }),
  supported('retry.initial.ms', duration(1), 'First pause after a transient error; it doubles, with jitter.', { default: '500' }),
  supported('retry.max.ms', duration(1), 'Longest pause after transient errors.', { default: '30000' }),
  supported('array-handling', oneOf(['list', 'text']), 'Arrays: an Iceberg list of what the elements are, or a string with the text Postgres shows. Key columns, and columns declared with several dimensions, are strings either way. Lower bounds are not kept in a list.', { default: 'list' }),
  supported('special-values', oneOf(['fail', 'null', 'clamp']), 'Values the Iceberg type cannot hold (infinity, NaN in numeric, times out of range, 24:00, arrays of several dimensions in a list): stop, write NULL, or write the nearest value (NULL where there is none).', {
    default: 'fail',
    example: 'fail',
    differs: { debezium: 'infinity becomes a very large number', because: 'a value is not changed unless asked', note: 'is fail: infinity and the like stop Walberg, in Debezium infinity becomes a very large number; a value is not changed unless asked' },
  }),
];
