import type { SourceColumn, SourceTable } from './source-table.js';

/** Table property that keeps what the source table looked like when the Iceberg table was last brought into its shape. */
export const COLUMNS = 'walberg.columns';

/** A column of the source as it was. */
export interface KnownColumn {
  readonly name: string;
  readonly attnum: number;
  readonly typeOid: number;
  readonly typmod: number;
}

/** What a table remembers of the columns of its source. Names pass from column to column, attribute numbers never do. */
export interface KnownColumns {
  readonly sourceOid: number;
  /** Number of the newest attribute, dropped ones counted: columns above it were added later. */
  readonly lastAttnum: number;
  readonly columns: readonly KnownColumn[];
  /** Names that columns had before and no column has now. */
  readonly former: readonly KnownColumn[];
  /** See `SourceTable.files`. */
  readonly files?: Readonly<Record<string, string>>;
}

/** What to remember of `source`, with the names known before that are in no use now. */
export function knownColumns(source: SourceTable, before: KnownColumns | undefined): KnownColumns {
  const columns = source.columns.map(({ name, attnum, typeOid, typmod }): KnownColumn => ({ name, attnum, typeOid, typmod }));
  const taken = new Set(columns.map((c) => c.name));
  // Of a name that was used twice the later use counts.
  const former = new Map([...(before?.former ?? []), ...(before?.columns ?? [])].filter((c) => !taken.has(c.name)).map((c) => [c.name, c]));
  return { sourceOid: source.oid, lastAttnum: source.lastAttnum ?? Math.max(0, ...columns.map((c) => c.attnum)), columns, former: [...former.values()], ...(source.files === undefined ? {} : { files: source.files }) };
}

/** True when both say the same of the columns. Files differ after each VACUUM FULL, which is not worth a commit. */
export function sameColumns(a: KnownColumns | undefined, b: KnownColumns): boolean {
  return a !== undefined && printKnownColumns({ ...a, files: undefined }) === printKnownColumns({ ...b, files: undefined });
}

/** As property value. */
export function printKnownColumns(known: KnownColumns): string {
  const list = (columns: readonly KnownColumn[]): unknown[] => columns.map((c) => [c.name, c.attnum, c.typeOid, c.typmod]);
  return JSON.stringify({ oid: known.sourceOid, last: known.lastAttnum, columns: list(known.columns), former: list(known.former), files: known.files });
}

/** Reverse of `printKnownColumns`; undefined when there is none, it is of another source table, or somebody has edited it: then nothing is known. */
export function parseKnownColumns(text: string | undefined, sourceOid: number): KnownColumns | undefined {
  if (text === undefined) return undefined;
  try {
    const { oid, last, columns, former, files } = JSON.parse(text) as Record<string, unknown>;
    if (oid !== sourceOid || typeof last !== 'number') return undefined;
    return { sourceOid, lastAttnum: last, columns: parseList(columns), former: parseList(former), ...(typeof files === 'object' && files !== null ? { files: files as Record<string, string> } : {}) };
  } catch {
    return undefined;
  }
}

function parseList(value: unknown): KnownColumn[] {
  return (value as [string, number, number, number][]).map(([name, attnum, typeOid, typmod]) => {
    if (typeof name !== 'string' || ![attnum, typeOid, typmod].every(Number.isInteger)) throw new TypeError('not a column');
    return { name, attnum, typeOid, typmod };
  });
}

const INTEGERS = [21, 23, 20];
const TEXT = 25;
const VARCHAR = 1043;
const NUMERIC = 1700;
const TIMES = [1083, 1114, 1184];

/**
 * True when ALTER TYPE from the one to the other leaves every value what it was, as far as types tell: a USING clause could
 * still change it. `narrower` admits types that hold fewer values, because those that are there have passed the change.
 */
export function keepsValues(from: { readonly typeOid: number; readonly typmod: number }, to: Pick<SourceColumn, 'typeOid' | 'typmod'>, narrower: boolean): boolean {
  const text = (oid: number): boolean => oid === TEXT || oid === VARCHAR;
  if (text(from.typeOid) && text(to.typeOid)) return true;
  if (from.typeOid !== to.typeOid) {
    const [a, b] = [INTEGERS.indexOf(from.typeOid), INTEGERS.indexOf(to.typeOid)];
    if (a >= 0 && b >= 0) return narrower || a < b;
    // Not real to double precision: rows that wait in the log show fewer digits than the double that became of them.
    return false;
  }
  if (from.typmod === to.typmod) return true;
  if (TIMES.includes(from.typeOid)) return to.typmod === -1 || (from.typmod !== -1 && to.typmod > from.typmod);
  if (from.typeOid !== NUMERIC || from.typmod === -1 || to.typmod === -1) return false;
  const scale = (typmod: number): number => (typmod - 4) & 0x7ff;
  return scale(from.typmod) === scale(to.typmod) && (narrower || to.typmod > from.typmod);
}
