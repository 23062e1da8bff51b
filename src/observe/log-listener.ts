import { formatLsn } from '../postgres/lsn.js';
import { isWalbergError, type WalbergError } from '../errors/error.js';
import type { PipelineListener } from './events.js';
import { describeError, type Logger } from './logging.js';

const LOAD_PERIOD_MS = 10_000;
const REPLACED_PERIOD_MS = 60_000;

/** Writes the events people want to read: one line per commit, repeated things rarely, row values never. */
export function logListener(logger: Logger, now: () => number = Date.now): PipelineListener {
  const loads = new Throttle(LOAD_PERIOD_MS, now);
  const replaced = new Throttle(REPLACED_PERIOD_MS, now);
  let walStatus: string | undefined;
  let paused = false;
  return {
    sessionStarted: ({ slot, publication, startLsn, tables }) => logger.info({ slot, publication, lsn: formatLsn(startLsn), tables: tables.length }, `streaming ${count(tables.length, 'table')} from slot ${slot}`),
    sessionEnded: ({ error, retryInMs }) => {
      if (error === undefined) logger.info('session ended');
      // The end of the process is told once, by who ends it.
      else if (retryInMs === undefined && isWalbergError(error) && endsProcess(error)) logger.debug({ code: error.code }, 'session ended');
      else if (retryInMs === undefined) logger.warn(describeError(error), `session ended during the stop; what was not committed is read again at the next start: ${error.message}`);
      else logger.warn({ ...describeError(error), retryInMs }, `session ended, again in ${seconds(retryInMs)}: ${error.message}`);
    },
    tableReady: ({ table, target, mode, position, note }) =>
      logger.info({ table, target, mode, lsn: position === undefined ? undefined : formatLsn(position) }, `${table} → ${target} (${mode})${note === undefined ? '' : `: ${note}`}`),
    loadStarted: ({ table, estimatedRows, estimatedBytes }) => {
      loads.reset(table);
      logger.info({ table, estimatedRows, estimatedBytes }, `loading ${table}, about ${count(estimatedRows, 'row')}`);
    },
    loadProgress: ({ table, rows, bytes, chunksDone, chunksTotal }) => {
      if (loads.allows(table)) logger.info({ table, rows, bytes, chunksDone, chunksTotal }, `loading ${table}: ${count(rows, 'row')}, ${chunksTotal === 0 ? 0 : Math.floor((100 * chunksDone) / chunksTotal)} %`);
    },
    loadFinished: ({ table, rows, durationMs, lsn }) => logger.info({ table, rows, durationMs, lsn: formatLsn(lsn) }, `loaded ${table}: ${count(rows, 'row')} in ${seconds(durationMs)}`),
    commitStarted: ({ table, endLsn, rows }) => logger.debug({ table, lsn: formatLsn(endLsn), rows }, 'commit started'),
    commitFinished: (c) =>
      logger.info(
        { table: c.table, snapshot: c.snapshotId.toString(), sequence: c.sequenceNumber.toString(), lsn: formatLsn(c.endLsn), dataFiles: c.dataFiles, deleteFiles: c.deleteFiles, bytes: c.bytes, records: c.records, deletes: c.deletes, durationMs: c.durationMs, attempts: c.attempts },
        `committed ${c.table}: ${count(c.records, 'record')}, ${count(c.deletes, 'delete')} in ${seconds(c.durationMs)}`,
      ),
    commitRetried: ({ table, attempt, error }) => logger.warn({ table, attempt, ...describeError(error) }, `commit of ${table} repeated: ${error.message}`),
    confirmed: (lsn) => logger.trace({ lsn: formatLsn(lsn) }, 'confirmed'),
    sourceStatus: (status) => {
      if (status.walStatus === walStatus) return;
      walStatus = status.walStatus;
      // Danger comes as a warning.
      logger.debug({ walStatus, retainedBytes: status.retainedBytes?.toString(), safeBytes: status.safeWalSizeBytes?.toString() }, `the slot is ${walStatus}`);
    },
    bufferChanged: (bytes, isPaused) => {
      if (isPaused === paused) return;
      paused = isPaused;
      logger.debug({ bytes }, paused ? 'reading waits for the buffer' : 'reading goes on');
    },
    valuesReplaced: ({ table, column, count: n, policy }) => {
      if (replaced.allows(`${table}.${column}`)) logger.warn({ table, column, count: n, policy }, `${count(n, 'value')} of ${table}.${column} replaced (walberg.special-values=${policy})`);
    },
    warning: ({ message, context }) => logger.warn(context === undefined ? {} : { context: plain(context) }, message),
  };
}

/** Whether an error without another try ends the process. Others are without one only because a stop has begun, and end with it. */
function endsProcess(error: WalbergError): boolean {
  return error.policy === 'stop' || error.policy === 'config' || error.code === 'SLOT_TAKEN';
}

/** Allows one of each name per period. */
class Throttle {
  readonly #periodMs: number;
  readonly #now: () => number;
  readonly #last = new Map<string, number>();

  constructor(periodMs: number, now: () => number) {
    this.#periodMs = periodMs;
    this.#now = now;
  }

  allows(name: string): boolean {
    const now = this.#now();
    const last = this.#last.get(name);
    if (last !== undefined && now - last < this.#periodMs) return false;
    this.#last.set(name, now);
    return true;
  }

  /** The next one comes a period from now. */
  reset(name: string): void {
    this.#last.set(name, this.#now());
  }
}

const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
const seconds = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
const plain = (context: Readonly<Record<string, unknown>>): Record<string, unknown> => Object.fromEntries(Object.entries(context).map(([key, value]) => [key, typeof value === 'bigint' ? value.toString() : value]));
