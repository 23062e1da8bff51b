import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { SourceConfig } from '../../src/config/config.js';
import { isWalbergError, type WalbergError } from '../../src/errors/error.js';
import type { SourceClient } from '../../src/postgres/client.js';
import { readPublication } from '../../src/postgres/publication.js';
import { ensurePublication, verifyPublication, withoutUsableIdentity } from '../../src/postgres/publication-setup.js';
import { selectTables } from '../../src/postgres/table-selection.js';
import { SourceServer } from '../support/source-server.js';
import { sourceConfig } from '../support/source-config.js';

let server: SourceServer;
let sql: SourceClient;
const config = (changes: Partial<SourceConfig> = {}): SourceConfig => sourceConfig(server.connection, { publicationName: 'My "Pub"', ...changes });
before(async () => { server = await SourceServer.start(); sql = await server.client(); });
after(async () => { await sql?.close(); await server?.stop(); });
beforeEach(async () => {
  await sql.rows(`
    DROP PUBLICATION IF EXISTS "My ""Pub"""; DROP SCHEMA public CASCADE; CREATE SCHEMA public;
    CREATE TABLE public.a (id int PRIMARY KEY); CREATE TABLE public."B.x ""y""" (id int PRIMARY KEY);`);
});

const failure = async (promise: Promise<unknown>, code: WalbergError['code']): Promise<WalbergError> => {
  let error: unknown;
  await promise.catch((e: unknown) => { error = e; });
  assert.ok(isWalbergError(error, code), `expected ${code}, got ${String(error)}`);
  return error;
};

test('filtered: created for the captured tables, extended later, never narrowed', async () => {
  const first = await ensurePublication(sql, config({ tableInclude: [/^public\.a$/] }), await selectTables(sql, config({ tableInclude: [/^public\.a$/] })));
  assert.deepEqual([first.created, first.publication.tables.map((t) => t.name)], [true, ['a']]);
  assert.deepEqual(first.publication.operations, { insert: true, update: true, delete: true, truncate: true });
  const all = await selectTables(sql, config());
  const second = await ensurePublication(sql, config(), all);
  assert.deepEqual([second.created, second.added.map((t) => t.name), second.publication.tables.map((t) => t.name)], [false, ['B.x "y"'], ['B.x "y"', 'a']]);
  assert.equal(second.publication.oid, first.publication.oid);
  const third = await ensurePublication(sql, config(), all.slice(0, 1));
  assert.deepEqual([third.added, third.publication.tables.length], [[], 2]);
  await verifyPublication(sql, config(), all, first.publication);
});

test('filtered: inherited tables are not dragged in, partitioned roots can be', async () => {
  await sql.rows(`
    CREATE TABLE public.heir () INHERITS (public.a);
    CREATE TABLE public.root (id int, k int, PRIMARY KEY (id, k)) PARTITION BY LIST (k); CREATE TABLE public.leaf PARTITION OF public.root FOR VALUES IN (1);`);
  const changes = { tableInclude: [/^public\.(a|root)$/], publishViaPartitionRoot: true };
  const { publication } = await ensurePublication(sql, config(changes), await selectTables(sql, config(changes)));
  assert.deepEqual(publication.tables.map((t) => t.name), ['a', 'root']);
  assert.equal(publication.viaPartitionRoot, true);
});

test('disabled: a missing publication is refused with the statement that creates it', async () => {
  const disabled = config({ publicationAutocreate: 'disabled' });
  const tables = await selectTables(sql, disabled);
  const error = await failure(ensurePublication(sql, disabled, tables), 'PUBLICATION_MISSING');
  await failure(verifyPublication(sql, disabled, tables), 'PUBLICATION_MISSING');
  await sql.rows(error.hint);
  assert.equal((await ensurePublication(sql, disabled, tables)).created, false);
  await verifyPublication(sql, disabled, tables);
});

test('all_tables and no_tables', async () => {
  const tables = await selectTables(sql, config());
  assert.equal((await ensurePublication(sql, config({ publicationAutocreate: 'all_tables' }), tables)).publication.allTables, true);
  assert.equal((await ensurePublication(sql, config(), tables)).added.length, 0);
  await sql.rows('DROP PUBLICATION "My ""Pub"""');
  const empty = await ensurePublication(sql, config({ publicationAutocreate: 'no_tables' }), tables);
  assert.deepEqual(empty.publication.tables, []);
});

test('incomplete publications are refused with the statement that completes them', async () => {
  await sql.rows(`CREATE PUBLICATION "My ""Pub""" FOR TABLE public.a WITH (publish = 'insert')`);
  const tables = await selectTables(sql, config());
  const operations = await failure(verifyPublication(sql, config(), tables), 'PUBLICATION_INCOMPLETE');
  assert.match(operations.message, /update, delete, truncate/);
  await sql.rows(operations.hint);
  const lacking = await failure(verifyPublication(sql, config(), tables), 'PUBLICATION_INCOMPLETE');
  await sql.rows(lacking.hint);
  await verifyPublication(sql, config(), tables);
  await sql.rows(`ALTER PUBLICATION "My ""Pub""" SET (publish = 'insert, update, delete')`);
  await failure(verifyPublication(sql, config(), tables), 'PUBLICATION_INCOMPLETE');
  await verifyPublication(sql, config({ skippedOperations: ['t'] }), tables);
});

test('a publication that was dropped and created again is noticed', async () => {
  const tables = await selectTables(sql, config());
  const { publication } = await ensurePublication(sql, config(), tables);
  await sql.rows('DROP PUBLICATION "My ""Pub"""');
  await ensurePublication(sql, config(), tables);
  const error = await failure(verifyPublication(sql, config(), tables, publication), 'PUBLICATION_MISSING');
  assert.match(error.message, /created again/);
});

test('the application is never broken: tables without a usable identity are refused before anything changes', async () => {
  await sql.rows(`
    CREATE TABLE public.keyless (v int); CREATE TABLE public.nothing (id int PRIMARY KEY); ALTER TABLE public.nothing REPLICA IDENTITY NOTHING;
    CREATE TABLE public.late (id int PRIMARY KEY DEFERRABLE); CREATE TABLE public.full_row (v int); ALTER TABLE public.full_row REPLICA IDENTITY FULL;
    CREATE TABLE public.indexed (id int NOT NULL UNIQUE); ALTER TABLE public.indexed REPLICA IDENTITY USING INDEX indexed_id_key;
    CREATE TABLE public.lost (id int NOT NULL UNIQUE); ALTER TABLE public.lost REPLICA IDENTITY USING INDEX lost_id_key; ALTER TABLE public.lost DROP CONSTRAINT lost_id_key;
    CREATE TABLE public.root (k int) PARTITION BY LIST (k); CREATE TABLE public.leaf PARTITION OF public.root FOR VALUES IN (1);`);
  const tables = await selectTables(sql, config({ publishViaPartitionRoot: true }));
  const unsafe = (await withoutUsableIdentity(sql, tables)).map((t) => t.name);
  assert.deepEqual(unsafe, ['keyless', 'late', 'lost', 'nothing', 'root']);
  for (const mode of ['filtered', 'all_tables'] as const) {
    const error = await failure(ensurePublication(sql, config({ publicationAutocreate: mode }), tables), 'REPLICA_IDENTITY_MISSING');
    assert.match(error.message, /public\.keyless/);
    assert.equal(await readPublication(sql, 'My "Pub"'), undefined);
  }
  // The claim itself, on the server: exactly the tables called unsafe fail once published.
  await sql.rows('CREATE PUBLICATION every FOR ALL TABLES');
  for (const t of tables) {
    const column = (await sql.rows<{ attname: string }>('SELECT attname FROM pg_attribute WHERE attrelid = $1 AND attnum = 1', [t.oid]))[0].attname;
    if (t.kind === 'p') await sql.rows(`INSERT INTO public."${t.name}" VALUES (1)`);
    const fails = await sql.rows(`UPDATE public."${t.name.replaceAll('"', '""')}" SET "${column}" = 1`).then(() => false, () => true);
    assert.equal(fails, unsafe.includes(t.name), t.name);
  }
  await sql.rows('DROP PUBLICATION every');
});

test('a role without the right gets the statement for the one who has it', async () => {
  await sql.rows('CREATE ROLE plain LOGIN REPLICATION; GRANT USAGE ON SCHEMA public TO plain');
  const plain = await server.client({ user: 'plain' });
  const tables = await selectTables(plain, config());
  const error = await failure(ensurePublication(plain, config(), tables), 'SOURCE_PRIVILEGE');
  assert.match(error.hint, /CREATE PUBLICATION "My ""Pub"""/);
  await plain.close();
});
