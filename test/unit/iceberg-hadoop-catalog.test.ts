import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { ErrorCode } from '../../src/errors/codes.js';
import { isWalbergError } from '../../src/errors/error.js';
import type { LoadedTable, TableUpdate } from '../../src/iceberg/catalog/catalog.js';
import { HadoopCatalog } from '../../src/iceberg/catalog/hadoop.js';
import { warehouseLocation } from '../../src/iceberg/catalog/hadoop-location.js';
import { TableCommitter } from '../../src/iceberg/commit/table-committer.js';
import { FileStorage } from '../../src/storage/file.js';
import { MemoryStorage } from '../../src/storage/memory.js';
import type { Storage } from '../../src/storage/storage.js';
import { FaultStorage, type StorageFault } from '../support/fault-storage.js';
import { fileNamed, liveNames, ORDERS, ORDERS_REQUEST } from '../support/live-files.js';

const folders: string[] = [];
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'walberg-hadoop-'));
  folders.push(made);
  return made;
}

const code = (...codes: ErrorCode[]) => (error: unknown): boolean => isWalbergError(error, ...codes) || assert.fail(error as Error);

const set = (updates: Record<string, string>): { requirements: []; updates: TableUpdate[] } => ({ requirements: [], updates: [{ action: 'set-properties', updates }] });

const inMemory = (storage: Storage = new MemoryStorage()): { storage: Storage; catalog: HadoopCatalog } => ({ storage, catalog: new HadoopCatalog({ name: 'lake', warehouse: 's3://lake/wh', storage }) });

const METADATA = 's3://lake/wh/shop/orders/metadata';

const text = async (storage: Storage, name: string): Promise<string> => new TextDecoder().decode(await storage.read(`${METADATA}/${name}`));

test('a warehouse becomes one spelling of an absolute URI', () => {
  const spellings: Record<string, string> = {
    '/wh': 'file:///wh', '/wh//': 'file:///wh', 'file:/wh': 'file:///wh', 'file:///wh/': 'file:///wh', 'file://localhost/wh': 'file:///wh', '/a b%20': 'file:///a b%20', '/': 'file://',
    's3://b/p/': 's3://b/p', 's3a://b/p': 's3://b/p', 's3n://b': 's3://b',
  };
  for (const [given, expected] of Object.entries(spellings)) assert.equal(warehouseLocation(given), expected);
  for (const wrong of ['', 'wh', './wh', 'file:wh', 'file://host/wh', 's3://', 's3:/b']) assert.throws(() => warehouseLocation(wrong), code('CONFIG_INVALID'), wrong);
});

test('on disk: the layout of Java\'s HadoopCatalog', async () => {
  const warehouse = await folder();
  const storage = new FileStorage();
  const catalog = new HadoopCatalog({ name: 'lake', warehouse, storage });
  await catalog.ensureNamespace(['shop', 'eu']);
  const identifier = { namespace: ['shop', 'eu'], name: 'orders' };
  assert.equal(await catalog.loadTable(identifier), undefined);
  const created = await catalog.createTable(identifier, ORDERS_REQUEST);
  assert.equal(created.metadata.location, `file://${warehouse}/shop/eu/orders`);
  const changed = await catalog.commitTable(created, set({ a: '1' }));
  const metadata = join(warehouse, 'shop/eu/orders/metadata');
  assert.deepEqual((await readdir(metadata)).sort(), ['v1.metadata.json', 'v2.metadata.json', 'version-hint.text']);
  assert.equal(await readFile(join(metadata, 'version-hint.text'), 'utf8'), '2');
  assert.equal(changed.metadataLocation, `file://${metadata}/v2.metadata.json`);
  const { 'metadata-log': log, properties } = JSON.parse(await readFile(join(metadata, 'v2.metadata.json'), 'utf8')) as LoadedTable['metadata'];
  assert.deepEqual([properties, log.map((entry) => entry['metadata-file'])], [{ a: '1' }, [`file://${metadata}/v1.metadata.json`]]);
  for (const hint of ['1', '2', '2\n', '17', '', 'x']) {
    await writeFile(join(metadata, 'version-hint.text'), hint);
    assert.deepEqual(await catalog.loadTable(identifier), changed, `hint ${JSON.stringify(hint)}`);
  }
  await rm(join(metadata, 'version-hint.text'));
  assert.deepEqual(await catalog.loadTable(identifier), changed);
});

test('a table is created once', async () => {
  const { catalog } = inMemory();
  await catalog.createTable(ORDERS, ORDERS_REQUEST);
  await assert.rejects(catalog.createTable(ORDERS, ORDERS_REQUEST), code('COMMIT_CONFLICT'));
  const both = await Promise.allSettled([1, 2].map(() => catalog.createTable({ namespace: ['shop'], name: 'two' }, ORDERS_REQUEST)));
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
});

test('names that would leave their folder, and other locations, are refused', async () => {
  const { catalog } = inMemory();
  for (const name of ['', '.', '..', 'a/b', 'a\\b', 'a\0']) await assert.rejects(catalog.createTable({ namespace: ['shop'], name }, ORDERS_REQUEST), code('CATALOG_REQUEST'));
  await assert.rejects(catalog.createTable(ORDERS, { ...ORDERS_REQUEST, location: 's3://lake/elsewhere' }), code('CATALOG_REQUEST'));
  await catalog.createTable(ORDERS, { ...ORDERS_REQUEST, location: 's3://lake/wh/shop/orders' });
});

test('a commit applies to the version it was built on, and only if its requirements hold', async () => {
  const { catalog } = inMemory();
  const first = await catalog.createTable(ORDERS, ORDERS_REQUEST);
  const second = await catalog.commitTable(first, set({ a: '1' }));
  await assert.rejects(catalog.commitTable(first, set({ b: '1' })), code('COMMIT_CONFLICT'));
  await assert.rejects(catalog.commitTable(second, { ...set({ b: '1' }), requirements: [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': 5 }] }), code('COMMIT_CONFLICT'));
  assert.deepEqual((await catalog.loadTable(ORDERS))!.metadata.properties, { a: '1' });
});

test('two writers of one version: one wins, the other is told', async () => {
  const { catalog, storage } = inMemory();
  const base = await catalog.createTable(ORDERS, ORDERS_REQUEST);
  const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => catalog.commitTable(base, set({ [name]: '1' }))));
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const result of results) if (result.status === 'rejected') code('COMMIT_CONFLICT')(result.reason);
  assert.equal(await storage.size(`${METADATA}/v3.metadata.json`), undefined);
});

test('a writer that slept while others committed and trimmed does not write into the hole', async () => {
  const { catalog, storage } = inMemory();
  let table = await catalog.createTable(ORDERS, { ...ORDERS_REQUEST, properties: { 'write.metadata.delete-after-commit.enabled': 'true', 'write.metadata.previous-versions-max': '1' } });
  const sleeper = table;
  for (let n = 0; n < 4; n++) table = await catalog.commitTable(table, set({ n: String(n) }));
  assert.equal(await storage.size(`${METADATA}/v2.metadata.json`), undefined, 'trimmed');
  assert.notEqual(await storage.size(`${METADATA}/v4.metadata.json`), undefined, 'in the log, so kept');
  await assert.rejects(catalog.commitTable(sleeper, set({ lost: '1' })), code('COMMIT_CONFLICT'));
  await assert.rejects(catalog.createTable(ORDERS, ORDERS_REQUEST), code('COMMIT_CONFLICT'));
  assert.equal((await catalog.loadTable(ORDERS))!.metadata.properties.n, '3');
  // An old hint whose version is gone leads nowhere, so the folder is listed.
  await storage.write(`${METADATA}/version-hint.text`, new TextEncoder().encode('1'));
  assert.equal((await catalog.loadTable(ORDERS))!.metadata.properties.n, '3');
});

test('a table that was dropped and made again with the same version is not written', async () => {
  const { catalog, storage } = inMemory();
  const old = await catalog.createTable(ORDERS, ORDERS_REQUEST);
  await storage.remove([`${METADATA}/v1.metadata.json`, `${METADATA}/version-hint.text`]);
  await assert.rejects(catalog.commitTable(old, set({ a: '1' })), code('COMMIT_CONFLICT'));
  await catalog.createTable(ORDERS, ORDERS_REQUEST);
  await assert.rejects(catalog.commitTable(old, set({ a: '1' })), code('COMMIT_CONFLICT'));
});

const ONLY_V2: Pick<StorageFault, 'on' | 'where'> = { on: 'write', where: (location) => location.endsWith('/v2.metadata.json') };

async function faulty(...faults: readonly StorageFault[]): Promise<{ catalog: HadoopCatalog; storage: FaultStorage; base: LoadedTable; disk: MemoryStorage }> {
  const disk = new MemoryStorage();
  const storage = new FaultStorage(disk);
  const { catalog } = inMemory(storage);
  const base = await catalog.createTable(ORDERS, ORDERS_REQUEST);
  for (const fault of faults) storage.add(fault);
  return { catalog, storage, base, disk };
}

test('a lost reply: the file is read back and is ours, also when the repetition was told that it exists', async () => {
  for (const lost of ['STORAGE_UNREACHABLE', 'FILE_EXISTS', 'STORAGE_FAILED'] as const) {
    const { catalog, base } = await faulty({ ...ONLY_V2, action: { kind: 'fail-after', code: lost } });
    const table = await catalog.commitTable(base, set({ a: '1' }));
    assert.deepEqual(await catalog.loadTable(ORDERS), table);
  }
});

test('a write that failed and is not there may still arrive: unknown', async () => {
  const { catalog, base } = await faulty({ ...ONLY_V2, action: { kind: 'fail', code: 'STORAGE_UNREACHABLE' } });
  await assert.rejects(catalog.commitTable(base, set({ a: '1' })), code('COMMIT_UNKNOWN'));
});

test('a write that failed and cannot be looked for: unknown', async () => {
  const { catalog, base, disk } = await faulty(
    { ...ONLY_V2, action: { kind: 'fail-after', code: 'STORAGE_UNREACHABLE' } },
    { on: 'read', where: (location) => location.endsWith('/v2.metadata.json'), action: { kind: 'fail', code: 'STORAGE_UNREACHABLE' } },
  );
  await assert.rejects(catalog.commitTable(base, set({ a: '1' })), code('COMMIT_UNKNOWN'));
  assert.equal((await inMemory(disk).catalog.loadTable(ORDERS))!.metadata.properties.a, '1');
});

test('a write that failed where another writer\'s version is now: conflict', async () => {
  const { catalog, base, disk } = await faulty({ ...ONLY_V2, action: { kind: 'run', run: async () => void (await inMemory(disk).catalog.commitTable(base, set({ other: '1' }))) } });
  await assert.rejects(catalog.commitTable(base, set({ a: '1' })), code('COMMIT_CONFLICT'));
  assert.deepEqual((await catalog.loadTable(ORDERS))!.metadata.properties, { other: '1' });
});

test('a full disk and a refused access are refusals, not unknown outcomes', async () => {
  for (const refusal of ['STORAGE_FULL', 'STORAGE_AUTH'] as const) {
    const { catalog, base } = await faulty({ ...ONLY_V2, action: { kind: 'fail', code: refusal } });
    await assert.rejects(catalog.commitTable(base, set({ a: '1' })), code(refusal));
    await catalog.commitTable(base, set({ a: '1' }));
  }
});

test('the hint is best effort', async () => {
  const { catalog, base, disk } = await faulty({ on: 'write', where: (location) => location.endsWith('version-hint.text'), action: { kind: 'fail', code: 'STORAGE_FULL' } });
  const table = await catalog.commitTable(base, set({ a: '1' }));
  assert.equal(await text(disk, 'version-hint.text'), '1');
  assert.deepEqual(await catalog.loadTable(ORDERS), table);
});

test('a metadata file that is trimmed while it is being read is looked for again', async () => {
  const disk = new MemoryStorage();
  const storage = new FaultStorage(disk);
  const { catalog } = inMemory(storage);
  const first = await catalog.createTable(ORDERS, ORDERS_REQUEST);
  storage.add({ on: 'read', where: (location) => location.endsWith('/v1.metadata.json'), action: { kind: 'run', run: async () => {
    await inMemory(disk).catalog.commitTable(first, set({ a: '1' }));
    await disk.remove([`${METADATA}/v1.metadata.json`]);
  } } });
  assert.deepEqual((await catalog.loadTable(ORDERS))!.metadata.properties, { a: '1' });
});

test('gzip, when the table asks for it: as Java names it, and no fork beside it', async () => {
  const { catalog, storage } = inMemory();
  const first = await catalog.createTable(ORDERS, ORDERS_REQUEST);
  const second = await catalog.commitTable(first, set({ 'write.metadata.compression-codec': 'gzip' }));
  assert.equal(second.metadataLocation, `${METADATA}/v2.gz.metadata.json`);
  assert.match(new TextDecoder().decode(gunzipSync(await storage.read(second.metadataLocation))), /^\{"format-version":2,/);
  assert.deepEqual(await catalog.loadTable(ORDERS), second);
  await assert.rejects(catalog.commitTable(first, set({ a: '1' })), code('COMMIT_CONFLICT'));
  const third = await catalog.commitTable(second, { requirements: [], updates: [{ action: 'remove-properties', removals: ['write.metadata.compression-codec'] }] });
  assert.equal(third.metadataLocation, `${METADATA}/v3.metadata.json`);
});

test('metadata of other writers: fields that may be missing are empty, other versions are refused', async () => {
  const { catalog, storage } = inMemory();
  const write = (metadata: object): Promise<void> => storage.write(`${METADATA}/v1.metadata.json`, new TextEncoder().encode(JSON.stringify(metadata)));
  const { snapshots: _s, refs: _r, 'snapshot-log': _l, 'metadata-log': _m, properties: _p, statistics: _t, 'partition-statistics': _q, ...bare } = (await catalog.createTable(ORDERS, ORDERS_REQUEST)).metadata;
  await write(bare);
  const { metadata } = (await catalog.loadTable(ORDERS))!;
  assert.deepEqual([metadata.snapshots, metadata.refs, metadata['snapshot-log'], metadata['metadata-log'], metadata.properties], [[], {}, [], [], {}]);
  await write({ ...bare, 'current-snapshot-id': 5 });
  assert.deepEqual((await catalog.loadTable(ORDERS))!.metadata.refs, { main: { 'snapshot-id': 5, type: 'branch' } });
  await write({ ...bare, 'format-version': 3 });
  await assert.rejects(catalog.loadTable(ORDERS), code('FORMAT_UNSUPPORTED'));
});

test('on disk: commits of several writers at once are never overwritten and never lost', async () => {
  const warehouse = await folder();
  const storage = new FileStorage();
  const catalogs = [1, 2, 3].map(() => new HadoopCatalog({ name: 'lake', warehouse, storage: new FileStorage() }));
  await catalogs[0].createTable(ORDERS, ORDERS_REQUEST);
  const committed: string[] = [];
  await Promise.all(catalogs.map(async (catalog, writer) => {
    for (let n = 0; n < 8;) {
      // A writer of its own branch each, so that all may go on; only the metadata file is contended.
      const table = (await catalog.loadTable(ORDERS))!;
      try {
        await catalog.commitTable(table, set({ [`w${writer}-${n}`]: '1' }));
        committed.push(`w${writer}-${n}`);
        n += 1;
      } catch (error) {
        code('COMMIT_CONFLICT')(error);
      }
    }
  }));
  const table = (await catalogs[0].loadTable(ORDERS))!;
  assert.deepEqual(Object.keys(table.metadata.properties).sort(), committed.sort());
  assert.equal(committed.length, 24);
  assert.ok(table.metadataLocation.endsWith('/v25.metadata.json'));
  assert.equal(await storage.size(`file://${warehouse}/shop/orders/metadata/v26.metadata.json`), undefined);
  assert.deepEqual((await readdir(join(warehouse, 'shop/orders/metadata'))).filter((name) => name.endsWith('.tmp')), []);
});

test('on disk: of two committers on one slot one goes on, the other is fenced or starts over; no row is lost or doubled', async () => {
  const warehouse = await folder();
  const storage = new FileStorage();
  const catalog = new HadoopCatalog({ name: 'lake', warehouse, storage });
  const created = await catalog.createTable(ORDERS, ORDERS_REQUEST);
  const ended: string[] = [];
  await Promise.all(['p1', 'p2'].map(async (process) => {
    const committer = new TableCommitter(created, { catalog, storage, slot: 's', systemId: '1', process, retries: 20, initialMs: 1, maxMs: 5 });
    try {
      for (let transaction = 1n; transaction <= 10n; transaction++) await committer.commit({ dataFiles: [fileNamed(`t${transaction}-${process}`)], deleteFiles: [], endLsn: transaction });
      ended.push('done');
    } catch (error) {
      assert.ok(isWalbergError(error, 'POSITION_CHANGED', 'COMMIT_FENCED'), String(error));
      ended.push(error.code);
    }
  }));
  assert.equal(ended.filter((how) => how === 'done').length, 1, ended.join());
  const names = await liveNames((await catalog.loadTable(ORDERS))!.metadata, storage);
  assert.deepEqual(names.map((name) => Number(/^t(\d+)-/.exec(name)![1])).sort((a, b) => a - b), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});
