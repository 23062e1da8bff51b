import { asWalbergError, type ErrorContext, WalbergError } from '../errors/error.js';
import type { ErrorCode } from '../errors/codes.js';
import type { EncodedFile } from './encode-types.js';

/** Answer of an encoding thread to one request. `wasmBytes`: its WebAssembly memory after the job. */
export type EncodeAnswer = { readonly wasmBytes: number } & ({ readonly file: EncodedFile } | { readonly error: PlainError });

/** A WalbergError as plain data, because classes do not survive the way between threads. */
export interface PlainError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
  readonly context: ErrorContext;
  readonly stack: string | undefined;
  readonly cause: string | undefined;
}

/** What a thrown thing looks like on the way. */
export function toPlain(thrown: unknown): PlainError {
  const error = asWalbergError(thrown);
  const cause = error.cause instanceof Error ? error.cause.stack ?? error.cause.message : undefined;
  return { code: error.code, message: error.message, hint: error.hint, context: error.context, stack: error.stack, cause };
}

/** The error as it was thrown, with the stack of its own thread. */
export function fromPlain(plain: PlainError): WalbergError {
  const error = new WalbergError(plain.code, plain.message, { context: plain.context, hint: plain.hint, cause: plain.cause === undefined ? undefined : new Error(plain.cause) });
  // Where it went wrong is in the other thread.
  if (plain.stack !== undefined) error.stack = plain.stack;
  return error;
}

/** The view itself when it owns its whole buffer and can travel, else a copy that does. */
export function owned<T extends Uint8Array | Int32Array>(view: T): T {
  return view.byteLength === view.buffer.byteLength && view.buffer instanceof ArrayBuffer ? view : (view.slice() as T);
}
