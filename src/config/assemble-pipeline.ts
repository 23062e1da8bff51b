import type { Checks } from './checks.js';
import type { PipelineConfig } from './config.js';
import { defaultEncodeWorkers } from './properties/own.js';
import type { Settings } from './settings.js';
import { compressionOf } from './table-properties.js';

/** The pipeline part of the configuration. */
export function assemblePipeline(settings: Settings, checks: Checks, tableProperties: Readonly<Record<string, string>>): PipelineConfig {
  const bufferMaxBytes = settings.number('walberg.buffer.max-bytes');
  const segmentBytes = settings.number('walberg.buffer.segment-bytes');
  if (segmentBytes > bufferMaxBytes && !checks.reported('walberg.buffer.segment-bytes', 'walberg.buffer.max-bytes')) checks.invalid('walberg.buffer.segment-bytes', 'is larger than walberg.buffer.max-bytes.', 'Lower it, or raise walberg.buffer.max-bytes.');
  const retryInitialMs = settings.number('walberg.retry.initial.ms');
  const retryMaxMs = settings.number('walberg.retry.max.ms');
  if (retryInitialMs > retryMaxMs && !checks.reported('walberg.retry.initial.ms', 'walberg.retry.max.ms')) checks.invalid('walberg.retry.initial.ms', 'is larger than walberg.retry.max.ms.', 'Lower it, or raise walberg.retry.max.ms.');
  const workers = settings.string('walberg.encode.workers')!;
  return {
    commitIntervalMs: commitInterval(settings, checks),
    bufferMaxBytes,
    segmentBytes,
    encodeWorkers: workers === 'auto' ? defaultEncodeWorkers() : Number(workers),
    rowGroupRows: settings.number('walberg.parquet.row-group-rows'),
    compression: compression(settings, checks, tableProperties),
    loadChunkPages: settings.number('walberg.load.chunk-pages'),
    slotGuard: settings.choice('walberg.slot.guard'),
    shutdownTimeoutMs: settings.number('walberg.shutdown.timeout.ms'),
    retryInitialMs,
    retryMaxMs,
    commitRetries: settings.number('walberg.commit.retries'),
  };
}

/** MaxBatchSizeWait is the Java sink's way to ask for fewer, larger commits; its longest wait is a commit interval. */
function commitInterval(settings: Settings, checks: Checks): number {
  const own = 'walberg.commit.interval.ms';
  const wait = 'debezium.sink.batch.batch-size-wait';
  const waits = settings.choice(wait) === 'MaxBatchSizeWait';
  if (!settings.isSet(own) && waits) {
    const ms = settings.number(`${wait}.max-wait-ms`);
    checks.note('different', wait, `sets the commit interval to ${ms} ms (batch-size-wait.max-wait-ms); ${own} sets it directly.`);
    return ms;
  }
  if (waits) checks.note('no-effect', wait, `has no effect: ${own} is set.`);
  if (settings.isSet(`${wait}.max-wait-ms`) && !waits && !checks.reported(wait)) checks.note('no-effect', `${wait}.max-wait-ms`, 'has no effect without batch-size-wait=MaxBatchSizeWait.');
  return settings.number(own);
}

const LEVELS: Readonly<Record<string, readonly [min: number, max: number]>> = { zstd: [1, 22], gzip: [1, 9] };

function compression(settings: Settings, checks: Checks, tableProperties: Readonly<Record<string, string>>): PipelineConfig['compression'] {
  const own = 'walberg.parquet.compression';
  const ofTables = settings.isSet(own) ? undefined : compressionOf(tableProperties);
  const [name, levelText] = (ofTables ?? settings.string(own)!).toLowerCase().split(':');
  const codec = name === 'uncompressed' ? 'none' : name;
  if (codec !== 'zstd' && codec !== 'gzip' && codec !== 'snappy' && codec !== 'none') {
    checks.refused(own, `is not set, and write.parquet.compression-codec asks for ${name}, which is not available.`, 'Use zstd, gzip, snappy or uncompressed.');
    return { codec: 'zstd' };
  }
  // Levels are numbers or nothing: the pattern of the property says so for one of the two sources only.
  const level = levelText === undefined ? undefined : Number(levelText);
  const range = LEVELS[codec];
  if (level !== undefined && range !== undefined && !(Number.isInteger(level) && level >= range[0] && level <= range[1])) {
    checks.invalid(own, `has a level that ${codec} has not.`, `Expected: ${codec}:${range[0]} to ${codec}:${range[1]}.`);
  }
  return level === undefined || range === undefined ? { codec } : { codec, level };
}
