import type { SourceClient } from '../../src/postgres/client.js';
import { quoteIdentifier } from '../../src/postgres/quote.js';

/** How a column's values are written as one text on both sides. Numbers of decimals: digits after the point. */
export type Scalar = 'boolean' | 'int' | 'float' | { readonly decimal: number } | 'date' | 'timestamp' | 'uuid' | 'binary' | 'string';
export type Kind = Scalar | { readonly list: Scalar };
export interface Column { readonly name: string; readonly kind: Kind }

/**
 * The canonical form: boolean true/false; integers decimal; floats the 16 hexadecimal digits of the IEEE double, or nan;
 * decimals plain with all digits of the scale; timestamps microseconds and dates days since 1970; uuid lower case; binary
 * hexadecimal; everything else the text Postgres prints. A list is its elements in brackets, each as in a row, and NULL is
 * the empty list: ClickHouse cannot tell them apart.
 */
export function postgresExpression({ name, kind }: Column): string {
  const c = quoteIdentifier(name);
  if (typeof kind === 'object' && 'list' in kind) {
    const e = postgresExpression({ name: 'v', kind: kind.list });
    return `'[' || coalesce((SELECT string_agg(coalesce(octet_length(${e}) || ':' || (${e}), '-'), ',' ORDER BY n) FROM (SELECT (${c})[n] AS v, n FROM generate_subscripts(${c}, 1) AS n) AS u), '') || ']'`;
  }
  if (typeof kind === 'object') return `${c}::pg_catalog.text`;
  switch (kind) {
    case 'boolean': case 'int': case 'uuid': return `${c}::pg_catalog.text`;
    case 'float': return `CASE WHEN ${c} = 'NaN' THEN 'nan' ELSE encode(float8send(${c}::float8), 'hex') END`;
    case 'date': return `(${c} - date '1970-01-01')::text`;
    case 'timestamp': return `(extract(epoch FROM ${c}) * 1000000)::numeric(30,0)::text`;
    case 'binary': return `encode(${c}, 'hex')`;
    // Not a cast: char(n)::text loses its padding.
    case 'string': return `CASE WHEN ${c} IS NOT NULL THEN format('%s', ${c}) END`;
  }
}

export function clickHouseExpression({ name, kind }: Column): string {
  const c = clickHouseName(name);
  if (typeof kind === 'object' && 'list' in kind) {
    const e = clickHouseExpression({ name: 'v', kind: kind.list });
    return `concat('[', arrayStringConcat(arrayMap(v -> ifNull(concat(toString(length(${e})), ':', ${e}), '-'), ${c}), ','), ']')`;
  }
  if (typeof kind === 'object') return `toDecimalString(${c}, ${kind.decimal})`;
  switch (kind) {
    case 'boolean': case 'int': case 'string': return `toString(${c})`;
    case 'uuid': return `lower(toString(${c}))`;
    case 'float': return `if(isNaN(${c}), 'nan', leftPad(lower(hex(reinterpretAsUInt64(toFloat64(${c})))), 16, '0'))`;
    case 'date': return `toString(toInt32(${c}))`;
    case 'timestamp': return `toString(toUnixTimestamp64Micro(${c}))`;
    case 'binary': return `lower(hex(${c}))`;
  }
}

export const clickHouseName = (name: string): string => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;

/** A row as one text that no other row has: `-` for NULL, else length in bytes, colon, text. */
const postgresRow = (columns: readonly Column[]): string => `concat(${columns.map(postgresExpression).map((e) => `coalesce(octet_length(${e}) || ':' || (${e}), '-')`).join(', ')})`;
const clickHouseRow = (columns: readonly Column[]): string => `concat('', ${columns.map(clickHouseExpression).map((e) => `ifNull(concat(toString(length(${e})), ':', ${e}), '-')`).join(', ')})`;

export const postgresRowHash = (columns: readonly Column[]): string => `md5(${postgresRow(columns)})`;
export const clickHouseRowHash = (columns: readonly Column[]): string => `lower(hex(MD5(${clickHouseRow(columns)})))`;

/** Offsets of the four 32-bit parts of an MD5 in hexadecimal. */
const PARTS = [1, 9, 17, 25] as const;

/** Number of rows and four sums over 32-bit parts of each row's MD5: equal for equal multisets of rows, whatever their order. */
export const POSTGRES_FINGERPRINT = ['count(*)::text AS n', ...PARTS.map((at) => `coalesce(sum(('x' || substr(h, ${at}, 8))::bit(32)::bigint), 0)::text AS p${at}`)].join(', ');
export const clickHouseFingerprint = (columns: readonly Column[]): string => ['toString(count())', ...PARTS.map((at) => `toString(sum(toUInt64(reinterpretAsUInt32(reverse(unhex(substring(${clickHouseRowHash(columns)}, ${at}, 8)))))))`)].join(', ');

export interface SelectOptions { readonly where?: string }
const from = (table: string, { where }: SelectOptions): string => `FROM ${table}${where === undefined ? '' : ` WHERE ${where}`}`;

/** SQL for Postgres: the canonical texts of the rows of `table` (quoted by the caller where needed). */
export function canonicalSelect(table: string, columns: readonly Column[], options: SelectOptions = {}): string {
  return `SELECT ${columns.map((c, i) => `${postgresExpression(c)} AS c${i}`).join(', ')} ${from(table, options)}`;
}

export function fingerprintSelect(table: string, columns: readonly Column[], options: SelectOptions = {}): string {
  return `SELECT ${POSTGRES_FINGERPRINT} FROM (SELECT ${postgresRowHash(columns)} AS h ${from(table, options)}) AS r`;
}

interface CatalogColumn { name: string; type: string; kind: string; typmod: string; is_key: string; generated: string; is_list: string }

/** Columns of a source table as the tables hold them by default, and its primary key. */
export async function sourceColumns(pg: SourceClient, table: string): Promise<{ columns: Column[]; key: Column[] }> {
  const rows = await pg.rows<CatalogColumn>(`
    WITH columns AS (
      SELECT a.attnum, a.attname, a.attgenerated, coalesce(b.oid, t.oid) AS type, CASE WHEN b.oid IS NULL THEN a.atttypmod ELSE t.typtypmod END AS typmod,
             CASE WHEN b.oid IS NULL THEN a.attndims ELSE t.typndims END AS dimensions,
             EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY (i.indkey)) AS is_key
      FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
      WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped
    )
    SELECT c.attname AS name, coalesce(eb.typname, e.typname, t.typname) AS type, coalesce(eb.typtype, e.typtype, t.typtype)::text AS kind,
           CASE WHEN eb.oid IS NULL THEN c.typmod ELSE e.typtypmod END::text AS typmod, c.attgenerated::text AS generated, c.is_key::text AS is_key, (e.oid IS NOT NULL)::text AS is_list
    FROM columns c JOIN pg_type t ON t.oid = c.type LEFT JOIN pg_type e ON e.oid = t.typelem AND e.typarray = t.oid AND c.dimensions < 2 AND NOT c.is_key
         LEFT JOIN pg_type eb ON eb.oid = e.typbasetype ORDER BY c.attnum`, [table]);
  const columns = rows.filter((r) => r.generated === '').map((r) => ({ name: r.name, kind: r.is_list === 'true' ? { list: kindOf(r) } : kindOf(r), key: r.is_key === 'true' }));
  return { columns: columns.map(({ name, kind }) => ({ name, kind })), key: columns.filter((c) => c.key).map(({ name, kind }) => ({ name, kind })) };
}

function kindOf({ type, kind, typmod }: CatalogColumn): Scalar {
  if (kind !== 'b') return 'string';
  switch (type) {
    case 'bool': return 'boolean';
    case 'int2': case 'int4': case 'int8': case 'oid': return 'int';
    case 'float4': case 'float8': return 'float';
    case 'numeric': return decimalOf(Number(typmod));
    case 'date': return 'date';
    case 'timestamp': case 'timestamptz': return 'timestamp';
    case 'uuid': return 'uuid';
    case 'bytea': return 'binary';
    default: return 'string';
  }
}

/** numeric(p, s): (p << 16 | s & 2047) + 4; no typmod, or more than 38 digits, is text. */
function decimalOf(typmod: number): Scalar {
  if (typmod < 0) return 'string';
  const precision = (typmod - 4) >> 16;
  const scale = (((typmod - 4) & 2047) ^ 1024) - 1024;
  return precision > 38 || scale < 0 || scale > precision ? 'string' : { decimal: scale };
}
