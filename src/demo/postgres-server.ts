import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WalbergError } from '../errors/error.js';
import { handOver, installedBinaries, serverUser, usableBinaries, type ServerUser } from './postgres-binaries.js';

export interface PostgresServerOptions {
  /** Folder with `bin/`, `lib/` and `share/`; default: the installed package. */
  readonly binaries?: string;
  /** Kept after the server is gone; default: a folder of its own that is removed with the server. */
  readonly dataDir?: string;
  /** TCP port on 127.0.0.1; default: any free one. */
  readonly port?: number;
  /** Password of the superuser `postgres`; default: random. Ignored when `dataDir` holds a cluster already. */
  readonly password?: string;
  /** Server settings beyond those needed for logical replication. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** `fast` writes a checkpoint and ends sessions, `immediate` ends at once and recovers at the next start (pg_ctl's modes). */
export type ShutdownMode = 'fast' | 'immediate';

/** A Postgres server of our own: reachable on 127.0.0.1 and on a socket in `socketDir`, gone when this process is gone. */
export interface PostgresServer {
  readonly host: string;
  readonly port: number;
  readonly user: 'postgres';
  readonly password: string;
  readonly database: 'postgres';
  readonly dataDir: string;
  readonly socketDir: string;
  /** What the server has logged since it was created. */
  log(): string;
  /** Starts it again on the same port and data; no effect while it runs. */
  start(): Promise<void>;
  /** Stops it and keeps the data; no effect while it is stopped. */
  stop(mode?: ShutdownMode): Promise<void>;
  restart(mode?: ShutdownMode): Promise<void>;
  /** SIGKILL to the postmaster, as a crash of the machine looks to clients. */
  kill(): Promise<void>;
  /** Stops it at once and removes everything that was made for it, but not a `dataDir` that was given. */
  destroy(): Promise<void>;
}

/**
 * Runs Postgres and, when its standard input ends (this process died, however), stops it at once and removes its folder.
 * The watcher ends with 0 only after that; killed because the server ended first, it leaves the folder to us.
 * Own process group, so that Ctrl-C in a terminal reaches us and not the server: we decide when it stops.
 */
const GUARD = `
folder=$1; shift
exec 3<&0
"$@" >&2 </dev/null 3<&- &
server=$!
echo $server
( read -r _ <&3; trap '' TERM; kill -QUIT $server; exit 0 ) >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait $server
status=$?
kill $watcher 2>/dev/null
wait $watcher 2>/dev/null && { rm -rf "$folder" || { sleep 0.5; rm -rf "$folder"; }; } 2>/dev/null
exit $status
`;

const READY_POLL_MS = 20;
/** A postmaster killed hard leaves sessions that hold its shared memory for a moment. */
const START_ATTEMPTS = 40;
const START_PAUSE_MS = 250;
/** A fast shutdown waits for walsenders whose client does not read; after this long it becomes an immediate one. */
const FAST_SHUTDOWN_LIMIT_MS = 30_000;

/**
 * Creates a cluster (unless `dataDir` holds one) and starts a server on it.
 *
 * Works as root (the server then runs as an unprivileged account) and as any user known to the system.
 * @throws WalbergError DEMO_SERVER when it cannot be created or started
 */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const server = new OwnServer(options);
  try {
    await server.create();
    await server.start();
  } catch (error) {
    await server.destroy();
    throw error;
  }
  return server;
}

class OwnServer implements PostgresServer {
  readonly host = '127.0.0.1';
  readonly user = 'postgres' as const;
  readonly database = 'postgres' as const;
  readonly password: string;
  readonly dataDir: string;
  readonly socketDir: string;
  #port = 0;
  #binaries = '';
  #process: ChildProcess | undefined;
  #postmaster = 0;
  readonly #folder: string;
  readonly #account: ServerUser | undefined = serverUser();
  readonly #forget = (): void => { if (this.#process === undefined) rmSync(this.#folder, { recursive: true, force: true }); };

  constructor(private readonly options: PostgresServerOptions) {
    this.#folder = mkdtempSync(join(tmpdir(), 'walberg-postgres-'));
    this.socketDir = this.#folder;
    this.dataDir = options.dataDir ?? join(this.#folder, 'data');
    this.password = options.password ?? randomBytes(12).toString('hex');
    process.once('exit', this.#forget);
  }

  get port(): number {
    return this.#port;
  }

  log(): string {
    const file = join(this.#folder, 'server.log');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  /** Makes the binaries usable and the cluster exist. */
  async create(): Promise<void> {
    if (this.#account !== undefined) handOver(this.#folder, this.#account);
    this.#binaries = usableBinaries(this.options.binaries ?? installedBinaries(), this.#folder, this.#account);
    if (existsSync(join(this.dataDir, 'PG_VERSION'))) return;
    mkdirSync(this.dataDir, { recursive: true, mode: 0o700 });
    const passwordFile = join(this.#folder, 'password');
    writeFileSync(passwordFile, this.password, { mode: 0o600 });
    if (this.#account !== undefined) [this.dataDir, passwordFile].forEach((path) => handOver(path, this.#account!));
    const initdb = spawn(join(this.#binaries, 'bin', 'initdb'), ['-D', this.dataDir, '-U', this.user, '--pwfile', passwordFile, '-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C', '--no-sync'], { ...this.#spawnOptions(), stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    initdb.stdout.on('data', (text) => { said += text; });
    initdb.stderr.on('data', (text) => { said += text; });
    const [status] = (await once(initdb, 'close')) as [number | null];
    rmSync(passwordFile, { force: true });
    if (status !== 0) throw new WalbergError('DEMO_SERVER', `The Postgres cluster could not be created: ${lastLines(said)}`);
  }

  async start(): Promise<void> {
    for (let attempt = 1; this.#process === undefined; attempt++) {
      if (this.options.port !== undefined) this.#port = this.options.port;
      else if (this.#port === 0) this.#port = await freePort();
      const before = this.log().length;
      if (await this.#launch()) return;
      const said = this.log().slice(before);
      const portTaken = said.includes('could not bind') && this.options.port === undefined;
      // The first port is a guess that another process may win; once clients know it, it stays.
      if (portTaken && this.#postmaster === 0) this.#port = 0;
      else if (!/pre-existing shared memory|lock file/.test(said) && !portTaken || attempt >= START_ATTEMPTS) throw new WalbergError('DEMO_SERVER', `Postgres did not start: ${lastLines(said)}`);
      await sleep(START_PAUSE_MS);
    }
  }

  async stop(mode: ShutdownMode = 'fast'): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    child.ref();
    const gone = once(child, 'exit');
    await this.#signal(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    const impatient = setTimeout(() => void this.#signal('SIGQUIT'), FAST_SHUTDOWN_LIMIT_MS);
    await gone;
    clearTimeout(impatient);
    this.#process = undefined;
  }

  async restart(mode: ShutdownMode = 'fast'): Promise<void> {
    await this.stop(mode);
    await this.start();
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    child.ref();
    const gone = once(child, 'exit');
    process.kill(this.#postmaster, 'SIGKILL');
    await gone;
    this.#process = undefined;
  }

  async destroy(): Promise<void> {
    await this.stop('immediate');
    process.off('exit', this.#forget);
    // Sessions of a server that ended at once may still be writing their last file.
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  /** @returns false when it ended before it was ready */
  async #launch(): Promise<boolean> {
    const settings = { wal_level: 'logical', max_wal_senders: '20', max_replication_slots: '20', listen_addresses: this.host, ...this.options.settings };
    const command = [join(this.#binaries, 'bin', 'postgres'), '-D', this.dataDir, '-p', String(this.#port), ...(process.platform === 'win32' ? [] : ['-k', this.socketDir]), ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
    const guarded = process.platform === 'win32' ? command : ['/bin/sh', '-c', GUARD, 'walberg-postgres', this.#folder, ...command];
    const logFile = openSync(join(this.#folder, 'server.log'), 'a', 0o600);
    const child = spawn(guarded[0], guarded.slice(1), { ...this.#spawnOptions(), detached: true, stdio: ['pipe', 'pipe', logFile] });
    closeSync(logFile);
    const ended = once(child, 'exit');
    const postmaster = process.platform === 'win32' ? child.pid! : Number(String((await once(child.stdout!, 'data'))[0]));
    let exited = false;
    void ended.then(() => { exited = true; });
    while (!exited && !this.#isReady(postmaster)) await Promise.race([sleep(READY_POLL_MS), ended]);
    if (exited) return false;
    this.#postmaster = postmaster;
    this.#process = child;
    void ended.then(() => { if (this.#process === child) this.#process = undefined; });
    // The server must not keep this process alive.
    child.unref();
    for (const pipe of [child.stdin, child.stdout]) (pipe as unknown as { unref(): void }).unref();
    return true;
  }

  /** postmaster.pid: first line the process id, eighth the state (storage.h / pidfile.h of the server). */
  #isReady(postmaster: number): boolean {
    try {
      const lines = readFileSync(join(this.dataDir, 'postmaster.pid'), 'utf8').split('\n');
      return Number(lines[0]) === postmaster && lines[7]?.trim() === 'ready';
    } catch {
      return false;
    }
  }

  async #signal(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    if (process.platform !== 'win32') {
      process.kill(this.#postmaster, signal);
      return;
    }
    // Windows has no signals; pg_ctl speaks to the server through a named pipe.
    const control = spawn(join(this.#binaries, 'bin', 'pg_ctl'), ['stop', '-W', '-D', this.dataDir, '-m', signal === 'SIGINT' ? 'fast' : 'immediate'], { stdio: 'ignore' });
    await once(control, 'exit');
  }

  #spawnOptions(): { uid?: number; gid?: number; cwd: string; env: NodeJS.ProcessEnv } {
    // PG… variables of the user's shell would change the server's behaviour.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PG')));
    return { ...this.#account, cwd: this.#folder, env: { ...env, LC_ALL: 'C' } };
  }
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-5).join('\n');
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
