import type { SourceConfig } from '../config/config.js';
import { WalbergError } from '../errors/error.js';
import type { SourceClient } from './client.js';
import { readPublication, type Publication } from './publication.js';

/** A table by identity and name. */
export interface TableRef {
  readonly oid: number;
  readonly schema: string;
  readonly name: string;
  /** pg_class.relkind: r table, p partitioned root. */
  readonly kind: string;
}

type Filters = Pick<SourceConfig, 'schemaInclude' | 'schemaExclude' | 'tableInclude' | 'tableExclude' | 'columnInclude' | 'columnExclude'>;

/** Debezium's rule: a name passes when an include pattern matches it (or there is none) and no exclude pattern does. */
function passes(name: string, include: readonly RegExp[], exclude: readonly RegExp[]): boolean {
  return (include.length === 0 || include.some((r) => r.test(name))) && !exclude.some((r) => r.test(name));
}

/** Schema lists are matched against `schema`, table lists against `schema.table`; both must pass. */
export function isTableCaptured(filters: Filters, schema: string, table: string): boolean {
  return passes(schema, filters.schemaInclude, filters.schemaExclude) && passes(`${schema}.${table}`, filters.tableInclude, filters.tableExclude);
}

/** Column lists are matched against `schema.table.column`. Key columns always stay: without them no change finds its row. */
export function isColumnCaptured(filters: Filters, schema: string, table: string, column: string, keyColumns: readonly string[]): boolean {
  return keyColumns.includes(column) || passes(`${schema}.${table}.${column}`, filters.columnInclude, filters.columnExclude);
}

/**
 * Every table that could be captured. Only permanent tables are written to WAL. Changes of partitions are published
 * either under the root or under each leaf, so exactly one of the two levels is listed.
 */
export async function listTables(client: SourceClient, viaPartitionRoot: boolean): Promise<TableRef[]> {
  const rows = await client.rows<Record<'oid' | 'nspname' | 'relname' | 'relkind', string>>(`
    SELECT c.oid, n.nspname, c.relname, c.relkind
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relpersistence = 'p'
       AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
       AND ${viaPartitionRoot ? `c.relkind IN ('r', 'p') AND NOT c.relispartition` : `c.relkind = 'r'`}
     ORDER BY n.nspname, c.relname`);
  return rows.map((r) => ({ oid: Number(r.oid), schema: r.nspname, name: r.relname, kind: r.relkind }));
}

/**
 * The tables this configuration captures, ordered by name. When the publication is managed by hand
 * (`publication.autocreate.mode` disabled or no_tables) and no include list narrows the choice, the publication's own list is
 * the choice. An existing publication also decides whether partitions appear as their root.
 */
export async function selectTables(client: SourceClient, source: SourceConfig): Promise<TableRef[]> {
  const publication = await readPublication(client, source.publicationName);
  const candidates = await listTables(client, publication?.viaPartitionRoot ?? source.publishViaPartitionRoot);
  const tables = candidates.filter((t) => isTableCaptured(source, t.schema, t.name) && !followsPublication(source, publication, t));
  if (tables.length === 0) {
    throw new WalbergError('TABLE_MISSING', `No table of database ${source.connection.database} matches the include lists`, { context: { candidates: candidates.length, publication: source.publicationName } });
  }
  return tables;
}

/**
 * Checks that names and tables still belong together: rows are streamed by OID, so a table that was renamed would go on to fill
 * the Iceberg table of its old name, and one that took its name would never be seen. SCHEMA_CHANGED. A table that is gone
 * without another in its place is no matter here: the publication tells.
 */
export async function verifyNames(client: SourceClient, tables: readonly TableRef[]): Promise<void> {
  const rows = await client.rows<Record<'oid' | 'nspname' | 'relname', string>>(`
    SELECT c.oid, n.nspname, c.relname
      FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS w (oid)
      JOIN pg_catalog.pg_class c ON c.oid = w.oid
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    UNION
    SELECT c.oid, n.nspname, c.relname
      FROM ROWS FROM (pg_catalog.unnest($2::pg_catalog.text[]), pg_catalog.unnest($3::pg_catalog.text[])) AS w (nspname, relname)
      JOIN pg_catalog.pg_namespace n ON n.nspname = w.nspname
      JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.relname`, [tables.map((t) => t.oid), tables.map((t) => t.schema), tables.map((t) => t.name)]);
  const byOid = new Map(rows.map((r) => [Number(r.oid), `${r.nspname}.${r.relname}`]));
  const byName = new Map(rows.map((r) => [`${r.nspname}.${r.relname}`, Number(r.oid)]));
  for (const { oid, schema, name } of tables) {
    const table = `${schema}.${name}`;
    const named = byOid.get(oid);
    if (named !== undefined && named !== table) {
      throw new WalbergError('SCHEMA_CHANGED', `Table ${table} was given the name ${named} while Walberg was running`, { context: { table, oid }, hint: 'Restart Walberg: the table is captured under its new name then, if the include lists match that, and loaded anew.' });
    }
    const now = byName.get(table);
    if (now !== undefined && now !== oid) {
      throw new WalbergError('SCHEMA_CHANGED', `Table ${table} was dropped and made again while Walberg was running`, { context: { table, oid: now, was: oid }, hint: 'Drop or rename its Iceberg table and restart Walberg, so that it is loaded anew.' });
    }
  }
}

function followsPublication(source: SourceConfig, publication: Publication | undefined, table: TableRef): boolean {
  const byHand = source.publicationAutocreate === 'disabled' || source.publicationAutocreate === 'no_tables';
  if (!byHand || publication === undefined || source.tableInclude.length > 0 || source.schemaInclude.length > 0) return false;
  return !publication.tables.some((p) => p.schema === table.schema && p.name === table.name);
}
