import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { typeText } from '../../src/iceberg/spec/schema.js';
import type { Relation } from '../../src/pgoutput/messages.js';
import type { SourceClient } from '../../src/postgres/client.js';
import { dropSlot } from '../support/case.js';
import { ensureSlot } from '../../src/postgres/slot-creation.js';
import { describeTables } from '../../src/postgres/source-catalog.js';
import { relationDifference } from '../../src/schema/relation-match.js';
import type { SourceTable } from '../../src/schema/source-table.js';
import { planTable, type TablePlan } from '../../src/schema/table-plan.js';
import { SourceServer } from '../support/source-server.js';
import { EXACT_TYPES, everyColumn, sinkConfig } from '../support/source-table.js';
import { StreamSession } from '../support/stream-session.js';

// What the server says about types, keys and relations agrees with how tables are planned and compared.

const slotName = 'walberg';
let server: SourceServer;
let sql: SourceClient;
before(async () => {
  server = await SourceServer.start();
  sql = await server.client();
  await sql.rows('CREATE PUBLICATION walberg FOR ALL TABLES');
});
after(async () => { await sql?.close(); await server?.stop(); });

async function describe(table: string): Promise<SourceTable> {
  const [{ oid }] = await sql.rows<{ oid: string }>('SELECT $1::pg_catalog.regclass::pg_catalog.oid AS oid', [table]);
  const [source] = await describeTables(sql, [Number(oid)], 'walberg');
  return source;
}

const plan = async (table: string, changes = {}): Promise<TablePlan> => planTable(await describe(table), sinkConfig(changes), EXACT_TYPES, everyColumn);

/** The last Relation message of each table that the statements lead to. */
async function relationsOf(...statements: string[]): Promise<Map<string, Relation>> {
  await dropSlot(sql, slotName);
  await ensureSlot(sql, slotName, { connection: server.connection });
  const session = new StreamSession(server.connection, { slotName });
  for (const statement of statements) await sql.rows(statement);
  await session.caughtUp(sql);
  await session.stream.stop();
  return new Map(session.handler.events.filter(([kind]) => kind === 'relation').map(([, relation]) => [(relation as Relation).name, relation as Relation]));
}

/** Types of the server that do not become text, by the server's own names. */
const NOT_TEXT: Readonly<Record<string, string>> = {
  bool: 'boolean', int2: 'int', int4: 'int', int8: 'long', oid: 'long', xid: 'long', cid: 'long', xid8: 'decimal(20, 0)', float4: 'float', float8: 'double',
  bytea: 'binary', uuid: 'uuid', date: 'date', time: 'time', timestamp: 'timestamp', timestamptz: 'timestamptz',
};

test('every type a column can have is written, only those with an exact counterpart are not text, and arrays are lists of the same', async () => {
  const types = await sql.rows<{ name: string; element: string | null }>(`
    SELECT t.typname AS name, CASE WHEN e.typarray = t.oid THEN e.typname END AS element FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem
     WHERE t.typtype IN ('b', 'r', 'm') AND COALESCE(e.typtype, 'b') NOT IN ('p', 'c') AND t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace ORDER BY t.typname`);
  assert.ok(types.length > 100);
  const columns = types.map(({ name }) => `"c_${name}" pg_catalog."${name}"`);
  await sql.rows(`CREATE TABLE public.every_type (id int PRIMARY KEY, ${columns.join(', ')})`);
  const planned = (await plan('public.every_type')).columns.slice(1);
  assert.equal(planned.length, types.length);
  const notText = Object.fromEntries(planned.filter((c) => c.type !== 'string').map((c) => [c.name.slice(2), typeText(c.type)]));
  assert.deepEqual(notText, Object.fromEntries(types.filter(({ name, element }) => name in NOT_TEXT || element !== null).map(({ name, element }) => [name, element === null ? NOT_TEXT[name] : `list<${NOT_TEXT[element] ?? 'string'}>`])));
});

test('decimals have the digits the server declares', async () => {
  const negative = Number((await sql.rows<{ v: string }>(`SELECT current_setting('server_version_num') AS v`))[0].v) >= 150000;
  await sql.rows(`CREATE DOMAIN public.price AS numeric(12,3); CREATE DOMAIN public.net AS public.price;
    CREATE TABLE public.numerics (a numeric(10,2) PRIMARY KEY, b numeric(38,38), c numeric(39,1), d numeric, e public.net, f numeric(5)${negative ? ', g numeric(5,-2), h numeric(3,5), i numeric(20,-20)' : ''})`);
  const types = (await plan('public.numerics')).columns.map((c) => c.type);
  assert.deepEqual(types, ['decimal(10, 2)', 'decimal(38, 38)', 'string', 'string', 'decimal(12, 3)', 'decimal(5, 0)', ...(negative ? ['decimal(7, 0)', 'decimal(5, 5)', 'string'] : [])]);
  if (negative) {
    // the largest and smallest values have the digits that were planned for
    await sql.rows(`INSERT INTO public.numerics (a, g, h) VALUES (1, 9999900, 0.00999)`);
    assert.deepEqual(await sql.rows('SELECT g, h FROM public.numerics'), [{ g: '9999900', h: '0.00999' }]);
  }
});

test('the relation of a table is no difference, under every replica identity and for partitions', async () => {
  await sql.rows(`
    CREATE TABLE public.d (b int, id bigint, dropped int, amount public.price, tags text[], PRIMARY KEY (id, b)); ALTER TABLE public.d DROP COLUMN dropped;
    CREATE TABLE public.f (LIKE public.d INCLUDING ALL); ALTER TABLE public.f REPLICA IDENTITY FULL;
    CREATE TABLE public.i (id int PRIMARY KEY, u int NOT NULL UNIQUE, g int GENERATED ALWAYS AS (1) STORED); ALTER TABLE public.i REPLICA IDENTITY USING INDEX i_u_key;
    CREATE TABLE public.n (id int PRIMARY KEY); ALTER TABLE public.n REPLICA IDENTITY NOTHING;
    CREATE TABLE public.keyless (v varchar(7));
    CREATE TABLE public.deferred (id int PRIMARY KEY DEFERRABLE);
    CREATE TABLE public.part (k int, id int, PRIMARY KEY (id, k)) PARTITION BY LIST (k); CREATE TABLE public.part1 PARTITION OF public.part FOR VALUES IN (1)`);
  const names = ['d', 'f', 'i', 'n', 'keyless', 'deferred', 'part1'];
  const plans = new Map<string, TablePlan>();
  for (const name of names) plans.set(name, await plan(`public.${name}`));
  assert.deepEqual(names.map((name) => plans.get(name)!.mode), ['mirror', 'mirror', 'mirror', 'append', 'append', 'append', 'mirror']);
  assert.deepEqual(plans.get('d')!.keyOrdinals, [1, 0]);
  assert.deepEqual(plans.get('i')!.keyNames, ['u']);
  const relations = await relationsOf(`INSERT INTO public.d VALUES (1, 2)`, `INSERT INTO public.f VALUES (1, 2)`, `INSERT INTO public.i VALUES (1, 2)`, `INSERT INTO public.n VALUES (1)`,
    `INSERT INTO public.keyless VALUES ('a')`, `INSERT INTO public.deferred VALUES (1)`, `INSERT INTO public.part VALUES (1, 1)`);
  for (const name of names) assert.equal(relationDifference(plans.get(name)!, relations.get(name)!), undefined, name);
});

test('what DDL changes is named, from the relation alone', async () => {
  const cases: readonly [ddl: string, difference: RegExp | undefined][] = [
    ['ADD COLUMN extra text', /Column extra .* is new/],
    ['DROP COLUMN v', /Column v .* is no longer sent/],
    ['RENAME COLUMN v TO w', /Column v .* is now named w/],
    ['ALTER COLUMN v TYPE text', /Column v .* has changed its type: it was character varying\(5\)/],
    ['ALTER COLUMN v TYPE varchar(9)', /Column v .* has changed its type modifier/],
    ['ALTER COLUMN n TYPE numeric(12,2)', /Column n .* has changed its type modifier: it was numeric\(10,2\)/],
    ['REPLICA IDENTITY FULL', /replica identity .* was DEFAULT and is now FULL/],
    ['DROP CONSTRAINT ddl_pkey', /Column id .* no longer identifies/],
    ['DROP CONSTRAINT ddl_pkey, ADD PRIMARY KEY (id, n)', /Column n .* is now part of what identifies/],
    ['ALTER COLUMN v SET NOT NULL', undefined],
    ['ALTER COLUMN v SET STORAGE EXTERNAL', undefined],
    ['RENAME TO ddl_renamed', undefined],
  ];
  for (const [ddl, difference] of cases) {
    await sql.rows('DROP TABLE IF EXISTS public.ddl, public.ddl_renamed; CREATE TABLE public.ddl (id int PRIMARY KEY, v varchar(5), n numeric(10,2))');
    const before = await plan('public.ddl');
    const table = ddl.startsWith('RENAME TO') ? 'ddl_renamed' : 'ddl';
    const column = ddl.startsWith('DROP COLUMN') || ddl.startsWith('RENAME COLUMN') ? '' : ', v';
    const relation = (await relationsOf(`ALTER TABLE public.ddl ${ddl}`, `INSERT INTO public.${table} (id, n${column}) VALUES (1, 1${column === '' ? '' : ", 'a'"})`)).get(table)!;
    const found = relationDifference(before, relation);
    if (difference === undefined) assert.equal(found, undefined, ddl);
    else assert.match(found ?? '', difference, ddl);
    // planning anew takes the change in, whatever it was
    assert.equal(relationDifference(await plan(`public.${table}`), relation), undefined, ddl);
  }
});
