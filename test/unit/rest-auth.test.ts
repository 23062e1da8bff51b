import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { ErrorCode } from '../../src/errors/codes.js';
import { isWalbergError, type WalbergError } from '../../src/errors/error.js';
import type { CatalogConfig } from '../../src/config/config.js';
import { readTable } from '../../src/iceberg/catalog/rest-table.js';
import { RestCatalog } from '../../src/iceberg/catalog/rest.js';
import { FAST, restConfig, restError, TABLE_JSON } from '../support/rest-catalog.js';
import { json, ScriptedHttp, type Handler, type Scripted } from '../support/scripted-http.js';

const ORDERS = { namespace: ['shop'], name: 'orders' };
const CREDENTIAL = 'root:s3cr:et';
const CHANGE = { requirements: [], updates: [] };

let open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open) await one.close();
  open = [];
});

/** A server that gives out token-1, token-2, … and takes those that `valid` allows. */
class Lake {
  server!: ScriptedHttp;
  catalog!: RestCatalog;
  issued = 0;
  nowMs = 0;
  expiresIn: number | undefined = 3600;
  valid: (token: string | undefined) => boolean = (token) => token === `token-${this.issued}`;
  denial: Scripted = restError(401, 'NotAuthorizedException', 'expired');
  tokenReply: () => Scripted | undefined = () => undefined;

  static async open(config: Partial<CatalogConfig>, setup: (lake: Lake) => void = () => {}): Promise<Lake> {
    const lake = new Lake();
    lake.server = await ScriptedHttp.start(lake.handle);
    setup(lake);
    open.push(lake.server);
    lake.catalog = await RestCatalog.connect(restConfig({ uri: lake.server.url, ...config }), { ...FAST, now: () => lake.nowMs });
    open.push(lake.catalog);
    return lake;
  }

  readonly handle: Handler = ({ path, headers }) => {
    if (path === '/v1/oauth/tokens') return this.tokenReply() ?? json(200, { access_token: `token-${++this.issued}`, token_type: 'bearer', expires_in: this.expiresIn });
    if (!this.valid(headers.authorization?.replace(/^Bearer /, ''))) return this.denial;
    return path.startsWith('/v1/config') ? json(200, { defaults: {}, overrides: {} }) : json(200, TABLE_JSON);
  };

  get tokenRequests(): number {
    return this.server.seen.filter(({ path }) => path === '/v1/oauth/tokens').length;
  }
}

async function failureOf(action: Promise<unknown>): Promise<WalbergError> {
  const error = await action.then(() => assert.fail('it succeeded'), (thrown: unknown) => thrown);
  assert.ok(isWalbergError(error), String(error));
  return error;
}

describe('authorisation at a REST catalog', () => {
  it('sends nothing when nothing is configured, and a header of its own when that is', async () => {
    const plain = await Lake.open({}, (lake) => (lake.valid = (token) => token === undefined));
    assert.ok(await plain.catalog.loadTable(ORDERS));
    const own = await Lake.open({ headers: { Authorization: 'Custom abc' } }, (lake) => (lake.valid = (token) => token === 'Custom abc'));
    assert.ok(await own.catalog.loadTable(ORDERS));
  });

  it('sends a given token and asks for no other', async () => {
    const lake = await Lake.open({ token: 'fixed' }, (one) => (one.valid = (token) => token === 'fixed'));
    assert.ok(await lake.catalog.loadTable(ORDERS));
    lake.valid = () => false;
    assert.equal((await failureOf(lake.catalog.loadTable(ORDERS))).code, 'CATALOG_AUTH');
    assert.equal(lake.tokenRequests, 0);
  });

  it('exchanges credentials for a token, once for the configuration and once for the rest', async () => {
    const lake = await Lake.open({ credential: CREDENTIAL, scope: 'PRINCIPAL_ROLE:ALL', properties: { audience: 'lake' }, headers: { 'Polaris-Realm': 'r1' } });
    await lake.catalog.loadTable(ORDERS);
    await lake.catalog.loadTable(ORDERS);
    const asked = lake.server.seen[0];
    assert.equal(`${asked.method} ${asked.path}`, 'POST /v1/oauth/tokens');
    assert.equal(asked.headers['content-type'], 'application/x-www-form-urlencoded');
    assert.equal(asked.headers['polaris-realm'], 'r1');
    assert.equal(asked.headers.authorization, undefined);
    // The secret is everything after the first colon.
    assert.deepEqual(Object.fromEntries(new URLSearchParams(asked.body)), { grant_type: 'client_credentials', client_id: 'root', client_secret: 's3cr:et', scope: 'PRINCIPAL_ROLE:ALL', audience: 'lake' });
    assert.ok(lake.tokenRequests <= 2);
  });

  it('a credential without a colon is a secret alone', async () => {
    const lake = await Lake.open({ credential: 'secret' });
    assert.deepEqual(Object.fromEntries(new URLSearchParams(lake.server.seen[0].body)), { grant_type: 'client_credentials', client_secret: 'secret', scope: 'catalog' });
  });

  it('asks the identity provider it is given, without the headers meant for the catalog', async () => {
    const provider = await ScriptedHttp.start(() => json(200, { access_token: 'from-idp', token_type: 'bearer' }));
    open.push(provider);
    const lake = await Lake.open({ credential: CREDENTIAL, oauth2ServerUri: `${provider.url}/realms/x/token`, headers: { 'X-Secret': 'catalog only' } }, (one) => (one.valid = (token) => token === 'from-idp'));
    assert.ok(await lake.catalog.loadTable(ORDERS));
    assert.equal(provider.seen[0].path, '/realms/x/token');
    assert.equal(provider.seen[0].headers['x-secret'], undefined);
    assert.equal(lake.tokenRequests, 0);
  });

  it('renews a token before it ends', async () => {
    const lake = await Lake.open({ credential: CREDENTIAL });
    await lake.catalog.loadTable(ORDERS);
    const before = lake.tokenRequests;
    lake.nowMs = 3600_000 - 60_001;
    await lake.catalog.loadTable(ORDERS);
    assert.equal(lake.tokenRequests, before);
    lake.nowMs = 3600_000 - 60_000;
    await lake.catalog.loadTable(ORDERS);
    assert.equal(lake.tokenRequests, before + 1);
  });

  it('uses nine tenths of a short life', async () => {
    const lake = await Lake.open({ credential: CREDENTIAL }, (one) => (one.expiresIn = 10));
    await lake.catalog.loadTable(ORDERS);
    const before = lake.tokenRequests;
    lake.nowMs = 8_999;
    await lake.catalog.loadTable(ORDERS);
    assert.equal(lake.tokenRequests, before);
    lake.nowMs = 9_000;
    await lake.catalog.loadTable(ORDERS);
    assert.equal(lake.tokenRequests, before + 1);
  });

  it('a commit refused for an expired token is sent again with a new one, whatever number says so', async () => {
    for (const status of [401, 403, 419]) {
      const lake = await Lake.open({ credential: CREDENTIAL }, (one) => (one.denial = { status }));
      const base = (await lake.catalog.loadTable(ORDERS))!;
      const before = lake.tokenRequests;
      lake.issued++;
      await lake.catalog.commitTable(base, CHANGE);
      assert.equal(lake.tokenRequests, before + 1);
      const commits = lake.server.seen.filter(({ method, path }) => method === 'POST' && path.endsWith('/orders'));
      assert.equal(commits.length, 2);
      assert.notEqual(commits[0].headers.authorization, commits[1].headers.authorization);
    }
  });

  it('a new token that is refused too → CATALOG_AUTH after one renewal', async () => {
    const lake = await Lake.open({ credential: CREDENTIAL });
    await lake.catalog.loadTable(ORDERS);
    const before = lake.tokenRequests;
    lake.valid = () => false;
    const error = await failureOf(lake.catalog.commitTable(readTable(ORDERS, TABLE_JSON)!, CHANGE));
    assert.equal(error.code, 'CATALOG_AUTH');
    assert.match(error.message, /expired/);
    assert.equal(lake.tokenRequests, before + 1);
  });

  it('requests at the same time share one renewal', async () => {
    const lake = await Lake.open({ credential: CREDENTIAL });
    await lake.catalog.loadTable(ORDERS);
    const before = lake.tokenRequests;
    lake.issued += 10;
    await Promise.all(Array.from({ length: 5 }, () => lake.catalog.loadTable(ORDERS)));
    assert.equal(lake.tokenRequests, before + 1);
  });

  it('a token given with a credential is used first and replaced when refused', async () => {
    const lake = await Lake.open({ token: 'first', credential: CREDENTIAL }, (one) => (one.valid = (token) => token === 'first' || token === `token-${one.issued}`));
    await lake.catalog.loadTable(ORDERS);
    assert.equal(lake.tokenRequests, 0);
    lake.valid = (token) => token === `token-${lake.issued}`;
    await lake.catalog.loadTable(ORDERS);
    assert.equal(lake.tokenRequests, 1);
  });

  const refusals: [name: string, reply: Scripted, code: ErrorCode, attempts: number][] = [
    ['401 invalid_client', json(401, { error: 'invalid_client', error_description: 'no such client' }), 'CATALOG_AUTH', 1],
    ['400 without JSON', { status: 400, body: '<html>' }, 'CATALOG_AUTH', 1],
    ['404', { status: 404 }, 'CATALOG_AUTH', 1],
    ['200 without a token', json(200, { token: 'x' }), 'CATALOG_AUTH', 1],
    ['500', { status: 500 }, 'CATALOG_UNAVAILABLE', 3],
    ['a reset', 'reset', 'CATALOG_UNREACHABLE', 3],
  ];
  for (const [name, reply, code, attempts] of refusals) {
    it(`token endpoint: ${name} → ${code}, and no secret in the error`, async () => {
      let lake!: Lake;
      const error = await failureOf(Lake.open({ credential: CREDENTIAL }, (one) => {
        lake = one;
        one.tokenReply = () => reply;
      }));
      assert.equal(error.code, code);
      assert.equal(lake.tokenRequests, attempts);
      assert.doesNotMatch(JSON.stringify([error.message, error.hint, error.context, String((error.cause as Error | undefined)?.stack)]), /s3cr/);
    });
  }

  it('a commit whose token cannot be renewed was not sent: definite', async () => {
    const lake = await Lake.open({ credential: CREDENTIAL });
    const base = (await lake.catalog.loadTable(ORDERS))!;
    lake.nowMs = 3600_000;
    lake.tokenReply = () => 'reset';
    assert.equal((await failureOf(lake.catalog.commitTable(base, CHANGE))).code, 'CATALOG_UNREACHABLE');
  });
});
