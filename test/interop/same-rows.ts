import assert from 'node:assert/strict';
import type { CanonicalRow } from './readers/reader.js';

/** Differences listed in a message, and characters shown of a value. */
const LISTED = 20;
const SHOWN = 120;

/**
 * deepEqual for many rows and long values, whatever their order: says which rows are missing or extra, and for rows of one
 * name (the column `id`) which values differ.
 */
export function assertSameRows(actual: readonly CanonicalRow[], expected: readonly CanonicalRow[], message: string, id = 'id'): void {
  const open = new Map<string, CanonicalRow[]>();
  for (const row of expected) open.set(text(row), [...(open.get(text(row)) ?? []), row]);
  const extra = actual.filter((row) => open.get(text(row))?.pop() === undefined);
  const missing = [...open.values()].flat();
  if (extra.length === 0 && missing.length === 0) return;
  const wrong: string[] = [];
  for (const row of missing) {
    const at = extra.findIndex((found) => found[id] === row[id]);
    if (at < 0) { wrong.push(`row ${row[id]} is missing`); continue; }
    const [found] = extra.splice(at, 1);
    for (const name of new Set([...Object.keys(row), ...Object.keys(found!)])) if (row[name] !== found![name]) wrong.push(`row ${row[id]}, ${name}: ${shown(found![name])} instead of ${shown(row[name])}`);
  }
  wrong.push(...extra.map((row) => `row ${row[id]} is extra`));
  assert.fail(`${message}: ${actual.length} rows, ${expected.length} expected, ${wrong.length} differences\n${wrong.slice(0, LISTED).join('\n')}`);
}

const text = (row: CanonicalRow): string => JSON.stringify(Object.keys(row).sort().map((name) => [name, row[name]]));

function shown(value: string | null | undefined): string {
  return value === undefined ? 'no such column' : value === null ? 'NULL' : JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}… (${value.length} characters)` : value);
}
