import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import { isWalbergError, type WalbergError } from '../../src/errors/error.js';
import type { ErrorCode } from '../../src/errors/codes.js';
import type { LoadedTable, TableChange } from '../../src/iceberg/catalog/catalog.js';
import { readTable } from '../../src/iceberg/catalog/rest-table.js';
import { RestCatalog } from '../../src/iceberg/catalog/rest.js';
import { uuidV7 } from '../../src/iceberg/catalog/rest-client.js';
import { FAST, restConfig, restError, restSession, TABLE_JSON, type RestSession } from '../support/rest-catalog.js';
import { json, ScriptedHttp, type Scripted } from '../support/scripted-http.js';

const ORDERS = { namespace: ['shop'], name: 'orders' };
const BASE: LoadedTable = readTable(ORDERS, TABLE_JSON)!;
const CHANGE: TableChange = {
  requirements: [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': 9007199254740993n }],
  updates: [{ action: 'set-properties', updates: { 'walberg.lsn': '43' } }],
};
const APPLIED = json(200, TABLE_JSON);

let open: RestSession[] = [];
afterEach(async () => {
  for (const { catalog, server } of open) {
    await catalog.close();
    await server.close();
  }
  open = [];
});

async function session(...args: Parameters<typeof restSession>): Promise<RestSession> {
  const made = await restSession(...args);
  open.push(made);
  return made;
}

/** Answers the commits of a session one after the other; the last answer repeats. */
function answers(...replies: Scripted[]): Parameters<typeof restSession>[0] {
  let next = 0;
  return () => replies[Math.min(next++, replies.length - 1)];
}

async function failureOf(action: Promise<unknown>): Promise<WalbergError> {
  const error = await action.then(() => assert.fail('it succeeded'), (thrown: unknown) => thrown);
  assert.ok(isWalbergError(error), String(error));
  return error;
}

describe('commit to a REST catalog', () => {
  it('sends requirements and updates with 64-bit numbers exact, and returns the new state exact', async () => {
    const { catalog, requests } = await session(() => APPLIED);
    const committed = await catalog.commitTable(BASE, { ...CHANGE, requirements: [...CHANGE.requirements, { type: 'assert-ref-snapshot-id', ref: 'load', 'snapshot-id': null }] });
    const [sent] = requests();
    assert.equal(`${sent.method} ${sent.path}`, 'POST /v1/namespaces/shop/tables/orders');
    assert.equal(sent.headers['content-type'], 'application/json');
    assert.equal(sent.body, '{"identifier":{"namespace":["shop"],"name":"orders"},"requirements":[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":9007199254740993},'
      + '{"type":"assert-ref-snapshot-id","ref":"load","snapshot-id":null}],"updates":[{"action":"set-properties","updates":{"walberg.lsn":"43"}}]}');
    assert.equal(committed.metadata['current-snapshot-id'], 9007199254740993n);
    assert.equal(committed.metadataLocation, 's3://lake/shop/orders/metadata/00001-a.metadata.json');
    assert.deepEqual(committed.config, { 'client.region': 'eu-west-1' });
  });

  // One attempt unless the server has certainly not done it.
  const cases: [name: string, reply: Scripted, code: ErrorCode, attempts: number][] = [
    ['400', restError(400, 'BadRequestException'), 'CATALOG_REQUEST', 1],
    ['400 without a body', { status: 400 }, 'CATALOG_REQUEST', 1],
    ['400 for a stale sequence number', restError(400, 'ValidationException', 'Cannot add snapshot with sequence number 5 older than last sequence number 7'), 'COMMIT_CONFLICT', 1],
    ['401', restError(401, 'NotAuthorizedException'), 'CATALOG_AUTH', 1],
    ['403', restError(403, 'ForbiddenException'), 'CATALOG_AUTH', 1],
    ['404', restError(404, 'NoSuchTableException'), 'TABLE_REPLACED', 1],
    ['405', { status: 405 }, 'CATALOG_REQUEST', 1],
    ['406', restError(406, 'UnsupportedOperationException'), 'CATALOG_REQUEST', 1],
    ['408', { status: 408 }, 'COMMIT_UNKNOWN', 1],
    ['409', restError(409, 'CommitFailedException'), 'COMMIT_CONFLICT', 1],
    ['409 without a body', { status: 409 }, 'COMMIT_CONFLICT', 1],
    ['409 that says its state is unknown', restError(409, 'CommitStateUnknownException'), 'COMMIT_UNKNOWN', 1],
    ['413', { status: 413, body: '<html>too large</html>' }, 'CATALOG_REQUEST', 1],
    ['419', restError(419, 'AuthenticationTimeoutException'), 'CATALOG_AUTH', 1],
    ['422', restError(422, 'UnprocessableEntityException'), 'CATALOG_REQUEST', 1],
    ['429', { status: 429 }, 'CATALOG_UNAVAILABLE', 3],
    ['500', restError(500, 'CommitStateUnknownException'), 'COMMIT_UNKNOWN', 1],
    ['501', { status: 501 }, 'CATALOG_REQUEST', 1],
    ['502', { status: 502, body: '<html>bad gateway</html>' }, 'COMMIT_UNKNOWN', 1],
    ['503 without Retry-After', restError(503, 'SlowDownException'), 'COMMIT_UNKNOWN', 1],
    ['503 with Retry-After, time and again', json(503, {}, { 'retry-after': '0' }), 'COMMIT_UNKNOWN', 3],
    ['503 with a Retry-After too far away', json(503, {}, { 'retry-after': '3600' }), 'COMMIT_UNKNOWN', 1],
    ['504', { status: 504 }, 'COMMIT_UNKNOWN', 1],
    ['507', { status: 507 }, 'COMMIT_UNKNOWN', 1],
    ['520', { status: 520 }, 'COMMIT_UNKNOWN', 1],
    ['200 of something that is no catalog', { status: 200, body: '<html>welcome</html>' }, 'COMMIT_UNKNOWN', 1],
    ['200 with other JSON', json(200, { ok: true }), 'COMMIT_UNKNOWN', 1],
    ['204', { status: 204 }, 'COMMIT_UNKNOWN', 1],
    ['200 cut in the middle', { status: 200, body: TABLE_JSON, cutAfter: 100 }, 'COMMIT_UNKNOWN', 1],
    ['a connection reset', 'reset', 'COMMIT_UNKNOWN', 1],
    ['302, which must not become a GET that succeeds', { status: 302, headers: { location: '/v1/namespaces/shop/tables/orders' } }, 'CATALOG_REQUEST', 1],
    ['308', { status: 308, headers: { location: 'https://other/v1' } }, 'CATALOG_REQUEST', 1],
  ];
  for (const [name, reply, code, attempts] of cases) {
    it(`${name} → ${code}`, async () => {
      const { catalog, requests } = await session(({ method }) => (method === 'GET' ? APPLIED : reply));
      const error = await failureOf(catalog.commitTable(BASE, CHANGE));
      assert.equal(error.code, code, error.message);
      assert.equal(requests().length, attempts);
      assert.match(error.message, /shop\.orders/);
      assert.equal(error.context.table, 'shop.orders');
    });
  }

  it('no reply in time, though the server has applied it → COMMIT_UNKNOWN, and a reload shows it', async () => {
    const after = TABLE_JSON.replace('"walberg.lsn":"42"', '"walberg.lsn":"43"');
    let applied = false;
    const { catalog, requests } = await session(({ method }) => {
      if (method === 'GET') return json(200, applied ? after : TABLE_JSON);
      applied = true;
      return 'hang';
    }, { options: { timeoutMs: 150 } });
    const error = await failureOf(catalog.commitTable(BASE, CHANGE));
    assert.equal(error.code, 'COMMIT_UNKNOWN');
    assert.match(error.message, /150 ms/);
    assert.equal((await catalog.loadTable(ORDERS))?.metadata.properties['walberg.lsn'], '43');
    assert.equal(requests().filter(({ method }) => method === 'POST').length, 1);
  });

  it('a server that is not there cannot have applied it → CATALOG_UNREACHABLE', async () => {
    const { catalog, server } = await session(() => APPLIED);
    await server.close();
    assert.equal((await failureOf(catalog.commitTable(BASE, CHANGE))).code, 'CATALOG_UNREACHABLE');
  });

  it('an address where nothing can be reached, by name, too', async () => {
    const { server } = await session(() => APPLIED);
    const { port } = new URL(server.url);
    for (const uri of [`http://localhost:${port}`, 'http://catalog.invalid:8181']) {
      const elsewhere = await session(() => APPLIED, { serverConfig: { defaults: {}, overrides: { uri } } });
      await server.close();
      assert.equal((await failureOf(elsewhere.catalog.commitTable(BASE, CHANGE))).code, 'CATALOG_UNREACHABLE', uri);
    }
  });

  it('close while it is under way → COMMIT_UNKNOWN', async () => {
    let arrived!: () => void;
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    const { catalog } = await session(() => {
      arrived();
      return 'hang';
    });
    const failing = failureOf(catalog.commitTable(BASE, CHANGE));
    await arrival;
    await catalog.close();
    assert.equal((await failing).code, 'COMMIT_UNKNOWN');
  });

  it('429 and 503 with Retry-After are repeated', async () => {
    const { catalog, requests } = await session(answers({ status: 429, headers: { 'retry-after': '0' } }, json(503, {}, { 'retry-after': new Date(0).toUTCString() }), APPLIED));
    await catalog.commitTable(BASE, CHANGE);
    assert.equal(requests().length, 3);
    assert.equal(requests()[0].body, requests()[2].body);
    assert.equal(requests()[0].headers['idempotency-key'], undefined);
  });

  it('a Retry-After longer than worth waiting is handed to the caller', async () => {
    const { catalog, requests } = await session(() => ({ status: 429, headers: { 'retry-after': '3600' } }));
    const error = await failureOf(catalog.commitTable(BASE, CHANGE));
    assert.equal(error.code, 'CATALOG_UNAVAILABLE');
    assert.equal(error.context.retryAfterMs, 3_600_000);
    assert.equal(requests().length, 1);
  });

  for (const [name, second] of [['409', restError(409, 'CommitFailedException')], ['400', restError(400, 'BadRequestException')], ['404', restError(404, 'NoSuchTableException')],
    ['401', restError(401, 'NotAuthorizedException')], ['429', { status: 429, headers: { 'retry-after': '3600' } }]] as [string, Scripted][]) {
    it(`${name} after a 503 that may have been applied is no definite refusal`, async () => {
      const { catalog } = await session(answers(json(503, {}, { 'retry-after': '0' }), second));
      assert.equal((await failureOf(catalog.commitTable(BASE, CHANGE))).code, 'COMMIT_UNKNOWN');
    });
  }

  it('with idempotency keys lost replies and 5xx are repeated under one key, and the next commit has another', async () => {
    const { catalog, requests } = await session(answers('reset', { status: 502 }, APPLIED), { serverConfig: { defaults: {}, overrides: {}, 'idempotency-key-lifetime': 'PT30M' } });
    await catalog.commitTable(BASE, CHANGE);
    await catalog.commitTable(BASE, CHANGE);
    const keys = requests().map(({ headers }) => headers['idempotency-key']);
    assert.equal(keys.length, 4);
    assert.equal(new Set(keys.slice(0, 3)).size, 1);
    assert.notEqual(keys[3], keys[0]);
    assert.match(keys[0], /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal((await catalog.loadTable(ORDERS))?.identifier, ORDERS);
    assert.equal(requests().at(-1)?.headers['idempotency-key'], undefined);
  });

  it('keys sort by time', () => {
    assert.equal(uuidV7(0x0192_3456_789a).slice(0, 13), '01923456-789a');
  });
});

describe('commit over TLS', () => {
  // Self-signed, for 127.0.0.1, until 2126; signs nothing but this test.
  const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGUOO0vNQ81IE3p1b
mV6v96AzFCTr7iKAJJUZuATH/ZehRANCAAQ03Pk45UqPA0hphJXKl8h1f3Spq4VZ
DVgQl/gaOQqJ3dAe7WEuf4WURbPbWBDkpKoFybHcag4Oo9vRt+TZ/1xR
-----END PRIVATE KEY-----`;
  const CERT = `-----BEGIN CERTIFICATE-----
MIIBkDCCATagAwIBAgIUG8vu+tDF9F8WNutNv0O5U7oFlwEwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTIwMTE1NDMzNloYDzIxMjYxMTA3
MTU0MzM2WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQ03Pk45UqPA0hphJXKl8h1f3Spq4VZDVgQl/gaOQqJ3dAe7WEuf4WU
RbPbWBDkpKoFybHcag4Oo9vRt+TZ/1xRo2QwYjAdBgNVHQ4EFgQU5aUXKt6/mSVi
mYo8YSfCYadEzzcwHwYDVR0jBBgwFoAU5aUXKt6/mSVimYo8YSfCYadEzzcwDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUC
IQDIJgOe4nmilf5XeAKZd7nsyBn+7WUNiq0n+bwkc+NNsgIgS+ZH9ZXXltuoCg86
tjM+UFiLqeMXy5u9UI9CD4hZjhw=
-----END CERTIFICATE-----`;
  const started: ScriptedHttp[] = [];
  after(() => Promise.all(started.map((server) => server.close())));

  it('a certificate nobody vouches for → CATALOG_TLS, nothing was sent', async () => {
    const server = await ScriptedHttp.start(() => json(200, { defaults: {}, overrides: {} }), { key: KEY, cert: CERT });
    started.push(server);
    const error = await failureOf(RestCatalog.connect(restConfig({ uri: server.url }), FAST));
    assert.equal(error.code, 'CATALOG_TLS');
    assert.match(error.message, /DEPTH_ZERO_SELF_SIGNED_CERT/);
    assert.equal(server.seen.length, 0);
  });
});
