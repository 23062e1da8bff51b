import type { ErrorCode } from '../errors/codes.js';
import { type ErrorContext, WalbergError } from '../errors/error.js';

/** What Postgres, Node's sockets, TLS and `pg` attach to their errors, as far as it is read here. */
interface RawError {
  readonly message?: string;
  readonly code?: string;
  readonly severity?: string;
  readonly detail?: string;
  readonly hint?: string;
  /** Name of the C function that raised the error. Unlike the message it is never translated. */
  readonly routine?: string;
}

interface Verdict {
  readonly code: ErrorCode;
  readonly hint?: string;
}

const NETWORK = new Set(['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL', 'ENOENT', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END', 'ERR_SOCKET_CLOSED']);

/** Exact SQLSTATEs first, then the two-character class. PostgreSQL manual, appendix "PostgreSQL Error Codes". */
const BY_SQLSTATE: Readonly<Record<string, ErrorCode>> = {
  '55006': 'SLOT_TAKEN', // object_in_use
  '57P01': 'SOURCE_SHUTDOWN', // admin_shutdown
  '57P02': 'SOURCE_SHUTDOWN', // crash_shutdown
  '57P03': 'SOURCE_SHUTDOWN', // cannot_connect_now
  '57P04': 'SOURCE_AUTH', // database_dropped
  '57P05': 'SOURCE_UNREACHABLE', // idle_session_timeout
  '57014': 'SOURCE_TIMEOUT', // query_canceled
  '53300': 'SOURCE_BUSY', // too_many_connections
  '53400': 'SOURCE_BUSY', // configuration_limit_exceeded: no free slot or walsender
  '3D000': 'SOURCE_AUTH', // invalid_catalog_name: no such database
  '25006': 'SOURCE_SETTINGS', // read_only_sql_transaction: a standby
  '42501': 'SOURCE_PRIVILEGE', // insufficient_privilege
  '58P01': 'SLOT_LOST', // undefined_file: a WAL segment is gone
  '25P03': 'SOURCE_UNREACHABLE', // idle_in_transaction_session_timeout
  '25P04': 'SOURCE_UNREACHABLE', // transaction_timeout
  '40001': 'SOURCE_BUSY', // serialization_failure (recovery conflict on a standby)
  '40P01': 'SOURCE_BUSY', // deadlock_detected
  '55P03': 'SOURCE_BUSY', // lock_not_available
  '42P10': 'PUBLICATION_INCOMPLETE', // invalid_column_reference: row filter or column list misses the identity
  '22021': 'PROTOCOL', // character_not_in_repertoire while decoding
  XX000: 'PROTOCOL', // internal_error, for a walsender: output plug-in or decoding
  XX001: 'PROTOCOL',
  XX002: 'PROTOCOL',
};

const BY_CLASS: Readonly<Record<string, ErrorCode>> = {
  '08': 'SOURCE_UNREACHABLE', // connection exception
  '28': 'SOURCE_AUTH', // invalid authorization
  '53': 'SOURCE_BUSY', // insufficient resources
  '57': 'SOURCE_SHUTDOWN', // operator intervention
  '58': 'SOURCE_BUSY', // system error
};

/**
 * Names what happened for anything that `pg`, a socket or the server threw. The policy table then decides what to do.
 * Only identifiers of the error are kept in the context: server messages and details may quote row values, so a message
 * is shown for the classes that never do, and the original stays reachable as the cause.
 */
export function classifyPostgresError(error: unknown, context: ErrorContext = {}): WalbergError {
  if (error instanceof WalbergError) return error;
  const raw = (typeof error === 'object' && error !== null ? error : { message: String(error) }) as RawError;
  const { code, hint } = verdict(raw);
  const sqlstate = isSqlState(raw) ? raw.code : undefined;
  const message = quotesValues(sqlstate) ? `Postgres error ${sqlstate}` : raw.message ?? 'unknown error';
  return new WalbergError(code, message, { context: { ...context, sqlstate, errno: sqlstate === undefined ? raw.code : undefined, routine: raw.routine }, hint, cause: error });
}

function verdict(raw: RawError): Verdict {
  if (isSqlState(raw)) return sqlStateVerdict(raw, raw.code ?? '');
  if (raw.code !== undefined && NETWORK.has(raw.code)) return { code: 'SOURCE_UNREACHABLE' };
  return { code: driverCode(raw) };
}

function sqlStateVerdict(raw: RawError, state: string): Verdict {
  if (state === '42704') return undefinedObject(raw);
  if (state === '55000') return notInPrerequisiteState(raw);
  if (state === '0A000') return { code: 'SOURCE_SETTINGS', hint: 'The server does not support this; see the message for the version it needs.' };
  // During start-up an unknown setting is reported as invalid_parameter_value or, from poolers, as a protocol violation.
  if (state === '22023' || state === '08P01') return { code: 'SOURCE_SETTINGS', hint: 'Connect directly to the server: connection poolers do not pass start-up settings on.' };
  if (state === '42501') return { code: 'SOURCE_PRIVILEGE' };
  return { code: BY_SQLSTATE[state] ?? BY_CLASS[state.slice(0, 2)] ?? 'INTERNAL' };
}

/** 42704 undefined_object: slots, publications and unknown settings share it. */
function undefinedObject(raw: RawError): Verdict {
  const routine = raw.routine ?? '';
  const message = raw.message ?? '';
  if (/slot/i.test(routine) || /replication slot/.test(message)) return { code: 'SLOT_MISSING' };
  if (/publication/i.test(routine) || /publication/.test(message)) {
    return { code: 'PUBLICATION_MISSING', hint: 'If the publication exists now, it was created after the slot reached this position: create a new slot and reload.' };
  }
  if (/guc|config_option|find_option/i.test(routine) || /configuration parameter/.test(message)) {
    return { code: 'SOURCE_SETTINGS', hint: 'Walberg needs PostgreSQL 14 or later.' };
  }
  return { code: 'INTERNAL' };
}

/**
 * 55000 object_not_in_prerequisite_state. The text for an invalidated slot differs between versions ("cannot read from",
 * "can no longer access"), so everything about slots that is not a known other case counts as lost.
 */
function notInPrerequisiteState(raw: RawError): Verdict {
  const message = raw.message ?? '';
  if (/wal_level|max_replication_slots|max_wal_senders/.test(message)) {
    return { code: 'SOURCE_SETTINGS', hint: 'Set wal_level = logical (and max_replication_slots, max_wal_senders above 0) and restart Postgres.' };
  }
  if (/during recovery|standby|replica identity/.test(message)) return { code: 'SOURCE_SETTINGS' };
  if (/slot/i.test(message) || /slot|CreateDecodingContext/i.test(raw.routine ?? '')) return { code: 'SLOT_LOST' };
  return { code: 'SOURCE_SETTINGS' };
}

/** Errors of `pg` itself carry no code at all. */
function driverCode(raw: RawError): ErrorCode {
  const message = raw.message ?? '';
  if (/^SASL|password must be|Unknown authentication/i.test(message)) return 'SOURCE_AUTH';
  if (isTlsError(raw)) return 'SOURCE_TLS';
  if (/Query read timeout/.test(message)) return 'SOURCE_TIMEOUT';
  if (/terminated|timeout expired|not queryable|was closed|connection error|socket|ended/i.test(message)) return 'SOURCE_UNREACHABLE';
  if (/invalid response/.test(message)) return 'PROTOCOL';
  return 'INTERNAL';
}

const TLS_CODES = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|ERR_OSSL|ERR_CRYPTO|EPROTO)/;

/** True for failed handshakes, rejected certificates, and a server without TLS. */
export function isTlsError(error: unknown): boolean {
  const raw = error as RawError | undefined;
  return TLS_CODES.test(raw?.code ?? '') || /SSL connection|certificate|socket disconnected before secure TLS/i.test(raw?.message ?? '');
}

/** SQLSTATEs are five characters; errno names such as EPIPE may be too, but only server errors have a severity. */
function isSqlState(raw: RawError): boolean {
  return raw.code !== undefined && /^[0-9A-Z]{5}$/.test(raw.code) && raw.severity !== undefined;
}

/** Data exceptions, constraint violations and errors in functions may repeat the offending value. */
function quotesValues(sqlstate: string | undefined): boolean {
  return sqlstate !== undefined && /^(22(?!023)|23|P0|42804)/.test(sqlstate);
}
