import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { createStorage } from '../../src/storage/router.js';
import { MemoryStorage } from '../../src/storage/memory.js';
import { canonicalLocation, parseS3Location } from '../../src/storage/s3-location.js';
import type { Storage } from '../../src/storage/storage.js';
import { ScriptedHttp } from '../support/scripted-http.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
let root: string;
let server: ScriptedHttp;
let storage: Storage;
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'walberg-router-'));
  server = await ScriptedHttp.start(({ method }) => ({ status: 200, body: method === 'POST' ? '<DeleteResult/>' : 'object' }));
  storage = createStorage({ s3: { endpoint: server.url, region: 'us-east-1', accessKeyId: 'k', secretAccessKey: 's', pathStyleAccess: true, multipartBytes: 5 * 1024 * 1024 } });
});
after(async () => {
  await storage.close?.();
  await server.close();
  await rm(root, { recursive: true, force: true });
});

describe('storage by scheme', () => {
  it('file: and plain paths are files, s3:, s3a: and s3n: are objects', async () => {
    await storage.write(`file://${root}/a`, bytes('file'));
    assert.equal(new TextDecoder().decode(await storage.read(`${root}/a`)), 'file');
    for (const scheme of ['s3', 's3a', 's3n', 'S3']) assert.equal(new TextDecoder().decode(await storage.read(`${scheme}://lake/a`)), 'object');
    assert.equal(server.seen.length, 4);
  });

  it('an unknown scheme is named, and nothing is removed beside it', async () => {
    await storage.write(`${root}/b`, bytes('kept'));
    await assert.rejects(storage.remove([`${root}/b`, 'gs://lake/b']), (error: { code: string; message: string }) => error.code === 'CONFIG_INVALID' && error.message.includes('gs:'));
    assert.equal(await storage.size(`${root}/b`), 4);
    await assert.rejects(storage.read('warehouse/x'), { code: 'CONFIG_INVALID' });
    await assert.rejects(storage.write('hdfs://n/x', bytes('')), { code: 'CONFIG_INVALID' });
  });

  it('removes from each storage what is its own', async () => {
    const before = server.seen.length;
    await storage.remove([`${root}/a`, 's3://lake/x', `file://${root}/b`]);
    assert.equal(await storage.size(`${root}/a`), undefined);
    assert.equal(await storage.size(`${root}/b`), undefined);
    assert.equal(server.seen.length, before + 1);
  });

  it('local runs do not load the AWS SDK', async () => {
    const router = new URL('../../src/storage/router.js', import.meta.url).href;
    // A loader that refuses the SDK: the program fails if anything asks for it.
    const refuse = `data:text/javascript,export async function resolve(name, context, next) { if (/^@(aws-sdk|smithy)/.test(name)) throw new Error('asked for ' + name); return next(name, context); }`;
    const program = `import { register } from 'node:module'; register(${JSON.stringify(refuse)});
      const { createStorage } = await import(${JSON.stringify(router)});
      const storage = createStorage();
      await storage.write(${JSON.stringify(`${root}/c`)}, new Uint8Array(1));
      await storage.read('s3://lake/x').catch((error) => console.log(error.message));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
    assert.match(stdout, /asked for @aws-sdk/);
    assert.equal(await storage.size(`${root}/c`), 1);
  });
});

describe('S3 locations', () => {
  it('bucket and key are taken as they are', () => {
    assert.deepEqual(parseS3Location('s3a://lake/a%20b//c/'), { bucket: 'lake', key: 'a%20b//c/' });
    assert.deepEqual(parseS3Location('s3://lake'), { bucket: 'lake', key: '' });
    assert.deepEqual(parseS3Location('s3://lake/a\nb'), { bucket: 'lake', key: 'a\nb' });
    for (const wrong of ['s3:///key', 's3://', 's3:lake/key', '/lake/key']) assert.throws(() => parseS3Location(wrong), { code: 'CONFIG_INVALID' });
  });

  it('are compared in one spelling', () => {
    assert.equal(canonicalLocation('s3a://lake/a'), 's3://lake/a');
    assert.equal(canonicalLocation('S3N://lake/a'), 's3://lake/a');
    assert.equal(canonicalLocation('file:///s3a://x'), 'file:///s3a://x');
  });
});

describe('storage in memory', () => {
  it('behaves as the others: copies, ifAbsent, folders', async () => {
    const memory = new MemoryStorage();
    const body = bytes('one');
    await memory.write('s3://b/t1/x', body);
    body[0] = 0;
    assert.equal(new TextDecoder().decode(await memory.read('s3://b/t1/x')), 'one');
    await memory.write('s3://b/t10/x', bytes('two'));
    await assert.rejects(memory.write('s3://b/t1/x', bytes('two'), { ifAbsent: true }), { code: 'FILE_EXISTS' });
    await assert.rejects(memory.read('s3://b/none'), { code: 'FILE_MISSING' });
    assert.equal(await memory.size('s3://b/none'), undefined);
    const found = [];
    for await (const { location } of memory.list('s3://b/t1/')) found.push(location);
    assert.deepEqual(found, ['s3://b/t1/x']);
    await memory.remove(['s3://b/t1/x', 's3://b/none']);
    assert.equal(await memory.size('s3://b/t1/x'), undefined);
  });
});
