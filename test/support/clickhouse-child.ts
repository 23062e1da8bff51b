import { requireReader } from './readers.js';

/** What the parent asks and what the child answers; one question at a time. */
export interface ClickHouseQuestion { readonly id: number; readonly sql: string }
export type ClickHouseAnswer = { readonly id: number; readonly lines: string } | { readonly id: number; readonly error: string };

/**
 * Runs ClickHouse in a process of its own, because a fault in native code must not end the tests. Started by
 * `openClickHouse()` with `/` as working directory: ClickHouse reads only files below it.
 */
const { query } = requireReader('chdb') as { query(sql: string, format: string): string };

process.on('message', ({ id, sql }: ClickHouseQuestion) => {
  let answer: ClickHouseAnswer;
  try {
    answer = { id, lines: query(sql, 'JSONCompactEachRow') };
  } catch (error) {
    answer = { id, error: error instanceof Error ? error.message : String(error) };
  }
  process.send!(answer);
});
process.on('disconnect', () => process.exit(0));
