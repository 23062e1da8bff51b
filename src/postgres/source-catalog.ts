import type { SourceColumn, SourceElement, SourceTable } from '../schema/source-table.js';
import type { ReplicaIdentity } from '../pgoutput/messages.js';
import type { SourceClient } from './client.js';
import { quoteIdentifier, quoteTable } from './quote.js';
import { type PublishedTable, readPublication } from './publication.js';

type Row<K extends string> = Record<K, string>;

/**
 * Describes tables by OID as the catalog has them now, in the order of `oids`; tables that no longer exist are left out.
 * Columns are those the publication sends, in attnum order, which is the order pgoutput uses. The catalog may be newer than
 * the position of a stream: compare names and types with the Relation message before trusting it.
 */
export async function describeTables(client: SourceClient, oids: readonly number[], publicationName: string): Promise<SourceTable[]> {
  if (oids.length === 0) return [];
  const wanted = [`{${oids.join(',')}}`];
  const tables = await client.rows<Row<'oid' | 'nspname' | 'relname' | 'relkind' | 'relreplident'> & { comment: string | null }>(`
    SELECT c.oid, n.nspname, c.relname, c.relkind, c.relreplident, pg_catalog.obj_description(c.oid, 'pg_class') AS comment
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = ANY ($1::pg_catalog.oid[])`, wanted);
  const publication = await readPublication(client, publicationName);
  const columns = await describeColumns(client, wanted);
  const indexes = await describeKeys(client, wanted);

  const found = tables.map((t): SourceTable => {
    const oid = Number(t.oid);
    const published = publication?.tables.find((p) => p.schema === t.nspname && p.name === t.relname);
    const keys = indexes.filter((i) => i.table === oid);
    const primary = keys.find((k) => k.primary);
    return {
      oid,
      schema: t.nspname,
      name: t.relname,
      kind: t.relkind,
      columns: (columns.get(oid)?.columns ?? []).filter((c) => isSent(c, published, client.serverVersionNum)),
      lastAttnum: columns.get(oid)?.lastAttnum,
      files: columns.get(oid)?.files,
      replicaIdentity: t.relreplident as ReplicaIdentity,
      primaryKey: primary?.columns ?? [],
      primaryKeyDeferrable: primary?.deferrable ?? false,
      identityIndexColumns: t.relreplident === 'i' ? keys.find((k) => k.replicaIdentity)?.columns ?? [] : [],
      comment: t.comment ?? undefined,
      rowFilter: published?.rowFilter,
    };
  });
  return oids.flatMap((oid) => found.filter((t) => t.oid === oid));
}

/**
 * What pgoutput leaves out. Before 18 generated columns are never sent, although 15 to 17 list them in
 * pg_publication_tables.attnames; from 18 that list is exact (`publish_generated_columns`, or named in a column list).
 */
function isSent(column: SourceColumn, published: PublishedTable | undefined, serverVersionNum: number): boolean {
  if (published?.columns !== undefined && !published.columns.includes(column.name)) return false;
  return column.generated === '' || (serverVersionNum >= 180000 && published?.columns !== undefined);
}

interface Described {
  readonly columns: SourceColumn[];
  readonly lastAttnum: number;
  readonly files: Readonly<Record<string, string>> | undefined;
}

/** Tables with more partitions do not remember their files. */
const FILES_MAX = 256;

/** All in one statement: which columns a table has and in which files it lies must be from the same moment. */
async function describeColumns(client: SourceClient, oids: readonly string[]): Promise<Map<number, Described>> {
  type Column = Row<'relnatts' | 'filled' | 'attrelid' | 'attnum' | 'attname' | 'atttypid' | 'atttypmod' | 'type_name' | 'base_oid' | 'base_typmod' | 'base_name' | 'base_kind' | 'not_null' | 'varlena' | 'attgenerated'> & { comment: string | null; files: string | null } & ElementRow;
  const rows = await client.rows<Column>(`
    WITH RECURSIVE tree AS (
      SELECT c.oid AS root, c.oid FROM pg_catalog.pg_class c WHERE c.oid = ANY ($1::pg_catalog.oid[])
      UNION ALL
      SELECT t.root, i.inhrelid FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid JOIN pg_catalog.pg_class p ON p.oid = i.inhrelid AND p.relispartition
    ), files AS (
      SELECT t.root, CASE WHEN pg_catalog.count(*) <= ${FILES_MAX} THEN pg_catalog.json_object_agg(c.oid::pg_catalog.text, c.relfilenode::pg_catalog.text ORDER BY c.oid) END AS files
        FROM tree t JOIN pg_catalog.pg_class c ON c.oid = t.oid AND c.relkind = 'r' GROUP BY t.root
    ), missing AS (
      SELECT DISTINCT t.root, m.attname FROM tree t JOIN pg_catalog.pg_attribute m ON m.attrelid = t.oid AND m.attnum > 0 AND m.atthasmissing
    ), columns AS (
      SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attlen, a.attgenerated, a.attndims
        FROM pg_catalog.pg_attribute a
       WHERE a.attrelid = ANY ($1::pg_catalog.oid[]) AND a.attnum > 0 AND NOT a.attisdropped
    ), chain AS (
      -- a domain's type modifier sits in the domain, and a domain over a domain has none of its own
      SELECT t.oid AS declared, t.oid, NULL::pg_catalog.int4 AS typmod, NULL::pg_catalog.int4 AS dimensions, t.typtype, t.typbasetype, t.typtypmod, t.typndims
        FROM pg_catalog.pg_type t WHERE t.oid IN (SELECT atttypid FROM columns)
      UNION ALL
      SELECT c.declared, b.oid, c.typtypmod, c.typndims, b.typtype, b.typbasetype, b.typtypmod, b.typndims
        FROM chain c JOIN pg_catalog.pg_type b ON b.oid = c.typbasetype WHERE c.typtype = 'd'
    ), arrays AS (
      -- int2vector and oidvector have elements too, but are not their array types
      SELECT DISTINCT t.oid, e.oid AS element, e.typdelim FROM chain c JOIN pg_catalog.pg_type t ON t.oid = c.oid
        JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND e.typarray = t.oid WHERE t.typtype = 'b'
    ), elements AS (
      SELECT a.oid AS array_oid, a.typdelim, t.oid, NULL::pg_catalog.int4 AS typmod, t.typtype, t.typbasetype, t.typtypmod
        FROM arrays a JOIN pg_catalog.pg_type t ON t.oid = a.element
      UNION ALL
      SELECT c.array_oid, c.typdelim, b.oid, c.typtypmod, b.typtype, b.typbasetype, b.typtypmod
        FROM elements c JOIN pg_catalog.pg_type b ON b.oid = c.typbasetype WHERE c.typtype = 'd'
    )
    SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod,
           pg_catalog.format_type(a.atttypid, a.atttypmod) AS type_name,
           b.oid AS base_oid, COALESCE(b.typmod, a.atttypmod) AS base_typmod,
           pg_catalog.format_type(b.oid, COALESCE(b.typmod, a.atttypmod)) AS base_name, b.typtype AS base_kind,
           -- since 18 a NOT NULL that was never checked against the existing rows sets attnotnull too
           a.attnotnull AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k
             WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND NOT k.convalidated AND a.attnum = ANY (k.conkey)) AS not_null,
           -- by type length rather than attstorage: SET STORAGE PLAIN leaves older values out of line
           a.attlen = -1 AS varlena, a.attgenerated,
           r.relnatts, f.files, EXISTS (SELECT 1 FROM missing m WHERE m.root = a.attrelid AND m.attname = a.attname) AS filled,
           -- the array's modifier is that of its elements
           e.oid AS element_oid, COALESCE(e.typmod, b.typmod, a.atttypmod) AS element_typmod, e.typtype AS element_kind, e.typdelim AS delimiter,
           pg_catalog.format_type(e.oid, COALESCE(e.typmod, b.typmod, a.atttypmod)) AS element_name, COALESCE(b.dimensions, a.attndims) AS dimensions,
           pg_catalog.col_description(a.attrelid, a.attnum) AS comment
      FROM columns a JOIN chain b ON b.declared = a.atttypid AND b.typtype <> 'd'
      LEFT JOIN elements e ON e.array_oid = b.oid AND e.typtype <> 'd'
      JOIN pg_catalog.pg_class r ON r.oid = a.attrelid LEFT JOIN files f ON f.root = a.attrelid
     ORDER BY a.attrelid, a.attnum`, oids);
  const byTable = new Map<number, Described>();
  for (const r of rows) {
    const table = byTable.get(Number(r.attrelid)) ?? { columns: [], lastAttnum: Number(r.relnatts), files: r.files === null ? undefined : JSON.parse(r.files) as Record<string, string> };
    byTable.set(Number(r.attrelid), table);
    table.columns.push({
      name: r.attname,
      attnum: Number(r.attnum),
      typeOid: Number(r.atttypid),
      typmod: Number(r.atttypmod),
      typeName: r.type_name,
      baseTypeOid: Number(r.base_oid),
      baseTypmod: Number(r.base_typmod),
      baseTypeName: r.base_name,
      baseTypeKind: r.base_kind,
      notNull: r.not_null === 't',
      toastable: r.varlena === 't',
      generated: r.attgenerated,
      ...elementOf(r),
      filled: r.filled === 't',
      comment: r.comment ?? undefined,
    });
  }
  return byTable;
}

type ElementRow = Row<'dimensions'> & { element_oid: string | null; element_typmod: string; element_kind: string; element_name: string; delimiter: string };

function elementOf(r: ElementRow): { readonly element?: SourceElement } {
  if (r.element_oid === null) return {};
  return {
    element: {
      typeName: r.element_name, baseTypeOid: Number(r.element_oid), baseTypmod: Number(r.element_typmod), baseTypeKind: r.element_kind,
      delimiter: r.delimiter, dimensions: Number(r.dimensions),
    },
  };
}

interface KeyIndex {
  readonly table: number;
  readonly primary: boolean;
  readonly replicaIdentity: boolean;
  readonly deferrable: boolean;
  /** In index order, INCLUDE columns left out. */
  readonly columns: readonly string[];
}

/** From pg_index alone: information_schema mixes in foreign keys, and column order there is not the key's. */
async function describeKeys(client: SourceClient, oids: readonly string[]): Promise<KeyIndex[]> {
  const rows = await client.rows<Row<'indrelid' | 'indisprimary' | 'indisreplident' | 'indimmediate' | 'columns'>>(`
    SELECT i.indrelid, i.indisprimary, i.indisreplident, i.indimmediate,
           (SELECT pg_catalog.json_agg(a.attname ORDER BY k.ord)
              FROM pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY AS k (attnum, ord)
              JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE k.ord <= i.indnkeyatts) AS columns
      FROM pg_catalog.pg_index i
     WHERE i.indrelid = ANY ($1::pg_catalog.oid[]) AND (i.indisprimary OR i.indisreplident)`, oids);
  return rows.map((r) => ({
    table: Number(r.indrelid),
    primary: r.indisprimary === 't',
    replicaIdentity: r.indisreplident === 't',
    deferrable: r.indimmediate !== 't',
    columns: JSON.parse(r.columns) as string[],
  }));
}

/** Whether a row of the table has a value in one of the columns. Reads the table until it finds one. */
export async function holdsValues(client: SourceClient, table: Pick<SourceTable, 'schema' | 'name'>, columns: readonly string[]): Promise<boolean> {
  const [row] = await client.rows(`SELECT EXISTS (SELECT FROM ${quoteTable(table)} WHERE ${columns.map((c) => `${quoteIdentifier(c)} IS NOT NULL`).join(' OR ')}) AS found`, [], 0);
  return row.found === 't';
}
