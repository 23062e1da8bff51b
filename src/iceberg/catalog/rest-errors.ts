import { WalbergError, type ErrorContext } from '../../errors/error.js';
import { parseJson } from '../spec/json.js';
import type { HttpFailure, HttpReply } from './rest-http.js';

/** Body of an error reply (`ErrorModel` of the OpenAPI file). `typed` is false for bodies of proxies and other servers. */
export interface ErrorBody {
  readonly message: string;
  readonly type: string;
  readonly typed: boolean;
}

/** Longest piece of a server's message that is passed on. */
const MESSAGE_LIMIT = 500;

/** Reads an error body; what is not JSON of the expected shape gives no message and no type. */
export function errorBody(text: string): ErrorBody {
  const none: ErrorBody = { message: '', type: '', typed: false };
  let parsed: unknown;
  try {
    parsed = parseJson(text);
  } catch {
    return none;
  }
  const error = (parsed as { error?: unknown } | null)?.error;
  // An OAuth2 error is { error, error_description } (RFC 6749, section 5.2).
  if (typeof error === 'string') {
    const description = (parsed as { error_description?: unknown }).error_description;
    return { message: short(typeof description === 'string' ? description : error), type: error, typed: true };
  }
  if (typeof error !== 'object' || error === null) return none;
  const { message, type } = error as { message?: unknown; type?: unknown };
  return { message: short(typeof message === 'string' ? message : ''), type: typeof type === 'string' ? type : '', typed: typeof type === 'string' && type !== '' };
}

function short(text: string): string {
  return text.length > MESSAGE_LIMIT ? `${text.slice(0, MESSAGE_LIMIT)}…` : text;
}

/** "409 CommitFailedException: message", as far as known. */
export function replyText(reply: HttpReply): string {
  const { type, message } = errorBody(reply.body);
  const redirect = reply.status >= 300 && reply.status < 400 && reply.redirect !== undefined ? ` to ${reply.redirect}` : '';
  return `${reply.status}${redirect}${type === '' ? '' : ` ${type}`}${message === '' ? '' : `: ${message}`}`;
}

/** A definite no that repeating does not change. */
export function refused(reply: HttpReply, doing: string, context: ErrorContext, hint?: string): WalbergError {
  const known = reply.status >= 300 && reply.status < 400 ? 'Set debezium.sink.iceberg.uri to the address the server redirects to.' : hint;
  return new WalbergError('CATALOG_REQUEST', `The catalog refused to ${doing}: ${replyText(reply)}`, { context: { ...context, status: reply.status }, hint: known });
}

/** 401, 403 and 419 after the token was renewed, or without a way to renew it. */
export function denied(reply: HttpReply, doing: string, context: ErrorContext): WalbergError {
  return new WalbergError('CATALOG_AUTH', `The catalog does not allow to ${doing}: ${replyText(reply)}`, { context: { ...context, status: reply.status } });
}

/** A temporary no: 429, and 5xx to a request that changes nothing. */
export function unavailable(reply: HttpReply, doing: string, context: ErrorContext): WalbergError {
  return new WalbergError('CATALOG_UNAVAILABLE', `The catalog cannot ${doing} now: ${replyText(reply)}`, {
    context: { ...context, status: reply.status, retryAfterMs: reply.retryAfterMs },
  });
}

/** No reply to a request that has changed nothing, or did not leave this process. */
export function unreachable(failure: HttpFailure, doing: string, context: ErrorContext): WalbergError {
  return new WalbergError(failure.tls ? 'CATALOG_TLS' : 'CATALOG_UNREACHABLE', `No reply from the catalog to ${doing}: ${failure.reason}`, { context, cause: failure.cause });
}

/** The outcome of a change is open: it may be applied already, later, or never. */
export function unknownOutcome(what: string, doing: string, context: ErrorContext, cause?: unknown): WalbergError {
  return new WalbergError('COMMIT_UNKNOWN', `It is not known whether the catalog did ${doing}: ${what}`, { context, cause });
}
