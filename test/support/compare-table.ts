import type { SourceClient } from '../../src/postgres/client.js';
import { clickHouseExpression, clickHouseRowHash, type Column, fingerprintSelect, postgresExpression, postgresRowHash, sourceColumns } from './canonical.js';
import type { ClickHouse } from './clickhouse.js';

/** How a table differs from its source: numbers, and at most ten keys of each kind. Values are not told. */
export interface Comparison {
  readonly equal: boolean;
  readonly rows: number;
  readonly missing: Difference;
  readonly extra: Difference;
  readonly different: Difference;
}
export interface Difference { readonly count: number; readonly keys: readonly string[] }

export interface CompareOptions {
  /** Columns to compare; default: all captured ones. */
  readonly columns?: readonly Column[];
  /** Columns that name a row in the result; default: the primary key, or without one the row's hash. */
  readonly key?: readonly string[];
  /** Which source rows are expected (SQL). */
  readonly sourceWhere?: string;
  /** Which rows of the Iceberg table count (SQL of ClickHouse). */
  readonly where?: string;
}

const SHOWN = 10;
const NOTHING: Difference = { count: 0, keys: [] };

/**
 * Compares the Iceberg table at `location` with the source table row by row, as multisets. Equal tables cost one aggregate
 * on each side, so a million rows take seconds; only of different ones are the rows fetched, as key and hash.
 */
export async function compareTable(pg: SourceClient, clickhouse: ClickHouse, table: string, location: string, options: CompareOptions = {}): Promise<Comparison> {
  const described = await sourceColumns(pg, table);
  const columns = options.columns ?? described.columns;
  const key = options.key === undefined ? described.key : described.columns.filter((c) => options.key!.includes(c.name));
  const source = Object.values((await pg.rows(fingerprintSelect(table, columns, { where: options.sourceWhere })))[0]!);
  const target = await clickhouse.readTable(location, columns, { where: options.where }).fingerprint();
  if (target.every((part, i) => part === source[i])) return { equal: true, rows: Number(target[0]), missing: NOTHING, extra: NOTHING, different: NOTHING };
  const keyOfRow = key.length === 0 ? [] : key.map(clickHouseExpression);
  const targetRows = await clickhouse.query(`SELECT ${[clickHouseRowHash(columns), ...keyOfRow].join(', ')} FROM {table}${where(options.where)}`, location);
  return { equal: false, rows: Number(target[0]), ...differences(await sourceKeys(pg, table, columns, key, options.sourceWhere), targetKeys(targetRows)) };
}

const where = (condition: string | undefined): string => (condition === undefined ? '' : ` WHERE ${condition}`);

/** Key (as JSON; without a key the hash) and hash of each row of the source. */
export async function sourceKeys(pg: SourceClient, table: string, columns: readonly Column[], key: readonly Column[], condition?: string): Promise<KeyAndHash[]> {
  const hash = postgresRowHash(columns);
  const keyText = key.length === 0 ? hash : `json_build_array(${key.map(postgresExpression).join(', ')})::text`;
  const rows = await pg.rows<{ k: string; h: string }>(`SELECT ${keyText} AS k, ${hash} AS h FROM ${table}${where(condition)}`);
  return rows.map(({ k, h }) => [key.length === 0 ? k : JSON.stringify(JSON.parse(k)), h]);
}

/** The same of rows that are the hash and then the key's values. */
export function targetKeys(rows: readonly unknown[][]): KeyAndHash[] {
  return rows.map(([hash, ...key]) => [key.length === 0 ? (hash as string) : JSON.stringify(key), hash as string]);
}

/** One line per kind of difference, for assertion messages. */
export function describeComparison(table: string, c: Comparison): string {
  const kinds = (['missing', 'extra', 'different'] as const).filter((kind) => c[kind].count > 0).map((kind) => `${c[kind].count} ${kind}: ${c[kind].keys.join(' ')}`);
  return `${table}: ${c.rows} rows; ${c.equal ? 'equal to the source' : kinds.join('; ')}`;
}

export type KeyAndHash = readonly [key: string, hash: string];

/** Matches rows of both sides: equal ones first, then those with the same key as different, the rest as missing or extra. */
export function differences(source: readonly KeyAndHash[], target: readonly KeyAndHash[]): Pick<Comparison, 'missing' | 'extra' | 'different'> {
  const open = new Map<string, string[]>();
  for (const [key, hash] of source) open.set(key, [...(open.get(key) ?? []), hash]);
  const unmatched: string[] = [];
  for (const [key, hash] of target) {
    const hashes = open.get(key);
    const at = hashes?.indexOf(hash) ?? -1;
    if (at >= 0) hashes!.splice(at, 1);
    else unmatched.push(key);
  }
  const [extra, different]: [string[], string[]] = [[], []];
  for (const key of unmatched) (open.get(key)?.pop() === undefined ? extra : different).push(key);
  const missing = [...open].flatMap(([key, hashes]) => hashes.map(() => key));
  const shown = (keys: string[]): Difference => ({ count: keys.length, keys: keys.slice(0, SHOWN) });
  return { missing: shown(missing), extra: shown(extra), different: shown(different) };
}
