import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PipelineConfig } from '../../src/config/config.js';
import { loadConfig } from '../../src/config/load.js';
import type { ErrorCode } from '../../src/errors/codes.js';
import { asWalbergError, type WalbergError } from '../../src/errors/error.js';
import type { CommitInfo, PipelineListener } from '../../src/observe/events.js';
import { runPipeline } from '../../src/pipeline/conductor.js';
import type { SourceClient } from '../../src/postgres/client.js';
import { parseLsn } from '../../src/postgres/lsn.js';
import { assertReplayEqualsSource, eventCounts, startCounting } from './append-replay.js';
import { dropSlot } from './case.js';
import { compareTable, describeComparison } from './compare-table.js';
import { FaultCatalog, type CatalogFault } from './fault-catalog.js';
import { FaultStorage, type StorageFault } from './fault-storage.js';
import type { TestBed } from './test-bed.js';

/** How the tables are written: as a copy of the source, or as a list of changes. */
export type Mode = 'mirror' | 'append';

const MODE_CONFIG: Record<Mode, Readonly<Record<string, string>>> = {
  mirror: {},
  append: { 'debezium.sink.iceberg.upsert': 'false', 'debezium.transforms.unwrap.add.fields': 'op,lsn' },
};
const WAIT_LIMIT_MS = 60_000;

export interface PipelineFaults {
  readonly storage?: readonly StorageFault[];
  readonly catalog?: readonly CatalogFault[];
}

/** A pipeline in this process, with what it announced. Waits look at their condition after every announcement. */
export class PipelineRun {
  storage!: FaultStorage;
  catalog!: FaultCatalog;
  /** Streams begun. */
  sessions = 0;
  /** Codes of sessions that ended with an error, in order. */
  readonly failures: ErrorCode[] = [];
  readonly commits: CommitInfo[] = [];
  readonly commitRetries: ErrorCode[] = [];
  loadsStarted = 0;
  accepted = 0n;
  /** Changed rows received. */
  rows = 0;
  confirmed = 0n;
  paused = false;
  /** What ended it; undefined while it runs and after a clean end. */
  error: WalbergError | undefined;
  ended = false;
  readonly done: Promise<void>;
  readonly #stop = new AbortController();
  readonly #waiters = new Set<() => void>();

  constructor(properties: Readonly<Record<string, string>>, faults: PipelineFaults, tuning: Partial<PipelineConfig>) {
    const { config, problems } = loadConfig({ overrides: properties });
    assert.ok(config, JSON.stringify(problems));
    this.done = runPipeline({
      config: { ...config, pipeline: { ...config.pipeline, ...tuning } },
      listeners: [this.#listener()],
      stop: this.#stop.signal,
      wrapStorage: (storage) => (this.storage = new FaultStorage(storage, faults.storage)),
      wrapCatalog: (catalog) => (this.catalog = new FaultCatalog(catalog, faults.catalog)),
    }).catch((error: unknown) => { this.error = asWalbergError(error); }).finally(() => { this.ended = true; this.#changed(); });
  }

  /** Resolves when `condition` holds; rejects when the pipeline has ended without it. */
  async until(what: string, condition: () => boolean, limitMs = WAIT_LIMIT_MS): Promise<void> {
    if (condition()) return;
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const look = (): void => {
          if (condition()) resolve();
          else if (this.ended) reject(new Error(`The pipeline ended (${this.error?.stack ?? 'cleanly'}) while waiting for ${what}; ${this.describe()}`, { cause: this.error }));
          else return;
          this.#waiters.delete(look);
        };
        this.#waiters.add(look);
        timer = setTimeout(() => { this.#waiters.delete(look); reject(new Error(`Waited ${limitMs} ms for ${what}; ${this.describe()}`)); }, limitMs);
        look();
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Every table is loaded and changes are followed. */
  async streaming(): Promise<void> {
    await this.until('the stream to begin', () => this.sessions > 0);
  }

  /** Asks for a clean end. */
  abort(): void {
    this.#stop.abort();
  }

  /** Ends it cleanly; what it ended with otherwise is thrown. */
  async stop(): Promise<void> {
    this.abort();
    await this.done;
    if (this.error !== undefined) throw this.error;
  }

  /** Resolves with the error that a person has to deal with. */
  async fails(limitMs = WAIT_LIMIT_MS): Promise<WalbergError> {
    await this.until('the pipeline to end by itself', () => this.ended, limitMs);
    assert.ok(this.error, 'the pipeline ended without an error');
    return this.error;
  }

  describe(): string {
    return `${this.sessions} sessions, failures ${this.failures.join(' ') || 'none'}, ${this.commits.length} commits, retries ${this.commitRetries.join(' ') || 'none'}, confirmed ${this.confirmed}, last calls ${JSON.stringify(this.storage?.calls.slice(-3))}`;
  }

  #changed(): void {
    for (const look of this.#waiters) look();
  }

  #listener(): PipelineListener {
    return {
      sessionStarted: () => { this.sessions++; this.#changed(); },
      sessionEnded: ({ error }) => { if (error !== undefined) this.failures.push(asWalbergError(error).code); this.#changed(); },
      loadStarted: () => { this.loadsStarted++; this.#changed(); },
      loadProgress: () => this.#changed(),
      transactionAccepted: ({ endLsn }) => { if (endLsn > this.accepted) this.accepted = endLsn; this.#changed(); },
      rowsAccepted: (_, { inserts, updates, deletes, truncates }) => { this.rows += inserts + updates + deletes + truncates; this.#changed(); },
      commitStarted: () => this.#changed(),
      commitFinished: (info) => { this.commits.push(info); this.#changed(); },
      commitRetried: ({ error }) => { this.commitRetries.push(asWalbergError(error).code); this.#changed(); },
      confirmed: (lsn) => { if (lsn > this.confirmed) this.confirmed = lsn; this.#changed(); },
      bufferChanged: (_, paused) => { this.paused = paused; this.#changed(); },
    };
  }
}

let runs = 0;

/** A key, a column that updates leave out when it did not change, and rows enough for several files. */
export const SHOP = `
  CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL, v text); INSERT INTO item SELECT g, g, 'item ' || g FROM generate_series(1, 800) g;
  CREATE TABLE doc (id int PRIMARY KEY, title text, body text); ALTER TABLE doc ALTER body SET STORAGE EXTERNAL;
  INSERT INTO doc SELECT g, 'new', (SELECT string_agg(md5(g::text || h), '') FROM generate_series(1, 100) h) FROM generate_series(1, 20) g`;

/** A transaction of every kind of change; each round touches rows of the ones before. */
export const shopRound = (round: number): string => `BEGIN;
  INSERT INTO item SELECT g, ${round}, NULL FROM generate_series(${round * 1000}, ${round * 1000 + 60}) g;
  UPDATE item SET n = n + 1, v = 'round ${round}' WHERE id % 5 = ${round % 5};
  DELETE FROM item WHERE id % 41 = ${round};
  UPDATE item SET id = id + 1000000 WHERE id % 97 = ${round} AND id < 1000000;
  INSERT INTO item VALUES (-1, 0, 'born and gone'); DELETE FROM item WHERE id = -1;
  UPDATE doc SET title = 'round ${round}' WHERE id % 3 = ${round % 3};
  INSERT INTO doc VALUES (${round * 100}, 'added', repeat('x', ${round})); DELETE FROM doc WHERE id = ${round};
  COMMIT`;

/** One source database with its own slot, publication and namespace, and the pipelines that follow it one after the other. */
export class FaultRun {
  pipeline!: PipelineRun;
  readonly #pipelines: PipelineRun[] = [];
  #counting = false;
  #rounds = 0;

  private constructor(readonly bed: TestBed, readonly name: string, readonly mode: Mode, public pg: SourceClient, readonly tables: readonly string[]) {}

  static async open(bed: TestBed, mode: Mode = 'mirror', setup: string = SHOP, tables: readonly string[] = ['item', 'doc']): Promise<FaultRun> {
    const name = `fault_${++runs}`;
    await bed.createDatabase(name);
    const pg = await bed.client(name);
    await pg.rows(setup);
    return new FaultRun(bed, name, mode, pg, tables);
  }

  /** Opens a run, and closes it whatever `work` does. */
  static async with(bed: TestBed, mode: Mode, work: (run: FaultRun) => Promise<void>, setup?: string, tables?: readonly string[]): Promise<void> {
    const run = await FaultRun.open(bed, mode, setup, tables);
    try {
      await work(run);
    } finally {
      await run.close();
    }
  }

  config(): Record<string, string> {
    return { ...this.bed.config(this.name, this.name), 'walberg.commit.interval.ms': '50', 'walberg.retry.initial.ms': '20', 'walberg.retry.max.ms': '200', ...MODE_CONFIG[this.mode] };
  }

  /** Starts a pipeline; an earlier one may still run. `tuning` reaches what properties are not allowed to. */
  start(faults: PipelineFaults = {}, config: Readonly<Record<string, string>> = {}, tuning: Partial<PipelineConfig> = {}): PipelineRun {
    this.pipeline = new PipelineRun({ ...this.config(), ...config }, faults, tuning);
    this.#pipelines.push(this.pipeline);
    return this.pipeline;
  }

  /** Starts a pipeline and waits until it streams; from then on the changes are counted. */
  async startLoaded(faults: PipelineFaults = {}, config: Readonly<Record<string, string>> = {}, tuning: Partial<PipelineConfig> = {}): Promise<PipelineRun> {
    const pipeline = this.start(faults, config, tuning);
    await pipeline.streaming();
    await this.count();
    return pipeline;
  }

  /** In append mode Postgres counts the changes made from now on. */
  async count(): Promise<void> {
    if (this.mode !== 'append' || this.#counting) return;
    this.#counting = true;
    await startCounting(this.pg, `${this.name}_count`);
  }

  async rounds(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.pg.rows(shopRound(++this.#rounds));
  }

  /** End of what the source has written. */
  async lsn(): Promise<bigint> {
    return parseLsn((await this.pg.rows<{ lsn: string }>('SELECT pg_current_wal_insert_lsn()::text AS lsn'))[0]!.lsn);
  }

  /** Resolves when everything written so far is in committed snapshots. */
  async settled(pipeline = this.pipeline, limitMs?: number): Promise<void> {
    const lsn = await this.lsn();
    await this.pg.rows("SELECT pg_logical_emit_message(true, 'walberg-test', '')");
    await pipeline.until(`${lsn} to be confirmed`, () => pipeline.confirmed >= lsn, limitMs);
  }

  /** Everything arrives, the pipeline ends cleanly, and the tables equal their source. */
  async finish(): Promise<void> {
    await this.settled();
    await this.pipeline.stop();
    await this.assertEqual();
  }

  async assertEqual(tables = this.tables): Promise<void> {
    const counts = this.mode === 'append' ? await eventCounts(this.pg, `${this.name}_count`, this.name) : {};
    this.#counting = false;
    for (const table of tables) {
      const location = this.bed.location(this.name, table);
      if (this.mode === 'mirror') {
        const comparison = await compareTable(this.pg, this.bed.clickhouse, table, location);
        assert.ok(comparison.equal, `${describeComparison(table, comparison)}; ${this.pipeline.describe()}`);
        continue;
      }
      const [written] = await this.bed.clickhouse.query("SELECT countIf(__op = 'c'), countIf(__op = 'u'), countIf(__op = 'd') FROM {table}", location);
      const [c, u, d] = written!.map(Number);
      const { inserts, updates, deletes, keyChanges } = counts[table] ?? { inserts: 0, updates: 0, deletes: 0, keyChanges: 0 };
      assert.deepEqual({ c, u, d }, { c: inserts + keyChanges, u: updates - keyChanges, d: deletes + keyChanges }, `changes of ${table}; ${this.pipeline.describe()}`);
      await assertReplayEqualsSource(this.pg, this.bed.clickhouse, table, location, this.pipeline.describe());
    }
  }

  /** A new session at the source, after the old one is gone. */
  async reconnect(): Promise<void> {
    this.pg = await this.bed.client(this.name);
  }

  /** Ends sessions of the server by application name, as they are called in pg_stat_activity. Resolves with their number. */
  async cut(applicationName: string): Promise<number> {
    const rows = await this.pg.rows('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1', [applicationName]);
    return rows.length;
  }

  /** Looks at the source until `sql` returns true. */
  async untilSource(what: string, sql: string): Promise<void> {
    const deadline = Date.now() + WAIT_LIMIT_MS;
    while (Object.values((await this.pg.rows(sql))[0] ?? {})[0] !== 't') {
      if (Date.now() > deadline) throw new Error(`Waited ${WAIT_LIMIT_MS} ms for ${what}`);
      await sleep(20);
    }
  }

  async close(): Promise<void> {
    for (const pipeline of this.#pipelines) {
      // Whatever a test that failed left waiting.
      pipeline.storage?.heal();
      pipeline.catalog?.heal();
      pipeline.abort();
    }
    await Promise.race([Promise.all(this.#pipelines.map((p) => p.done)), sleep(10_000, undefined, { ref: false })]);
    await dropSlot(this.pg, this.name);
    if (this.#counting) await dropSlot(this.pg, `${this.name}_count`);
    await this.pg.close();
  }
}
