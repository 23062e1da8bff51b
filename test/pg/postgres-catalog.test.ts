import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { SourceConfig } from '../../src/config/config.js';
import { isWalbergError } from '../../src/errors/error.js';
import { connect, type SourceClient } from '../../src/postgres/client.js';
import { describeTables } from '../../src/postgres/source-catalog.js';
import { identifySystem } from '../../src/postgres/system.js';
import { isColumnCaptured, selectTables } from '../../src/postgres/table-selection.js';
import { SourceServer } from '../support/source-server.js';
import { sourceConfig } from '../support/source-config.js';

let server: SourceServer;
let sql: SourceClient;
let config: (changes?: Partial<SourceConfig>) => SourceConfig;
before(async () => {
  server = await SourceServer.start();
  sql = await server.client();
  config = (changes) => sourceConfig(server.connection, changes);
  await sql.rows(`
    CREATE DOMAIN public.price AS numeric(10,2) NOT NULL;
    CREATE DOMAIN public.net_price AS public.price;
    CREATE TYPE public.mood AS ENUM ('sad', 'ok');
    CREATE TABLE public.plain (id bigint PRIMARY KEY, v varchar(20) NOT NULL, p public.net_price, m public.mood, g int GENERATED ALWAYS AS (1) STORED,
      i int GENERATED ALWAYS AS IDENTITY, n numeric, dropped int, doc text[]);
    ALTER TABLE public.plain DROP COLUMN dropped;
    COMMENT ON TABLE public.plain IS 'a table'; COMMENT ON COLUMN public.plain.v IS 'a column';
    CREATE TABLE public.composite (a int, b int, c int, extra int, PRIMARY KEY (c, a, b) INCLUDE (extra) DEFERRABLE);
    CREATE TABLE public.child (id int PRIMARY KEY, p bigint REFERENCES public.plain, u int NOT NULL UNIQUE);
    ALTER TABLE public.child REPLICA IDENTITY USING INDEX child_u_key;
    CREATE TABLE public.keyless (v text);
    CREATE TABLE public."We.ird ""Name" ("Id Col" uuid PRIMARY KEY);
    CREATE UNLOGGED TABLE public.unlogged (id int PRIMARY KEY);
    CREATE TABLE public.part (id int, k int, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
    CREATE TABLE public.part1 PARTITION OF public.part FOR VALUES IN (1);
    CREATE SCHEMA other; CREATE TABLE other.plain (id int PRIMARY KEY);`);
});
after(async () => { await sql?.close(); await server?.stop(); });

async function describe(names: string[], publication = 'none'): ReturnType<typeof describeTables> {
  const rows = await sql.rows<{ oid: string }>(`SELECT n::regclass::oid AS oid FROM unnest($1::text[]) WITH ORDINALITY u(n, o) ORDER BY o`, [names]);
  return describeTables(sql, rows.map((r) => Number(r.oid)), publication);
}

test('the system identity is what the server says', async () => {
  const id = await identifySystem(sql);
  assert.match(id.systemId, /^\d{18,20}$/);
  assert.equal(id.walLevel, 'logical');
  assert.equal(id.walSenderTimeoutMs, 60_000);
  assert.equal(id.timeline, 1);
  assert.equal(id.inRecovery, false);
  const replication = await connect(server.connection, { replication: true });
  const [row] = await replication.rows('IDENTIFY_SYSTEM');
  assert.equal(id.systemId, row.systemid);
  await replication.close();
});

test('columns: domains to their base, generated ones left out, attnum order', async () => {
  const [plain] = await describe(['public.plain']);
  assert.deepEqual(plain.columns.map((c) => [c.name, c.attnum, c.typeName, c.baseTypeName, c.baseTypmod, c.baseTypeKind, c.notNull, c.toastable]), [
    ['id', 1, 'bigint', 'bigint', -1, 'b', true, false],
    ['v', 2, 'character varying(20)', 'character varying(20)', 24, 'b', true, true],
    ['p', 3, 'public.net_price', 'numeric(10,2)', ((10 << 16) | 2) + 4, 'b', false, true],
    ['m', 4, 'public.mood', 'public.mood', -1, 'e', false, false],
    ['i', 6, 'integer', 'integer', -1, 'b', true, false],
    ['n', 7, 'numeric', 'numeric', -1, 'b', false, true],
    ['doc', 9, 'text[]', 'text[]', -1, 'b', false, true],
  ]);
  assert.equal(plain.comment, 'a table');
  assert.equal(plain.columns[1].comment, 'a column');
  assert.deepEqual([plain.kind, plain.replicaIdentity, plain.primaryKey, plain.primaryKeyDeferrable], ['r', 'd', ['id'], false]);
});

test('arrays: their elements, with the modifier of the array, and domains on either side', async () => {
  await sql.rows(`
    CREATE DOMAIN public.scores AS numeric(5,1)[];
    CREATE DOMAIN public.grid AS int[][];
    CREATE TABLE public.arrays (a int[], b numeric(10,2)[], c public.net_price[], d public.scores, e public.mood[], f box[], g int[][], h public.grid, i int2vector, j oidvector, k point, l name, m varchar(9)[3])`);
  const [arrays] = await describe(['public.arrays']);
  const packed = (precision: number, scale: number): number => ((precision << 16) | scale) + 4;
  const element = (typeName: string, baseTypeOid: number, more: object = {}): object => ({ typeName, baseTypeOid, baseTypmod: -1, baseTypeKind: 'b', delimiter: ',', dimensions: 1, ...more });
  const mood = Number((await sql.rows<{ oid: string }>("SELECT 'public.mood'::regtype::oid AS oid"))[0].oid);
  assert.deepEqual(Object.fromEntries(arrays.columns.map((c) => [c.name, c.element])), {
    a: element('integer', 23),
    b: element('numeric(10,2)', 1700, { baseTypmod: packed(10, 2) }),
    c: element('numeric(10,2)', 1700, { baseTypmod: packed(10, 2) }),
    d: element('numeric(5,1)', 1700, { baseTypmod: packed(5, 1) }),
    e: element('public.mood', mood, { baseTypeKind: 'e' }),
    f: element('box', 603, { delimiter: ';' }),
    g: element('integer', 23, { dimensions: 2 }),
    h: element('integer', 23, { dimensions: 2 }),
    i: undefined, j: undefined, k: undefined, l: undefined,
    m: element('character varying(9)', 1043, { baseTypmod: 13 }),
  });
  await sql.rows('DROP TABLE public.arrays');
});

test('keys: in key order, without included columns, from the index alone', async () => {
  const [composite, child, keyless, weird] = await describe(['public.composite', 'public.child', 'public.keyless', 'public."We.ird ""Name"']);
  assert.deepEqual([composite.primaryKey, composite.primaryKeyDeferrable], [['c', 'a', 'b'], true]);
  assert.deepEqual([child.primaryKey, child.replicaIdentity, child.identityIndexColumns], [['id'], 'i', ['u']]);
  assert.deepEqual([keyless.primaryKey, keyless.identityIndexColumns], [[], []]);
  assert.deepEqual([weird.name, weird.primaryKey], ['We.ird "Name', ['Id Col']]);
});

test('column lists and row filters of the publication apply', async (t) => {
  if (sql.serverVersionNum < 150000) return t.skip('column lists and row filters came with 15');
  await sql.rows(`CREATE PUBLICATION "Narrow" FOR TABLE public.plain (n, id) WHERE (id < 100 AND v <> 'x')`);
  await sql.rows('DROP PUBLICATION "Narrow"; CREATE PUBLICATION "Narrow" FOR TABLE public.plain (n, id) WHERE (id < 100)');
  const [plain] = await describe(['public.plain'], 'Narrow');
  assert.deepEqual(plain.columns.map((c) => c.name), ['id', 'n']);
  assert.equal(plain.rowFilter, '(id < 100)');
  await sql.rows('DROP PUBLICATION "Narrow"');
});

test('published generated columns of 18 are described', async (t) => {
  if (sql.serverVersionNum < 180000) return t.skip('publish_generated_columns came with 18');
  await sql.rows(`CREATE PUBLICATION gen FOR TABLE public.plain WITH (publish_generated_columns = stored)`);
  const [plain] = await describe(['public.plain'], 'gen');
  assert.deepEqual(plain.columns.map((c) => c.name), ['id', 'v', 'p', 'm', 'g', 'i', 'n', 'doc']);
  await sql.rows('DROP PUBLICATION gen');
});

test('a NOT NULL that was never validated does not count', async (t) => {
  if (sql.serverVersionNum < 180000) return t.skip('NOT VALID for NOT NULL came with 18');
  await sql.rows('CREATE TABLE public.late (id int PRIMARY KEY, v int); INSERT INTO public.late VALUES (1, NULL); ALTER TABLE public.late ADD CONSTRAINT nn NOT NULL v NOT VALID');
  const [late] = await describe(['public.late']);
  assert.deepEqual(late.columns.map((c) => c.notNull), [true, false]);
  await sql.rows('DROP TABLE public.late');
});

test('tables that are gone are left out', async () => {
  assert.deepEqual(await describeTables(sql, [4_000_000_000], 'none'), []);
});

test('table selection follows the lists', async () => {
  const names = async (changes: Partial<SourceConfig>) => (await selectTables(sql, config(changes))).map((t) => `${t.schema}.${t.name}`);
  assert.deepEqual(await names({}), ['other.plain', 'public.We.ird "Name', 'public.child', 'public.composite', 'public.keyless', 'public.part1', 'public.plain']);
  assert.deepEqual(await names({ publishViaPartitionRoot: true, tableInclude: [/^public\.part.*$/] }), ['public.part']);
  assert.deepEqual(await names({ tableInclude: [/^(?:.*\.plain)$/] }), ['other.plain', 'public.plain']);
  assert.deepEqual(await names({ schemaInclude: [/^other$/] }), ['other.plain']);
  assert.deepEqual(await names({ schemaExclude: [/^public$/] }), ['other.plain']);
  assert.deepEqual(await names({ tableInclude: [/^(?:.*\.plain)$/], schemaInclude: [/^public$/] }), ['public.plain']);
  await assert.rejects(names({ tableInclude: [/^public\.unlogged$/] }), (e: unknown) => isWalbergError(e, 'TABLE_MISSING'));
});

test('a publication kept by hand is the selection when no list narrows it', async () => {
  await sql.rows('CREATE PUBLICATION byhand FOR TABLE public.child, other.plain');
  const names = async (changes: Partial<SourceConfig>) => (await selectTables(sql, config({ publicationName: 'byhand', publicationAutocreate: 'disabled', ...changes }))).map((t) => t.name);
  assert.deepEqual(await names({}), ['plain', 'child']);
  assert.deepEqual(await names({ tableInclude: [/^public\.plain$/] }), ['plain']);
  await sql.rows('DROP PUBLICATION byhand');
});

test('column lists never lose the key', () => {
  const filters = config({ columnInclude: [/^public\.plain\.v$/] });
  assert.equal(isColumnCaptured(filters, 'public', 'plain', 'v', ['id']), true);
  assert.equal(isColumnCaptured(filters, 'public', 'plain', 'id', ['id']), true);
  assert.equal(isColumnCaptured(filters, 'public', 'plain', 'n', ['id']), false);
  assert.equal(isColumnCaptured(config({ columnExclude: [/^.*\.n$/] }), 'public', 'plain', 'n', ['id']), false);
});

test('session settings are pinned whatever the server, database and role say', async () => {
  await sql.rows(`CREATE ROLE odd LOGIN; ALTER ROLE odd SET timezone = 'Asia/Kolkata'; ALTER ROLE odd SET datestyle = 'SQL, DMY'; ALTER ROLE odd SET statement_timeout = '1ms'`);
  const odd = await server.client({ user: 'odd' });
  const [row] = await odd.rows(`SELECT '2024-03-02 00:00:00+00'::timestamptz AS t, '1 year 2 days'::interval AS i, '\\x00ff'::bytea AS b, 0.1::float4 + 0.2::float8 AS f`);
  assert.deepEqual(row, { t: '2024-03-02 00:00:00+00', i: '1 year 2 days', b: '\\x00ff', f: '0.30000000149011613' });
  await odd.close();
});

test('connection failures have codes', async () => {
  const fails = (changes: object, code: string) => assert.rejects(connect({ ...server.connection, ...changes }), (e: unknown) => isWalbergError(e) && e.code === code, code);
  await fails({ port: 1 }, 'SOURCE_UNREACHABLE');
  await fails({ host: 'no-such-host.invalid' }, 'SOURCE_UNREACHABLE');
  await fails({ user: 'nobody-here' }, 'SOURCE_AUTH');
  await fails({ database: 'nothing' }, 'SOURCE_AUTH');
  await fails({ sslMode: 'require' }, 'SOURCE_TLS');
  await fails({ sslMode: 'verify-full', sslRootCert: '/nowhere.pem' }, 'CONFIG_INVALID');
  for (const sslMode of ['prefer', 'allow'] as const) await (await connect({ ...server.connection, sslMode })).close();
});

test('a connection that breaks while idle does not end the process', async () => {
  const victim = await server.client();
  await sql.rows('SELECT pg_catalog.pg_terminate_backend($1)', [victim.backendPid]);
  while (victim.lost === undefined) await new Promise((r) => setTimeout(r, 10));
  await assert.rejects(victim.rows('SELECT 1'), (e: unknown) => isWalbergError(e, 'SOURCE_SHUTDOWN'));
});
