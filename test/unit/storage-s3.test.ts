import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { afterEach, describe, it } from 'node:test';
import type { S3Config } from '../../src/config/config.js';
import type { ErrorCode } from '../../src/errors/codes.js';
import { isWalbergError, type WalbergError } from '../../src/errors/error.js';
import { S3Storage } from '../../src/storage/s3.js';
import { ScriptedHttp, type Handler, type Scripted, type ScriptedReply, type SeenRequest } from '../support/scripted-http.js';

const MIB = 1024 * 1024;
const KEYS = { accessKeyId: 'key', secretAccessKey: 'secret' };

let open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open) await one.close();
  open = [];
});

async function session(handler: Handler, config: Partial<S3Config> = {}, limits: ConstructorParameters<typeof S3Storage>[1] = {}): Promise<{ server: ScriptedHttp; storage: S3Storage }> {
  const server = await ScriptedHttp.start(handler);
  const storage = new S3Storage({ endpoint: server.url, region: 'eu-west-1', pathStyleAccess: true, multipartBytes: 5 * MIB, ...KEYS, ...config }, { attempts: 2, ...limits });
  open.push(storage, server);
  return { server, storage };
}

/** Answers one after the other; the last answer repeats. */
function answers(...replies: Scripted[]): Handler {
  let next = 0;
  return () => replies[Math.min(next++, replies.length - 1)];
}

function xmlError(status: number, code: string, message = 'scripted'): Scripted {
  return { status, headers: { 'content-type': 'application/xml' }, body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>` };
}

async function failureOf(action: Promise<unknown>): Promise<WalbergError> {
  const error = await action.then(() => assert.fail('it succeeded'), (thrown: unknown) => thrown);
  assert.ok(isWalbergError(error), String((error as Error).stack));
  return error;
}

async function withEnvironment<T>(variables: Readonly<Record<string, string | undefined>>, action: () => Promise<T>): Promise<T> {
  const before = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]));
  const apply = (values: Readonly<Record<string, string | undefined>>): void => {
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
  apply(variables);
  try {
    return await action();
  } finally {
    apply(before);
  }
}

const BODY = new TextEncoder().encode('{"format-version":2}');
const OBJECT = 's3://lake/t/metadata/v1.metadata.json';

describe('S3: writing', () => {
  it('puts the object under the key as it is, in one request without newer checksums', async () => {
    const { server, storage } = await session(() => ({ status: 200 }));
    await storage.write('s3a://lake/t/a b/c%20d+e=ü', BODY);
    const [sent] = server.seen;
    assert.equal(sent.method, 'PUT');
    assert.equal(decodeURIComponent(new URL(sent.path, server.url).pathname), '/lake/t/a b/c%20d+e=ü');
    assert.equal(sent.body, '{"format-version":2}');
    assert.equal(sent.headers['if-none-match'], undefined);
    assert.deepEqual(Object.keys(sent.headers).filter((name) => /checksum|trailer/.test(name)), []);
    assert.match(sent.headers.authorization, /Credential=key\/\d+\/eu-west-1\/s3/);
  });

  it('ifAbsent asks the server to refuse, and a refusal is FILE_EXISTS', async () => {
    for (const reply of [xmlError(412, 'PreconditionFailed'), xmlError(409, 'ConditionalRequestConflict'), { status: 412 }]) {
      const { server, storage } = await session(() => reply);
      assert.equal((await failureOf(storage.write(OBJECT, BODY, { ifAbsent: true }))).code, 'FILE_EXISTS');
      assert.equal(server.seen[0].headers['if-none-match'], '*');
      assert.equal(server.seen.length, 1);
    }
  });

  it('ifAbsent whose reply was lost: refused the second time because of our own object is success', async () => {
    const objects = new Map<string, string>();
    let puts = 0;
    const { storage } = await session(({ method, path, body }) => {
      if (method === 'GET') return { status: 200, body: objects.get(path.split('?')[0])! };
      puts++;
      const key = path.split('?')[0];
      if (objects.has(key)) return xmlError(412, 'PreconditionFailed');
      objects.set(key, body);
      return 'reset';
    });
    await storage.write(OBJECT, BODY, { ifAbsent: true });
    assert.equal(puts, 2);
  });

  it('ifAbsent whose first try failed, with the object of another there the second time, is FILE_EXISTS', async () => {
    const { storage } = await session(({ method, index }) => (method === 'GET' ? { status: 200, body: '{"format-version":1}' } : index === 1 ? { status: 500 } : xmlError(412, 'PreconditionFailed')));
    assert.equal((await failureOf(storage.write(OBJECT, BODY, { ifAbsent: true }))).code, 'FILE_EXISTS');
  });

  it('large bodies go in parts, and the condition is on the request that makes them an object', async () => {
    const parts = new Map<string, number>();
    const handler: Handler = ({ method, path, body }) => {
      const query = new URL(path, 'http://x').searchParams;
      if (method === 'POST' && query.has('uploads')) return { status: 200, body: '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>' };
      if (method === 'PUT') {
        parts.set(query.get('partNumber')!, body.length);
        return { status: 200, headers: { etag: `"${query.get('partNumber')}"` } };
      }
      return { status: 200, body: '<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>' };
    };
    const { server, storage } = await session(handler);
    await storage.write('s3://lake/big', new Uint8Array(12 * MIB), { ifAbsent: true });
    assert.deepEqual([...parts].sort(), [['1', 5 * MIB], ['2', 5 * MIB], ['3', 2 * MIB]]);
    const complete = server.seen.at(-1)!;
    assert.equal(`${complete.method} ${new URL(complete.path, server.url).searchParams.get('uploadId')}`, 'POST u1');
    assert.equal(complete.headers['if-none-match'], '*');
    server.handler = (request) => (request.method === 'POST' && request.path.includes('uploadId') ? xmlError(412, 'PreconditionFailed') : handler(request));
    assert.equal((await failureOf(storage.write('s3://lake/big', new Uint8Array(6 * MIB), { ifAbsent: true }))).code, 'FILE_EXISTS');
    assert.equal(server.seen.at(-1)?.method, 'DELETE');
  });

  it('a body of exactly one part needs no multipart', async () => {
    const { server, storage } = await session(() => ({ status: 200 }));
    await storage.write('s3://lake/one', new Uint8Array(5 * MIB));
    assert.equal(server.seen.length, 1);
  });
});

describe('S3: reading', () => {
  it('returns the bytes, and an empty object is empty', async () => {
    const bytes = Uint8Array.from({ length: 300 }, (_, i) => i);
    const { storage } = await session(answers({ status: 200, body: bytes }, { status: 200, body: '' }));
    assert.deepEqual(await storage.read(OBJECT), bytes);
    assert.equal((await storage.read(OBJECT)).byteLength, 0);
  });

  it('reads again when the body breaks off', async () => {
    const { server, storage } = await session(answers({ status: 200, body: BODY, cutAfter: 3 }, { status: 200, body: BODY }));
    assert.deepEqual(await storage.read(OBJECT), BODY);
    assert.equal(server.seen.length, 2);
  });

  it('gives up on a body that always breaks off', async () => {
    const { storage } = await session(() => ({ status: 200, body: BODY, cutAfter: 3 }));
    assert.equal((await failureOf(storage.read(OBJECT))).policy, 'retry');
  });

  it('size is that of the object, undefined without one', async () => {
    const { storage } = await session(answers({ status: 200, headers: { 'content-length': '4711' } }, { status: 404 }));
    assert.equal(await storage.size(OBJECT), 4711);
    assert.equal(await storage.size(OBJECT), undefined);
  });

  it('size without the right to list cannot tell: S3 says 403', async () => {
    const { storage } = await session(() => ({ status: 403 }));
    const error = await failureOf(storage.size(OBJECT));
    assert.equal(error.code, 'STORAGE_AUTH');
    assert.match(error.hint, /s3:ListBucket/);
  });
});

describe('S3: listing and removing', () => {
  const page = (keys: readonly string[], next?: string): Scripted => ({
    status: 200,
    body: `<ListBucketResult><IsTruncated>${next !== undefined}</IsTruncated>${next === undefined ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`}`
      + `${keys.map((key, i) => `<Contents><Key>${key}</Key><Size>${i}</Size><LastModified>2026-01-02T03:04:05.678Z</LastModified></Contents>`).join('')}</ListBucketResult>`,
  });

  it('goes through all pages, below the folder only, in the spelling of the caller', async () => {
    const { server, storage } = await session(answers(page(['t/a', 't/b &amp; c'], 'next/1=='), page(['t/folder/', 't/d'])));
    const found = [];
    for await (const one of storage.list('s3a://lake/t/')) found.push(one);
    const modifiedMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
    assert.deepEqual(found, [{ location: 's3a://lake/t/a', size: 0, modifiedMs }, { location: 's3a://lake/t/b & c', size: 1, modifiedMs }, { location: 's3a://lake/t/d', size: 1, modifiedMs }]);
    const queries = server.seen.map(({ path }) => new URL(path, server.url).searchParams);
    assert.deepEqual(queries.map((query) => [query.get('prefix'), query.get('continuation-token')]), [['t/', null], ['t/', 'next/1==']]);
  });

  it('lists a whole bucket', async () => {
    const { server, storage } = await session(() => page(['a']));
    const found = [];
    for await (const { location } of storage.list('s3://lake')) found.push(location);
    assert.deepEqual(found, ['s3://lake/a']);
    assert.equal(new URL(server.seen[0].path, server.url).searchParams.get('prefix') ?? '', '');
  });

  it('removes at most 1000 objects a request, per bucket, with the digest every server knows', async () => {
    const { server, storage } = await session(() => ({ status: 200, body: '<DeleteResult/>' }));
    await storage.remove([...Array.from({ length: 1001 }, (_, i) => `s3://lake/f${i}`), 's3n://other/x']);
    const count = ({ body }: SeenRequest): number => body.split('<Key>').length - 1;
    assert.deepEqual(server.seen.map((sent) => [new URL(sent.path, server.url).pathname.replace(/\/$/, ''), count(sent)]), [['/lake', 1000], ['/lake', 1], ['/other', 1]]);
    for (const sent of server.seen) {
      assert.equal(sent.headers['content-md5'], createHash('md5').update(sent.body).digest('base64'));
      assert.deepEqual(Object.keys(sent.headers).filter((name) => name.includes('checksum')), []);
    }
  });

  it('absent objects are no error, refused ones are', async () => {
    const reply = (code: string): Scripted => ({ status: 200, body: `<DeleteResult><Error><Key>f</Key><Code>${code}</Code><Message>scripted</Message></Error></DeleteResult>` });
    const { storage } = await session(answers(reply('NoSuchKey'), reply('AccessDenied')));
    await storage.remove(['s3://lake/f']);
    const error = await failureOf(storage.remove(['s3://lake/f']));
    assert.equal(error.code, 'STORAGE_AUTH');
    assert.match(error.message, /s3:\/\/lake\/f/);
  });

  it('removing nothing asks nothing', async () => {
    const { server, storage } = await session(() => ({ status: 200 }));
    await storage.remove([]);
    assert.equal(server.seen.length, 0);
  });
});

describe('S3: what errors mean', () => {
  const cases: [name: string, reply: Scripted, code: ErrorCode, attempts: number, hint?: RegExp][] = [
    ['NoSuchKey', xmlError(404, 'NoSuchKey'), 'FILE_MISSING', 1],
    ['NoSuchBucket', xmlError(404, 'NoSuchBucket'), 'STORAGE_REFUSED', 1, /bucket/],
    ['404 of another server', { status: 404, body: '<html>nothing here</html>' }, 'STORAGE_REFUSED', 1, /s3\.endpoint/],
    ['404 without a body', { status: 404 }, 'STORAGE_REFUSED', 1, /s3\.endpoint/],
    ['404 for an unknown user', xmlError(404, 'XAdminUserNotFound'), 'STORAGE_AUTH', 1, /access-key-id/],
    ['AccessDenied', xmlError(403, 'AccessDenied'), 'STORAGE_AUTH', 1, /s3:GetObject/],
    ['InvalidAccessKeyId', xmlError(403, 'InvalidAccessKeyId'), 'STORAGE_AUTH', 1, /access-key-id/],
    ['SignatureDoesNotMatch', xmlError(403, 'SignatureDoesNotMatch'), 'STORAGE_AUTH', 1, /secret-access-key/],
    ['ExpiredToken', xmlError(400, 'ExpiredToken'), 'STORAGE_AUTH', 1, /expired/],
    ['RequestTimeTooSkewed', xmlError(403, 'RequestTimeTooSkewed'), 'STORAGE_AUTH', 1, /clock/],
    ['a bucket in another region', xmlError(301, 'PermanentRedirect'), 'STORAGE_REFUSED', 1, /client\.region/],
    ['the wrong region', xmlError(400, 'AuthorizationHeaderMalformed'), 'STORAGE_REFUSED', 1, /client\.region/],
    ['501', xmlError(501, 'NotImplemented'), 'STORAGE_REFUSED', 1, /If-None-Match/],
    ['400', xmlError(400, 'InvalidArgument'), 'STORAGE_REFUSED', 1],
    ['500', xmlError(500, 'InternalError'), 'STORAGE_UNREACHABLE', 2],
    ['503 SlowDown', xmlError(503, 'SlowDown'), 'STORAGE_UNREACHABLE', 2],
    ['502 of a proxy', { status: 502, body: '<html><body>bad gateway</body></html>' }, 'STORAGE_UNREACHABLE', 2],
    ['507', { status: 507 }, 'STORAGE_FULL', 1],
    ['a full MinIO', xmlError(507, 'XMinioStorageFull'), 'STORAGE_FULL', 1],
    ['a reset', 'reset', 'STORAGE_UNREACHABLE', 2],
  ];
  for (const [name, reply, code, attempts, hint] of cases) {
    it(`${name} → ${code}`, async () => {
      const { server, storage } = await session(() => reply);
      const error = await failureOf(storage.read(OBJECT));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, /s3:\/\/lake\/t\/metadata\/v1\.metadata\.json/);
      if (hint !== undefined) assert.match(error.hint, hint);
      assert.ok(attempts === 1 ? server.seen.length === 1 : server.seen.length >= attempts, `${server.seen.length} requests`);
    });
  }

  it('a clock that is off is corrected by what the server says', async () => {
    const hourAhead = new Date(Date.now() + 3_600_000);
    const skewed = xmlError(403, 'RequestTimeTooSkewed') as ScriptedReply;
    const { server, storage } = await session(answers({ ...skewed, headers: { ...skewed.headers, date: hourAhead.toUTCString() } }, { status: 200, body: BODY }));
    assert.deepEqual(await storage.read(OBJECT), BODY);
    const minutes = (sent: SeenRequest): number => Date.parse(sent.headers['x-amz-date'].replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z')) / 60_000;
    const [first, second] = server.seen.map(minutes);
    assert.ok(second - first > 55 && second - first < 65, `${second - first} minutes`);
  });

  it('no credentials anywhere → STORAGE_AUTH', async () => {
    const { storage } = await session(() => ({ status: 200 }), { accessKeyId: undefined, secretAccessKey: undefined });
    const nowhere = { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined, AWS_PROFILE: undefined, AWS_SHARED_CREDENTIALS_FILE: '/nonexistent', AWS_CONFIG_FILE: '/nonexistent', AWS_EC2_METADATA_DISABLED: 'true' };
    const error = await withEnvironment(nowhere, () => failureOf(storage.read(OBJECT)));
    assert.equal(error.code, 'STORAGE_AUTH');
    assert.match(error.hint, /No credentials were found/);
  });

  it('no region for AWS → STORAGE_REFUSED; a server of one\'s own needs none', async () => {
    const nowhere = { AWS_REGION: undefined, AWS_DEFAULT_REGION: undefined, AWS_PROFILE: undefined, AWS_CONFIG_FILE: '/nonexistent', AWS_SHARED_CREDENTIALS_FILE: '/nonexistent' };
    await withEnvironment(nowhere, async () => {
      const aws = await session(() => ({ status: 200 }), { region: undefined, endpoint: undefined });
      const error = await failureOf(aws.storage.read(OBJECT));
      assert.equal(error.code, 'STORAGE_REFUSED');
      assert.match(error.hint, /client\.region/);
      const own = await session(() => ({ status: 200, body: BODY }), { region: undefined });
      assert.deepEqual(await own.storage.read(OBJECT), BODY);
    });
  });

  it('no reply → STORAGE_UNREACHABLE', async () => {
    const { storage } = await session(() => 'hang', {}, { attempts: 1, idleMs: 50 });
    assert.equal((await failureOf(storage.write(OBJECT, BODY))).code, 'STORAGE_UNREACHABLE');
  });

  it('nothing listens → STORAGE_UNREACHABLE', async () => {
    const { server, storage } = await session(() => 'hang');
    await server.close();
    assert.equal((await failureOf(storage.read(OBJECT))).code, 'STORAGE_UNREACHABLE');
  });

  it('a bucket without a key is no object', async () => {
    const { storage } = await session(() => ({ status: 200 }));
    assert.equal((await failureOf(storage.write('s3://lake', BODY))).code, 'CONFIG_INVALID');
    assert.equal((await failureOf(storage.read('s3://lake/'))).code, 'CONFIG_INVALID');
  });

  it('a closed storage opens again when used', async () => {
    const { storage } = await session(() => ({ status: 200, body: BODY }));
    await storage.read(OBJECT);
    await storage.close();
    assert.deepEqual(await storage.read(OBJECT), BODY);
  });
});
