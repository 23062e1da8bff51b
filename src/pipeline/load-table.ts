import { WalbergError } from '../errors/error.js';
import type { PipelineConfig, SourceConfig } from '../config/config.js';
import type { DataFile } from '../iceberg/spec/types.js';
import type { PipelineEvents } from '../observe/events.js';
import { OP_READ } from '../parquet/encode-types.js';
import { connect, type SourceClient } from '../postgres/client.js';
import { copyOut, copyStatement, importSnapshot, lockAndReadFileNode, lockBesideOthers, tableLeaves, type TableLeaf } from '../postgres/copy.js';
import { createExportingSlot, type ExportedSnapshot } from '../postgres/slot-creation.js';
import { knownColumns, sameColumns } from '../schema/known-columns.js';
import type { SourceTable } from '../schema/source-table.js';
import { qualifiedName } from '../schema/table-plan.js';
import { CopyCollector, type CopiedRows } from './copy-collector.js';
import type { PartWriter } from './part-writer.js';
import { metaOf } from './row-meta.js';
import type { TableTarget } from './table-target.js';
import { TransactionList } from '../buffer/transactions.js';

export interface LoadOptions {
  readonly source: SourceConfig;
  readonly pipeline: Pick<PipelineConfig, 'segmentBytes' | 'loadChunkPages'>;
  readonly partWriter: PartWriter;
  readonly events: PipelineEvents;
  /** What the source's catalog says of tables now. */
  readonly describe: (oids: readonly number[]) => Promise<readonly SourceTable[]>;
  readonly signal: AbortSignal;
}

/** A table to load. `empty` first removes what it holds; without `rows` only the position is set. */
export interface LoadRequest {
  readonly target: TableTarget;
  readonly empty: boolean;
  readonly rows: boolean;
  /** Table properties that come, and that end, with the load. */
  readonly properties: Readonly<Record<string, string>>;
  readonly removeProperties: readonly string[];
}

interface Chunk {
  readonly leaf: TableLeaf;
  readonly from: number;
  readonly to: number;
}

/** Files of one connection that are being written while it reads on. */
const WRITES_AHEAD = 2;

/**
 * Loads tables as they are at one moment: a temporary slot exports its snapshot, connections that share it copy page ranges
 * side by side, and each table gets one commit whose position is the slot's consistent point. Transactions that end at or
 * before it are in the snapshot, all others come through the stream. Interrupted, a table has no position and is loaded again.
 */
export async function loadTables(requests: readonly LoadRequest[], options: LoadOptions): Promise<void> {
  const { source, events, signal } = options;
  const slotClient = await connect(source.connection, { replication: true, applicationName: 'walberg load' });
  const guard = await connect(source.connection, { applicationName: 'walberg load' });
  try {
    const before = await leavesOf(guard, requests);
    const snapshot = await createExportingSlot(slotClient, temporarySlotName(source.slotName), {
      connection: source.connection,
      temporary: true,
      signal,
      onWaiting: ({ pids, prepared, waitedMs }) => events.warning({ message: 'The load waits for open transactions', context: { pids: pids.join(', '), prepared: prepared.join(', '), waitedMs: Math.round(waitedMs) } }),
    });
    // Held until the end: no rewrite or TRUNCATE can change what the snapshot shows.
    await importSnapshot(guard, snapshot.snapshotName);
    for (const leaves of before.values()) for (const leaf of leaves) await refuseRewritten(guard, leaf);
    await refuseAltered(requests, options);
    const sizes = await leavesOf(guard, requests);
    const readers = await openReaders(source, snapshot, [...sizes.values()].flat());
    try {
      for (const request of requests) {
        signal.throwIfAborted();
        await new TableLoad(request, sizes.get(request) ?? [], snapshot, readers, options).run();
      }
    } finally {
      await Promise.all(readers.map((r) => r.close()));
    }
  } finally {
    await Promise.all([guard.close(), slotClient.close()]);
  }
}

async function leavesOf(client: SourceClient, requests: readonly LoadRequest[]): Promise<Map<LoadRequest, TableLeaf[]>> {
  const leaves = new Map<LoadRequest, TableLeaf[]>();
  for (const request of requests) leaves.set(request, request.rows ? await tableLeaves(client, request.target.plan.source.oid) : []);
  return leaves;
}

async function refuseRewritten(client: SourceClient, leaf: TableLeaf): Promise<void> {
  if (await lockAndReadFileNode(client, leaf) === leaf.fileNode) return;
  throw new WalbergError('SOURCE_BUSY', `Table ${leaf.schema}.${leaf.name} was rewritten while its load began`, { context: { table: `${leaf.schema}.${leaf.name}` }, hint: 'Walberg begins the load again.' });
}

/**
 * Columns that changed after they were planned, up to the lock: what they hold in the snapshot would be copied under old names, or
 * not at all, and no change of the stream would bring it.
 */
async function refuseAltered(requests: readonly LoadRequest[], { describe }: LoadOptions): Promise<void> {
  const planned = requests.filter((r) => r.rows).map((r) => r.target.plan.source);
  const now = new Map((await describe(planned.map((t) => t.oid))).map((t) => [t.oid, t]));
  for (const table of planned) {
    const current = now.get(table.oid);
    if (current !== undefined && sameColumns(knownColumns(current, undefined), knownColumns(table, undefined))) continue;
    throw new WalbergError('TABLE_ALTERED', `Table ${qualifiedName(table)} was altered while its load began`, { context: { table: qualifiedName(table) } });
  }
}

/** Sessions that see the snapshot and have all tables locked, so that none of them waits for a lock later. */
async function openReaders(source: SourceConfig, snapshot: ExportedSnapshot, leaves: readonly TableLeaf[]): Promise<SourceClient[]> {
  const readers: SourceClient[] = [];
  try {
    while (leaves.length > 0 && readers.length < Math.max(1, source.snapshotMaxThreads)) {
      const reader = await connect(source.connection, { applicationName: 'walberg load' });
      readers.push(reader);
      await importSnapshot(reader, snapshot.snapshotName);
      await lockBesideOthers(reader, leaves);
    }
    return readers;
  } catch (error) {
    await Promise.all(readers.map((r) => r.close()));
    throw error;
  }
}

/** Slot names are at most 63 bytes of lower-case letters, digits and underscores. */
function temporarySlotName(slotName: string): string {
  return `${slotName.slice(0, 40)}_load_${process.pid}_${Math.floor(Math.random() * 0xffff).toString(16)}`;
}

/** The load of one table. */
class TableLoad {
  readonly #chunks: Chunk[];
  readonly #total: number;
  readonly #files: DataFile[] = [];
  readonly #transactions = new TransactionList();
  #rows = 0;
  #bytes = 0;
  #done = 0;

  constructor(private readonly request: LoadRequest, private readonly leaves: readonly TableLeaf[], private readonly snapshot: ExportedSnapshot, private readonly readers: readonly SourceClient[], private readonly options: LoadOptions) {
    const pages = Math.max(1, options.pipeline.loadChunkPages);
    this.#chunks = leaves.flatMap((leaf) => Array.from({ length: Math.ceil(leaf.pages / pages) }, (_, i) => ({ leaf, from: i * pages, to: Math.min(leaf.pages, (i + 1) * pages) })));
    this.#total = this.#chunks.length;
    this.#chunks.reverse();
    this.#transactions.add(BigInt(Date.now()) * 1000n, snapshot.consistentPoint, 0);
  }

  async run(): Promise<void> {
    const { target } = this.request;
    const { events } = this.options;
    const started = performance.now();
    const lsn = this.snapshot.consistentPoint;
    const estimate = (of: (leaf: TableLeaf) => number): number => this.leaves.reduce((n, leaf) => n + Math.max(0, of(leaf)), 0);
    if (this.request.rows) events.loadStarted({ table: target.name, estimatedRows: estimate((l) => l.estimatedRows), estimatedBytes: estimate((l) => l.bytes) });
    const readers = await Promise.allSettled(this.readers.map((reader) => this.#read(reader).catch((error: unknown) => {
      // The others finish what they have in hand.
      this.#chunks.length = 0;
      throw error;
    })));
    for (const result of readers) if (result.status === 'rejected') throw result.reason;
    const commit = { table: target.name, endLsn: lsn };
    events.commitStarted({ ...commit, rows: this.#rows });
    const result = await target.committer.commit({ dataFiles: this.#files, deleteFiles: [], truncate: this.request.empty, properties: this.request.properties, removeProperties: this.request.removeProperties, schemaId: target.schemaId, endLsn: lsn });
    const bytes = this.#files.reduce((n, f) => n + f.fileSizeInBytes, 0);
    events.commitFinished({ ...commit, snapshotId: result.snapshotId, sequenceNumber: result.sequenceNumber, dataFiles: this.#files.length, deleteFiles: 0, bytes, records: this.#rows, deletes: 0, durationMs: result.durationMs, attempts: result.attempts });
    if (this.request.rows) events.loadFinished({ table: target.name, rows: this.#rows, durationMs: performance.now() - started, lsn });
  }

  /** Reads chunks until none is left. */
  async #read(reader: SourceClient): Promise<void> {
    const writes = new Set<Promise<void>>();
    const failed = { error: undefined as unknown };
    const collector = new CopyCollector(this.options.pipeline.segmentBytes);
    const write = async (rows: CopiedRows | undefined): Promise<void> => {
      if (rows === undefined) return;
      const done = this.#write(rows).catch((error: unknown) => { failed.error ??= error; }).finally(() => writes.delete(done));
      writes.add(done);
      while (writes.size > WRITES_AHEAD) await Promise.race(writes);
    };
    const { source } = this.request.target.plan;
    const columns = source.columns.map((c) => c.name);
    for (let chunk = this.#chunks.pop(); chunk !== undefined && failed.error === undefined; chunk = this.#chunks.pop()) {
      const sql = copyStatement({ ...chunk.leaf, kind: 'r', rowFilter: source.rowFilter }, columns, chunk);
      await copyOut(reader, sql, (bytes) => {
        this.#bytes += bytes.length;
        this.#rows += collector.add(bytes);
        if (failed.error !== undefined) throw failed.error;
        return collector.isFull ? write(collector.take()) : undefined;
      }, { signal: this.options.signal });
      this.#done++;
      this.#progress();
    }
    await write(collector.take());
    await Promise.all(writes);
    if (failed.error !== undefined) throw failed.error;
  }

  async #write(rows: CopiedRows): Promise<void> {
    const { target } = this.request;
    const count = rows.rowOffsets.length;
    const meta = metaOf(target, { ops: new Uint8Array(count).fill(OP_READ), transactions: new Uint32Array(count) }, this.#transactions);
    this.#files.push(await this.options.partWriter.writeData(target, { format: 'copy', arena: rows.arena, rowOffsets: rows.rowOffsets, meta }));
    this.#progress();
  }

  #progress(): void {
    this.options.events.loadProgress({ table: this.request.target.name, rows: this.#rows, bytes: this.#bytes, chunksDone: this.#done, chunksTotal: this.#total });
  }
}
