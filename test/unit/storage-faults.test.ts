import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HadoopCatalog } from '../../src/iceberg/catalog/hadoop.js';
import type { LoadedTable } from '../../src/iceberg/catalog/catalog.js';
import { MemoryStorage } from '../../src/storage/memory.js';
import { FaultCatalog, type CatalogFault } from '../support/fault-catalog.js';
import { FaultStorage } from '../support/fault-storage.js';
import { Gate } from '../support/faults.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const ORDERS = { namespace: ['shop'], name: 'orders' };

describe('scripted faults of a storage', () => {
  it('the nth matching call fails, others do not', async () => {
    const inner = new MemoryStorage();
    const storage = new FaultStorage(inner, [{ on: 'write', nth: 2, times: 2, where: (location) => location.endsWith('.parquet'), action: { kind: 'fail', code: 'STORAGE_FULL' } }]);
    await storage.write('/a.parquet', bytes('1'));
    await storage.write('/a.avro', bytes('1'));
    assert.equal(storage.exhausted, false);
    await assert.rejects(storage.write('/b.parquet', bytes('1')), { code: 'STORAGE_FULL' });
    await assert.rejects(storage.write('/b.parquet', bytes('1')), { code: 'STORAGE_FULL' });
    assert.equal(storage.exhausted, true);
    assert.equal(await inner.size('/b.parquet'), undefined);
    await storage.write('/b.parquet', bytes('1'));
    assert.equal(await inner.size('/b.parquet'), 1);
    assert.deepEqual(storage.calls.map(({ operation, locations }) => `${operation} ${locations.join()}`), ['write /a.parquet', 'write /a.avro', ...Array.from({ length: 3 }, () => 'write /b.parquet')]);
  });

  it('a lost reply: done, and failed', async () => {
    const inner = new MemoryStorage();
    const storage = new FaultStorage(inner, [{ on: ['write', 'remove'], times: Infinity, action: { kind: 'fail-after', code: 'STORAGE_UNREACHABLE' } }]);
    await assert.rejects(storage.write('/a', bytes('1')), { code: 'STORAGE_UNREACHABLE' });
    assert.equal(await inner.size('/a'), 1);
    await assert.rejects(storage.remove(['/a']), { code: 'STORAGE_UNREACHABLE' });
    assert.equal(await inner.size('/a'), undefined);
    storage.heal();
    await storage.write('/a', bytes('1'));
  });

  it('held before: not done until released; held after: done, the reply waits', async () => {
    const inner = new MemoryStorage();
    const [early, late] = [new Gate(), new Gate()];
    const storage = new FaultStorage(inner, [{ on: 'write', action: { kind: 'hold', gate: early } }, { on: 'write', nth: 2, action: { kind: 'hold-after', gate: late } }]);
    const first = storage.write('/a', bytes('1'));
    await early.reached;
    assert.equal(await inner.size('/a'), undefined);
    early.release();
    await first;
    let replied = false;
    const second = storage.write('/b', bytes('1')).then(() => (replied = true));
    await late.reached;
    assert.equal(await inner.size('/b'), 1);
    assert.equal(replied, false);
    late.release();
    await second;
  });

  it('a listing can fail, and something else can happen first', async () => {
    const inner = new MemoryStorage();
    const storage = new FaultStorage(inner, [{ on: 'list', action: { kind: 'fail', code: 'STORAGE_AUTH' } }, { on: 'read', action: { kind: 'run', run: () => inner.write('/a', bytes('by another')) } }]);
    await assert.rejects(storage.list('/').next(), { code: 'STORAGE_AUTH' });
    assert.equal(new TextDecoder().decode(await storage.read('/a')), 'by another');
  });
});

describe('scripted faults of a catalog', () => {
  const change = (value: string): Parameters<FaultCatalog['commitTable']>[1] => ({ requirements: [], updates: [{ action: 'set-properties', updates: { step: value } }] });

  async function withTable(...script: CatalogFault[]): Promise<{ catalog: FaultCatalog; base: LoadedTable; step: () => Promise<string | undefined> }> {
    const inner = new HadoopCatalog({ name: 'lake', warehouse: '/lake', storage: new MemoryStorage() });
    const catalog = new FaultCatalog(inner, script);
    await catalog.ensureNamespace(ORDERS.namespace);
    const base = await catalog.createTable(ORDERS, { schema: { type: 'struct', fields: [{ id: 1, name: 'id', required: true, type: 'long' }] }, properties: {} });
    return { catalog, base, step: async () => (await inner.loadTable(ORDERS))?.metadata.properties.step };
  }

  const outcomes: [CatalogFault['action'], string, string | undefined][] = [
    [{ kind: 'conflict' }, 'COMMIT_CONFLICT', undefined],
    [{ kind: 'unknown-not-applied' }, 'COMMIT_UNKNOWN', undefined],
    [{ kind: 'unknown-applied' }, 'COMMIT_UNKNOWN', '1'],
    [{ kind: 'unavailable' }, 'CATALOG_UNAVAILABLE', undefined],
    [{ kind: 'auth-expired' }, 'CATALOG_AUTH', undefined],
    [{ kind: 'fail', code: 'CATALOG_UNREACHABLE' }, 'CATALOG_UNREACHABLE', undefined],
    [{ kind: 'fail-after', code: 'CATALOG_UNREACHABLE' }, 'CATALOG_UNREACHABLE', '1'],
  ];
  for (const [action, code, applied] of outcomes) {
    it(`${action.kind} → ${code}, ${applied === undefined ? 'not applied' : 'applied'}`, async () => {
      const { catalog, base, step } = await withTable({ on: 'commitTable', action });
      await assert.rejects(catalog.commitTable(base, change('1')), { code });
      assert.equal(await step(), applied);
      await catalog.commitTable((await catalog.loadTable(ORDERS))!, change('2'));
      assert.equal(await step(), '2');
    });
  }

  it('unknown-applied-later lands when released, or is refused if the table has moved on', async () => {
    for (const moved of [false, true]) {
      const gate = new Gate();
      const { catalog, base, step } = await withTable({ on: 'commitTable', where: ({ name, change: what }) => name === 'shop.orders' && what !== undefined, action: { kind: 'unknown-applied-later', gate } });
      await assert.rejects(catalog.commitTable(base, change('late')), { code: 'COMMIT_UNKNOWN' });
      assert.equal(await step(), undefined);
      if (moved) await catalog.commitTable(base, change('other'));
      gate.release();
      assert.equal((await catalog.late[0]).status, moved ? 'rejected' : 'fulfilled');
      assert.equal(await step(), moved ? 'other' : 'late');
    }
  });

  it('another writer can come first', async () => {
    const session = await withTable();
    const { catalog, base, step } = session;
    catalog.add({ on: 'commitTable', action: { kind: 'run', run: async () => void (await catalog.commitTable(base, change('other'))) } });
    await assert.rejects(catalog.commitTable(base, change('ours')), { code: 'COMMIT_CONFLICT' });
    assert.equal(await step(), 'other');
    assert.equal(catalog.exhausted, true);
  });
});
