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
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (config.logJson) return pino(options, destination);
  const prettify = prettyFactory({ colorize: destination.isTTY ?? process.stdout.isTTY, translateTime: 'SYS:yyyy-mm-dd HH:MM:ss.l', singleLine: true });
  // Not pino-pretty's stream: it is asynchronous, and its last lines are lost in a crash.
  return pino(options, { write: (line: string) => destination.write(prettify(line)) });
}

/** What a log line says about an error: no row values, and no stack unless it is a defect. */
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
  for (let cause = error.cause; cause instanceof Error && messages.length < 5; cause = cause.cause) messages.push(cause.message);
  return messages;
}
