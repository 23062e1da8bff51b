import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { HadoopCatalog } from '../../src/iceberg/catalog/hadoop.js';
import { S3Storage } from '../../src/storage/s3.js';
import { startS3Server, type S3Server } from './servers/s3.js';

const MIB = 1024 * 1024;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (body: Uint8Array): string => new TextDecoder().decode(body);

describe('S3Storage on a real server', () => {
  let server: S3Server;
  let storage: S3Storage;
  const opened: S3Storage[] = [];

  function open(change: Partial<ConstructorParameters<typeof S3Storage>[0]> = {}, limits: ConstructorParameters<typeof S3Storage>[1] = { attempts: 2 }): S3Storage {
    const made = new S3Storage({ endpoint: server.endpoint, region: server.region, accessKeyId: server.accessKeyId, secretAccessKey: server.secretAccessKey, pathStyleAccess: true, multipartBytes: 5 * MIB, ...change }, limits);
    opened.push(made);
    return made;
  }

  async function listed(prefix: string): Promise<string[]> {
    const found: string[] = [];
    for await (const { location } of storage.list(prefix)) found.push(location);
    return found;
  }

  before(async () => {
    server = await startS3Server();
    await server.createBucket('lake');
    storage = open();
  });
  after(async () => {
    for (const one of opened) await one.close();
    await server.stop();
  });

  it('keys are taken literally, whatever is in them', async () => {
    const names = ['plain', 'with space', 'pct%20%2F', 'plus+and&', 'col=1/ümläut-😀', 'quote\'"', 'semi;colon,at@', 'hash#q?x=1', '(paren)[b]{c}~!*$'];
    for (const name of names) await storage.write(`s3://lake/keys/${name}`, bytes(name));
    for (const name of names) {
      assert.equal(text(await storage.read(`s3a://lake/keys/${name}`)), name);
      assert.equal(await storage.size(`s3n://lake/keys/${name}`), Buffer.byteLength(name));
    }
    assert.deepEqual((await listed('s3://lake/keys')).sort(), names.map((name) => `s3://lake/keys/${name}`).sort());
    await storage.remove(names.map((name) => `s3://lake/keys/${name}`));
    assert.deepEqual(await listed('s3://lake/keys/'), []);
  });

  it('an absent object: no size, FILE_MISSING, no error to remove', async () => {
    assert.equal(await storage.size('s3://lake/none'), undefined);
    await assert.rejects(storage.read('s3://lake/none'), { code: 'FILE_MISSING' });
    await storage.remove(['s3://lake/none']);
  });

  it('an object is replaced, and ifAbsent refuses to', async () => {
    await storage.write('s3://lake/x', bytes('1'));
    await storage.write('s3://lake/x', bytes('two'));
    await assert.rejects(storage.write('s3://lake/x', bytes('3'), { ifAbsent: true }), { code: 'FILE_EXISTS' });
    assert.equal(text(await storage.read('s3://lake/x')), 'two');
  });

  it('of many ifAbsent writers exactly one wins', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 16 }, (_, i) => open().write('s3://lake/race', bytes(`writer ${i}`), { ifAbsent: true })));
    const winners = outcomes.flatMap((outcome, i) => (outcome.status === 'fulfilled' ? [i] : []));
    assert.equal(winners.length, 1);
    for (const outcome of outcomes) if (outcome.status === 'rejected') assert.equal((outcome.reason as { code: string }).code, 'FILE_EXISTS');
    assert.equal(text(await storage.read('s3://lake/race')), `writer ${winners[0]}`);
  });

  it('large objects arrive whole, in parts, also when they must be new', async () => {
    const body = new Uint8Array(11 * MIB);
    for (let i = 0; i < body.length; i += 4096) body[i] = (i / 4096) % 251;
    await storage.write('s3://lake/large', body, { ifAbsent: true });
    assert.ok(Buffer.from(await storage.read('s3://lake/large')).equals(body));
    assert.equal(await storage.size('s3://lake/large'), body.length);
    await assert.rejects(storage.write('s3://lake/large', new Uint8Array(6 * MIB), { ifAbsent: true }), { code: 'FILE_EXISTS' });
    assert.equal(await storage.size('s3://lake/large'), body.length);
  });

  it('more objects than a page or a batch holds are all listed and all removed', async () => {
    const names = Array.from({ length: 1203 }, (_, i) => `s3://lake/many/${String(i).padStart(5, '0')}`);
    for (let first = 0; first < names.length; first += 100) await Promise.all(names.slice(first, first + 100).map((name) => storage.write(name, bytes('x'))));
    await storage.write('s3://lake/many-more/x', bytes('neighbour'));
    assert.deepEqual(await listed('s3://lake/many'), names);
    await storage.remove(names);
    assert.deepEqual(await listed('s3://lake/many'), []);
    assert.equal(await storage.size('s3://lake/many-more/x'), 9);
  });

  it('a missing bucket and wrong keys say so', async () => {
    await assert.rejects(storage.write('s3://no-such-bucket/x', bytes('1')), (error: { code: string; hint: string }) => error.code === 'STORAGE_REFUSED' && /bucket/.test(error.hint));
    await assert.rejects(open({ secretAccessKey: 'wrong' }).read('s3://lake/x'), { code: 'STORAGE_AUTH' });
    await assert.rejects(open({ accessKeyId: 'nobody' }).read('s3://lake/x'), { code: 'STORAGE_AUTH' });
  });

  it('a killed server is unreachable, and serves the same client when it is back', async () => {
    await storage.write('s3://lake/before', bytes('kept'));
    await server.kill();
    await assert.rejects(storage.read('s3://lake/before'), { code: 'STORAGE_UNREACHABLE' });
    await assert.rejects(storage.write('s3://lake/during', bytes('x')), { code: 'STORAGE_UNREACHABLE' });
    await server.restart();
    assert.equal(text(await storage.read('s3://lake/before')), 'kept');
  });

  it('a server that hangs is given up', async () => {
    const impatient = open({}, { attempts: 1, idleMs: 300 });
    await impatient.read('s3://lake/before');
    server.suspend();
    try {
      await assert.rejects(impatient.read('s3://lake/before'), { code: 'STORAGE_UNREACHABLE' });
    } finally {
      server.resume();
    }
    assert.equal(text(await impatient.read('s3://lake/before')), 'kept');
  });

  it('a file system catalog on S3: of commits on one state one is applied', async () => {
    const catalog = (): HadoopCatalog => new HadoopCatalog({ name: 'lake', warehouse: 's3://lake/warehouse', storage: open() });
    const table = { namespace: ['shop'], name: 'orders' };
    const base = await catalog().createTable(table, { schema: { type: 'struct', fields: [{ id: 1, name: 'id', required: true, type: 'long' }] }, properties: {} });
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, (_, i) => catalog().commitTable(base, { requirements: [], updates: [{ action: 'set-properties', updates: { writer: String(i) } }] })));
    const winners = outcomes.flatMap((outcome, i) => (outcome.status === 'fulfilled' ? [String(i)] : []));
    assert.equal(winners.length, 1);
    for (const outcome of outcomes) if (outcome.status === 'rejected') assert.equal((outcome.reason as { code: string }).code, 'COMMIT_CONFLICT');
    assert.equal((await catalog().loadTable(table))?.metadata.properties.writer, winners[0]);
  });
});
