import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SourceClient } from '../../src/postgres/client.js';
import { type CompareOptions, compareTable, describeComparison } from './compare-table.js';
import { type Daemon, DaemonGone, describeExit, startDaemon, waitUntilCaughtUp, waitWhileAlive } from './daemon.js';
import { isLoaded, readTableState, type TableState } from './iceberg-table.js';
import type { CommitFaults } from './daemon-faults.js';
import type { TestBed } from './test-bed.js';

/** SQL, or several steps with commits of the tables between them. */
export type Step = string | ((run: CaseRun) => Promise<void>);

export interface Case {
  /** Before the daemon starts: what the initial load finds. */
  readonly setup: Step;
  /** While it streams. */
  readonly action: Step;
  /** Tables that must be equal to their source in the end, with what differs from the usual comparison. */
  readonly equal?: readonly string[] | Readonly<Record<string, CompareOptions>>;
  /** Tables whose initial load is waited for; default: those compared. */
  readonly loads?: readonly string[];
  /** `stopped`: the action ends with a daemon that has stopped by itself. */
  readonly ends?: 'stopped';
  /** Anything else that must hold in the end. */
  readonly expect?: (run: CaseRun) => Promise<void>;
  /** What the catalog does at which commit of the process that streams the action; only where nothing is killed. */
  readonly faults?: CommitFaults;
  /** Properties that differ from the test bed's. */
  readonly config?: Readonly<Record<string, string>>;
  /** Where a process is killed; default: nowhere, and around the first commit of the action, before and after it. */
  readonly kills?: readonly Kill[];
}

/** `before-commit`: files are written, the catalog is not asked yet. `after-commit`: the catalog has answered, the slot knows nothing yet. */
export type Kill = 'none' | 'before-commit' | 'after-commit';
const ALL_KILLS: readonly Kill[] = ['none', 'before-commit', 'after-commit'];
const KILL_FAULT = { 'before-commit': 'kill-before', 'after-commit': 'kill-after' } as const;
const TITLE: Record<Kill, string> = { none: '', 'before-commit': ', killed before the catalog commit', 'after-commit': ', killed after the catalog commit' };

const CASE_LIMIT_MS = 120_000;
let cases = 0;

/** Declares one test per kind of kill: setup, load, action, catch up, stop, compare. */
export function testCase(bed: () => TestBed, name: string, spec: Case): void {
  for (const kill of spec.kills ?? ALL_KILLS) {
    test(name + TITLE[kill], { timeout: CASE_LIMIT_MS }, async () => {
      const run = await CaseRun.open(bed(), `case_${++cases}`, spec, kill);
      try {
        await run.play();
      } finally {
        await run.close();
      }
    });
  }
}

/** One case in its own database, slot, publication and namespace. */
export class CaseRun {
  daemon!: Daemon;
  /** Output of the processes before this one. */
  #earlierLogs = '';
  #killed = 0;
  #faults: CommitFaults | undefined;

  private constructor(readonly bed: TestBed, readonly name: string, readonly pg: SourceClient, readonly spec: Case, readonly kill: Kill) {}

  static async open(bed: TestBed, name: string, spec: Case, kill: Kill): Promise<CaseRun> {
    await bed.createDatabase(name);
    return new CaseRun(bed, name, await bed.client(name), spec, kill);
  }

  async play(): Promise<void> {
    await this.#do(this.spec.setup);
    await this.start();
    await this.loaded();
    if (this.kill !== 'none' || this.spec.faults !== undefined) {
      // The kill is to hit the action, not the load.
      await this.settle();
      await this.stop();
      this.#faults = this.kill === 'none' ? this.spec.faults : { 1: KILL_FAULT[this.kill] };
      await this.start();
    }
    await this.#do(this.spec.action);
    if (this.spec.ends !== 'stopped') {
      await this.settle();
      await this.stop();
    }
    if (this.kill !== 'none') assert.equal(this.#killed, 1, `the process was not killed ${this.kill}\n${this.#logTail()}`);
    for (const [table, options] of this.#comparisons()) await this.assertEqual(table, options);
    await this.spec.expect?.(this);
  }

  /** Starts the daemon; the kill, if any, is armed for one process only. */
  async start(config: Readonly<Record<string, string>> = {}): Promise<void> {
    if (this.daemon !== undefined) this.#earlierLogs += `${this.daemon.logs()}--- ${describeExit(this.daemon.exit!)} ---\n`;
    this.daemon = await startDaemon({ config: { ...this.bed.config(this.name, this.name), ...this.spec.config, ...config }, faults: this.#faults });
  }

  /** As `start`, for a daemon that is to refuse: resolves with its exit code. */
  async startAndStop(config: Readonly<Record<string, string>> = {}): Promise<number | null> {
    await this.start(config);
    return (await this.daemon.exited).code;
  }

  /** SIGTERM; the daemon must end by itself with 0. */
  async stop(): Promise<void> {
    const code = await this.daemon.sigterm();
    assert.equal(code, 0, `exit ${describeExit(this.daemon.exit!)}\n${this.#logTail()}`);
  }

  /** SIGKILL and start again. */
  async killAndStart(config: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.daemon.kill9();
    await this.start(config);
  }

  sql(text: string, values: readonly unknown[] = []): Promise<Record<string, string | null>[]> {
    return this.pg.rows(text, values);
  }

  /** Waits until everything written so far is in committed snapshots; starts again what the case has killed. */
  async settle(): Promise<void> {
    await this.#guarded(async () => {
      // The slot may have confirmed enough before this process began.
      await this.daemon.waitForLog(/"msg":"streaming /);
      await waitUntilCaughtUp(this.daemon, this.pg, this.name);
    });
  }

  /** Waits until the initial load of every compared table is readable. */
  async loaded(): Promise<void> {
    for (const table of this.spec.loads ?? this.#comparisons().map(([name]) => name)) await this.#guarded(() => waitWhileAlive(this.daemon, `the load of ${table}`, () => isLoaded(this.location(table))));
  }

  location(table: string): string {
    return this.bed.location(this.name, table);
  }

  state(table: string): TableState {
    const state = readTableState(this.location(table));
    assert.ok(state, `${table} has no Iceberg table\n${this.#logTail()}`);
    return state;
  }

  async assertEqual(table: string, options: CompareOptions = {}): Promise<void> {
    const comparison = await compareTable(this.pg, this.bed.clickhouse, table, this.location(table), options);
    assert.ok(comparison.equal, `${describeComparison(table, comparison)}\n${this.#logTail()}`);
  }

  /** Rows of an Iceberg table; `{table}` stands for it. */
  read(table: string, sql: string): Promise<unknown[][]> {
    return this.bed.clickhouse.query(sql, this.location(table));
  }

  logs(): string {
    return this.#earlierLogs + this.daemon.logs();
  }

  /** The end of the output, for messages. */
  #logTail(): string {
    return this.logs().trimEnd().split('\n').filter((line) => !line.includes(', in Debezium ')).slice(-40).join('\n');
  }

  async close(): Promise<void> {
    if (this.daemon !== undefined && this.daemon.exit === undefined) await this.daemon.kill9();
    // WAL that a slot holds back would be kept for all other cases.
    await dropSlot(this.pg, this.name);
    await this.pg.close();
  }

  /** Where a kill is armed: waits for it. The process is not started again before the next `settle`. */
  async killed(): Promise<void> {
    if (this.#armed) await waitWhileAlive(this.daemon, 'the kill', () => this.daemon.exit !== undefined);
  }

  /** The next process meets no faults. */
  disarm(): void {
    this.#faults = undefined;
  }

  get #armed(): boolean {
    return this.#faults !== undefined && Object.values(this.#faults).some((fault) => fault.startsWith('kill'));
  }

  #comparisons(): [string, CompareOptions][] {
    const { equal = {} } = this.spec;
    return Array.isArray(equal) ? (equal as string[]).map((table) => [table, {}]) : Object.entries(equal as Record<string, CompareOptions>);
  }

  async #do(step: Step): Promise<void> {
    if (typeof step === 'string') await this.pg.rows(step);
    else await step(this);
  }

  /** Runs a wait again when the process it waits for has been killed as the case wants. */
  async #guarded(wait: () => Promise<void>): Promise<void> {
    try {
      await wait();
    } catch (error) {
      const exit = this.daemon.exit ?? (error instanceof DaemonGone ? error.exit : undefined);
      if (exit?.signal !== 'SIGKILL' || !this.#armed) throw error;
      this.#killed++;
      this.#faults = undefined;
      await this.start();
      await wait();
    }
  }
}

/** Drops a slot, waiting for the server to notice that its reader is gone. */
export async function dropSlot(pg: SourceClient, slot: string): Promise<void> {
  await pg.rows(`DO $$ BEGIN
    FOR i IN 1..200 LOOP
      EXIT WHEN NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '${slot}' AND active);
      PERFORM pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '${slot}';
      PERFORM pg_sleep(0.02);
    END LOOP;
    PERFORM pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '${slot}';
  END $$`);
}
