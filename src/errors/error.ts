import { ERROR_CODES, type ErrorCode, type ErrorPolicy } from './codes.js';

/** Values allowed in error context: identifiers, counts and positions, never row values. */
export type ErrorContext = Readonly<Record<string, string | number | bigint | boolean | undefined>>;

/**
 * The one error class. Carries a code (which decides the policy), the place (`context`), a remedy for the operator
 * (`hint`, the code's general remedy unless a better one is known) and the cause.
 */
export class WalbergError extends Error {
  readonly code: ErrorCode;
  readonly context: ErrorContext;
  readonly hint: string;

  constructor(code: ErrorCode, message: string, options: { context?: ErrorContext; hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'WalbergError';
    this.code = code;
    this.context = options.context ?? {};
    this.hint = options.hint ?? ERROR_CODES[code].remedy;
  }

  get policy(): ErrorPolicy {
    return ERROR_CODES[this.code].policy;
  }
}

/** True when `error` is a WalbergError, optionally of one of the given codes. */
export function isWalbergError(error: unknown, ...codes: ErrorCode[]): error is WalbergError {
  return error instanceof WalbergError && (codes.length === 0 || codes.includes(error.code));
}

/** Wraps anything thrown that is not ours yet. */
export function asWalbergError(error: unknown, code: ErrorCode = 'INTERNAL', context?: ErrorContext): WalbergError {
  if (error instanceof WalbergError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new WalbergError(code, message, { cause: error, context });
}
