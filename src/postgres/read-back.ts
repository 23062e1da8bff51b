import type { SourceTable } from '../schema/source-table.js';
import { WalbergError } from '../errors/error.js';
import type { SourceClient } from './client.js';
import { quoteIdentifier, quoteTable } from './quote.js';
import { parseSnapshot, type TransactionSnapshot } from './transaction-snapshot.js';
import { insertLsn, waitFlushed } from './wal-position.js';

export interface ReadBackRequest {
  readonly table: SourceTable;
  /** Columns that together identify a row: primary key or identity index. */
  readonly keyColumns: readonly string[];
  /** Key values as the stream sent them, one array per row, in the order of keyColumns. */
  readonly keys: readonly (readonly string[])[];
  /** Columns wanted. */
  readonly columns: readonly string[];
  readonly signal?: AbortSignal;
}

/** Values in the order of the requested columns, text exactly as the stream would send it. */
export type SourceRow = readonly (string | null)[];

export interface ReadBack {
  /** One entry per key of the request, in its order; undefined where the source has no such row (any more). */
  readonly rows: readonly (SourceRow | undefined)[];
  /** Everything the read has seen was written before this position, and is flushed. */
  readonly insertLsn: bigint;
  readonly snapshot: TransactionSnapshot;
}

/**
 * Reads rows by key in one transaction, and waits until the WAL of all they show is on disk. The rows are newer than any
 * stream: they may only be used when no later change of the same keys is found up to `insertLsn`, and when `snapshot` has seen
 * the transactions they are read for. When this rejects nothing is known, not even that a row is absent.
 */
export async function readBack(client: SourceClient, request: ReadBackRequest): Promise<ReadBack> {
  await client.rows('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    const rows = await readRows(client, request);
    const [row] = await client.rows('SELECT pg_catalog.pg_current_snapshot() AS snapshot, pg_catalog.pg_is_in_recovery() AS standby');
    await client.rows('COMMIT');
    const lsn = await insertLsn(client);
    await waitFlushed(client, lsn, request.signal);
    return { rows, insertLsn: lsn, snapshot: parseSnapshot(row.snapshot ?? '', row.standby === 't') };
  } catch (error) {
    await client.rows('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** The rows of `keys` as the current transaction sees them. */
export async function readRows(client: SourceClient, request: Omit<ReadBackRequest, 'signal'>): Promise<(SourceRow | undefined)[]> {
  const found = new Array<SourceRow | undefined>(request.keys.length).fill(undefined);
  if (request.keys.length === 0) return found;
  const { table, keyColumns } = request;
  const equal = await equalityOperators(client, table, keyColumns);
  const key = keyColumns.map((name, i) => {
    const column = table.columns.find((c) => c.name === name);
    if (column === undefined) throw new WalbergError('INTERNAL', `${table.schema}.${table.name} has no column ${name}`);
    // Through the base type: a domain's own checks may have been added after the row was written.
    return `t.${quoteIdentifier(name)} OPERATOR(${equal[i]}) k.k${i}::${column.baseTypeName}`;
  });
  // unnest of several arrays is syntax rather than a function, and only without a schema.
  const rows = await client.rows<Record<string, string | null>>(`
    SELECT k.ord${request.columns.map((c, i) => `, t.${quoteIdentifier(c)} AS c${i}`).join('')}
      FROM unnest(${keyColumns.map((_, i) => `$${i + 1}::pg_catalog.text[]`).join(', ')}) WITH ORDINALITY AS k (${keyColumns.map((_, i) => `k${i}`).join(', ')}, ord)
      JOIN ${table.kind === 'r' ? 'ONLY ' : ''}${quoteTable(table)} t ON ${key.join(' AND ')}`, keyColumns.map((_, i) => request.keys.map((k) => k[i])));
  for (const row of rows) found[Number(row.ord) - 1] = request.columns.map((_, i) => row[`c${i}`]);
  return found;
}

/**
 * The equality operators of the key index, by schema: for types of extensions they are not found by name under the pinned
 * search_path, or another operator of that name is, and then the index would not be used.
 */
async function equalityOperators(client: SourceClient, table: SourceTable, keyColumns: readonly string[]): Promise<string[]> {
  const rows = await client.rows<Record<'attname' | 'nspname' | 'oprname', string>>(`
    SELECT DISTINCT a.attname, n.nspname, o.oprname
      FROM pg_catalog.pg_index i
      JOIN LATERAL unnest(i.indkey::pg_catalog.int2[], i.indclass::pg_catalog.oid[]) AS k (attnum, opclass) ON k.opclass IS NOT NULL
      JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
      JOIN pg_catalog.pg_opclass c ON c.oid = k.opclass
      JOIN pg_catalog.pg_am m ON m.oid = c.opcmethod AND m.amname = 'btree'
      JOIN pg_catalog.pg_amop p ON p.amopfamily = c.opcfamily AND p.amoplefttype = c.opcintype AND p.amoprighttype = c.opcintype AND p.amopstrategy = 3
      JOIN pg_catalog.pg_operator o ON o.oid = p.amopopr
      JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
     WHERE i.indrelid = $1 AND (i.indisprimary OR i.indisreplident)`, [table.oid]);
  return keyColumns.map((name) => {
    const row = rows.find((r) => r.attname === name);
    return row === undefined ? 'pg_catalog.=' : `${quoteIdentifier(row.nspname)}.${row.oprname}`;
  });
}
