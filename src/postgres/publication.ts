import type { SourceClient } from './client.js';

/** A table as a publication sends it (pg_publication_tables). */
export interface PublishedTable {
  readonly schema: string;
  readonly name: string;
  /** Columns of the column list, in attnum order; undefined on servers before 15, which have no column lists. */
  readonly columns?: readonly string[];
  /** SQL text of the WHERE clause. */
  readonly rowFilter?: string;
}

/** A publication as it is now. */
export interface Publication {
  /** Another OID under the same name: it was dropped and created again, and what happened in between was not published. */
  readonly oid: number;
  readonly name: string;
  readonly allTables: boolean;
  readonly operations: { readonly insert: boolean; readonly update: boolean; readonly delete: boolean; readonly truncate: boolean };
  readonly viaPartitionRoot: boolean;
  readonly tables: readonly PublishedTable[];
}

/** Reads a publication; undefined when there is none of that name. */
export async function readPublication(client: SourceClient, name: string): Promise<Publication | undefined> {
  const rows = await client.rows<Record<string, string>>(`
    SELECT p.oid, p.pubname, p.puballtables, p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate, p.pubviaroot
      FROM pg_catalog.pg_publication p WHERE p.pubname = $1`, [name]);
  if (rows.length === 0) return undefined;
  const [p] = rows;
  const details = client.serverVersionNum >= 150000 ? ', pg_catalog.to_json(t.attnames) AS columns, t.rowfilter' : '';
  const tables = await client.rows<{ schemaname: string; tablename: string; columns?: string | null; rowfilter?: string | null }>(
    `SELECT t.schemaname, t.tablename${details} FROM pg_catalog.pg_publication_tables t WHERE t.pubname = $1 ORDER BY 1, 2`, [name]);
  return {
    oid: Number(p.oid),
    name: p.pubname,
    allTables: p.puballtables === 't',
    operations: { insert: p.pubinsert === 't', update: p.pubupdate === 't', delete: p.pubdelete === 't', truncate: p.pubtruncate === 't' },
    viaPartitionRoot: p.pubviaroot === 't',
    tables: tables.map((t) => ({
      schema: t.schemaname,
      name: t.tablename,
      columns: t.columns === undefined || t.columns === null ? undefined : JSON.parse(t.columns) as string[],
      rowFilter: t.rowfilter ?? undefined,
    })),
  };
}
