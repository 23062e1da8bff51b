import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { once } from 'node:events';
import { installation, interopFile } from '../servers/installation.js';
import { type CanonicalRow, ForeignReaderError } from './reader.js';

interface Waiting {
  readonly rows: (string | null)[][];
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

interface Message {
  readonly ready?: true;
  readonly id?: number;
  readonly rows?: (string | null)[][];
  readonly done?: true;
  readonly columns?: string[];
  readonly value?: unknown;
  readonly error?: { readonly type: string; readonly message: string };
}

interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (string | null)[][];
  readonly value: unknown;
}

const STDERR_KEPT = 20_000;

/** One engine in one process, spoken to in the lines that python/protocol.py describes. Ends with this process; idle, it does not keep this process alive. */
export class PythonProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;
  #said = '';
  #gone: Error | undefined;
  readonly #exit: Promise<unknown>;

  private constructor(readonly name: string, script: string, env: NodeJS.ProcessEnv) {
    this.#child = spawn(installation().python, ['-u', interopFile('python', script)], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, TZ: 'UTC', PYTHONDONTWRITEBYTECODE: '1', PYTHONUTF8: '1', ...env },
    });
    this.#exit = once(this.#child, 'exit');
    this.#child.stderr!.on('data', (text: Buffer) => { this.#said = (this.#said + text.toString()).slice(-STDERR_KEPT); });
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.#take(JSON.parse(line) as Message));
    // A write to a process that is gone: the exit says so to everyone who waits.
    this.#child.stdin!.on('error', () => {});
    this.#child.once('error', (error) => this.#lost(error.message));
    this.#child.once('close', (status, signal) => this.#lost(`ended with ${signal ?? status}`));
  }

  /** @throws Error with what the process printed, when it does not come up */
  static async start(name: string, script: string, env: NodeJS.ProcessEnv = {}): Promise<PythonProcess> {
    const started = new PythonProcess(name, script, env);
    await started.#wait(0);
    return started;
  }

  /** @throws ForeignReaderError for the engine's refusal, Error when the process is gone */
  async call(op: string, request: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    if (this.#gone !== undefined) throw this.#gone;
    const id = this.#next++;
    const answer = this.#wait(id);
    this.#child.stdin!.write(`${JSON.stringify({ ...request, id, op }, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}\n`);
    return answer;
  }

  /** @returns one object per row, columns in the engine's order */
  async table(op: string, request: Readonly<Record<string, unknown>>): Promise<CanonicalRow[]> {
    const { columns, rows } = await this.call(op, request);
    return rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#hold(true);
    const impatient = setTimeout(() => this.#child.kill('SIGKILL'), 10_000);
    this.#child.stdin!.end();
    await this.#exit;
    clearTimeout(impatient);
  }

  #wait(id: number): Promise<Answer> {
    this.#hold(true);
    return new Promise<Answer>((resolve, reject) => this.#waiting.set(id, { rows: [], resolve, reject }))
      .finally(() => this.#hold(this.#waiting.size > 0));
  }

  #take(message: Message): void {
    const id = message.ready === true ? 0 : message.id!;
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    if (message.rows !== undefined) { waiting.rows.push(...message.rows); return; }
    this.#waiting.delete(id);
    if (message.error !== undefined) waiting.reject(new ForeignReaderError(this.name, message.error.type, message.error.message));
    else waiting.resolve({ columns: message.columns ?? [], rows: waiting.rows, value: message.value });
  }

  #lost(why: string): void {
    this.#gone ??= new Error(`${this.name} ${why}\n${this.#said}`);
    for (const waiting of this.#waiting.values()) waiting.reject(this.#gone);
    this.#waiting.clear();
  }

  #hold(alive: boolean): void {
    const pipes = [this.#child.stdout, this.#child.stderr, this.#child.stdin] as unknown as { ref(): void; unref(): void }[];
    for (const one of [this.#child, ...pipes]) if (alive) one.ref(); else one.unref();
  }
}
