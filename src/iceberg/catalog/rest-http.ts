/** One HTTP exchange: what came of it, without any judgement about repeating it. */

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpReply {
  readonly kind: 'reply';
  readonly status: number;
  readonly body: string;
  /** `Retry-After`, in milliseconds from now. */
  readonly retryAfterMs?: number;
  /** `Location` of a redirect. */
  readonly redirect?: string;
}

/** `not-sent`: the server cannot have seen the request. `lost`: it may have, but its reply did not arrive whole. */
export interface HttpFailure {
  readonly kind: 'not-sent' | 'lost';
  /** Short reason: an errno name or what timed out. */
  readonly reason: string;
  readonly tls: boolean;
  readonly cause: unknown;
}

export type HttpOutcome = HttpReply | HttpFailure;

export interface HttpLimits {
  /** Whole exchange, body included. Milliseconds. */
  readonly timeoutMs: number;
  /** Aborts the exchange. */
  readonly signal?: AbortSignal;
}

/**
 * Sends one request with Node's fetch. Redirects are not followed: following would turn a POST into a GET, whose
 * success looks like that of the commit. Never throws.
 */
export async function exchange(request: HttpRequest, limits: HttpLimits): Promise<HttpOutcome> {
  const controller = new AbortController();
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    controller.abort();
  }, limits.timeoutMs);
  // Not AbortSignal.any: before Node 22 each call leaves something behind on the signal that outlives the requests.
  const abort = (): void => controller.abort();
  limits.signal?.addEventListener('abort', abort);
  if (limits.signal?.aborted === true) abort();
  try {
    const response = await fetch(request.url, { method: request.method, headers: request.headers, body: request.body, redirect: 'manual', signal: controller.signal });
    const body = await response.text();
    return {
      kind: 'reply',
      status: response.status,
      body,
      retryAfterMs: retryAfter(response.headers.get('retry-after')),
      redirect: response.headers.get('location') ?? undefined,
    };
  } catch (error) {
    if (timedOut) return { kind: 'lost', reason: `no reply within ${limits.timeoutMs} ms`, tls: false, cause: error };
    if (controller.signal.aborted) return { kind: 'lost', reason: 'aborted', tls: false, cause: error };
    return failure(error);
  } finally {
    clearTimeout(timer);
    limits.signal?.removeEventListener('abort', abort);
  }
}

/** Retry-After is a number of seconds or an HTTP date (RFC 9110, section 10.2.3). */
export function retryAfter(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

interface SystemError {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

const TLS = /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT|ERR_SSL_|HOSTNAME_MISMATCH)/;
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'ERR_INVALID_URL']);

/** fetch hides the reason in `cause`; a host with several addresses hides one per address in `errors`. */
function failure(error: unknown): HttpFailure {
  const cause = ((error as SystemError).cause ?? error) as SystemError;
  const all = Array.isArray(cause.errors) && cause.errors.length > 0 ? (cause.errors as SystemError[]) : [cause];
  const code = (part: SystemError): string => (typeof part.code === 'string' ? part.code : '');
  const tls = all.every((part) => TLS.test(code(part)));
  const notSent = tls || all.every((part) => NOT_SENT.has(code(part)) || part.syscall === 'connect' || part.syscall === 'getaddrinfo');
  const reason = code(all[0]) || String(cause.message ?? error);
  return { kind: notSent ? 'not-sent' : 'lost', reason, tls, cause: error };
}
