import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isWalbergError } from '../../src/errors/error.js';
import type { ConnectionConfig } from '../../src/config/config.js';
import { connect, type SourceClient } from '../../src/postgres/client.js';
import { transactionBound, waitForTransactionsBelow, type OldTransactions } from '../../src/postgres/old-transactions.js';
import { readSlot } from '../../src/postgres/slot.js';
import { ensureSlot } from '../../src/postgres/slot-creation.js';
import { describeTables } from '../../src/postgres/source-catalog.js';
import { readBack } from '../../src/postgres/read-back.js';
import { currentLsn, readSourceStatus } from '../../src/postgres/source-status.js';
import { identifySystem } from '../../src/postgres/system.js';
import { SourceServer } from '../support/source-server.js';
import { StreamSession } from '../support/stream-session.js';

let server: SourceServer;
let sql: SourceClient;
/** Certificates are made with the openssl program; without it the TLS tests are skipped. */
const openssl = spawnSync('openssl', ['version']).status === 0;
before(async () => {
  server = await SourceServer.start();
  sql = await server.client();
  await sql.rows(`SET password_encryption = 'scram-sha-256'; CREATE ROLE secret LOGIN REPLICATION PASSWORD 'pa''ss\\wörd'; CREATE ROLE plain_only LOGIN; CREATE ROLE tls_only LOGIN`);
  const hba = ['host postgres,replication secret all scram-sha-256', 'hostnossl all plain_only all trust', 'hostssl all tls_only all trust', 'hostnossl all tls_only all reject', 'hostssl all certified all cert', 'hostssl all plain_only all reject'];
  writeFileSync(join(server.data, 'pg_hba.conf'), `${hba.join('\n')}\n${readFileSync(join(server.data, 'pg_hba.conf'), 'utf8')}`);
  if (openssl) await enableTls();
  await sql.rows('SELECT pg_reload_conf()');
});
after(async () => { await sql?.close(); await server?.stop(); });

const file = (name: string): string => join(server.root, name);
function run(...args: string[]): void {
  const result = spawnSync('openssl', args, { encoding: 'utf8' });
  if (result.status !== 0) throw new Error(result.stderr);
}
function certificate(name: string, subject: string, extension: string): void {
  run('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', file(`${name}.key`), '-out', file(`${name}.csr`), '-subj', subject);
  writeFileSync(file(`${name}.ext`), extension);
  run('x509', '-req', '-in', file(`${name}.csr`), '-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-CAcreateserial', '-days', '2', '-out', file(`${name}.crt`), '-extfile', file(`${name}.ext`));
}
async function enableTls(): Promise<void> {
  for (const ca of ['ca', 'other']) run('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', file(`${ca}.key`), '-out', file(`${ca}.crt`), '-days', '2', '-subj', `/CN=${ca}`);
  certificate('server', '/CN=localhost', 'subjectAltName=DNS:localhost');
  certificate('client', '/CN=certified', '');
  run('pkcs8', '-topk8', '-nocrypt', '-in', file('client.key'), '-outform', 'DER', '-out', file('client.pk8'));
  run('pkcs12', '-export', '-in', file('client.crt'), '-inkey', file('client.key'), '-out', file('client.p12'), '-passout', 'pass:box');
  if (process.getuid?.() === 0) chownSync(file('server.key'), 65534, 65534);
  await sql.rows('CREATE ROLE certified LOGIN');
  for (const [k, v] of Object.entries({ ssl: 'on', ssl_cert_file: file('server.crt'), ssl_key_file: file('server.key'), ssl_ca_file: file('ca.crt') })) await sql.rows(`ALTER SYSTEM SET ${k} = '${v}'`);
}

const opens = async (changes: Partial<ConnectionConfig>): Promise<{ ssl: string }> => {
  const client = await connect({ ...server.connection, ...changes });
  const [row] = await client.rows<{ ssl: string }>('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
  await client.close();
  return row;
};
const fails = (changes: Partial<ConnectionConfig>, code: string): Promise<void> =>
  assert.rejects(connect({ ...server.connection, ...changes }), (e: unknown) => isWalbergError(e) && e.code === code, JSON.stringify(changes));

test('SCRAM: the right password, a wrong one, none', async () => {
  assert.equal((await opens({ user: 'secret', password: `pa'ss\\wörd` })).ssl, 'f');
  await fails({ user: 'secret', password: 'wrong' }, 'SOURCE_AUTH');
  process.env.PGPASSWORD = `pa'ss\\wörd`;
  try {
    await fails({ user: 'secret', password: undefined }, 'SOURCE_AUTH');
  } finally {
    delete process.env.PGPASSWORD;
  }
});

test('sslmode: what is encrypted, what is verified, what falls back', { skip: openssl ? false : 'no openssl program' }, async () => {
  assert.equal((await opens({ sslMode: 'disable' })).ssl, 'f');
  assert.equal((await opens({ sslMode: 'allow' })).ssl, 'f');
  assert.equal((await opens({ sslMode: 'prefer' })).ssl, 't');
  assert.equal((await opens({ sslMode: 'require' })).ssl, 't');
  assert.equal((await opens({ sslMode: 'allow', user: 'tls_only' })).ssl, 't');
  assert.equal((await opens({ sslMode: 'prefer', user: 'plain_only' })).ssl, 'f');
  await fails({ sslMode: 'disable', user: 'tls_only' }, 'SOURCE_AUTH');
  await fails({ sslMode: 'require', user: 'plain_only' }, 'SOURCE_AUTH');
  // The certificate is for localhost, the connection goes to 127.0.0.1.
  assert.equal((await opens({ sslMode: 'verify-ca', sslRootCert: file('ca.crt') })).ssl, 't');
  assert.equal((await opens({ sslMode: 'verify-full', sslRootCert: file('ca.crt'), host: 'localhost' })).ssl, 't');
  await fails({ sslMode: 'verify-full', sslRootCert: file('ca.crt') }, 'SOURCE_TLS');
  for (const sslMode of ['require', 'verify-ca', 'verify-full'] as const) await fails({ sslMode, sslRootCert: file('other.crt'), host: 'localhost' }, 'SOURCE_TLS');
  await fails({ sslMode: 'verify-full', host: 'localhost' }, 'SOURCE_TLS');
});

test('client certificates: PEM, PKCS#8 DER, PKCS#12', { skip: openssl ? false : 'no openssl program' }, async () => {
  const base = { sslMode: 'require', user: 'certified', sslCert: file('client.crt') } as const;
  assert.equal((await opens({ ...base, sslKey: file('client.key') })).ssl, 't');
  assert.equal((await opens({ ...base, sslKey: file('client.pk8') })).ssl, 't');
  assert.equal((await opens({ sslMode: 'require', user: 'certified', sslKey: file('client.p12'), sslKeyPassword: 'box' })).ssl, 't');
  await fails({ sslMode: 'require', user: 'certified' }, 'SOURCE_AUTH');
  await fails({ ...base, sslKey: file('client.crt.none') }, 'CONFIG_INVALID');
});

test('the stream runs over TLS, with nothing but LOGIN and REPLICATION', { skip: openssl ? false : 'no openssl program' }, async () => {
  await sql.rows('CREATE TABLE public.t (id int PRIMARY KEY, v text); CREATE PUBLICATION walberg FOR TABLE public.t');
  const connection: ConnectionConfig = { ...server.connection, user: 'secret', password: `pa'ss\\wörd`, sslMode: 'require' };
  const own = await connect(connection);
  await ensureSlot(own, 'walberg', { connection });
  await own.close();
  await sql.rows(`INSERT INTO public.t SELECT g, repeat('x', 1000) FROM generate_series(1, 5000) g`);
  const s = new StreamSession(connection, { slotName: 'walberg' });
  await s.caughtUp(sql);
  s.stream.pause();
  s.stream.resume();
  await s.stream.stop(s.endLsns[0]);
  assert.equal(s.changes.length, 5000);
  assert.equal((await readSlot(sql, 'walberg'))?.confirmedFlushLsn, s.endLsns[0]);
});

test('a role without REPLICATION is refused as such', async () => {
  await sql.rows('DROP ROLE IF EXISTS weak; CREATE ROLE weak LOGIN');
  assert.ok(isWalbergError(await new StreamSession({ ...server.connection, user: 'weak' }, { slotName: 'walberg' }).result, 'SOURCE_PRIVILEGE', 'SOURCE_AUTH'));
});

test('old transactions: reported while they run, waited for, later ones ignored', async () => {
  await sql.rows('CREATE TABLE IF NOT EXISTS public.u (id int)');
  const old = await server.client();
  await old.rows('BEGIN; INSERT INTO public.u VALUES (1)');
  const bound = await transactionBound(sql);
  const later = await server.client();
  await later.rows('BEGIN; INSERT INTO public.u VALUES (2)');
  let reported: (o: OldTransactions) => void = () => {};
  const report = new Promise<OldTransactions>((r) => { reported = r; });
  const waiting = waitForTransactionsBelow(sql, bound, { onWaiting: reported });
  assert.deepEqual((await report).pids, [old.backendPid]);
  await old.rows('COMMIT');
  await waiting;
  await later.rows('ROLLBACK');
  await later.close();
  await old.close();
});

test('a fast shutdown of the server is not held up by a stream that confirms; afterwards the stream goes on', async () => {
  await sql.rows('DROP PUBLICATION IF EXISTS walberg; CREATE TABLE public.w (id int PRIMARY KEY); CREATE PUBLICATION walberg FOR TABLE public.w');
  await ensureSlot(sql, 'walberg_down', { connection: server.connection });
  const s = new StreamSession(server.connection, { slotName: 'walberg_down', statusIntervalMs: 60_000 });
  s.handler.onEvent = () => {};
  const { handler } = s;
  handler.keepalive = (endLsn) => { s.stream.confirm(endLsn); };
  handler.commit = (_commit, endLsn) => { s.stream.confirm(endLsn); };
  await sql.rows('INSERT INTO public.w VALUES (1)');
  await sql.close();
  await server.halt('SIGINT');
  assert.ok(isWalbergError(await s.result, 'SOURCE_SHUTDOWN', 'SOURCE_UNREACHABLE'));
  await server.launch();
  sql = await server.client();
  await sql.rows('INSERT INTO public.w VALUES (2)');
  const again = new StreamSession(server.connection, { slotName: 'walberg_down' });
  await again.caughtUp(sql);
  await again.stream.stop();
  // The first row may come again: the server does not wait for its confirmation.
  assert.deepEqual([...new Set([...s.changes, ...again.changes].map(([, r]) => (r as string[])[0]))], ['1', '2']);
});

test('a standby: positions from replay, nothing is written there; from 16 on it streams too', async () => {
  await sql.rows('CREATE TABLE public.s (id int PRIMARY KEY, v text); INSERT INTO public.s VALUES (1, $$a$$)');
  await sql.rows('DROP PUBLICATION IF EXISTS walberg; CREATE PUBLICATION walberg FOR TABLE public.s');
  await sql.close();
  const standby = await server.standby();
  sql = await server.client();
  const there = await standby.client();
  try {
    const [primary, copy] = [await identifySystem(sql), await identifySystem(there)];
    assert.deepEqual([copy.inRecovery, primary.inRecovery], [true, false]);
    assert.equal(copy.systemId, primary.systemId);
    const target = await currentLsn(sql);
    while (await currentLsn(there) < target) await new Promise((r) => setTimeout(r, 20));
    assert.ok(((await readSourceStatus(there, 'nothing')).currentLsn ?? 0n) >= target);
    const [{ oid }] = await sql.rows<{ oid: string }>(`SELECT 'public.s'::regclass::oid AS oid`);
    const [table] = await describeTables(there, [Number(oid)], 'walberg');
    const back = await readBack(there, { table, keyColumns: ['id'], keys: [['1']], columns: ['v'] });
    assert.deepEqual([back.rows, back.snapshot.fromStandby], [[['a']], true]);
    assert.ok(back.insertLsn >= target);
    if (there.serverVersionNum < 160000) return;
    // The slot waits for a record of running transactions from the primary.
    const nudge = setInterval(() => { sql.rows('SELECT pg_log_standby_snapshot()').catch(() => {}); }, 200);
    await ensureSlot(there, 'walberg_standby', { connection: standby.connection }).finally(() => clearInterval(nudge));
    const s = new StreamSession(standby.connection, { slotName: 'walberg_standby' });
    await sql.rows(`INSERT INTO public.s VALUES (2, 'b')`);
    await s.until(() => s.endLsns.length > 0);
    await s.stream.stop(s.endLsns[0]);
    assert.deepEqual(s.changes, [['insert', ['2', 'b']]]);
  } finally {
    await there.close();
    await standby.stop();
  }
});
