import type { ConnectionConfig } from '../config/config.js';
import { WalbergError } from '../errors/error.js';
import { connect, type SourceClient } from './client.js';
import { parseLsn } from './lsn.js';
import { quoteIdentifier } from './quote.js';
import { checkSlot, readSlot, type SlotState } from './slot.js';

/** What slot creation waits for: it needs every transaction that is open now to end, in any database of the cluster. */
export interface SlotBlockers {
  /** Server processes; those being waited for right now. */
  readonly pids: readonly number[];
  /** Global ids of prepared transactions, which no process holds. */
  readonly prepared: readonly string[];
  readonly waitedMs: number;
}

export interface SlotCreationOptions {
  /** For a second session that looks at, and cancels, the waiting one. */
  readonly connection: ConnectionConfig;
  readonly signal?: AbortSignal;
  /** Called about once a second while the creation waits. */
  readonly onWaiting?: (blockers: SlotBlockers) => void;
  /** 17 and later: let standbys synchronise the slot. Ignored before. */
  readonly failover?: boolean;
}

/**
 * Makes sure that a usable logical slot of this name exists, and returns its state. An existing one is checked (see
 * checkSlot), not changed. Create the publication first: a slot cannot decode WAL from before its publication existed.
 */
export async function ensureSlot(client: SourceClient, name: string, options: SlotCreationOptions): Promise<SlotState & { readonly created: boolean }> {
  const existing = await readSlot(client, name);
  if (existing !== undefined) {
    checkSlot(existing, options.connection.database);
    return { ...existing, created: false };
  }
  const failover = options.failover === true && client.serverVersionNum >= 170000 ? ', failover => true' : '';
  await whileWatched(client, options, () => client.rows(`SELECT pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput'${failover})`, [name], 0));
  const created = await readSlot(client, name);
  if (created === undefined) throw new WalbergError('SLOT_MISSING', `Replication slot ${name} vanished right after its creation`, { context: { slot: name } });
  return { ...created, created: true };
}

/** A slot with the view of the database that belongs to its starting point. */
export interface ExportedSnapshot {
  readonly slotName: string;
  /** The snapshot shows every transaction that committed before this position and none after it. */
  readonly consistentPoint: bigint;
  /** For `importSnapshot` on other sessions. Dies with the next command of the creating session, or with that session. */
  readonly snapshotName: string;
}

/**
 * Creates a slot and exports its snapshot. `client` must be a replication session and stay idle afterwards until every
 * other session has imported the snapshot. Temporary slots vanish with that session.
 */
export async function createExportingSlot(client: SourceClient, name: string, options: SlotCreationOptions & { readonly temporary?: boolean }): Promise<ExportedSnapshot> {
  const temporary = options.temporary === false ? '' : ' TEMPORARY';
  const failover = options.failover === true && options.temporary === false && client.serverVersionNum >= 170000 ? ', FAILOVER' : '';
  const exported = client.serverVersionNum >= 150000 ? `(SNAPSHOT 'export'${failover})` : 'EXPORT_SNAPSHOT';
  const [row] = await whileWatched(client, options, () => client.rows(`CREATE_REPLICATION_SLOT ${quoteIdentifier(name)}${temporary} LOGICAL pgoutput ${exported}`, [], 0));
  return { slotName: name, consistentPoint: parseLsn(row.consistent_point ?? ''), snapshotName: row.snapshot_name ?? '' };
}

/**
 * Runs a creation that may wait without limit, reports what it waits for, and cancels it on the server when aborted: a
 * closed socket alone would leave the server process waiting and then a slot behind that nobody reads.
 */
async function whileWatched<T>(client: SourceClient, options: SlotCreationOptions, create: () => Promise<T>): Promise<T> {
  options.signal?.throwIfAborted();
  const started = performance.now();
  let observer: Promise<SourceClient> | undefined;
  const observe = (): Promise<SourceClient> => (observer ??= connect(options.connection, { applicationName: 'walberg observer' }));
  let done = false;

  const report = async (): Promise<void> => {
    const [row] = await (await observe()).rows<{ pids: string; prepared: string }>(`
      SELECT pg_catalog.array_to_json(pg_catalog.pg_blocking_pids($1)) AS pids,
             (SELECT COALESCE(pg_catalog.json_agg(gid ORDER BY prepared), '[]') FROM pg_catalog.pg_prepared_xacts) AS prepared`, [client.backendPid]);
    const pids = (JSON.parse(row.pids) as number[]).filter((pid) => pid !== 0);
    if (!done) options.onWaiting?.({ pids, prepared: JSON.parse(row.prepared) as string[], waitedMs: performance.now() - started });
  };
  const cancel = async (): Promise<void> => {
    await (await observe()).rows('SELECT pg_catalog.pg_cancel_backend($1)', [client.backendPid]);
  };
  // Watching must not break what it watches: when the observer cannot connect, the creation goes on unobserved.
  const underWay: Promise<void>[] = [];
  const timer = setInterval(() => { underWay.push(report().catch(() => {})); }, 1000);
  const onAbort = (): void => { underWay.push(cancel().catch(() => client.destroy())); };
  options.signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await create();
  } catch (error) {
    options.signal?.throwIfAborted();
    throw error;
  } finally {
    done = true;
    clearInterval(timer);
    options.signal?.removeEventListener('abort', onAbort);
    await Promise.all(underWay);
    await observer?.then((o) => o.close(), () => {});
  }
}
