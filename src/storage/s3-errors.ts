import type { ErrorCode } from '../errors/codes.js';
import { WalbergError } from '../errors/error.js';

/** What was tried; decides what a missing object means. */
export type S3Action = 'read' | 'write' | 'remove' | 'list';

interface Meaning {
  readonly code: ErrorCode;
  readonly hint?: string;
}

const ACCESS = 'debezium.sink.iceberg.s3.access-key-id and s3.secret-access-key, or the role of the default chain';
const REGION = 'Set debezium.sink.iceberg.client.region to the region of the bucket, and s3.endpoint when it is not on AWS.';
const TLS = 'Give the certificate authority with NODE_EXTRA_CA_CERTS, or correct debezium.sink.iceberg.s3.endpoint.';
const CLOCK = 'Set the clock of this machine (NTP): S3 refuses requests that are more than 15 minutes off.';

/** Error codes of S3 (API reference, "List of error codes") and of the SDK that mean more than their HTTP status. */
const NAMED: Readonly<Record<string, Meaning>> = {
  NoSuchBucket: { code: 'STORAGE_REFUSED', hint: 'Create the bucket, or correct debezium.sink.iceberg.warehouse.' },
  InvalidBucketName: { code: 'STORAGE_REFUSED', hint: 'Correct the bucket in debezium.sink.iceberg.warehouse.' },
  PermanentRedirect: { code: 'STORAGE_REFUSED', hint: REGION },
  TemporaryRedirect: { code: 'STORAGE_UNREACHABLE' },
  AuthorizationHeaderMalformed: { code: 'STORAGE_REFUSED', hint: REGION },
  IllegalLocationConstraintException: { code: 'STORAGE_REFUSED', hint: REGION },
  NotImplemented: { code: 'STORAGE_REFUSED', hint: 'This server lacks a function Walberg needs, such as If-None-Match on PUT; use a newer version of it.' },
  AccessDenied: { code: 'STORAGE_AUTH', hint: 'Allow s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket on the warehouse.' },
  InvalidAccessKeyId: { code: 'STORAGE_AUTH', hint: `Check ${ACCESS}.` },
  SignatureDoesNotMatch: { code: 'STORAGE_AUTH', hint: `Check ${ACCESS}; a proxy that changes the Host header breaks signatures too.` },
  XAdminUserNotFound: { code: 'STORAGE_AUTH', hint: `Check ${ACCESS}.` },
  ExpiredToken: { code: 'STORAGE_AUTH', hint: 'The temporary keys have expired: renew them, or use a role that renews itself.' },
  ExpiredTokenException: { code: 'STORAGE_AUTH', hint: 'The temporary keys have expired: renew them, or use a role that renews itself.' },
  InvalidToken: { code: 'STORAGE_AUTH', hint: 'Check debezium.sink.iceberg.s3.session-token.' },
  RequestTimeTooSkewed: { code: 'STORAGE_AUTH', hint: CLOCK },
  RequestExpired: { code: 'STORAGE_AUTH', hint: CLOCK },
  CredentialsProviderError: { code: 'STORAGE_AUTH', hint: `No credentials were found: set ${ACCESS} (AWS_ACCESS_KEY_ID, a profile, or the role of the pod).` },
  TokenProviderError: { code: 'STORAGE_AUTH', hint: `Check ${ACCESS}.` },
  QuotaExceeded: { code: 'STORAGE_FULL' },
  XMinioStorageFull: { code: 'STORAGE_FULL' },
  XMinioAdminBucketQuotaExceeded: { code: 'STORAGE_FULL' },
  // The object or the upload was disturbed on its way: the same request can succeed.
  BadDigest: { code: 'STORAGE_FAILED' },
  IncompleteBody: { code: 'STORAGE_FAILED' },
  XAmzContentSHA256Mismatch: { code: 'STORAGE_FAILED' },
  XAmzContentChecksumMismatch: { code: 'STORAGE_FAILED' },
  NoSuchUpload: { code: 'STORAGE_FAILED' },
  InvalidPart: { code: 'STORAGE_FAILED' },
  RequestTimeout: { code: 'STORAGE_UNREACHABLE' },
  SlowDown: { code: 'STORAGE_UNREACHABLE' },
  OperationAborted: { code: 'STORAGE_UNREACHABLE' },
};

const TLS_ERRNO = /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT|ERR_SSL_|HOSTNAME_MISMATCH)/;

/** The parts of an SDK error that are read here; network errors carry `code` only. */
interface Failure {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly attempts?: number };
  readonly $response?: { readonly statusCode?: number };
}

/** HTTP status of the reply that made the SDK fail; undefined when there was none. */
export function statusOf(error: unknown): number | undefined {
  const failure = error as Failure | null;
  return failure?.$metadata?.httpStatusCode ?? failure?.$response?.statusCode;
}

/** How often the SDK had sent the request when it gave up; 1 when unknown. */
export function attemptsOf(error: unknown): number {
  return (error as Failure | null)?.$metadata?.attempts ?? 1;
}

/**
 * True when S3 says that the object does not exist. Any other 404 is something else: a missing bucket, an unknown user of
 * some servers, or no S3 server at all. Taking one of those for a missing file would mean a table that does not exist.
 */
export function isMissingObject(error: unknown): boolean {
  return (error as Failure | null)?.name === 'NoSuchKey';
}

/** The same for a reply to HEAD, which has no body that could say more than 404. */
export function isMissingHead(error: unknown): boolean {
  return isMissingObject(error) || (error as Failure | null)?.name === 'NotFound';
}

/** True when a write with If-None-Match was refused because the object exists, or because another write of it is under way (409). */
export function isPreconditionFailure(error: unknown): boolean {
  const name = (error as Failure | null)?.name;
  return name === 'PreconditionFailed' || name === 'ConditionalRequestConflict' || statusOf(error) === 412 || statusOf(error) === 409;
}

/** Translates a failed request to S3. */
export function s3Error(error: unknown, doing: S3Action, location: string): WalbergError {
  if (error instanceof WalbergError) return error;
  const failure = (error ?? {}) as Failure;
  const status = statusOf(error);
  if (doing === 'read' && isMissingObject(error)) return new WalbergError('FILE_MISSING', `No such object: ${location}`, { context: { location, status }, cause: error });
  const { code, hint } = meaning(failure, status);
  const what = [status, failure.name === 'Error' ? failure.code : failure.name, failure.message].filter((part) => part !== undefined && part !== '').join(' ');
  return new WalbergError(code, `Could not ${doing} ${location}: ${what}`, { context: { location, status, error: failure.code ?? failure.name }, hint, cause: error });
}

function meaning(failure: Failure, status: number | undefined): Meaning {
  const named = NAMED[failure.name ?? ''] ?? NAMED[failure.code ?? ''];
  if (named !== undefined) return named;
  if (status !== undefined) return meaningOfStatus(status);
  if (/region is missing/i.test(failure.message ?? '')) return { code: 'STORAGE_REFUSED', hint: REGION };
  if (TLS_ERRNO.test(failure.code ?? '')) return { code: 'STORAGE_REFUSED', hint: TLS };
  if (failure.code === 'ENOTFOUND') {
    return { code: 'STORAGE_UNREACHABLE', hint: 'The host name is unknown. Servers other than AWS mostly want debezium.sink.iceberg.s3.path-style-access=true.' };
  }
  return { code: 'STORAGE_UNREACHABLE' };
}

function meaningOfStatus(status: number): Meaning {
  if (status === 401) return { code: 'STORAGE_AUTH', hint: `Check ${ACCESS}.` };
  // A reply to HEAD has no body that says which: S3 answers 403 for an absent object too when ListBucket is not allowed.
  if (status === 403) return NAMED.AccessDenied;
  if (status === 404) return { code: 'STORAGE_REFUSED', hint: 'The address does not answer as an S3 server: check debezium.sink.iceberg.s3.endpoint.' };
  if (status === 507) return { code: 'STORAGE_FULL' };
  if (status === 501) return NAMED.NotImplemented;
  if (status === 301 || status === 307 || status === 308) return NAMED.PermanentRedirect;
  if (status === 408 || status === 429 || status >= 500) return { code: 'STORAGE_UNREACHABLE' };
  if (status >= 400) return { code: 'STORAGE_REFUSED' };
  return { code: 'STORAGE_FAILED' };
}
