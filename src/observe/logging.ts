import { pino, type DestinationStream, type Logger } from 'pino';
import { prettyFactory } from 'pino-pretty';
import type { ObserveConfig } from '../config/config.js';
import { isWalbergError } from '../errors/error.js';

export type { Logger };

/**
 * A pino logger on standard output, or on `destination`. Lines are written at once, so that the last one before a crash is
 * there. Numbers of 64 bits are written in full.
 */
export function createLogger(config: Pick<ObserveConfig, 'logLevel' | 'logJson'>, destination: DestinationStream & { isTTY?: boolean } = pino.destination({ dest: 1, sync: true })): Logger {
  const options = {
    level: config.logLevel,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: (fields: Record<string, unknown>) => rounded(fields) as Record<string, unknown> },
  };
  if (config.logJson) return pino(options, destination);
  const prettify = prettyFactory({ colorize: destination.isTTY ?? process.stdout.isTTY, translateTime: 'SYS:yyyy-mm-dd HH:MM:ss.l', singleLine: true, ignore: 'error' });
  // The message of a line has the error's in it, so people do not need the field. Not pino-pretty's stream: it is asynchronous, and its last lines are lost in a crash.
  return pino(options, { write: (line: string) => destination.write(prettify(line)) });
}

/** Numbers as people and machines want them: milliseconds whole, other fractions to three digits. */
function rounded(value: unknown, name = ''): unknown {
  if (typeof value === 'number' && Number.isFinite(value) && !Number.isInteger(value)) return name.endsWith('Ms') ? Math.round(value) : Number(value.toFixed(3));
  if (Array.isArray(value)) return value.map((item) => rounded(item, name));
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, rounded(field, key)]));
}

/** What a log line says about an error: no row values, no message twice, and no stack unless it is a defect. */
export function describeError(error: unknown): Record<string, unknown> {
  if (isWalbergError(error)) {
    const causes = causesOf(error);
    return {
      code: error.code,
      error: error.message,
      ...(Object.keys(error.context).length > 0 ? { context: error.context } : {}),
      hint: error.hint,
      ...(causes.length > 0 ? { causes } : {}),
      ...(error.code === 'INTERNAL' ? { stack: error.stack } : {}),
    };
  }
  return error instanceof Error ? { error: error.message, stack: error.stack } : { error: String(error) };
}

function causesOf(error: Error): string[] {
  const messages: string[] = [];
  for (let cause = error.cause, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    const { message } = cause;
    if (![error.message, ...messages].some((told) => told.includes(message))) messages.push(message);
  }
  return messages;
}
