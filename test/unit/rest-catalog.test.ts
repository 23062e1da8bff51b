import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import fc from 'fast-check';
import type { ErrorCode } from '../../src/errors/codes.js';
import { isWalbergError, type WalbergError } from '../../src/errors/error.js';
import type { CreateTableRequest } from '../../src/iceberg/catalog/catalog.js';
import { retryAfter } from '../../src/iceberg/catalog/rest-http.js';
import { RestPaths } from '../../src/iceberg/catalog/rest-settings.js';
import { readTable } from '../../src/iceberg/catalog/rest-table.js';
import { RestCatalog } from '../../src/iceberg/catalog/rest.js';
import { FAST, restConfig, restError, restSession, TABLE_JSON, type RestSession } from '../support/rest-catalog.js';
import { json, ScriptedHttp, type Handler, type Scripted } from '../support/scripted-http.js';

const ORDERS = { namespace: ['shop'], name: 'orders' };
const LOADED = json(200, TABLE_JSON);
const CREATE: CreateTableRequest = {
  schema: { type: 'struct', fields: [{ id: 1, name: 'id', required: true, type: 'long' }] },
  partitionSpec: { 'spec-id': 0, fields: [] },
  properties: { 'format-version': '2' },
};

let open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open) await one.close();
  open = [];
});

async function session(...args: Parameters<typeof restSession>): Promise<RestSession> {
  const made = await restSession(...args);
  open.push(made.catalog, made.server);
  return made;
}

async function serve(handler: Handler): Promise<ScriptedHttp> {
  const server = await ScriptedHttp.start(handler);
  open.push(server);
  return server;
}

async function failureOf(action: Promise<unknown>): Promise<WalbergError> {
  const error = await action.then(() => assert.fail('it succeeded'), (thrown: unknown) => thrown);
  assert.ok(isWalbergError(error), String(error));
  return error;
}

describe('configuration of a REST catalog', () => {
  it('names the warehouse, encoded, and leaves an empty one out', async () => {
    const server = await serve(() => json(200, { defaults: {}, overrides: {} }));
    await RestCatalog.connect(restConfig({ uri: `${server.url}/`, warehouse: 's3://lake/a b' }), FAST);
    await RestCatalog.connect(restConfig({ uri: server.url }), FAST);
    assert.deepEqual(server.asked, ['GET /v1/config?warehouse=s3%3A%2F%2Flake%2Fa%20b', 'GET /v1/config']);
  });

  it('overrides win over our settings, which win over defaults', async () => {
    const { catalog, requests } = await session(() => LOADED, {
      config: { prefix: 'ours', headers: { 'X-Ours': '1', 'X-Both': 'ours' } },
      serverConfig: { defaults: { prefix: 'default', 'header.X-Default': '2', 'header.X-Both': 'default' }, overrides: { prefix: 'catalogs/a%2Fb' }, endpoints: ['GET /v1/something/new'] },
    });
    await catalog.loadTable(ORDERS);
    const [{ path, headers }] = requests();
    assert.equal(path, '/v1/catalogs/a%2Fb/namespaces/shop/tables/orders');
    assert.deepEqual([headers['x-ours'], headers['x-default'], headers['x-both']], ['1', '2', 'ours']);
  });

  it('follows the server to another address', async () => {
    const other = await serve(() => LOADED);
    const { catalog, requests } = await session(() => LOADED, { serverConfig: { defaults: {}, overrides: { uri: `${other.url}/iceberg` } } });
    await catalog.loadTable(ORDERS);
    assert.deepEqual(other.asked, ['GET /iceberg/v1/namespaces/shop/tables/orders']);
    assert.deepEqual(requests(), []);
  });

  it('takes the announced separator, percent-encoded or plain', async () => {
    for (const separator of ['%2E', '.']) {
      const { catalog, requests } = await session(() => LOADED, { serverConfig: { overrides: { 'namespace-separator': separator } } });
      await catalog.loadTable({ namespace: ['a', 'b'], name: 't' });
      assert.equal(requests()[0].path, separator === '.' ? '/v1/namespaces/a.b/tables/t' : '/v1/namespaces/a%2Eb/tables/t');
    }
  });

  const failures: [name: string, reply: Scripted, code: ErrorCode, message: RegExp][] = [
    ['an unknown warehouse', restError(404, 'NoSuchWarehouseException', 'no warehouse lake'), 'CATALOG_REQUEST', /no warehouse lake/],
    ['another web server', { status: 404, body: '<html>' }, 'CATALOG_REQUEST', /404/],
    ['a web page', { status: 200, body: '<html>' }, 'CATALOG_REQUEST', /not that of an Iceberg REST catalog/],
    ['JSON that is no object', json(200, []), 'CATALOG_REQUEST', /not that of an Iceberg REST catalog/],
    ['a redirect', { status: 301, headers: { location: 'https://lake.example/v1/config' } }, 'CATALOG_REQUEST', /301 to https:\/\/lake\.example/],
    ['401', { status: 401 }, 'CATALOG_AUTH', /401/],
    ['503', { status: 503 }, 'CATALOG_UNAVAILABLE', /503/],
    ['a reset', 'reset', 'CATALOG_UNREACHABLE', /No reply/],
  ];
  for (const [name, reply, code, message] of failures) {
    it(`${name} → ${code}`, async () => {
      const server = await serve(() => reply);
      const error = await failureOf(RestCatalog.connect(restConfig({ uri: server.url, warehouse: 'lake' }), FAST));
      assert.equal(error.code, code);
      assert.match(error.message, message);
    });
  }

  it('no uri → CONFIG_INVALID', async () => {
    assert.equal((await failureOf(RestCatalog.connect(restConfig(), FAST))).code, 'CONFIG_INVALID');
  });

  it('any name can be a table and every level is told apart', () => {
    const paths = new RestPaths({ prefix: '', namespaceSeparator: '%1F' });
    const level = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.includes('\u001f'));
    fc.assert(fc.property(fc.array(level, { minLength: 1, maxLength: 3 }), level, (namespace, name) => {
      const [, , , levels, tables, table] = paths.table(namespace, name).split('/');
      assert.deepEqual(decodeURIComponent(levels).split('\u001f'), namespace);
      assert.equal(tables, 'tables');
      assert.equal(decodeURIComponent(table), name);
    }));
  });
});

describe('loading a table from a REST catalog', () => {
  it('keeps 64-bit numbers, the location of the metadata and the configuration', async () => {
    const { catalog } = await session(() => LOADED);
    const table = await catalog.loadTable(ORDERS);
    assert.equal(table?.metadata['current-snapshot-id'], 9007199254740993n);
    assert.equal(table?.metadata.snapshots[0]['snapshot-id'], 9007199254740993n);
    assert.equal(table?.metadataLocation, 's3://lake/shop/orders/metadata/00001-a.metadata.json');
    assert.deepEqual(table?.config, { 'client.region': 'eu-west-1' });
  });

  it('fills in what servers leave out', () => {
    const minimal = (extra: string): unknown => readTable(ORDERS, `{"metadata":{"table-uuid":"u","format-version":2${extra}}}`)?.metadata;
    assert.deepEqual({ ...(minimal('') as object), schemas: [] }, {
      'table-uuid': 'u', 'format-version': 2, location: '', 'last-sequence-number': 0, 'last-updated-ms': 0, 'last-column-id': 0, schemas: [], 'current-schema-id': 0,
      'partition-specs': [{ 'spec-id': 0, fields: [] }], 'default-spec-id': 0, 'last-partition-id': 999, 'sort-orders': [{ 'order-id': 0, fields: [] }], 'default-sort-order-id': 0,
      properties: {}, 'current-snapshot-id': null, refs: {}, snapshots: [], 'snapshot-log': [], 'metadata-log': [],
    });
    assert.deepEqual((minimal(',"current-snapshot-id":-1') as { refs: unknown }).refs, {});
    assert.deepEqual((minimal(',"current-snapshot-id":9007199254740993') as { refs: unknown }).refs, { main: { 'snapshot-id': 9007199254740993n, type: 'branch' } });
  });

  it('asks again while nothing was changed: reset, 5xx, 429, cut body', async () => {
    const script: Scripted[] = ['reset', { status: 503 }, LOADED, { status: 429 }, { status: 200, body: TABLE_JSON, cutAfter: 10 }, LOADED];
    const { catalog, requests } = await session(({ index }) => script[index - 2]);
    assert.ok(await catalog.loadTable(ORDERS));
    assert.ok(await catalog.loadTable(ORDERS));
    assert.equal(requests().length, 6);
  });

  const failures: [name: string, reply: Scripted, code: ErrorCode, attempts: number][] = [
    ['400', restError(400, 'BadRequestException'), 'CATALOG_REQUEST', 1],
    ['403', restError(403, 'ForbiddenException'), 'CATALOG_AUTH', 1],
    ['500', restError(500, 'InternalServerError'), 'CATALOG_UNAVAILABLE', 3],
    ['429', { status: 429 }, 'CATALOG_UNAVAILABLE', 3],
    ['a reset', 'reset', 'CATALOG_UNREACHABLE', 3],
    ['a web page', { status: 200, body: '<html>' }, 'CATALOG_REQUEST', 1],
    ['a metadata file the server cannot find', restError(404, 'NotFoundException', 'Location does not exist'), 'CATALOG_REQUEST', 1],
    ['a warehouse that is gone', restError(404, 'NoSuchWarehouseException'), 'CATALOG_REQUEST', 1],
  ];
  for (const [name, reply, code, attempts] of failures) {
    it(`${name} → ${code}`, async () => {
      const { catalog, requests } = await session(() => reply);
      assert.equal((await failureOf(catalog.loadTable(ORDERS))).code, code);
      assert.equal(requests().length, attempts);
    });
  }

  it('no reply in time → CATALOG_UNREACHABLE', async () => {
    const { catalog } = await session(() => 'hang', { options: { timeoutMs: 50, retries: 1 } });
    assert.equal((await failureOf(catalog.loadTable(ORDERS))).code, 'CATALOG_UNREACHABLE');
  });

  for (const type of ['NoSuchTableException', 'NoSuchNamespaceException']) {
    it(`404 ${type}: there is none`, async () => {
      const { catalog } = await session(() => restError(404, type));
      assert.equal(await catalog.loadTable(ORDERS), undefined);
    });
  }

  for (const [name, reply] of [['without a body', { status: 404 }], ['of an unknown type', restError(404, 'EntityNotFound')]] as [string, Scripted][]) {
    it(`404 ${name}: there is none if the namespace is there, otherwise the address is wrong`, async () => {
      const found = await session(({ path }) => (path.endsWith('/namespaces/shop') ? json(200, { namespace: ['shop'] }) : reply));
      assert.equal(await found.catalog.loadTable(ORDERS), undefined);
      const lost = await session(() => reply);
      const error = await failureOf(lost.catalog.loadTable(ORDERS));
      assert.equal(error.code, 'CATALOG_REQUEST');
      assert.match(error.hint, /prefix/);
    });
  }
});

describe('creating tables and namespaces in a REST catalog', () => {
  it('creates a table as asked and returns the state the server made of it', async () => {
    const { catalog, requests } = await session(() => LOADED);
    const table = await catalog.createTable(ORDERS, { ...CREATE, location: 's3://lake/shop/orders' });
    assert.equal(table.metadata['last-column-id'], 1);
    assert.equal(`${requests()[0].method} ${requests()[0].path}`, 'POST /v1/namespaces/shop/tables');
    assert.deepEqual(JSON.parse(requests()[0].body), {
      name: 'orders', location: 's3://lake/shop/orders', schema: CREATE.schema, 'partition-spec': CREATE.partitionSpec, 'stage-create': false, properties: { 'format-version': '2' },
    });
  });

  const failures: [name: string, reply: Scripted, code: ErrorCode][] = [
    ['409', restError(409, 'AlreadyExistsException'), 'COMMIT_CONFLICT'],
    ['400 that means 409', restError(400, 'AlreadyExistsException'), 'COMMIT_CONFLICT'],
    ['400', restError(400, 'BadRequestException'), 'CATALOG_REQUEST'],
    ['404', restError(404, 'NoSuchNamespaceException'), 'CATALOG_REQUEST'],
    ['500', restError(500, 'InternalServerError'), 'COMMIT_UNKNOWN'],
    ['a reset', 'reset', 'COMMIT_UNKNOWN'],
    ['an empty answer', json(200, {}), 'COMMIT_UNKNOWN'],
  ];
  for (const [name, reply, code] of failures) {
    it(`${name} → ${code}`, async () => {
      const { catalog, requests } = await session(() => reply);
      assert.equal((await failureOf(catalog.createTable(ORDERS, CREATE))).code, code);
      assert.equal(requests().length, 1);
    });
  }

  it('leaves an existing namespace alone', async () => {
    const { catalog, requests } = await session(() => json(200, { namespace: ['a', 'b'] }));
    await catalog.ensureNamespace(['a', 'b']);
    assert.deepEqual(requests().map(({ method, path }) => `${method} ${path}`), ['GET /v1/namespaces/a%1Fb']);
  });

  it('creates missing levels from the top, and someone else may be faster', async () => {
    const there = new Set(['a']);
    const { catalog, requests } = await session(({ method, path, body }) => {
      if (method === 'GET') return there.has(path.slice('/v1/namespaces/'.length)) ? json(200, {}) : restError(404, 'NoSuchNamespaceException');
      return (JSON.parse(body) as { namespace: string[] }).namespace.length === 2 ? json(200, {}) : restError(409, 'AlreadyExistsException');
    });
    await catalog.ensureNamespace(['a', 'b', 'c']);
    assert.deepEqual(requests().filter(({ method }) => method === 'POST').map(({ body }) => body), ['{"namespace":["a","b"],"properties":{}}', '{"namespace":["a","b","c"],"properties":{}}']);
  });

  it('repeats the creation of a namespace whose reply was lost', async () => {
    const replies: Scripted[] = [restError(404, 'NoSuchNamespaceException'), 'reset', restError(409, 'AlreadyExistsException')];
    const { catalog, requests } = await session(({ index }) => replies[index - 2]);
    await catalog.ensureNamespace(['a']);
    assert.equal(requests().length, 3);
  });

  it('says why a namespace cannot be made', async () => {
    const refusing = await session(({ method }) => (method === 'GET' ? { status: 404 } : restError(400, 'BadRequestException', 'nested namespaces are not supported')));
    assert.match((await failureOf(refusing.catalog.ensureNamespace(['a', 'b']))).message, /nested namespaces are not supported/);
    const elsewhere = await session(() => ({ status: 404 }));
    assert.match((await failureOf(elsewhere.catalog.ensureNamespace(['a']))).hint, /uri/);
  });
});

describe('Retry-After', () => {
  it('is a number of seconds or a date', () => {
    const now = Date.UTC(2026, 0, 1);
    assert.equal(retryAfter('120', now), 120_000);
    assert.equal(retryAfter(' 0 ', now), 0);
    assert.equal(retryAfter(new Date(now + 5000).toUTCString(), now), 5000);
    assert.equal(retryAfter(new Date(now - 5000).toUTCString(), now), 0);
    assert.equal(retryAfter('soon', now), undefined);
    assert.equal(retryAfter(null, now), undefined);
  });
});
