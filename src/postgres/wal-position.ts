import type { SourceClient } from './client.js';
import { WalbergError } from '../errors/error.js';
import { parseLsn } from './lsn.js';

const POLL_MS = 10;
/** Polls before the server is nudged: the WAL writer flushes by itself within a few hundred milliseconds when it has a reason. */
const PATIENCE = 5;

/**
 * A position behind which everything this session can see was written: the insert position on a primary. A standby shows
 * only what it has replayed, so there the replay position is the answer.
 */
export async function insertLsn(client: SourceClient): Promise<bigint> {
  const [row] = await client.rows('SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_insert_lsn() END AS lsn');
  return parseLsn(row.lsn ?? '');
}

/**
 * Waits until WAL is on disk up to `lsn`, asked on the same connection that read the data: a server that crashed and came
 * back without that WAL would have cut the connection. The insert position can lie beyond the last record (behind a page
 * header) or within records that nothing flushes while no one commits, so after some patience a logical message of our own is
 * committed, which flushes everything before it; it needs no table and no privilege. Must not run inside a transaction.
 */
export async function waitFlushed(client: SourceClient, lsn: bigint, signal?: AbortSignal): Promise<void> {
  for (let polls = 0; ; polls++) {
    signal?.throwIfAborted();
    const [row] = await client.rows('SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN NULL ELSE pg_catalog.pg_current_wal_flush_lsn() END AS lsn');
    // On a standby only flushed WAL is replayed, and only replayed WAL is seen.
    if (row.lsn === null || parseLsn(row.lsn) >= lsn) return;
    if (polls === PATIENCE) await client.rows(`SELECT pg_catalog.pg_logical_emit_message(true, 'walberg', '')`);
    if (polls > 3000) throw new WalbergError('SOURCE_TIMEOUT', 'The server does not flush its WAL', { context: { lsn } });
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
