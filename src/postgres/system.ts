import { WalbergError } from '../errors/error.js';
import type { SourceClient } from './client.js';

/** Who the server is and how it is set up for replication. */
export interface SystemIdentity {
  /** Unique per initdb, kept by physical copies and upgrades of the same data directory; decimal, unsigned 64-bit. */
  readonly systemId: string;
  readonly timeline: number;
  readonly database: string;
  /** Changes when a database is dropped and created again under the same name. */
  readonly databaseOid: number;
  readonly serverVersionNum: number;
  readonly walLevel: string;
  /** Milliseconds of silence after which the server cuts a stream; 0 = never. As it applies to this role. */
  readonly walSenderTimeoutMs: number;
  /** True on a standby: no WAL position of its own, nothing can be written. */
  readonly inRecovery: boolean;
}

/** Reads the identity with plain SQL, which any role may do. */
export async function identifySystem(client: SourceClient): Promise<SystemIdentity> {
  const [row] = await client.rows(`
    SELECT (pg_catalog.pg_control_system()).system_identifier AS system_id,
           (pg_catalog.pg_control_checkpoint()).timeline_id AS timeline,
           d.datname, d.oid,
           pg_catalog.current_setting('wal_level') AS wal_level,
           (SELECT setting FROM pg_catalog.pg_settings WHERE name = 'wal_sender_timeout') AS wal_sender_timeout,
           pg_catalog.pg_is_in_recovery() AS in_recovery
      FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()`);
  return {
    systemId: row.system_id ?? '',
    timeline: Number(row.timeline),
    database: row.datname ?? '',
    databaseOid: Number(row.oid),
    serverVersionNum: client.serverVersionNum,
    walLevel: row.wal_level ?? '',
    walSenderTimeoutMs: Number(row.wal_sender_timeout),
    inRecovery: row.in_recovery === 't',
  };
}

/** Refuses a server that cannot do logical decoding as needed here: SOURCE_SETTINGS. */
export function requireLogicalDecoding(identity: SystemIdentity): void {
  if (identity.serverVersionNum < 140000) {
    throw new WalbergError('SOURCE_SETTINGS', `The server's version ${identity.serverVersionNum} is too old`, { context: { version: identity.serverVersionNum }, hint: 'Walberg needs PostgreSQL 14 or later.' });
  }
  if (identity.walLevel !== 'logical') {
    throw new WalbergError('SOURCE_SETTINGS', `The server's wal_level is ${identity.walLevel}`, { context: { walLevel: identity.walLevel }, hint: 'ALTER SYSTEM SET wal_level = logical; then restart Postgres.' });
  }
}
