import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceClient } from '../../src/postgres/client.js';
import { type CommitFaults, FAULTS_VARIABLE } from './daemon-faults.js';

export interface DaemonOptions {
  /** Properties by full name; a port for health and metrics is chosen. */
  readonly config: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Executable of Node; default: the one that runs the tests. */
  readonly nodeBinary?: string;
  readonly nodeOptions?: readonly string[];
  /** What the catalog does at which commit. */
  readonly faults?: CommitFaults;
}

/** How the process ended: exactly one of the two is set. */
export interface DaemonExit { readonly code: number | null; readonly signal: NodeJS.Signals | null }
export interface LogLine { readonly level: string; readonly msg: string; readonly [field: string]: unknown }

/** The program itself in a process of its own, as an operator runs it. */
export interface Daemon {
  readonly pid: number;
  readonly httpPort: number;
  /** Everything written to standard output and error so far. */
  logs(): string;
  logLines(): LogLine[];
  /** The last lines of the output. */
  logTail(): string;
  /** Resolves with the first line that matches, past ones too; rejects when the process ends without one. */
  waitForLog(pattern: RegExp, timeoutMs?: number): Promise<string>;
  /** SIGKILL; resolves when the process is gone. */
  kill9(): Promise<void>;
  /** SIGTERM; resolves with the exit code (null when a signal ended it) and rejects when it does not end. */
  sigterm(timeoutMs?: number): Promise<number | null>;
  /** Resolves when the process is gone. */
  readonly exited: Promise<DaemonExit>;
  /** Set once the process is gone. */
  readonly exit: DaemonExit | undefined;
  status(path?: string): Promise<{ status: number; body: string }>;
}

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.js');
/** The program with a catalog that misbehaves. */
const FAULTY_MAIN = join(import.meta.dirname, 'faulty-main.js');
const LOG_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 40_000;
/** Lines shown in errors. */
const TAIL = 25;

export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  return new Process(options, await freePort());
}

class Process implements Daemon {
  readonly exited: Promise<DaemonExit>;
  exit: DaemonExit | undefined;
  readonly httpPort: number;
  readonly #child: ChildProcess;
  #output = '';
  #onOutput = new Set<() => void>();

  constructor(options: DaemonOptions, httpPort: number) {
    this.httpPort = httpPort;
    const folder = mkdtempSync(join(tmpdir(), 'walberg-daemon-'));
    const file = join(folder, 'application.properties');
    writeFileSync(file, properties({ 'quarkus.http.port': String(httpPort), 'quarkus.http.host': '127.0.0.1', 'quarkus.log.console.json': 'true', ...options.config }), { mode: 0o600 });
    const faults = options.faults === undefined ? undefined : JSON.stringify(options.faults);
    const args = [...(options.nodeOptions ?? ['--enable-source-maps']), faults === undefined ? MAIN : FAULTY_MAIN, 'run', '-c', file];
    const env = { ...process.env, NODE_OPTIONS: '', NODE_TEST_CONTEXT: undefined, [FAULTS_VARIABLE]: faults, ...options.env };
    this.#child = spawn(options.nodeBinary ?? process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const pipe of [this.#child.stdout!, this.#child.stderr!]) {
      pipe.setEncoding('utf8').on('data', (text: string) => { this.#output += text; for (const notify of this.#onOutput) notify(); });
    }
    // A test that failed must not leave a process behind.
    const orphan = (): void => { this.#child.kill('SIGKILL'); };
    process.once('exit', orphan);
    this.exited = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code, signal) => {
        process.off('exit', orphan);
        rmSync(folder, { recursive: true, force: true });
        this.exit = { code, signal };
        resolve(this.exit);
      });
    });
  }

  get pid(): number { return this.#child.pid!; }
  logs(): string { return this.#output; }
  logTail(): string { return tail(this.#output); }
  logLines(): LogLine[] {
    return this.#output.split('\n').filter((line) => line.startsWith('{')).flatMap((line) => { try { return [JSON.parse(line) as LogLine]; } catch { return []; } });
  }

  async waitForLog(pattern: RegExp, timeoutMs = LOG_LIMIT_MS): Promise<string> {
    const late = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const found = this.#output.split('\n').find((line) => pattern.test(line));
      if (found !== undefined) return found;
      if (this.exit !== undefined) throw new Error(`The daemon ended (${describeExit(this.exit)}) without a line like ${pattern}\n${tail(this.#output)}`);
      if (late.aborted) throw new Error(`No line like ${pattern} within ${timeoutMs} ms\n${tail(this.#output)}`);
      await new Promise<void>((resolve) => {
        const notify = (): void => { this.#onOutput.delete(notify); late.removeEventListener('abort', notify); resolve(); };
        this.#onOutput.add(notify);
        late.addEventListener('abort', notify);
        void this.exited.then(notify, notify);
      });
    }
  }

  async kill9(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exited;
  }

  async sigterm(timeoutMs = STOP_LIMIT_MS): Promise<number | null> {
    this.#child.kill('SIGTERM');
    const timer = new AbortController();
    const late = sleep(timeoutMs, undefined, { signal: timer.signal }).then(() => 'late' as const, () => 'late' as const);
    const exit = await Promise.race([this.exited, late]);
    timer.abort();
    if (exit !== 'late') return exit.code;
    await this.kill9();
    throw new Error(`The daemon did not stop within ${timeoutMs} ms of SIGTERM\n${tail(this.#output)}`);
  }

  async status(path = '/q/health'): Promise<{ status: number; body: string }> {
    const response = await fetch(`http://127.0.0.1:${this.httpPort}${path}`);
    return { status: response.status, body: await response.text() };
  }
}

/** Thrown by waits when the process they wait for is gone. */
export class DaemonGone extends Error {
  constructor(readonly exit: DaemonExit, waitingFor: string, output: string) {
    super(`The daemon ended (${describeExit(exit)}) while waiting for ${waitingFor}\n${tail(output)}`);
  }
}

/** Polls until `done`, while the daemon lives. */
export async function waitWhileAlive(daemon: Daemon, waitingFor: string, done: () => boolean | Promise<boolean>, timeoutMs = LOG_LIMIT_MS): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await done())) {
    if (daemon.exit !== undefined) throw new DaemonGone(daemon.exit, waitingFor, daemon.logs());
    if (Date.now() > deadline) throw new Error(`Waited ${timeoutMs} ms for ${waitingFor}\n${tail(daemon.logs())}`);
    await Promise.race([sleep(40), daemon.exited]);
  }
}

/**
 * Waits until the slot has confirmed everything written before the call: all of it is in committed snapshots then. Tables
 * that are still being loaded may lag behind the slot.
 * @returns the position waited for, as Postgres writes it
 */
export async function waitUntilCaughtUp(daemon: Daemon, pg: SourceClient, slot: string, lsn?: string, timeoutMs = LOG_LIMIT_MS): Promise<string> {
  const target = lsn ?? (await pg.rows<{ lsn: string }>('SELECT pg_current_wal_insert_lsn()::text AS lsn'))[0]!.lsn;
  // A transaction after it, so that everything before is flushed and sent, however quiet the tables are.
  await pg.rows("SELECT pg_logical_emit_message(true, 'walberg-test', '')");
  await waitWhileAlive(daemon, `slot ${slot} to confirm ${target}`, async () => {
    const [row] = await pg.rows<{ done: string }>('SELECT (confirmed_flush_lsn >= $2::pg_lsn)::text AS done FROM pg_replication_slots WHERE slot_name = $1', [slot, target]);
    return row?.done === 'true';
  }, timeoutMs);
  return target;
}

export const describeExit = ({ code, signal }: DaemonExit): string => signal ?? `exit code ${code}`;
const tail = (output: string): string => output.trimEnd().split('\n').slice(-TAIL).join('\n');

/** Java properties: backslashes doubled, the rest is plain here. */
function properties(config: Readonly<Record<string, string>>): string {
  return Object.entries(config).map(([key, value]) => `${key}=${value.replaceAll('\\', '\\\\')}\n`).join('');
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
