import type { SourceTable } from '../schema/source-table.js';
import { isWalbergError, WalbergError } from '../errors/error.js';
import type { SourceClient } from './client.js';
import { classifyPostgresError } from './errors.js';
import { interceptCopyData } from './frame-reader.js';
import { quoteIdentifier, quoteLiteral, quoteTable } from './quote.js';

export interface CopyOptions {
  /** Aborting cuts the connection: the server stops at its next write. */
  readonly signal?: AbortSignal;
}

/**
 * Runs `COPY … TO STDOUT` and hands over what arrives: each chunk is one or more whole rows in COPY text format with their
 * line ends, and belongs to the receiver. While a returned promise is pending the socket is not read. Resolves with the
 * number of bytes; rejects with a classified error or with what `onChunk` threw, and then the connection is closed.
 */
export async function copyOut(client: SourceClient, sql: string, onChunk: (chunk: Buffer) => void | Promise<void>, options: CopyOptions = {}): Promise<number> {
  options.signal?.throwIfAborted();
  const { stream } = client.wire;
  const rows = new RowCollector();
  let bytes = 0;
  let failure: unknown;
  let pending: Promise<void> | undefined;

  const fail = (error: unknown): void => {
    failure ??= error;
    client.destroy();
  };
  const release = interceptCopyData(stream, {
    onCopyData: (buffer, start, end) => rows.add(buffer, start, end),
    onChunk: () => {
      const chunk = rows.take();
      if (chunk === undefined) return;
      bytes += chunk.length;
      const taken = onChunk(chunk);
      if (taken === undefined) return;
      stream.pause();
      pending = taken.then(() => { stream.resume(); }, fail);
    },
    onError: fail,
  });
  const onAbort = (): void => fail(options.signal?.reason);
  options.signal?.addEventListener('abort', onAbort, { once: true });
  try {
    await client.query(sql);
    // The last promise may settle after the server has finished.
    await pending;
    if (failure !== undefined) throw failure;
    return bytes;
  } catch (error) {
    if (failure !== undefined) throw failure;
    throw classifyPostgresError(client.lost?.cause ?? error);
  } finally {
    options.signal?.removeEventListener('abort', onAbort);
    release();
  }
}

/** Joins the rows of one socket read into a buffer of their own; what they are cut from is reused. */
class RowCollector {
  #buffer = Buffer.alloc(0);
  #length = 0;

  add(buffer: Buffer, start: number, end: number): void {
    const needed = this.#length + end - start;
    if (needed > this.#buffer.length) {
      const bigger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2, SOCKET_READ));
      this.#buffer.copy(bigger, 0, 0, this.#length);
      this.#buffer = bigger;
    }
    buffer.copy(this.#buffer, this.#length, start, end);
    this.#length = needed;
  }

  take(): Buffer | undefined {
    if (this.#length === 0) return undefined;
    const chunk = this.#buffer.subarray(0, this.#length);
    this.#buffer = Buffer.alloc(0);
    this.#length = 0;
    return chunk;
  }
}

/** What Node reads from a socket at once. */
const SOCKET_READ = 65_536;

/** A range of pages of one table, [from, to). */
export interface PageRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The COPY statement of one table or leaf: captured columns only, in `columns` order, the publication's row filter applied,
 * optionally one page range (a Tid Range Scan, which plain tables only have). COPY (SELECT …) rather than COPY table, which
 * refuses partitioned roots and knows no filter. ONLY: what inherits from the table is captured by its own name.
 */
export function copyStatement(table: Pick<SourceTable, 'schema' | 'name' | 'kind' | 'rowFilter'>, columns: readonly string[], pages?: PageRange): string {
  if (pages !== undefined && table.kind !== 'r') throw new WalbergError('INTERNAL', `page ranges of ${table.schema}.${table.name}, which is no plain table`);
  const conditions = [
    ...(pages === undefined ? [] : [`ctid >= '(${pages.from},0)'::pg_catalog.tid AND ctid < '(${pages.to},0)'::pg_catalog.tid`]),
    ...(table.rowFilter === undefined ? [] : [`(${table.rowFilter})`]),
  ];
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  return `COPY (SELECT ${columns.map(quoteIdentifier).join(', ')} FROM ${table.kind === 'r' ? 'ONLY ' : ''}${quoteTable(table)}${where}) TO STDOUT`;
}

/** Opens a read-only transaction on another session's exported snapshot. Ends with COMMIT or the connection. */
export async function importSnapshot(client: SourceClient, name: string): Promise<void> {
  await client.rows(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT ${quoteLiteral(name)}`);
}

/** A plain table or leaf partition that holds rows, with its size now. */
export interface TableLeaf {
  readonly oid: number;
  readonly schema: string;
  readonly name: string;
  /** Pages of the main fork, from the file and not from statistics. */
  readonly pages: number;
  /** Changes when the table is rewritten; compare with the stored one after locking. */
  readonly fileNode: number;
  /** pg_class.reltuples, -1 when the table was never analysed. */
  readonly estimatedRows: number;
  /** Main fork and TOAST. */
  readonly bytes: number;
}

/** The plain tables under `oid`: itself, or the leaves of a partitioned root. */
export async function tableLeaves(client: SourceClient, oid: number): Promise<TableLeaf[]> {
  const rows = await client.rows<Record<'oid' | 'nspname' | 'relname' | 'pages' | 'file_node' | 'reltuples' | 'bytes', string>>(`
    SELECT c.oid, n.nspname, c.relname, c.reltuples, pg_catalog.pg_table_size(c.oid) AS bytes,
           pg_catalog.pg_relation_size(c.oid, 'main') / pg_catalog.current_setting('block_size')::pg_catalog.int8 AS pages,
           pg_catalog.pg_relation_filenode(c.oid) AS file_node
      FROM (SELECT $1::pg_catalog.oid AS oid UNION SELECT t.relid FROM pg_catalog.pg_partition_tree($1::pg_catalog.oid::pg_catalog.regclass) t WHERE t.isleaf) l
      JOIN pg_catalog.pg_class c ON c.oid = l.oid AND c.relkind = 'r'
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     ORDER BY n.nspname, c.relname`, [oid]);
  return rows.map((r) => ({
    oid: Number(r.oid), schema: r.nspname, name: r.relname, pages: Number(r.pages), fileNode: Number(r.file_node), estimatedRows: Number(r.reltuples), bytes: Number(r.bytes),
  }));
}

/** Pages of the main fork of one plain table; for a partitioned root the sum over its leaves. */
export async function relationPages(client: SourceClient, oid: number): Promise<number> {
  return (await tableLeaves(client, oid)).reduce((sum, leaf) => sum + leaf.pages, 0);
}

/**
 * Takes ACCESS SHARE on a table for the rest of the transaction, so that no rewrite can slip in before the scan, and then
 * returns its file node: not from pg_class, which the transaction's snapshot may show as it was.
 */
export async function lockAndReadFileNode(client: SourceClient, table: { readonly oid: number; readonly schema: string; readonly name: string }): Promise<number | undefined> {
  await client.rows(`LOCK TABLE ONLY ${quoteTable(table)} IN ACCESS SHARE MODE`, [], 0);
  const [row] = await client.rows('SELECT pg_catalog.pg_relation_filenode($1) AS file_node', [table.oid]);
  return row.file_node === null ? undefined : Number(row.file_node);
}

/**
 * Takes ACCESS SHARE on tables that another session of ours has locked already, without waiting. A request for the same lock
 * queues behind a TRUNCATE or ALTER TABLE that waits for that session, and would wait forever: the server sees no circle in
 * it. SOURCE_BUSY then.
 */
export async function lockBesideOthers(client: SourceClient, tables: readonly { readonly schema: string; readonly name: string }[]): Promise<void> {
  if (tables.length === 0) return;
  try {
    await client.rows(`LOCK TABLE ${tables.map((t) => `ONLY ${quoteTable(t)}`).join(', ')} IN ACCESS SHARE MODE NOWAIT`);
  } catch (error) {
    if (!isWalbergError(error) || error.context.sqlstate !== '55P03') throw error;
    throw new WalbergError('SOURCE_BUSY', 'Another session waits for a table that is to be loaded, and the load gives way to it', { context: error.context, hint: 'Walberg begins the load again.', cause: error });
  }
}
