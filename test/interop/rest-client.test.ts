import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { CreateTableRequest, LoadedTable, TableChange } from '../../src/iceberg/catalog/catalog.js';
import type { RestOptions } from '../../src/iceberg/catalog/rest-client.js';
import { RestCatalog } from '../../src/iceberg/catalog/rest.js';
import { startRestCatalog, type RestCatalog as Server } from './servers/rest-catalog.js';

const CREATE: CreateTableRequest = {
  // Ids that the server renumbers.
  schema: { type: 'struct', fields: [{ id: 7, name: 'id', required: true, type: 'long' }, { id: 3, name: 'amount', required: false, type: 'decimal(38, 4)' }, { id: 9, name: 'at', required: false, type: 'timestamptz' }], 'identifier-field-ids': [7] },
  properties: { 'format-version': '2', owner: 'walberg' },
};

describe('RestCatalog on the reference server', () => {
  let folder: string;
  let server: Server;
  let catalog: RestCatalog;
  let tables = 0;
  const opened: RestCatalog[] = [];

  async function connect(options: RestOptions = {}): Promise<RestCatalog> {
    const made = await RestCatalog.connect({ type: 'rest', name: 'lake', warehouse: '', uri: server.uri, scope: 'catalog', headers: {}, properties: {} }, options);
    opened.push(made);
    return made;
  }

  const newTable = (): Promise<LoadedTable> => catalog.createTable({ namespace: ['shop', 'eu'], name: `t${tables++}` }, CREATE);
  const set = (updates: Record<string, string>): TableChange => ({ requirements: [], updates: [{ action: 'set-properties', updates }] });
  const reload = async ({ identifier }: LoadedTable): Promise<LoadedTable> => (await catalog.loadTable(identifier))!;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'walberg-rest-client-'));
    server = await startRestCatalog({ warehouse: folder });
    catalog = await connect();
    await catalog.ensureNamespace(['shop', 'eu']);
  });
  after(async () => {
    for (const one of opened) await one.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('namespaces are made once, from the top', async () => {
    await catalog.ensureNamespace(['shop', 'eu']);
    await Promise.all([catalog.ensureNamespace(['a', 'b', 'c']), catalog.ensureNamespace(['a', 'b', 'd'])]);
    const names = (await (await fetch(`${server.uri}/v1/namespaces?parent=a%1Fb`)).json()) as { namespaces: string[][] };
    assert.deepEqual(names.namespaces.sort(), [['a', 'b', 'c'], ['a', 'b', 'd']]);
  });

  it('a table or namespace that does not exist is undefined', async () => {
    assert.equal(await catalog.loadTable({ namespace: ['shop', 'eu'], name: 'none' }), undefined);
    assert.equal(await catalog.loadTable({ namespace: ['nowhere'], name: 'none' }), undefined);
  });

  it('an address below which there is no catalog is no missing table', async () => {
    const elsewhere = await RestCatalog.connect({ type: 'rest', name: 'lake', warehouse: '', uri: server.uri, prefix: 'wrong', scope: 'catalog', headers: {}, properties: {} });
    opened.push(elsewhere);
    await assert.rejects(elsewhere.loadTable({ namespace: ['shop'], name: 'none' }), { code: 'CATALOG_REQUEST' });
  });

  it('creates a table, whose ids are the server\'s, and not a second time', async () => {
    const table = await newTable();
    const { metadata } = table;
    assert.equal(metadata['format-version'], 2);
    assert.deepEqual(metadata.schemas[0].fields.map(({ name, type, required }) => [name, JSON.stringify(type).replaceAll(/[" ]/g, ''), required]), [['id', 'long', true], ['amount', 'decimal(38,4)', false], ['at', 'timestamptz', false]]);
    assert.deepEqual(metadata.schemas[0]['identifier-field-ids'], [metadata.schemas[0].fields[0].id]);
    assert.equal(metadata.properties.owner, 'walberg');
    assert.equal(metadata['current-snapshot-id'], null);
    assert.match(table.metadataLocation, /metadata\.json$/);
    await assert.rejects(catalog.createTable(table.identifier, CREATE), { code: 'COMMIT_CONFLICT' });
  });

  it('commits a snapshot whose id no double can hold, and reads it back exactly', async () => {
    const table = await newTable();
    const id = 9_223_372_036_854_775_783n;
    const committed = await catalog.commitTable(table, {
      requirements: [{ type: 'assert-table-uuid', uuid: table.metadata['table-uuid'] }, { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }, { type: 'assert-current-schema-id', 'current-schema-id': 0 }],
      updates: [
        { action: 'add-snapshot', snapshot: { 'snapshot-id': id, 'sequence-number': 1, 'timestamp-ms': Date.now(), 'manifest-list': `${table.metadata.location}/metadata/list.avro`, summary: { operation: 'append', 'walberg.lsn': '16/B374D848' }, 'schema-id': 0 } },
        { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': id },
        { action: 'set-properties', updates: { 'walberg.lsn': '16/B374D848' } },
      ],
    });
    for (const { metadata } of [committed, await reload(table)]) {
      assert.equal(metadata['current-snapshot-id'], id);
      assert.equal(metadata.refs.main['snapshot-id'], id);
      assert.equal(metadata.snapshots[0].summary['walberg.lsn'], '16/B374D848');
      assert.equal(metadata['last-sequence-number'], 1);
    }
    // The same once more: the ref has moved.
    await assert.rejects(catalog.commitTable(table, { requirements: [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }], updates: set({ a: 'b' }).updates }), { code: 'COMMIT_CONFLICT' });
    await assert.rejects(catalog.commitTable(table, {
      requirements: [], updates: [{ action: 'add-snapshot', snapshot: { 'snapshot-id': 5, 'sequence-number': 1, 'parent-snapshot-id': id, 'timestamp-ms': Date.now(), 'manifest-list': '/x.avro', summary: { operation: 'append' } } }],
    }), (error: { code: string; message: string }) => ['COMMIT_CONFLICT', 'COMMIT_UNKNOWN'].includes(error.code) && /sequence number/.test(error.message));
  });

  it('of commits that expect the same state one is applied', async () => {
    const table = await newTable();
    const others = await Promise.all(Array.from({ length: 6 }, () => connect()));
    const outcomes = await Promise.allSettled(others.map((other, i) => other.commitTable(table, {
      requirements: [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }],
      updates: [
        { action: 'add-snapshot', snapshot: { 'snapshot-id': i + 1, 'sequence-number': 1, 'timestamp-ms': Date.now(), 'manifest-list': '/x.avro', summary: { operation: 'append' }, 'schema-id': 0 } },
        { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': i + 1 },
      ],
    })));
    const winners = outcomes.flatMap((outcome, i) => (outcome.status === 'fulfilled' ? [i + 1] : []));
    assert.equal(winners.length, 1, JSON.stringify(outcomes));
    assert.equal((await reload(table)).metadata.refs.main['snapshot-id'], winners[0]);
  });

  it('malformed changes and vanished tables are refused for good', async () => {
    const table = await newTable();
    await assert.rejects(catalog.commitTable(table, { requirements: [], updates: [{ action: 'set-current-schema', 'schema-id': 99 }] }), { code: 'CATALOG_REQUEST' });
    const dropped = await fetch(`${server.uri}/v1/namespaces/shop%2Eeu/tables/${table.identifier.name}`, { method: 'DELETE' });
    assert.equal(dropped.status, 204, await dropped.text());
    await assert.rejects(catalog.commitTable(table, set({ a: 'b' })), { code: 'TABLE_REPLACED' });
  });

  it('a killed server has applied nothing that was not sent; when it is back the same client goes on', async () => {
    const table = await newTable();
    const impatient = await connect({ retries: 1, retryMinMs: 1 });
    await server.kill();
    await assert.rejects(impatient.loadTable(table.identifier), { code: 'CATALOG_UNREACHABLE' });
    await assert.rejects(impatient.commitTable(table, set({ a: '1' })), (error: { code: string }) => ['CATALOG_UNREACHABLE', 'COMMIT_UNKNOWN'].includes(error.code));
    await server.restart();
    await impatient.commitTable(table, set({ a: '2' }));
    assert.equal((await reload(table)).metadata.properties.a, '2');
  });

  it('a commit without a reply in time is open, and lands when the server wakes up', async () => {
    const table = await newTable();
    const impatient = await connect({ timeoutMs: 500 });
    server.suspend();
    try {
      await assert.rejects(impatient.commitTable(table, set({ late: 'yes' })), { code: 'COMMIT_UNKNOWN' });
    } finally {
      server.resume();
    }
    // The server says nothing when it has done it: ask until it shows, within the test's own time limit.
    while ((await reload(table)).metadata.properties.late !== 'yes') await new Promise((resolve) => setTimeout(resolve, 20));
  });
});
