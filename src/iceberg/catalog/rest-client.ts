import { randomBytes } from 'node:crypto';
import pRetry from 'p-retry';
import { isWalbergError, type ErrorContext, type WalbergError } from '../../errors/error.js';
import { Authorizer } from './rest-auth.js';
import { denied, refused, replyText, unavailable, unknownOutcome, unreachable } from './rest-errors.js';
import { exchange, type HttpFailure, type HttpOutcome, type HttpReply } from './rest-http.js';
import type { RestSettings } from './rest-settings.js';

/** Times in milliseconds. */
export interface RestOptions {
  /** One request, its reply included. Default 60,000, or `rest.client.socket-timeout-ms`. */
  readonly timeoutMs?: number;
  /** Repetitions of a request. Default 4. */
  readonly retries?: number;
  /** First and longest wait between repetitions. Default 100 and 10,000. */
  readonly retryMinMs?: number;
  readonly retryMaxMs?: number;
  /** The longest `Retry-After` that is waited for here; a longer one is left to the caller. Default 30,000. */
  readonly retryAfterMaxMs?: number;
  /** Clock of token expiry, for tests. */
  readonly now?: () => number;
}

export interface RestCall {
  readonly method: 'GET' | 'POST';
  /** Below the base address, query included. */
  readonly path: string;
  readonly body?: string;
  /** Infinitive for messages: "load table shop.orders". */
  readonly doing: string;
  /**
   * What repeating means. `none`: changes nothing. `repeatable`: doing it twice gives the same state. `commit`: must not
   * be repeated unless the server is known not to have done it.
   */
  readonly effect: 'none' | 'repeatable' | 'commit';
  readonly context?: ErrorContext;
}

/** Progress of one call over its attempts. */
interface CallState {
  again: boolean;
  waitMs: number;
  renewed: boolean;
  /** Set once an attempt of a commit may have been applied: from then on no refusal is definite. */
  open: string | undefined;
  readonly key: string | undefined;
}

/** Requests to a REST catalog: authorisation, repetition, and what a missing or bad reply means. */
export class RestClient {
  readonly #settings: RestSettings;
  readonly #authorizer: Authorizer;
  readonly #closing = new AbortController();
  readonly #limits: Required<Omit<RestOptions, 'now'>>;

  constructor(settings: RestSettings, options: RestOptions = {}) {
    this.#settings = settings;
    this.#limits = {
      timeoutMs: options.timeoutMs ?? settings.timeoutMs ?? 60_000,
      retries: options.retries ?? 4,
      retryMinMs: options.retryMinMs ?? 100,
      retryMaxMs: options.retryMaxMs ?? 10_000,
      retryAfterMaxMs: options.retryAfterMaxMs ?? 30_000,
    };
    this.#authorizer = new Authorizer(settings.auth, { ...this.#limits, signal: this.#closing.signal, now: options.now });
  }

  /**
   * The server's reply: any 2xx, 3xx or 4xx except those about authorisation and load, which are errors here.
   *
   * @throws CATALOG_AUTH, CATALOG_UNAVAILABLE, CATALOG_UNREACHABLE, CATALOG_TLS, CATALOG_REQUEST (501);
   *   COMMIT_UNKNOWN for a commit that may have been applied by this attempt or an earlier one
   */
  async call(call: RestCall): Promise<HttpReply> {
    const state: CallState = { again: false, waitMs: 0, renewed: false, open: undefined, key: call.effect === 'commit' && this.#settings.idempotent ? uuidV7() : undefined };
    try {
      const reply = await pRetry(() => this.#attempt(call, state), {
        retries: this.#limits.retries, minTimeout: this.#limits.retryMinMs, maxTimeout: this.#limits.retryMaxMs, factor: 2, randomize: true,
        onFailedAttempt: async ({ retriesLeft }) => {
          if (state.again && retriesLeft > 0) await this.#pause(state.waitMs);
        },
        shouldRetry: () => state.again && !this.#closing.signal.aborted,
      });
      if (state.open !== undefined && !isSuccess(reply)) throw unknownOutcome(`first ${state.open}, then ${replyText(reply)}`, call.doing, call.context ?? {});
      return reply;
    } catch (error) {
      if (state.open !== undefined && !isWalbergError(error, 'COMMIT_UNKNOWN')) throw unknownOutcome(state.open, call.doing, call.context ?? {}, error);
      throw error;
    }
  }

  /** Aborts what is under way; a commit under way ends with COMMIT_UNKNOWN. */
  close(): void {
    this.#closing.abort();
  }

  async #attempt(call: RestCall, state: CallState): Promise<HttpReply> {
    state.again = false;
    state.waitMs = 0;
    let used = await this.#authorizer.header();
    let outcome = await this.#send(call, used, state);
    if (isDenied(outcome) && !state.renewed && (await this.#authorizer.renew(used))) {
      state.renewed = true;
      used = await this.#authorizer.header();
      outcome = await this.#send(call, used, state);
    }
    return this.#judge(call, outcome, state);
  }

  #send(call: RestCall, authorization: string | undefined, state: CallState): Promise<HttpOutcome> {
    const headers: Record<string, string> = { accept: 'application/json', 'user-agent': 'walberg', ...lowerCased(this.#settings.headers) };
    if (authorization !== undefined) headers.authorization = authorization;
    if (call.body !== undefined) headers['content-type'] = 'application/json';
    if (state.key !== undefined) headers['idempotency-key'] = state.key;
    return exchange({ method: call.method, url: this.#settings.uri + call.path, headers, body: call.body }, { timeoutMs: this.#limits.timeoutMs, signal: this.#closing.signal });
  }

  #judge(call: RestCall, outcome: HttpOutcome, state: CallState): HttpReply {
    const { doing, effect } = call;
    const context = call.context ?? {};
    if (outcome.kind !== 'reply') throw this.#judgeFailure(call, outcome, state);
    if (isDenied(outcome)) throw denied(outcome, doing, context);
    const { status } = outcome;
    if (status === 429) {
      // Turned away before anything was done.
      this.#repeatAfter(outcome, state);
      throw unavailable(outcome, doing, context);
    }
    if (status === 501 || status === 505) throw refused(outcome, doing, context, 'The server does not know this request.');
    if (status !== 408 && status < 500) return outcome;
    if (effect !== 'commit') {
      this.#repeatAfter(outcome, state);
      throw unavailable(outcome, doing, context);
    }
    state.open ??= replyText(outcome);
    // The OpenAPI file allows to repeat a commit after 503 when the server says when; with a key it is safe in any case.
    if (state.key !== undefined || (status === 503 && outcome.retryAfterMs !== undefined)) this.#repeatAfter(outcome, state);
    throw unknownOutcome(replyText(outcome), doing, context);
  }

  #judgeFailure(call: RestCall, failure: HttpFailure, state: CallState): WalbergError {
    const { doing, effect, context = {} } = call;
    if (failure.kind === 'not-sent') {
      state.again = !failure.tls;
      return unreachable(failure, doing, context);
    }
    state.again = effect !== 'commit' || state.key !== undefined;
    if (effect !== 'commit') return unreachable(failure, doing, context);
    state.open ??= failure.reason;
    return unknownOutcome(failure.reason, doing, context, failure.cause);
  }

  #repeatAfter(reply: HttpReply, state: CallState): void {
    state.waitMs = reply.retryAfterMs ?? 0;
    state.again = state.waitMs <= this.#limits.retryAfterMaxMs;
  }

  /** Waits, but not longer than until close. */
  async #pause(ms: number): Promise<void> {
    const signal = this.#closing.signal;
    if (ms <= 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener('abort', end);
    });
  }
}

/** True for 2xx. */
export function isSuccess(reply: HttpReply): boolean {
  return reply.status >= 200 && reply.status < 300;
}

/** 401 and 419 say that the token is no good (any more); some servers say 403. */
function isDenied(outcome: HttpOutcome): boolean {
  return outcome.kind === 'reply' && (outcome.status === 401 || outcome.status === 403 || outcome.status === 419);
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** A time-ordered UUID (RFC 9562, version 7), which `Idempotency-Key` asks for. */
export function uuidV7(nowMs = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = 0x70 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

