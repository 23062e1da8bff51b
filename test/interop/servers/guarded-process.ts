import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ServerCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Removed when this process is gone. */
  readonly folder: string;
  /** Both outputs are appended here. */
  readonly logFile: string;
  /** True once it serves; asked again and again while it runs. */
  readonly ready: () => Promise<boolean>;
}

/**
 * Runs the server and, when its standard input ends (this process died, however), kills it and removes its folder.
 * The watcher ignores TERM from then on: the shell that sees the server end kills the watcher, which must still empty the folder.
 */
const GUARD = `
folder=$1; shift
exec 3<&0
"$@" >&2 </dev/null 3<&- &
server=$!
echo $server
( read -r _ <&3; trap '' TERM; kill -KILL $server; rm -rf "$folder" ) >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait $server
status=$?
kill $watcher 2>/dev/null
exit $status
`;

const READY_POLL_MS = 50;
const READY_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 10_000;
const LOG_SHOWN = 4_000;

/** One run of a server: dies with this process, and does not keep it alive. */
export class GuardedProcess {
  private constructor(private readonly child: ChildProcess, private readonly pid: number) {}

  /** @throws Error with the end of its log when it ends before it serves, or does not serve within two minutes */
  static async start(what: ServerCommand): Promise<GuardedProcess> {
    const log = openSync(what.logFile, 'a');
    // A group of its own, so that Ctrl-C in a terminal reaches us and not the server.
    const child = spawn('/bin/sh', ['-c', GUARD, what.name, what.folder, what.command, ...what.args], { detached: true, env: { ...process.env, ...what.env }, stdio: ['pipe', 'pipe', log] });
    closeSync(log);
    child.stdin!.on('error', () => {});
    const pid = Number(String((await once(child.stdout!, 'data'))[0]));
    const started = new GuardedProcess(child, pid);
    const deadline = Date.now() + READY_LIMIT_MS;
    while (!(await what.ready())) {
      if (!started.running) throw new Error(`${what.name} ended before it served:\n${tail(what.logFile)}`);
      if (Date.now() > deadline) { await started.end('SIGKILL'); throw new Error(`${what.name} does not answer:\n${tail(what.logFile)}`); }
      await sleep(READY_POLL_MS);
    }
    child.unref();
    for (const pipe of [child.stdin, child.stdout]) (pipe as unknown as { unref(): void }).unref();
    return started;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Sends the signal and waits until it is gone; a server that ignores SIGTERM is killed after ten seconds. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (!this.running) return;
    this.child.ref();
    const gone = once(this.child, 'exit');
    this.signal(signal);
    const impatient = setTimeout(() => this.signal('SIGKILL'), STOP_LIMIT_MS);
    await gone;
    clearTimeout(impatient);
  }

  signal(signal: NodeJS.Signals): void {
    if (this.running) process.kill(this.pid, signal);
  }
}

/** A server with a folder and a port that outlive its runs. */
export class RestartableServer {
  #run: GuardedProcess | undefined;

  constructor(private readonly what: ServerCommand) {}

  async start(): Promise<void> {
    if (this.#run?.running !== true) this.#run = await GuardedProcess.start(this.what);
  }

  /** SIGKILL: connections are cut, data stay. */
  async kill(): Promise<void> {
    await this.#run?.end('SIGKILL');
  }

  /** Same port, same data; also after kill(). */
  async restart(): Promise<void> {
    await this.#run?.end('SIGTERM');
    await this.start();
  }

  /** SIGSTOP: connections are accepted by the kernel and nothing answers, until resume(). */
  suspend(): void {
    this.#run?.signal('SIGSTOP');
  }

  resume(): void {
    this.#run?.signal('SIGCONT');
  }

  /** Ends it and removes its data. */
  async stop(): Promise<void> {
    await this.#run?.end('SIGKILL');
    rmSync(this.what.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  log(): string {
    return existsSync(this.what.logFile) ? readFileSync(this.what.logFile, 'utf8') : '';
  }
}

/** A port of 127.0.0.1 that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** True when the URL answers, with whatever status `accept` takes. */
export async function answers(url: string, accept: (status: number) => boolean): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    await response.arrayBuffer();
    return accept(response.status);
  } catch {
    return false;
  }
}

function tail(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8').slice(-LOG_SHOWN) : '';
}
