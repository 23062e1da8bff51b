import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { createObservers, type Observers } from '../../src/observe/observers.js';
import { broadcast } from '../../src/observe/events.js';
import { Health } from '../../src/observe/health.js';
import { StatusServer } from '../../src/observe/http.js';
import { Metrics } from '../../src/observe/metrics.js';
import { SourceLag } from '../../src/observe/source-lag.js';

const lag = new SourceLag();
const health = new Health({ lag });
const server = new StatusServer({ health, metrics: new Metrics({ version: '1', lag }) });
const port = await server.listen(0, '127.0.0.1');
const events = broadcast([lag.listener, health.listener]);
after(() => server.close());

const get = (path: string, init?: RequestInit): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`, init);

test('health answers 503 and 200 with Quarkus’ JSON, under both kinds of path', async () => {
  for (const path of ['/q/health/ready', '/ready', '/q/health', '/q/health/ready/']) {
    const down = await get(path);
    assert.equal(down.status, 503, path);
    const body = await down.json() as { status: string; checks: { name: string; status: string }[] };
    assert.equal(body.status, 'DOWN');
    assert.ok(body.checks.some((c) => c.name === 'streaming' && c.status === 'DOWN'));
    assert.match(down.headers.get('content-type')!, /^application\/json/);
  }
  assert.equal((await get('/q/health/live')).status, 200);
  assert.equal((await get('/q/health/started')).status, 503);
  events.sessionStarted({ slot: 's', publication: 'p', startLsn: 1n, tables: [] });
  for (const path of ['/q/health/ready', '/ready', '/q/health', '/q/health/live', '/live', '/q/health/started', '/q/health/live?x=1']) {
    const up = await get(path);
    assert.equal(up.status, 200, path);
    assert.equal((await up.json() as { status: string }).status, 'UP');
  }
});

test('metrics are served as Prometheus text', async () => {
  for (const path of ['/q/metrics', '/metrics']) {
    const response = await get(path);
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/);
    assert.match(await response.text(), /^walberg_build_info\{version="1",node="[0-9.]+"\} 1$/m);
  }
});

test('other paths and methods', async () => {
  assert.equal((await get('/nothing')).status, 404);
  assert.equal((await get('/')).status, 200);
  assert.equal((await get('/constructor')).status, 404);
  assert.equal((await get('/q/health', { method: 'POST', body: 'x' })).status, 405);
  const head = await get('/live', { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
});

function observers(httpPort: number): Observers {
  return createObservers({ httpPort, httpHost: '127.0.0.1', logLevel: 'silent', logJson: true }, { version: '1', env: {} });
}

test('a taken port is an error with its code; port 0 opens none', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const busy = (taken.address() as AddressInfo).port;
  const o = observers(busy);
  await assert.rejects(o.start(), (error: { code: string; message: string }) => error.code === 'HTTP_PORT' && error.message.includes(String(busy)));
  await o.stop();
  await new Promise((resolve) => taken.close(resolve));
  const again = observers(busy);
  assert.deepEqual(await again.start(), { port: busy });
  broadcast(again.listeners).sessionStarted({ slot: 's', publication: 'p', startLsn: 1n, tables: [] });
  assert.equal((await fetch(`http://127.0.0.1:${busy}/q/health/ready`)).status, 200, 'the listeners feed what is served');
  assert.match(await (await fetch(`http://127.0.0.1:${busy}/q/metrics`)).text(), /^walberg_streaming 1$/m);
  await again.stop();
  await again.stop();
  const none = observers(0);
  assert.deepEqual(await none.start(), { port: undefined });
  await none.stop();
});
