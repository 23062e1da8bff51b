import type { SourceClient } from './client.js';

/** What is waited for: transactions that were open at some moment and still are. */
export interface OldTransactions {
  readonly pids: readonly number[];
  /** Global ids of prepared transactions, which no process holds. */
  readonly prepared: readonly string[];
  readonly waitedMs: number;
}

/**
 * A bound above every transaction id given out so far: every transaction that has written anything, ended or not, is below it.
 * It is an id of its own, taken and given back unused. The xmax of a snapshot would not do: it lies just above the last
 * transaction that *ended*, so running ones, and ones whose commit is already in WAL but not yet visible, may be above it.
 */
export async function transactionBound(client: SourceClient): Promise<bigint> {
  const [row] = await client.rows('SELECT pg_catalog.pg_current_xact_id() AS id');
  return BigInt(row.id ?? '');
}

/**
 * Waits until every transaction below `bound` has ended and is visible, in any database of the cluster: from then on each
 * new snapshot shows what they committed. Later transactions cannot prolong it. Reports about once a second.
 */
export async function waitForTransactionsBelow(client: SourceClient, bound: bigint, options: { readonly signal?: AbortSignal; readonly onWaiting?: (old: OldTransactions) => void } = {}): Promise<void> {
  const started = performance.now();
  let reportAt = started + 1000;
  for (;;) {
    options.signal?.throwIfAborted();
    const [row] = await client.rows('SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()) AS xmin');
    if (BigInt(row.xmin ?? '') >= bound) return;
    if (performance.now() >= reportAt) {
      reportAt = performance.now() + 1000;
      options.onWaiting?.({ ...await blockers(client, bound), waitedMs: performance.now() - started });
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function blockers(client: SourceClient, bound: bigint): Promise<Pick<OldTransactions, 'pids' | 'prepared'>> {
  const [row] = await client.rows<{ pids: string; prepared: string }>(`
    SELECT (SELECT COALESCE(pg_catalog.json_agg(a.pid ORDER BY a.xact_start), '[]') FROM pg_catalog.pg_stat_activity a
             WHERE a.backend_xid IS NOT NULL AND pg_catalog.age(a.backend_xid) > pg_catalog.age($1::pg_catalog.xid8::pg_catalog.xid)) AS pids,
           (SELECT COALESCE(pg_catalog.json_agg(p.gid ORDER BY p.prepared), '[]') FROM pg_catalog.pg_prepared_xacts p
             WHERE pg_catalog.age(p.transaction) > pg_catalog.age($1::pg_catalog.xid8::pg_catalog.xid)) AS prepared`, [bound.toString()]);
  return { pids: JSON.parse(row.pids) as number[], prepared: JSON.parse(row.prepared) as string[] };
}
