import assert from 'node:assert/strict';
import { createServer, connect as tcpConnect, type Socket } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import type { Relation } from '../../src/pgoutput/messages.js';
import { isWalbergError } from '../../src/errors/error.js';
import type { SourceClient } from '../../src/postgres/client.js';
import { formatLsn } from '../../src/postgres/lsn.js';
import { readSlot } from '../../src/postgres/slot.js';
import { dropSlot } from '../support/case.js';
import { ensureSlot } from '../../src/postgres/slot-creation.js';
import { currentLsn } from '../../src/postgres/source-status.js';
import { UNCHANGED } from '../support/pgoutput-bytes.js';
import { SourceServer } from '../support/source-server.js';
import { StreamSession } from '../support/stream-session.js';

const slotName = 'walberg';
let server: SourceServer;
let sql: SourceClient;
before(async () => { server = await SourceServer.start(); sql = await server.client(); });
after(async () => { await sql?.close(); await server?.stop(); });
beforeEach(async () => {
  await dropSlot(sql, slotName);
  await sql.rows('DROP PUBLICATION IF EXISTS walberg; DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE PUBLICATION walberg FOR ALL TABLES WITH (publish_via_partition_root = false)');
});
const openSlot = () => ensureSlot(sql, slotName, { connection: server.connection });
const session = (options: Partial<ConstructorParameters<typeof StreamSession>[1]> = {}, startLsn?: bigint) => new StreamSession(server.connection, { slotName, ...options }, startLsn);
/** What a statement list sends. */
async function changesOf(statements: string): Promise<unknown[][]> {
  await openSlot();
  const s = session();
  for (const statement of statements.split('\n').map((l) => l.trim()).filter((l) => l !== '')) await sql.rows(statement);
  await s.caughtUp(sql);
  await s.stream.stop();
  return s.changes;
}
const BIG = `(SELECT string_agg(md5(g::text), '') FROM generate_series(1, 400) g)`;
const big = async () => (await sql.rows(`SELECT ${BIG} AS v`))[0].v as string;

test('old tuples: default identity', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY, v text, n int)`);
  assert.deepEqual(await changesOf(`
    INSERT INTO public.t VALUES (1, 'a', NULL)
    UPDATE public.t SET v = 'b' WHERE id = 1
    UPDATE public.t SET id = 2 WHERE id = 1
    DELETE FROM public.t`), [
    ['insert', ['1', 'a', null]],
    ['update', 'none', undefined, ['1', 'b', null]],
    ['update', 'key', ['1', null, null], ['2', 'b', null]],
    ['delete', 'key', ['2', null, null]],
  ]);
});

test('old tuples: no identity sends inserts only', async () => {
  await sql.rows(`CREATE TABLE public.t (v text)`);
  assert.deepEqual(await changesOf(`INSERT INTO public.t VALUES ('a')`), [['insert', ['a']]]);
  await assert.rejects(sql.rows(`UPDATE public.t SET v = 'b'`), (e: unknown) => (e as { context: { sqlstate: string } }).context.sqlstate === '55000');
});

test('old tuples: identity index', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY, u int NOT NULL UNIQUE, v text); ALTER TABLE public.t REPLICA IDENTITY USING INDEX t_u_key`);
  assert.deepEqual(await changesOf(`
    INSERT INTO public.t VALUES (1, 10, 'a')
    UPDATE public.t SET id = 2
    UPDATE public.t SET u = 20
    DELETE FROM public.t`), [
    ['insert', ['1', '10', 'a']],
    ['update', 'none', undefined, ['2', '10', 'a']],
    ['update', 'key', [null, '10', null], ['2', '20', 'a']],
    ['delete', 'key', [null, '20', null]],
  ]);
});

test('old tuples: full identity, large value taken along', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY, v text); ALTER TABLE public.t REPLICA IDENTITY FULL`);
  const v = await big();
  assert.deepEqual(await changesOf(`
    INSERT INTO public.t VALUES (1, ${BIG})
    UPDATE public.t SET v = v
    UPDATE public.t SET id = 2
    DELETE FROM public.t`), [
    ['insert', ['1', v]],
    ['update', 'full', ['1', v], ['1', UNCHANGED]],
    ['update', 'full', ['1', v], ['2', UNCHANGED]],
    ['delete', 'full', ['2', v]],
  ]);
});

test('unchanged large values are marked, also when the key changes', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY, v text, n int)`);
  const v = await big();
  assert.deepEqual(await changesOf(`
    INSERT INTO public.t VALUES (1, ${BIG}, 0)
    UPDATE public.t SET n = 1
    UPDATE public.t SET v = v
    UPDATE public.t SET id = 7`), [
    ['insert', ['1', v, '0']],
    ['update', 'none', undefined, ['1', UNCHANGED, '1']],
    ['update', 'none', undefined, ['1', UNCHANGED, '1']],
    ['update', 'key', ['1', null, null], ['7', UNCHANGED, '1']],
  ]);
});

test('a large key that did not change arrives in the old tuple and is unchanged in the new one', async () => {
  // Stored out of line, yet under the index limit: incompressible and external.
  await sql.rows(`CREATE TABLE public.t (id text PRIMARY KEY, pad text, n int); ALTER TABLE public.t ALTER id SET STORAGE EXTERNAL, ALTER pad SET STORAGE PLAIN; ALTER TABLE public.t SET (toast_tuple_target = 128)`);
  const key = `(SELECT string_agg(md5(g::text), '') FROM generate_series(1, 70) g)`;
  const [{ k }] = await sql.rows<{ k: string }>(`SELECT ${key} AS k`);
  assert.deepEqual(await changesOf(`
    INSERT INTO public.t VALUES (${key}, 'p', 0)
    UPDATE public.t SET n = 1`), [
    ['insert', [k, 'p', '0']],
    ['update', 'key', [k, null, null], [UNCHANGED, 'p', '1']],
  ]);
});

test('TRUNCATE arrives in order, with its cascade in one message', async () => {
  await sql.rows(`CREATE TABLE public.p (id int PRIMARY KEY); CREATE TABLE public.c (id int PRIMARY KEY, p int REFERENCES public.p)`);
  const [{ p, c }] = await sql.rows<{ p: string; c: string }>(`SELECT 'public.p'::regclass::oid AS p, 'public.c'::regclass::oid AS c`);
  assert.deepEqual(await changesOf(`
    BEGIN; INSERT INTO public.p VALUES (2); TRUNCATE public.p CASCADE; INSERT INTO public.p VALUES (3); COMMIT
    TRUNCATE public.c RESTART IDENTITY`), [
    ['insert', ['2']],
    ['truncate', [Number(p), Number(c)], true, false],
    ['insert', ['3']],
    ['truncate', [Number(c)], false, true],
  ]);
});

test('relations: names, identity flags, again after a change', async () => {
  await sql.rows(`CREATE SCHEMA "Sche.ma"; CREATE TABLE "Sche.ma"."ta ""b"" le" ("I d" int PRIMARY KEY, v varchar(10))`);
  await openSlot();
  const s = session();
  await sql.rows(`INSERT INTO "Sche.ma"."ta ""b"" le" VALUES (1, 'a'); ALTER TABLE "Sche.ma"."ta ""b"" le" ADD w numeric(5,1); ALTER TABLE "Sche.ma"."ta ""b"" le" REPLICA IDENTITY FULL; INSERT INTO "Sche.ma"."ta ""b"" le" VALUES (2, 'b', 1.5)`);
  await s.caughtUp(sql);
  await s.stream.stop();
  const relations = s.handler.events.filter(([k]) => k === 'relation').map(([, r]) => r as Relation);
  assert.deepEqual(relations.map((r) => [r.schema, r.name, r.replicaIdentity, r.columns.map((c) => [c.name, c.typeOid, c.typmod, c.identity])]), [
    ['Sche.ma', 'ta "b" le', 'd', [['I d', 23, -1, true], ['v', 1043, 14, false]]],
    ['Sche.ma', 'ta "b" le', 'f', [['I d', 23, -1, true], ['v', 1043, 14, true], ['w', 1700, ((5 << 16) | 1) + 4, true]]],
  ]);
  await sql.rows('DROP SCHEMA "Sche.ma" CASCADE');
});

test('transactions, messages and times', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY)`);
  await openSlot();
  const s = session();
  const [{ xid, clock }] = await sql.rows<{ xid: string; clock: string }>(`BEGIN; INSERT INTO public.t VALUES (1); SAVEPOINT a; INSERT INTO public.t VALUES (2); ROLLBACK TO a; SELECT pg_logical_emit_message(true, 'walberg', 'hé'); SELECT (txid_current() % 4294967296) AS xid, (extract(epoch FROM now()) * 1000000)::bigint AS clock`);
  await sql.rows('COMMIT');
  await s.caughtUp(sql);
  await s.stream.stop();
  const [begin] = s.handler.events.filter(([k]) => k === 'begin');
  const [commit] = s.handler.events.filter(([k]) => k === 'commit');
  assert.equal(begin[3], Number(xid));
  assert.equal(begin[1], commit[1]);
  assert.ok((commit[2] as bigint) > (commit[1] as bigint));
  const delay = (commit[3] as bigint) - BigInt(clock);
  assert.ok(delay >= 0n && delay < 60_000_000n, `commit ${delay} µs after its transaction began`);
  assert.deepEqual(s.changes.map(([k, ...rest]) => (k === 'message' ? [k, ...rest.slice(1)] : [k, ...rest])), [['insert', ['1']], ['message', 'walberg', Buffer.from('hé').toString('hex')]]);
});

test('text forms are the pinned ones although server and role say otherwise', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY, tz timestamptz, d date, i interval, b bytea, f float8, m money)`);
  assert.deepEqual(await changesOf(`INSERT INTO public.t VALUES (1, '2024-03-02 00:00:00+00', '2024-03-02', '1 year 2 days 03:04:05', '\\x00ff', 0.1::float8 + 0.2, 12.5)`), [
    ['insert', ['1', '2024-03-02 00:00:00+00', '2024-03-02', '1 year 2 days 03:04:05', '\\x00ff', '0.30000000000000004', '$12.50']],
  ]);
});

test('publication names are quoted', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY); CREATE PUBLICATION "My,'Pub ""x""" FOR TABLE public.t`);
  await openSlot();
  const s = session({ publicationNames: [`My,'Pub "x"`] });
  await sql.rows('INSERT INTO public.t VALUES (1)');
  await s.caughtUp(sql);
  await s.stream.stop();
  assert.deepEqual(s.changes, [['insert', ['1']]]);
  await sql.rows(`DROP PUBLICATION "My,'Pub ""x"""`);
});

test('what is not confirmed comes again; what is confirmed does not', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY)`);
  await openSlot();
  const first = session();
  for (const id of [1, 2, 3]) await sql.rows(`INSERT INTO public.t VALUES (${id})`);
  await first.caughtUp(sql);
  const [, second] = first.endLsns;
  first.stream.confirm(second);
  first.stream.confirm(first.endLsns[0]);
  await first.stream.stop();
  assert.equal((await readSlot(sql, slotName))?.confirmedFlushLsn, second);
  const again = session();
  await again.caughtUp(sql);
  assert.deepEqual(again.changes, [['insert', ['3']]]);
  await again.stream.stop(again.endLsns[0]);
  assert.equal((await readSlot(sql, slotName))?.confirmedFlushLsn, again.endLsns[0]);
  const third = session();
  await third.caughtUp(sql);
  await third.stream.stop();
  assert.deepEqual(third.changes, []);
});

test('nothing is confirmed by itself, however long the stream runs', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY)`);
  const before = (await openSlot()).confirmedFlushLsn;
  const s = session();
  await sql.rows('INSERT INTO public.t VALUES (1)');
  await s.caughtUp(sql);
  // Twenty statuses, each answered.
  for (let i = 0; i < 20; i++) {
    const answers = s.handler.events.length;
    s.stream.requestReply();
    await s.until(() => s.handler.events.length > answers);
  }
  await s.stream.stop();
  assert.equal((await readSlot(sql, slotName))?.confirmedFlushLsn, before);
});

test('a confirmation beyond what arrived is held back', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY)`);
  await openSlot();
  const s = session();
  await sql.rows('INSERT INTO public.t VALUES (1)');
  await s.caughtUp(sql);
  s.stream.confirm(0xff00000000n);
  await s.stream.stop();
  const confirmed = (await readSlot(sql, slotName))?.confirmedFlushLsn ?? 0n;
  assert.equal(confirmed, s.stream.receivedLsn);
  assert.ok(confirmed <= await currentLsn(sql));
});

test('keepalives carry the position of unpublished traffic', async () => {
  await sql.rows(`DROP PUBLICATION walberg; CREATE TABLE public.t (id int PRIMARY KEY); CREATE TABLE public.noise (v text); CREATE PUBLICATION walberg FOR TABLE public.t`);
  await openSlot();
  const s = session();
  await sql.rows(`INSERT INTO public.noise SELECT repeat('x', 100) FROM generate_series(1, 1000)`);
  const target = await currentLsn(sql);
  await s.caughtUp(sql);
  assert.deepEqual(s.changes, []);
  s.stream.confirm(s.stream.receivedLsn);
  await s.stream.stop();
  assert.ok(((await readSlot(sql, slotName))?.confirmedFlushLsn ?? 0n) >= target);
});

test('a paused stream stays alive under a short wal_sender_timeout and loses nothing', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY, v text)`);
  await sql.rows(`ALTER SYSTEM SET wal_sender_timeout = '2s'`);
  await sql.rows('SELECT pg_reload_conf()');
  await openSlot();
  const s = session({ statusIntervalMs: 10_000, walSenderTimeoutMs: 2000 });
  await s.caughtUp(sql);
  const pid = (await readSlot(sql, slotName))?.activePid;
  s.stream.pause();
  await sql.rows(`INSERT INTO public.t SELECT g, repeat('x', 500) FROM generate_series(1, 60000) g`);
  await new Promise((r) => setTimeout(r, 6000));
  const seen = s.changes.length;
  assert.ok(seen < 60000, 'the pause held the rows back');
  assert.equal((await readSlot(sql, slotName))?.activePid, pid);
  s.stream.resume();
  await s.caughtUp(sql);
  await s.stream.stop();
  assert.deepEqual(s.changes.map(([, row]) => (row as string[])[0]), Array.from({ length: 60000 }, (_, i) => String(i + 1)));
  await sql.rows(`ALTER SYSTEM RESET wal_sender_timeout`);
  await sql.rows('SELECT pg_reload_conf()');
});

test('write, flush and clock of the status are what the server shows', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY)`);
  await openSlot();
  const s = session();
  await sql.rows('INSERT INTO public.t VALUES (1)');
  await sql.rows('INSERT INTO public.t VALUES (2)');
  await s.caughtUp(sql);
  s.stream.confirm(s.endLsns[0]);
  s.stream.requestReply();
  await s.until(() => s.stream.reportedLsn === s.endLsns[0]);
  let row: Record<string, string | null>;
  do [row] = await sql.rows('SELECT write_lsn, flush_lsn, replay_lsn, abs(extract(epoch FROM clock_timestamp() - reply_time)) < 60 AS clock FROM pg_stat_replication');
  while (row.flush_lsn !== formatLsn(s.endLsns[0]));
  assert.deepEqual([row.replay_lsn, row.clock], [formatLsn(s.endLsns[0]), 't']);
  assert.equal(row.write_lsn, formatLsn(s.stream.receivedLsn));
  await s.stream.stop();
});

test('a slot in use, a missing slot, a missing publication', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY)`);
  await openSlot();
  const s = session();
  await s.caughtUp(sql);
  assert.ok(isWalbergError(await session().result, 'SLOT_TAKEN'));
  await assert.rejects(openSlot(), (e: unknown) => isWalbergError(e, 'SLOT_TAKEN'));
  await s.stream.stop();
  assert.ok(isWalbergError(await session({ slotName: 'nothing' }).result, 'SLOT_MISSING'));
  const wrong = session({ publicationNames: ['nothing'] });
  await sql.rows('INSERT INTO public.t VALUES (1)');
  if (sql.serverVersionNum < 180000) assert.ok(isWalbergError(await wrong.result, 'PUBLICATION_MISSING'));
  else {
    // The reason for verifyPublication: no error, no rows.
    await wrong.caughtUp(sql);
    await wrong.stream.stop();
    assert.deepEqual(wrong.changes, []);
  }
});

test('the server ends the session: classified, not an uncaught exception', async () => {
  await openSlot();
  const s = session();
  await s.caughtUp(sql);
  await sql.rows(`SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '${slotName}'`);
  assert.ok(isWalbergError(await s.result, 'SOURCE_SHUTDOWN'));
});

test('a handler that fails ends the stream with its error, and nothing more is delivered', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY)`);
  await openSlot();
  const s = session();
  const boom = new Error('boom');
  let after = 0;
  s.handler.insert = (_oid, row) => {
    after++;
    if (row.lengths[0] === 2) throw boom;
  };
  await sql.rows('INSERT INTO public.t SELECT generate_series(1, 100)');
  const error = await s.result;
  assert.ok(isWalbergError(error, 'INTERNAL'));
  assert.equal(error.cause, boom);
  assert.match(error.message, /at LSN \d+\/[0-9A-F]+/);
  assert.equal(after, 10);
});

test('stopping in the middle of a large transaction', async () => {
  await sql.rows(`CREATE TABLE public.t (id int PRIMARY KEY, v text)`);
  await openSlot();
  const s = session();
  await sql.rows(`INSERT INTO public.t SELECT g, repeat('x', 200) FROM generate_series(1, 100000) g`);
  await s.until(() => s.changes.length > 1000);
  const seen = s.handler.events.length;
  await s.stream.stop();
  assert.equal(await s.result, undefined);
  assert.ok(s.handler.events.length - seen < 1000, 'nothing arrives after stop');
  const again = session();
  await again.caughtUp(sql);
  await again.stream.stop();
  assert.equal(again.changes.length, 100000);
});

test('stopping while paused, before the start, and twice', async () => {
  await openSlot();
  const s = session();
  await s.caughtUp(sql);
  s.stream.pause();
  await Promise.all([s.stream.stop(), s.stream.stop()]);
  assert.equal(await s.result, undefined);
  const early = session();
  await early.stream.stop();
  assert.equal(await early.result, undefined);
  assert.equal((await readSlot(sql, slotName))?.active, false);
});

test('a half-open connection is noticed; one that is only idle is not', async () => {
  await openSlot();
  const sockets: Socket[] = [];
  let frozen = false;
  const proxy = createServer((down) => {
    const up = tcpConnect(server.port, '127.0.0.1');
    sockets.push(down, up);
    for (const [from, to] of [[down, up], [up, down]] as const) {
      from.on('data', (chunk) => { if (!frozen) to.write(chunk); });
      from.on('error', () => {});
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((r) => proxy.listen(0, '127.0.0.1', r));
  const { port } = proxy.address() as { port: number };
  const s = new StreamSession({ ...server.connection, port }, { slotName, walSenderTimeoutMs: 300, statusIntervalMs: 10_000 });
  await s.caughtUp(sql);
  // Idle for many times the limit: replies are asked for and given.
  let ended = false;
  void s.result.then(() => { ended = true; });
  await new Promise((r) => setTimeout(r, 2000));
  assert.equal(ended, false);
  frozen = true;
  assert.ok(isWalbergError(await s.result, 'SOURCE_TIMEOUT'));
  for (const socket of sockets) socket.destroy();
  proxy.close();
  while ((await readSlot(sql, slotName))?.active) await new Promise((r) => setTimeout(r, 20));
});

test('slot creation reports what it waits for, and leaves nothing behind when aborted', async () => {
  await sql.rows('CREATE TABLE public.t (id int PRIMARY KEY)');
  const holder = await server.client();
  await holder.rows('BEGIN; INSERT INTO public.t VALUES (1)');
  const abort = new AbortController();
  const client = await server.client();
  const blockers = new Promise<readonly number[]>((resolve) => {
    ensureSlot(client, slotName, { connection: server.connection, signal: abort.signal, onWaiting: (b) => { if (b.pids.length > 0) resolve(b.pids); } }).then(
      () => assert.fail('created in spite of the open transaction'), (e: unknown) => { aborted = e; });
  });
  let aborted: unknown;
  assert.deepEqual(await blockers, [holder.backendPid]);
  abort.abort(new Error('stopped'));
  while (aborted === undefined) await new Promise((r) => setTimeout(r, 10));
  assert.equal((aborted as Error).message, 'stopped');
  assert.equal(await readSlot(sql, slotName), undefined);
  await holder.rows('ROLLBACK');
  assert.equal((await ensureSlot(client, slotName, { connection: server.connection })).created, true);
  await client.close();
  await holder.close();
});
