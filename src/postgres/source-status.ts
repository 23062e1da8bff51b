import type { SourceStatus } from '../observe/events.js';
import type { SourceClient } from './client.js';
import { parseLsn } from './lsn.js';

/** The end of WAL: what is written on a primary, what is replayed on a standby, where the former functions fail. */
const CURRENT_LSN = 'CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_lsn() END';

/** The end of WAL as this server has it. */
export async function currentLsn(client: SourceClient): Promise<bigint> {
  const [row] = await client.rows(`SELECT ${CURRENT_LSN} AS lsn`);
  return parseLsn(row.lsn ?? '');
}

/** What the slot costs the server right now. Everything but currentLsn and keepBytes is undefined when the slot does not exist. */
export async function readSourceStatus(client: SourceClient, slotName: string): Promise<SourceStatus> {
  const [row] = await client.rows(`
    SELECT c.lsn, s.wal_status, s.safe_wal_size, pg_catalog.trunc(c.lsn - s.restart_lsn) AS retained,
           NULLIF(pg_catalog.pg_size_bytes(pg_catalog.current_setting('max_slot_wal_keep_size')), -1) AS keep
      FROM (SELECT ${CURRENT_LSN} AS lsn) c LEFT JOIN pg_catalog.pg_replication_slots s ON s.slot_name = $1`, [slotName]);
  const bytes = (text: string | null): bigint | undefined => (text === null ? undefined : BigInt(text));
  return { currentLsn: parseLsn(row.lsn ?? ''), retainedBytes: bytes(row.retained), walStatus: row.wal_status ?? undefined, safeWalSizeBytes: bytes(row.safe_wal_size), keepBytes: bytes(row.keep) };
}
