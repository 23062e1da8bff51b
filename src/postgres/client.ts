import type { EventEmitter } from 'node:events';
import { Socket, type SocketConstructorOpts } from 'node:net';
import pg from 'pg';
import type { Duplex } from 'node:stream';
import type { ConnectionConfig } from '../config/config.js';
import { WalbergError } from '../errors/error.js';
import { classifyPostgresError, isTlsError } from './errors.js';
import { type TlsAttempt, tlsAttempts } from './tls.js';

/** Milliseconds until a TCP connect with start-up and login counts as failed. */
const CONNECT_TIMEOUT_MS = 30_000;
const KEEPALIVE_DELAY_MS = 30_000;

/**
 * Settings that decide how values look as text, and that could end a session behind our back. They go into the start-up
 * packet because a role or database may define others (`ALTER ROLE … SET`), and they are the same on every connection, so
 * a value cannot look different in a load, in the stream and in a read-back.
 * `search_path` makes type and function names in texts unambiguous; `row_security` turns a silently filtered read into an error.
 */
const SESSION_SETTINGS: Readonly<Record<string, string>> = {
  timezone: 'UTC',
  datestyle: 'ISO,YMD',
  intervalstyle: 'postgres',
  extra_float_digits: '3',
  bytea_output: 'hex',
  lc_monetary: 'C',
  client_encoding: 'UTF8',
  search_path: 'pg_catalog',
  row_security: 'off',
  // A database may be read-only by default; the publication is made nevertheless.
  default_transaction_read_only: 'off',
  // A commit of ours (a logical message) must be on disk here, but need not wait for standbys.
  synchronous_commit: 'local',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
};

/** What the settings above read back as; checked once per connection, because poolers drop start-up options silently. */
const PROOF: readonly (readonly [name: string, value: string])[] = [
  ['timezone', 'UTC'], ['datestyle', 'ISO, YMD'], ['intervalstyle', 'postgres'], ['bytea_output', 'hex'], ['client_encoding', 'UTF8'], ['row_security', 'off'],
];

/** Every value arrives as the text the server sent. */
const TEXT_ONLY = { getTypeParser: () => (value: unknown) => value } as unknown as pg.CustomTypesConfig;

/** The parts of `pg`'s connection object that streaming and copying need; not in its published types. */
export interface WireConnection extends EventEmitter {
  readonly stream: Duplex;
  query(sql: string): void;
  /** Sends CopyDone. */
  endCopyFrom(): void;
}

/** A `pg` client whose results are text and whose errors are classified. Create with `connect()`. */
export class SourceClient extends pg.Client {
  readonly queryTimeoutMs: number;
  serverVersionNum = 0;
  /** Process id of the server's backend. */
  backendPid = 0;
  /** Set when the connection broke while nobody was waiting for it. */
  lost: WalbergError | undefined;

  constructor(config: pg.ClientConfig, queryTimeoutMs: number) {
    super(config);
    this.queryTimeoutMs = queryTimeoutMs;
    // Without a listener a connection that breaks while idle would end the process.
    this.on('error', (error) => { this.lost ??= classifyPostgresError(error); });
  }

  /** The connection under the client. */
  get wire(): WireConnection {
    return (this as unknown as { connection: WireConnection }).connection;
  }

  /**
   * Runs one statement; rows come as objects of text (or null). Limited by `queryTimeoutMs` unless `timeoutMs` says
   * otherwise (0 = no limit). After a timeout the connection is closed, because its state is unknown.
   */
  async rows<T extends object = Record<string, string | null>>(text: string, values: readonly unknown[] = [], timeoutMs = this.queryTimeoutMs): Promise<T[]> {
    try {
      const result = await this.query({ text, values: [...values], types: TEXT_ONLY, query_timeout: timeoutMs > 0 ? timeoutMs : undefined } as pg.QueryConfig);
      // A text of several statements has several results.
      const last = Array.isArray(result) ? (result as pg.QueryResult[]).at(-1) : result;
      return (last?.rows ?? []) as T[];
    } catch (error) {
      const classified = classifyPostgresError(this.lost?.cause ?? error);
      // Our own timer, not the server's answer to a cancel request, after which the session goes on.
      if (classified.code === 'SOURCE_TIMEOUT' && classified.context.sqlstate === undefined) this.destroy();
      throw classified;
    }
  }

  /** Drops the connection without a word; the server notices when it next writes. */
  destroy(): void {
    this.wire.stream.destroy();
  }

  /** Ends the session politely; never throws and never waits longer than a second for the server. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.destroy(), 1000);
    try {
      await this.end();
    } catch {
      this.destroy();
    } finally {
      clearTimeout(timer);
    }
  }
}

export interface ConnectOptions {
  /** A walsender session of the configured database: takes replication commands besides SQL. */
  readonly replication?: boolean;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
}

/** Opens a session with the pinned settings, trying what `sslmode` allows. Throws classified errors. */
export async function connect(config: ConnectionConfig, options: ConnectOptions = {}): Promise<SourceClient> {
  const attempts = tlsAttempts(config);
  let first: unknown;
  for (const [index, tls] of attempts.entries()) {
    try {
      return await open(config, options, tls);
    } catch (error) {
      first ??= error;
      if (index + 1 === attempts.length || !worthOtherAttempt(error)) {
        throw classifyPostgresError(index === 0 || !isTlsError(error) ? error : first, { host: config.host, port: config.port, user: config.user, database: config.database });
      }
    }
  }
  throw new WalbergError('INTERNAL', 'no connection attempt for this sslmode');
}

/** libpq tries the other way when TLS failed or when the server refused the login for the way it was made (pg_hba.conf). */
function worthOtherAttempt(error: unknown): boolean {
  return isTlsError(error) || (error as { code?: string }).code === '28000';
}

async function open(config: ConnectionConfig, options: ConnectOptions, tls: TlsAttempt): Promise<SourceClient> {
  const client = new SourceClient({
    host: config.host,
    port: config.port,
    user: config.user,
    database: config.database,
    // As a function, so that neither PGPASSWORD nor a password file of the machine steps in for a missing one.
    password: () => config.password ?? '',
    ssl: tls,
    stream: socket,
    keepAlive: config.tcpKeepAlive,
    keepAliveInitialDelayMillis: KEEPALIVE_DELAY_MS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: options.applicationName ?? 'walberg',
    options: startupOptions(SESSION_SETTINGS),
    ...(options.replication === true ? { replication: 'database' } : {}),
  }, config.queryTimeoutMs);
  try {
    await client.connect();
    await verifySession(client);
    return client;
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/**
 * How much a paused socket still reads in small pieces before it leaves the rest to the kernel, whose buffer holds little more
 * than this much of single rows. Fixed here because Node's default differs between versions, and measured with the stream's
 * pauses (ReplicationStream): smaller makes the server wait, larger costs a read per row again.
 */
const READ_AHEAD_BYTES = 8192;

function socket(): Socket {
  return new Socket({ readableHighWaterMark: READ_AHEAD_BYTES } as SocketConstructorOpts);
}

/** PostgreSQL manual, "Frontend/Backend Protocol", StartupMessage `options`: blanks and backslashes are escaped. */
function startupOptions(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings).map(([name, value]) => `-c ${name}=${value.replace(/[\\ ]/g, '\\$&')}`).join(' ');
}

async function verifySession(client: SourceClient): Promise<void> {
  const shown = PROOF.map(([name]) => `pg_catalog.current_setting('${name}') AS "${name}"`).join(', ');
  const [row] = await client.rows(`SELECT ${shown}, pg_catalog.current_setting('server_version_num') AS version, pg_catalog.pg_backend_pid()::pg_catalog.text AS pid`);
  client.serverVersionNum = Number(row.version);
  client.backendPid = Number(row.pid);
  // Not known before 17, where naming it in the start-up packet would refuse the connection.
  if (client.serverVersionNum >= 170000) await client.rows('SET transaction_timeout = 0');
  for (const [name, value] of PROOF) {
    if (row[name] !== value) {
      throw new WalbergError('SOURCE_SETTINGS', `The session's ${name} is ${JSON.stringify(row[name])} instead of ${JSON.stringify(value)}`, {
        context: { setting: name },
        hint: 'Start-up settings did not reach the server: connect directly instead of through a connection pooler.',
      });
    }
  }
}
