import pRetry from 'p-retry';
import { WalbergError } from '../../errors/error.js';
import { parseJson } from '../spec/json.js';
import { errorBody, replyText, unavailable, unreachable } from './rest-errors.js';
import { exchange, type HttpReply } from './rest-http.js';

export interface AuthSettings {
  /** Bearer token to begin with. */
  readonly token?: string;
  /** `client-id:client-secret`, or a secret alone. */
  readonly credential?: string;
  /** Token endpoint, absolute. */
  readonly tokenUri: string;
  readonly scope: string;
  /** Further form fields: `audience`, `resource`. */
  readonly fields: Readonly<Record<string, string>>;
  /** Headers of the token request. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface AuthLimits {
  readonly timeoutMs: number;
  readonly retries: number;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  readonly signal?: AbortSignal;
  readonly now?: () => number;
}

/** A token is renewed this long before it ends, or after nine tenths of its life when that is later. */
const RENEW_BEFORE_MS = 60_000;
const DOING = 'get a token';

interface Token {
  readonly header: string;
  /** Time to renew, in the clock of `now`; undefined: only when the server refuses it. */
  readonly renewAtMs?: number;
}

/**
 * The Authorization header of requests to a REST catalog: a given bearer token, or one fetched with OAuth2 client
 * credentials (RFC 6749, section 4.4), renewed before it ends and when the server refuses it. Concurrent requests share
 * one token request.
 */
export class Authorizer {
  readonly #settings: AuthSettings;
  readonly #limits: AuthLimits;
  readonly #now: () => number;
  #token: Token | undefined;
  #fetching: Promise<Token> | undefined;

  constructor(settings: AuthSettings, limits: AuthLimits) {
    this.#settings = settings;
    this.#limits = limits;
    this.#now = limits.now ?? Date.now;
    if (settings.token !== undefined) this.#token = { header: `Bearer ${settings.token}` };
  }

  /** Value of the Authorization header, or undefined when neither token nor credential is configured. */
  async header(): Promise<string | undefined> {
    const token = this.#token;
    const due = token?.renewAtMs !== undefined && this.#now() >= token.renewAtMs;
    if (token !== undefined && !due) return token.header;
    if (this.#settings.credential === undefined) return token?.header;
    return (await this.#fetch()).header;
  }

  /** Called when the server refused `used`. True when there is another header to try. */
  async renew(used: string | undefined): Promise<boolean> {
    if (this.#settings.credential === undefined) return false;
    // Another request has renewed it since.
    if (this.#token !== undefined && this.#token.header !== used) return true;
    await this.#fetch();
    return true;
  }

  #fetch(): Promise<Token> {
    this.#fetching ??= this.#request().then((token) => (this.#token = token)).finally(() => (this.#fetching = undefined));
    return this.#fetching;
  }

  async #request(): Promise<Token> {
    const { retries, retryMinMs, retryMaxMs, signal, timeoutMs } = this.#limits;
    const { tokenUri, headers } = this.#settings;
    const askedAtMs = this.#now();
    const reply = await pRetry(async () => {
      const outcome = await exchange({ method: 'POST', url: tokenUri, headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }, body: this.#form() }, { timeoutMs, signal });
      if (outcome.kind !== 'reply') throw unreachable(outcome, DOING, { tokenUri });
      if (outcome.status === 408 || outcome.status === 429 || outcome.status >= 500) throw unavailable(outcome, DOING, { tokenUri });
      return outcome;
    }, {
      retries, minTimeout: retryMinMs, maxTimeout: retryMaxMs, factor: 2, randomize: true,
      shouldRetry: ({ error }) => signal?.aborted !== true && (error as WalbergError).policy === 'retry',
    });
    return this.#readToken(reply, askedAtMs);
  }

  #form(): string {
    const { credential = '', scope, fields } = this.#settings;
    const colon = credential.indexOf(':');
    const form = new URLSearchParams({ grant_type: 'client_credentials' });
    if (colon >= 0) form.set('client_id', credential.slice(0, colon).trim());
    form.set('client_secret', credential.slice(colon + 1).trim());
    if (scope !== '') form.set('scope', scope);
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    return form.toString();
  }

  #readToken(reply: HttpReply, askedAtMs: number): Token {
    const { tokenUri } = this.#settings;
    const context = { tokenUri, status: reply.status };
    if (reply.status !== 200) {
      // 404: the deprecated endpoint of the catalog itself is not there.
      const hint = errorBody(reply.body).typed ? undefined : 'Set debezium.sink.iceberg.oauth2-server-uri to the token endpoint of the identity provider.';
      throw new WalbergError('CATALOG_AUTH', `The token endpoint refused the credential: ${replyText(reply)}`, { context, hint });
    }
    const body = readObject(reply.body);
    const token = body?.access_token;
    if (typeof token !== 'string' || token === '') {
      throw new WalbergError('CATALOG_AUTH', 'The token endpoint answered without an access token', { context, hint: 'Check debezium.sink.iceberg.oauth2-server-uri.' });
    }
    const seconds = Number(body?.expires_in);
    if (!(seconds > 0)) return { header: `Bearer ${token}` };
    const lifeMs = seconds * 1000;
    return { header: `Bearer ${token}`, renewAtMs: askedAtMs + Math.max(lifeMs - RENEW_BEFORE_MS, lifeMs * 0.9) };
  }
}

function readObject(text: string): Record<string, unknown> | undefined {
  try {
    const parsed = parseJson(text);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
