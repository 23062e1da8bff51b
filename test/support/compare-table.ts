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
  const sourceRows = await pg.rows<{ k: string; h: string }>(`SELECT ${key.length === 0 ? postgresRowHash(columns) : `json_build_array(${key.map(postgresExpression).join(', ')})::text`} AS k, ${postgresRowHash(columns)} AS h FROM ${table}${options.sourceWhere === undefined ? '' : ` WHERE ${options.sourceWhere}`}`);
  const targetRows = await clickhouse.query(`SELECT ${[clickHouseRowHash(columns), ...key.map(clickHouseExpression)].join(', ')} FROM {table}${options.where === undefined ? '' : ` WHERE ${options.where}`}`, location);
  return {
    equal: false, rows: Number(target[0]),
    ...differences(sourceRows.map(({ k, h }) => [key.length === 0 ? k : JSON.stringify(JSON.parse(k)), h] as const), targetRows.map(([h, ...k]) => [key.length === 0 ? (h as string) : JSON.stringify(k), h as string] as const)),
  };
}

/** One line per kind of difference, for assertion messages. */
export function describeComparison(table: string, c: Comparison): string {
  const kinds = (['missing', 'extra', 'different'] as const).filter((kind) => c[kind].count > 0).map((kind) => `${c[kind].count} ${kind}: ${c[kind].keys.join(' ')}`);
  return `${table}: ${c.rows} rows; ${c.equal ? 'equal to the source' : kinds.join('; ')}`;
}

type KeyAndHash = readonly [key: string, hash: string];

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
