import type { SourceConfig } from '../config/config.js';
import { WalbergError, isWalbergError } from '../errors/error.js';
import type { PipelineEvents } from '../observe/events.js';
import { connect, type SourceClient } from '../postgres/client.js';
import { ensurePublication, verifyPublication } from '../postgres/publication-setup.js';
import type { Publication } from '../postgres/publication.js';
import { ensureSlot } from '../postgres/slot-creation.js';
import { readSlot, type SlotState } from '../postgres/slot.js';
import { describeTables } from '../postgres/source-catalog.js';
import { identifySystem, requireLogicalDecoding, type SystemIdentity } from '../postgres/system.js';
import { selectTables, type TableRef } from '../postgres/table-selection.js';
import { readTransactionSnapshot, type TransactionSnapshot } from '../postgres/transaction-snapshot.js';
import type { SourceTable } from '../schema/source-table.js';

/** The source as a session found it: publication in place, slot not looked at yet. */
export interface OpenSource {
  readonly client: SourceClient;
  readonly identity: SystemIdentity;
  readonly refs: readonly TableRef[];
  readonly tables: readonly SourceTable[];
  readonly publication: Publication;
  /** Transactions it sees ended before `tables` were described: what they wrote is not of a newer shape. */
  readonly described: TransactionSnapshot;
}

/** Looks at the captured tables before the publication is touched. */
export type SourceCheck = (client: SourceClient, identity: SystemIdentity, refs: readonly TableRef[]) => Promise<void>;

/** Connects, checks the server, and brings the publication into the shape the configuration asks for. */
export async function openSource(source: SourceConfig, check: SourceCheck): Promise<OpenSource> {
  const client = await connect(source.connection);
  try {
    const identity = await identifySystem(client);
    requireLogicalDecoding(identity);
    const refs = await selectTables(client, source);
    await check(client, identity, refs);
    await ensurePublication(client, source, refs);
    const publication = await verifyPublication(client, source, refs);
    const described = await readTransactionSnapshot(client);
    const tables = await describeTables(client, refs.map((t) => t.oid), source.publicationName);
    return { client, identity, refs, tables, publication, described };
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** A process that was killed leaves its connection behind for a moment. */
const TAKEN_PATIENCE_MS = 3000;
const TAKEN_POLL_MS = 100;

/**
 * Makes sure of the slot. A slot that is missing although tables hold positions of it is refused, unless `reload` says that
 * everything is loaded anew: changes between the old slot's end and a new one's beginning are lost.
 */
export async function openSlot(source: SourceConfig, client: SourceClient, known: { readonly position: bigint | undefined; readonly reload: boolean }, events: Pick<PipelineEvents, 'warning'>, signal: AbortSignal): Promise<SlotState & { created: boolean }> {
  const existing = await readSlot(client, source.slotName);
  if (existing === undefined && known.position !== undefined && !known.reload) {
    throw new WalbergError('SLOT_MISSING', `Replication slot ${source.slotName} does not exist, but the tables hold a position of it`, { context: { slot: source.slotName, database: source.connection.database } });
  }
  const deadline = performance.now() + TAKEN_PATIENCE_MS;
  for (;;) {
    try {
      return await ensureSlot(client, source.slotName, {
        connection: source.connection,
        signal,
        onWaiting: ({ pids, prepared, waitedMs }) => events.warning({ message: 'Creating the replication slot waits for open transactions', context: { pids: pids.join(', '), prepared: prepared.join(', '), waitedMs: Math.round(waitedMs) } }),
      });
    } catch (error) {
      if (!isWalbergError(error, 'SLOT_TAKEN') || performance.now() >= deadline) throw error;
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, TAKEN_POLL_MS));
    }
  }
}
