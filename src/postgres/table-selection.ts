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

function followsPublication(source: SourceConfig, publication: Publication | undefined, table: TableRef): boolean {
  const byHand = source.publicationAutocreate === 'disabled' || source.publicationAutocreate === 'no_tables';
  if (!byHand || publication === undefined || source.tableInclude.length > 0 || source.schemaInclude.length > 0) return false;
  return !publication.tables.some((p) => p.schema === table.schema && p.name === table.name);
}
