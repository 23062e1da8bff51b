import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clickHouseExpression, clickHouseFingerprint, type Column } from './canonical.js';
import type { ClickHouseAnswer, ClickHouseQuestion } from './clickhouse-child.js';

/** Canonical texts of one row, in the order of the columns asked for; null is NULL. */
export type CanonicalRow = readonly (string | null)[];

export interface ReadOptions {
  /** SQL condition on the table's columns. */
  readonly where?: string;
}

/** What of a table answers in one query, without its rows: see canonical.ts. */
export type Fingerprint = readonly string[];

/** An Iceberg reader that shares no code with the project. */
export interface ClickHouse {
  /** Rows as lists of what `sql` selects; `{table}` in it stands for the table at `location`. */
  query(sql: string, location?: string): Promise<unknown[][]>;
  readTable(location: string, columns: readonly Column[], options?: ReadOptions): ClickHouseTable;
  close(): Promise<void>;
}

export interface ClickHouseTable {
  count(): Promise<number>;
  /** All rows in no particular order. */
  rows(): Promise<CanonicalRow[]>;
  /** Number of rows and a sum over the hashes of all rows, equal to what Postgres computes for the same rows. */
  fingerprint(): Promise<Fingerprint>;
}

/**
 * Settings that make ClickHouse 26.7 read what the tables say: counts that see equality deletes, times without a zone as
 * they are, and the newest metadata file each time.
 */
const SETTINGS = "optimize_trivial_count_query=0, session_timezone='UTC', use_iceberg_metadata_files_cache=0";
const QUERY_LIMIT_MS = 120_000;

/** ClickHouse in a process of its own, started with the first query and again after each error. */
export function openClickHouse(): ClickHouse {
  return new Chdb();
}

/** Path of a location that may be a file: URI. */
export function localPath(location: string): string {
  return location.startsWith('file:') ? fileURLToPath(location.replace(/^file:\/*/, 'file:///')) : location;
}

class Chdb implements ClickHouse {
  #child: ChildProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #id = 0;

  query(sql: string, location?: string): Promise<unknown[][]> {
    const text = location === undefined ? sql : sql.replaceAll('{table}', `icebergLocal('${localPath(location).replaceAll("'", "\\'")}')`);
    const answer = this.#last.then(() => this.#ask(`${text} SETTINGS ${SETTINGS}`));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  readTable(location: string, columns: readonly Column[], { where }: ReadOptions = {}): ClickHouseTable {
    const from = `FROM {table}${where === undefined ? '' : ` WHERE ${where}`}`;
    return {
      count: async () => Number((await this.query(`SELECT count() ${from}`, location))[0]![0]),
      rows: async () => (await this.query(`SELECT ${columns.map(clickHouseExpression).join(', ')} ${from}`, location)) as CanonicalRow[],
      fingerprint: async () => (await this.query(`SELECT ${clickHouseFingerprint(columns)} ${from}`, location))[0]!.map(String),
    };
  }

  async close(): Promise<void> {
    await this.#last;
    this.#end();
  }

  async #ask(sql: string): Promise<unknown[][]> {
    const child = (this.#child ??= this.#start());
    const question: ClickHouseQuestion = { id: ++this.#id, sql };
    const answer = await new Promise<ClickHouseAnswer>((resolve, reject) => {
      const done = (settle: () => void): void => {
        clearTimeout(timer);
        child.off('message', message);
        child.off('exit', exit);
        settle();
      };
      const message = (m: unknown): void => done(() => resolve(m as ClickHouseAnswer));
      const exit = (code: number | null, signal: string | null): void => done(() => reject(new Error(`ClickHouse ended (${signal ?? code}) during: ${sql}`)));
      const timer = setTimeout(() => done(() => reject(new Error(`ClickHouse did not answer within ${QUERY_LIMIT_MS / 1000} s: ${sql}`))), QUERY_LIMIT_MS);
      child.on('message', message);
      child.on('exit', exit);
      child.send(question);
    }).catch((error: unknown) => { this.#end(); throw error; });
    if ('error' in answer) {
      // The next query of a process whose query failed begins with what is left of that one.
      this.#end();
      throw new Error(`ClickHouse: ${answer.error}\nin: ${sql}`);
    }
    return answer.lines.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as unknown[]);
  }

  #start(): ChildProcess {
    const child = fork(join(import.meta.dirname, 'clickhouse-child.js'), { cwd: '/', execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'], serialization: 'advanced' });
    // Neither the process nor its channel keeps a finished test alive.
    child.unref();
    child.channel?.unref();
    return child;
  }

  #end(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }
}
