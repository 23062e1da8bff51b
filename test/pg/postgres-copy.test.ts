import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { isWalbergError } from '../../src/errors/error.js';
import { connect, type SourceClient } from '../../src/postgres/client.js';
import { copyOut, copyStatement, importSnapshot, lockAndReadFileNode, relationPages, tableLeaves } from '../../src/postgres/copy.js';
import { CopyRowReader } from '../support/copy-rows.js';
import { readBack } from '../../src/postgres/read-back.js';
import { dropSlot, readSlot } from '../../src/postgres/slot.js';
import { dropSlot as freeSlot } from '../support/case.js';
import { createExportingSlot, ensureSlot } from '../../src/postgres/slot-creation.js';
import { describeTables } from '../../src/postgres/source-catalog.js';
import { currentLsn, readSourceStatus } from '../../src/postgres/source-status.js';
import { snapshotSees } from '../../src/postgres/transaction-snapshot.js';
import { insertLsn, waitFlushed } from '../../src/postgres/wal-position.js';
import type { SourceTable } from '../../src/schema/source-table.js';
import { values } from '../support/recording-handler.js';
import { SourceServer } from '../support/source-server.js';
import { StreamSession } from '../support/stream-session.js';

let server: SourceServer;
let sql: SourceClient;
before(async () => { server = await SourceServer.start({ autovacuum: 'off' }); sql = await server.client(); });
after(async () => { await sql?.close(); await server?.stop(); });
beforeEach(async () => {
  await freeSlot(sql, 'walberg');
  await sql.rows('DROP PUBLICATION IF EXISTS walberg; DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE PUBLICATION walberg FOR ALL TABLES');
});

/** Sessions of one test; closed behind it, so that a failure does not hold locks for the next. */
let extra: SourceClient[] = [];
async function session(options: Parameters<SourceServer['client']>[0] = {}): Promise<SourceClient> {
  const client = await server.client(options);
  extra.push(client);
  return client;
}
afterEach(async () => { await Promise.all(extra.map((c) => c.close())); extra = []; });

async function table(name: string): Promise<SourceTable> {
  const [{ oid }] = await sql.rows<{ oid: string }>('SELECT $1::regclass::oid AS oid', [name]);
  return (await describeTables(sql, [Number(oid)], 'walberg'))[0];
}

async function copyRows(client: SourceClient, t: SourceTable, pages?: { from: number; to: number }): Promise<unknown[][]> {
  const columns = t.columns.map((c) => c.name);
  const reader = new CopyRowReader(columns.length);
  const rows: unknown[][] = [];
  await copyOut(client, copyStatement(t, columns, pages), async (chunk) => {
    // The chunk belongs to the receiver: it still holds its rows after others have arrived.
    await new Promise((r) => setImmediate(r));
    reader.read(chunk, (row) => { rows.push(values(row)); });
  });
  return rows;
}

const EVERY_TYPE = `CREATE TYPE public.mood AS ENUM ('sa d', 'o"k'); CREATE DOMAIN public.short AS varchar(9);
  CREATE TABLE public.t (id bigint PRIMARY KEY, b bool, i2 int2, f4 float4, f8 float8, n numeric, nb numeric(38,10), c char(5), v text, y bytea, u uuid, d date, t time, ttz timetz,
    ts timestamp, tz timestamptz, iv interval, j json, jb jsonb, m public.mood, s public.short, a text[], r int4range, mo money, inet inet, bits varbit, p point, rc regclass)`;
const EVERY_VALUE = `INSERT INTO public.t VALUES
  (9223372036854775807, true, -32768, 'NaN', '-0', 'NaN', 1234567890123456789012345678.0123456789, 'ab', E'tab\\tnl\\nback\\\\slash\\rquote''"\\u0001😀' || chr(65279), '\\x00ff0a09', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11',
   '0044-03-15 BC', '24:00', '24:00:00-15:59:59', '294276-12-31 23:59:59.999999', '-infinity', '-1 year 3 days -04:05:06.7', '{"a" :1, "a":2}', '{"a": 1e5, "b": "\\u00e9"}', 'o"k', 'x', '{NULL,"NULL","a,b","\\\\"}', '[1,5]', '-1234.56', '10.0.0.1/24', '101', '(1,NaN)', 'public.t'),
  (-9223372036854775808, false, 32767, '1e-45', 1e-310, '0.000000', NULL, '', '', '\\x', NULL, 'infinity', '00:00', NULL, 'infinity', '0001-01-01 00:00:00+00', NULL, 'null', 'null', 'sa d', NULL, '{}', 'empty', NULL, NULL, '', NULL, NULL),
  (0, NULL, NULL, '-Infinity', 'Infinity', 123456789.1234567890123456789, -0.0000000001, 'abcde', '\\N', E'\\\\x5c4e', NULL, '5874897-12-31', '12:00:00.000001', '12:00+05:30', '2024-02-29', '2024-02-29 12:00+05:45', '0', '[]', '[]', NULL, '', '{{1,2},{3,4}}', NULL, NULL, '::1', NULL, NULL, NULL)`;

test('one value has one text: COPY, the stream and read-back agree with each other for every type', async () => {
  await sql.rows(EVERY_TYPE);
  await ensureSlot(sql, 'walberg', { connection: server.connection });
  await sql.rows(EVERY_VALUE);
  const t = await table('public.t');
  const s = new StreamSession(server.connection, { slotName: 'walberg' });
  await s.caughtUp(sql);
  await s.stream.stop();
  const streamed = s.changes.map(([, row]) => row as unknown[]);
  assert.equal(streamed.length, 3);
  assert.deepEqual(await copyRows(sql, t), streamed);
  const back = await readBack(sql, { table: t, keyColumns: ['id'], keys: streamed.map((r) => [r[0] as string]), columns: t.columns.map((c) => c.name) });
  assert.deepEqual(back.rows, streamed);
});

test('page ranges cover every row once', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY, v text); INSERT INTO public.t SELECT g, repeat('x', 300) FROM generate_series(1, 5000) g; DELETE FROM public.t WHERE id % 3 = 0; CREATE TABLE public.heir () INHERITS (public.t); INSERT INTO public.heir VALUES (-1, 'h')`);
  const t = await table('public.t');
  const pages = await relationPages(sql, t.oid);
  assert.ok(pages > 100);
  const rows: unknown[][] = [];
  for (let from = 0; from < pages; from += 37) rows.push(...await copyRows(sql, t, { from, to: from + 37 }));
  const expected = await sql.rows('SELECT id, v FROM ONLY public.t ORDER BY id');
  assert.deepEqual(rows.sort((a, b) => Number(a[0]) - Number(b[0])), expected.map((r) => [r.id, r.v]));
});

test('partitioned roots are copied leaf by leaf or whole, row filters apply', async (t) => {
  await sql.rows(`CREATE TABLE public.root (id int, k int, PRIMARY KEY (id, k)) PARTITION BY LIST (k); CREATE TABLE public.l1 (k int NOT NULL, id int NOT NULL); ALTER TABLE public.root ATTACH PARTITION public.l1 FOR VALUES IN (1); CREATE TABLE public.l2 PARTITION OF public.root FOR VALUES IN (2);
    INSERT INTO public.root SELECT g, 1 + g % 2 FROM generate_series(1, 10) g`);
  const root = await table('public.root');
  assert.equal((await copyRows(sql, root)).length, 10);
  const leaves = await tableLeaves(sql, root.oid);
  assert.deepEqual(leaves.map((l) => [l.name, l.pages]), [['l1', 1], ['l2', 1]]);
  const rows = [];
  for (const leaf of leaves) rows.push(...await copyRows(sql, { ...root, ...leaf, kind: 'r' }, { from: 0, to: leaf.pages }));
  assert.deepEqual(rows.map((r) => r.join()).sort(), (await copyRows(sql, root)).map((r) => r.join()).sort());
  if (sql.serverVersionNum < 150000) return t.skip('row filters came with 15');
  await sql.rows('DROP PUBLICATION walberg; CREATE PUBLICATION walberg FOR TABLE public.l2 WHERE (id < 6)');
  assert.deepEqual((await copyRows(sql, await table('public.l2'))).map((r) => r[0]).sort(), ['1', '3', '5']);
});

test('back-pressure: while the receiver works, nothing more is handed over', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY, v text); INSERT INTO public.t SELECT g, repeat('x', 500) FROM generate_series(1, 20000) g`);
  let busy = 0;
  let most = 0;
  let size = 0;
  const bytes = await copyOut(sql, 'COPY public.t TO STDOUT', async (chunk) => {
    most = Math.max(most, ++busy);
    await new Promise((r) => setImmediate(r));
    assert.equal(chunk.at(-1), 0x0a);
    size += chunk.length;
    busy--;
  });
  assert.equal(most, 1);
  assert.equal(bytes, size);
  assert.ok(size > 10_000_000);
  assert.deepEqual(await sql.rows('SELECT 1 AS one'), [{ one: '1' }], 'the session is usable afterwards');
});

test('a row of many socket reads', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY, v text); INSERT INTO public.t VALUES (1, 'a'), (2, repeat('long\ttext\\', 1000000)), (3, 'b')`);
  const rows = await copyRows(sql, await table('public.t'));
  assert.deepEqual(rows.map((r) => (r[1] as string).length), [1, 10_000_000, 1]);
  assert.equal(rows[1][1], 'long\ttext\\'.repeat(1_000_000));
});

test('failures of a copy: the statement, the receiver, an abort', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY); INSERT INTO public.t SELECT generate_series(1, 100000)`);
  const client = await session();
  await assert.rejects(copyOut(client, 'COPY public.nothing TO STDOUT', () => {}), (e: unknown) => isWalbergError(e) && e.context.sqlstate === '42P01');
  await assert.rejects(copyOut(client, 'COPY (SELECT 1 / (5000 - id) FROM public.t) TO STDOUT', () => {}), (e: unknown) => isWalbergError(e) && e.context.sqlstate === '22012');
  assert.deepEqual(await client.rows('SELECT 1 AS one'), [{ one: '1' }]);
  const boom = new Error('boom');
  await assert.rejects(copyOut(client, 'COPY public.t TO STDOUT', async () => { throw boom; }), (e) => e === boom);
  const other = await session();
  await assert.rejects(copyOut(other, 'COPY public.t TO STDOUT', () => { throw boom; }), (e) => e === boom);
  const third = await session();
  const abort = new AbortController();
  await assert.rejects(copyOut(third, 'COPY public.t TO STDOUT', () => { abort.abort(boom); }, { signal: abort.signal }), (e) => e === boom);
});

test('row level security is an error, not a partial copy', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY); INSERT INTO public.t VALUES (1), (2); ALTER TABLE public.t ENABLE ROW LEVEL SECURITY; DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA public TO reader; GRANT SELECT ON public.t TO reader; CREATE POLICY p ON public.t USING (id = 1)`);
  const reader = await session({ user: 'reader' });
  await assert.rejects(copyOut(reader, 'COPY (SELECT id FROM public.t) TO STDOUT', () => {}), (e: unknown) => isWalbergError(e, 'SOURCE_PRIVILEGE'));
  await sql.rows('DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP ROLE reader');
});

test('exported snapshot: the copy ends exactly where the stream begins', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY); INSERT INTO public.t VALUES (1), (2)`);
  const t = await table('public.t');
  const creator = await connect(server.connection, { replication: true });
  const exported = await createExportingSlot(creator, 'walberg', { connection: server.connection, temporary: false });
  await sql.rows('INSERT INTO public.t VALUES (3)');
  const workers = [await session(), await session()];
  for (const w of workers) await importSnapshot(w, exported.snapshotName);
  await creator.close();
  await sql.rows('INSERT INTO public.t VALUES (4)');
  for (const w of workers) {
    assert.deepEqual(await copyRows(w, t), [['1'], ['2']]);
    assert.equal(await lockAndReadFileNode(w, t), (await tableLeaves(sql, t.oid))[0].fileNode);
  }
  assert.equal((await readSlot(sql, 'walberg'))?.confirmedFlushLsn, exported.consistentPoint);
  const s = new StreamSession(server.connection, { slotName: 'walberg' });
  await s.caughtUp(sql);
  await s.stream.stop();
  assert.deepEqual(s.changes.map(([, r]) => r), [['3'], ['4']]);
  const late = await session();
  await assert.rejects(importSnapshot(late, exported.snapshotName));
});

test('a temporary exporting slot vanishes with its session', async () => {
  const creator = await connect(server.connection, { replication: true });
  await createExportingSlot(creator, 'walberg_load', { connection: server.connection });
  assert.equal((await readSlot(sql, 'walberg_load'))?.temporary, true);
  await creator.close();
  while (await readSlot(sql, 'walberg_load') !== undefined) await new Promise((r) => setTimeout(r, 10));
});

test('read-back finds rows by key text, in request order, and says which are gone', async () => {
  await sql.rows(`CREATE TYPE public.mood AS ENUM ('sad', 'ok'); CREATE TABLE public.t (m public.mood, c char(3), d timestamptz, v text, PRIMARY KEY (d, m, c));
    INSERT INTO public.t VALUES ('ok', 'a', '2024-01-01 00:00:00+00', 'first'), ('sad', 'b', '2024-01-01 00:00:00+00', NULL)`);
  const t = await table('public.t');
  const at = '2024-01-01 00:00:00+00';
  const back = await readBack(sql, { table: t, keyColumns: ['m', 'c', 'd'], keys: [['sad', 'b  ', at], ['ok', 'x  ', at], ['ok', 'a  ', at]], columns: ['v', 'c'] });
  assert.deepEqual(back.rows, [[null, 'b  '], undefined, ['first', 'a  ']]);
  assert.deepEqual((await readBack(sql, { table: t, keyColumns: ['m'], keys: [], columns: ['v'] })).rows, []);
});

test('read-back by key uses the index of an extension type', async (t) => {
  const [{ available }] = await sql.rows<{ available: string }>(`SELECT count(*) AS available FROM pg_available_extensions WHERE name = 'citext'`);
  if (available === '0') return t.skip('citext is not installed');
  await sql.rows(`CREATE EXTENSION citext SCHEMA public; CREATE TABLE public.t (k public.citext PRIMARY KEY, v text); INSERT INTO public.t VALUES ('MiXed', 'x')`);
  const back = await readBack(sql, { table: await table('public.t'), keyColumns: ['k'], keys: [['MiXed']], columns: ['v', 'k'] });
  assert.deepEqual(back.rows, [['x', 'MiXed']]);
});

test('the snapshot of a read-back knows which transactions it saw', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY, v text)`);
  await ensureSlot(sql, 'walberg', { connection: server.connection });
  const open = await session();
  const [{ xid: running }] = await open.rows<{ xid: string }>(`BEGIN; INSERT INTO public.t VALUES (1, 'open'); SELECT (txid_current() % 4294967296) AS xid`);
  const [{ xid: done }] = await sql.rows<{ xid: string }>(`BEGIN; INSERT INTO public.t VALUES (2, 'done'); SELECT (txid_current() % 4294967296) AS xid`);
  await sql.rows('COMMIT');
  const back = await readBack(sql, { table: await table('public.t'), keyColumns: ['id'], keys: [['1'], ['2']], columns: ['v'] });
  assert.deepEqual(back.rows, [undefined, ['done']]);
  assert.equal(snapshotSees(back.snapshot, Number(done)), true);
  assert.equal(snapshotSees(back.snapshot, Number(running)), false);
  await open.rows('COMMIT');
  const later = await readBack(sql, { table: await table('public.t'), keyColumns: ['id'], keys: [['1']], columns: ['v'] });
  assert.deepEqual([later.rows, snapshotSees(later.snapshot, Number(running))], [[['open']], true]);
  const [{ flushed }] = await sql.rows<{ flushed: string }>(`SELECT pg_current_wal_flush_lsn() >= ('0/0'::pg_lsn + $1::numeric) AS flushed`, [later.insertLsn.toString()]);
  assert.equal(flushed, 't');
});

test('waiting for flush ends on a quiet server with unflushed WAL of an open transaction', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY)`);
  const open = await session();
  await open.rows('BEGIN; INSERT INTO public.t VALUES (1)');
  const lsn = await insertLsn(sql);
  await waitFlushed(sql, lsn);
  assert.ok(await currentLsn(sql) >= lsn);
  await open.rows('ROLLBACK');
});

test('source status', async () => {
  await ensureSlot(sql, 'walberg', { connection: server.connection });
  await sql.rows(`CREATE TABLE public.t AS SELECT repeat('x', 1000) FROM generate_series(1, 1000)`);
  const status = await readSourceStatus(sql, 'walberg');
  assert.ok((status.retainedBytes ?? 0n) > 500_000n);
  assert.equal(status.walStatus, 'reserved');
  assert.equal(status.keepBytes, undefined);
  const none = await readSourceStatus(sql, 'nothing');
  assert.deepEqual([none.retainedBytes, none.walStatus], [undefined, undefined]);
  assert.ok((none.currentLsn ?? 0n) > 0n);
});

test('a slot that lost its WAL is recognised', async () => {
  await ensureSlot(sql, 'walberg', { connection: server.connection });
  for (const change of [`SET max_slot_wal_keep_size = '1MB'`, `SET max_wal_size = '32MB'`, `SET min_wal_size = '32MB'`]) await sql.rows(`ALTER SYSTEM ${change}`);
  await sql.rows('SELECT pg_reload_conf()');
  await sql.rows('CREATE TABLE public.t (v text)');
  for (let i = 0; i < 4; i++) {
    await sql.rows(`INSERT INTO public.t SELECT repeat('x', 1000) FROM generate_series(1, 20000)`);
    await sql.rows('SELECT pg_switch_wal()');
    await sql.rows('CHECKPOINT');
  }
  await assert.rejects(ensureSlot(sql, 'walberg', { connection: server.connection }), (e: unknown) => isWalbergError(e, 'SLOT_LOST'));
  assert.ok(isWalbergError(await new StreamSession(server.connection, { slotName: 'walberg' }).result, 'SLOT_LOST'));
  await sql.rows('ALTER SYSTEM RESET ALL');
  await sql.rows('SELECT pg_reload_conf()');
});

test('slots that are not ours to use', async () => {
  await sql.rows(`SELECT pg_create_physical_replication_slot('walberg')`);
  const refused = () => assert.rejects(ensureSlot(sql, 'walberg', { connection: server.connection }), (e: unknown) => isWalbergError(e, 'SLOT_INVALID'));
  await refused();
  await dropSlot(sql, 'walberg');
  await sql.rows(`SELECT pg_create_logical_replication_slot('walberg', 'pgoutput', false, true)`);
  await refused();
  await dropSlot(sql, 'walberg');
  await sql.rows('CREATE DATABASE other');
  const other = await session({ database: 'other' });
  await other.rows(`SELECT pg_create_logical_replication_slot('walberg', 'pgoutput')`);
  await refused();
  await dropSlot(other, 'walberg');
});
