import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3Access } from '../readers/reader.js';
import { answers, freePort, RestartableServer } from './guarded-process.js';
import { installation } from './installation.js';

/** versitygw over a folder of its own: path-style addressing only, signatures checked, `If-None-Match: *` atomic, multipart. */
export interface S3Server extends S3Access {
  createBucket(name: string): Promise<void>;
  /** Bucket folders, their objects as plain files: for tests that damage or count objects behind the server's back. */
  readonly folder: string;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
  /** SIGKILL; data stay. */
  kill(): Promise<void>;
  /** Same endpoint, same data; also after kill(). */
  restart(): Promise<void>;
  /** SIGSTOP and SIGCONT: a server that hangs. */
  suspend(): void;
  resume(): void;
  log(): string;
}

/** Takes well under a second. */
export async function startS3Server(): Promise<S3Server> {
  const { versitygw } = installation();
  const root = mkdtempSync(join(tmpdir(), 'walberg-s3-'));
  const folder = join(root, 'buckets');
  // Attributes in a folder beside the objects: not every file system has extended attributes.
  const attributes = join(root, 'attributes');
  for (const made of [folder, attributes]) mkdirSync(made);
  const port = await freePort();
  const access: S3Access = { endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1', accessKeyId: 'walberg', secretAccessKey: 'walberg-secret' };
  const server = new RestartableServer({
    name: 'versitygw',
    command: versitygw,
    // One request per connection: with --keep-alive about one in 25 of the AWS C++ client's CompleteMultipartUpload requests on a reused connection is answered 400.
    args: ['--port', `127.0.0.1:${port}`, '--region', access.region, 'posix', '--sidecar', attributes, folder],
    env: { ROOT_ACCESS_KEY_ID: access.accessKeyId, ROOT_SECRET_ACCESS_KEY: access.secretAccessKey },
    folder: root,
    logFile: join(root, 'server.log'),
    // Without a signature: 403 says that it serves.
    ready: () => answers(access.endpoint, (status) => status === 403),
  });
  await server.start();
  return {
    ...access,
    folder,
    async createBucket(name) {
      const client = new S3Client({ endpoint: access.endpoint, region: access.region, forcePathStyle: true, credentials: access });
      try {
        await client.send(new CreateBucketCommand({ Bucket: name }));
      } finally {
        client.destroy();
      }
    },
    stop: () => server.stop(),
    kill: () => server.kill(),
    restart: () => server.restart(),
    suspend: () => server.suspend(),
    resume: () => server.resume(),
    log: () => server.log(),
  };
}
