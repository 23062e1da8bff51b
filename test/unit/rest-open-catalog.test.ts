import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SinkConfig } from '../../src/config/config.js';
import { HadoopCatalog } from '../../src/iceberg/catalog/hadoop.js';
import { openCatalog } from '../../src/iceberg/catalog/open-catalog.js';
import { RestCatalog } from '../../src/iceberg/catalog/rest.js';
import { MemoryStorage } from '../../src/storage/memory.js';
import { restConfig } from '../support/rest-catalog.js';
import { json, ScriptedHttp } from '../support/scripted-http.js';

const sink = (catalog: SinkConfig['catalog']): SinkConfig => ({ catalog }) as SinkConfig;

describe('opening the configured catalog', () => {
  it('hadoop: tables below the warehouse of the given storage', async () => {
    const storage = new MemoryStorage();
    const catalog = await openCatalog(sink(restConfig({ type: 'hadoop', name: 'files', warehouse: 's3://lake/w' })), storage);
    assert.ok(catalog instanceof HadoopCatalog);
    assert.equal(catalog.name, 'files');
    await catalog.createTable({ namespace: ['shop'], name: 'orders' }, { schema: { type: 'struct', fields: [{ id: 1, name: 'id', required: true, type: 'long' }] }, properties: {} });
    assert.ok((await storage.size('s3://lake/w/shop/orders/metadata/v1.metadata.json')) !== undefined);
  });

  it('rest: connected when it resolves', async () => {
    const server = await ScriptedHttp.start(() => json(200, { defaults: {}, overrides: {} }));
    try {
      const catalog = await openCatalog(sink(restConfig({ uri: server.url, warehouse: 'lake' })), new MemoryStorage());
      assert.ok(catalog instanceof RestCatalog);
      assert.deepEqual(server.asked, ['GET /v1/config?warehouse=lake']);
      await catalog.close();
    } finally {
      await server.close();
    }
  });
});
