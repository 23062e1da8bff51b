import type { S3Client } from '@aws-sdk/client-s3';
import type { S3Config } from '../config/config.js';
import { WalbergError } from '../errors/error.js';
import { openS3Client, type S3ClientLimits } from './s3-client.js';
import { attemptsOf, isMissingHead, isPreconditionFailure, s3Error } from './s3-errors.js';
import { parseS3Location } from './s3-location.js';
import type { Storage } from './storage.js';

/** Most keys one DeleteObjects request may name (API reference). */
const REMOVE_BATCH = 1000;
/** Reads of one object whose body broke off half-way; the SDK itself repeats only until the headers are there. */
const READ_ATTEMPTS = 3;
/** Parts of one upload that travel at the same time. */
const PARTS_IN_FLIGHT = 4;

/**
 * S3 and servers that speak its protocol: `s3://bucket/key`, also spelt `s3a://` and `s3n://`. An object is visible only
 * when it is whole, which S3 itself guarantees. The SDK is loaded on first use, so that runs on local files start without it.
 *
 * A write that fails with STORAGE_UNREACHABLE may still take effect later: the request may be under way.
 */
export class S3Storage implements Storage {
  readonly #config: S3Config;
  readonly #limits: S3ClientLimits;
  #opened: Promise<S3Client> | undefined;

  constructor(config: S3Config, limits: S3ClientLimits = {}) {
    this.#config = config;
    this.#limits = limits;
  }

  async write(location: string, body: Uint8Array, options: { ifAbsent?: boolean } = {}): Promise<void> {
    const { bucket, key } = objectAt(location);
    const condition = options.ifAbsent === true ? { IfNoneMatch: '*' } : {};
    const input = { Bucket: bucket, Key: key, Body: body, ...condition };
    try {
      const client = await this.#client();
      if (body.byteLength > this.#config.multipartBytes) {
        const { Upload } = await import('@aws-sdk/lib-storage');
        await new Upload({ client, params: input, partSize: this.#config.multipartBytes, queueSize: PARTS_IN_FLIGHT }).done();
      } else {
        const { PutObjectCommand } = await import('@aws-sdk/client-s3');
        await client.send(new PutObjectCommand({ ...input, ContentLength: body.byteLength }));
      }
    } catch (error) {
      if (options.ifAbsent !== true || !isPreconditionFailure(error)) throw s3Error(error, 'write', location);
      if (attemptsOf(error) > 1 && (await this.#holds(location, body))) return;
      throw new WalbergError('FILE_EXISTS', `Object exists already: ${location}`, { context: { location }, cause: error });
    }
  }

  async read(location: string): Promise<Uint8Array> {
    const { bucket, key } = objectAt(location);
    for (let attempt = 1; ; attempt++) {
      let answered = false;
      try {
        const client = await this.#client();
        const { GetObjectCommand } = await import('@aws-sdk/client-s3');
        const reply = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
        answered = true;
        const bytes = (await reply.Body?.transformToByteArray()) ?? new Uint8Array(0);
        if (reply.ContentLength === undefined || reply.ContentLength === bytes.byteLength) return bytes;
        throw new WalbergError('STORAGE_FAILED', `Read ${bytes.byteLength} of ${reply.ContentLength} bytes of ${location}`, { context: { location } });
      } catch (error) {
        if (!answered || attempt === READ_ATTEMPTS) throw s3Error(error, 'read', location);
      }
    }
  }

  async size(location: string): Promise<number | undefined> {
    const { bucket, key } = objectAt(location);
    try {
      const client = await this.#client();
      const { HeadObjectCommand } = await import('@aws-sdk/client-s3');
      return (await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }))).ContentLength ?? 0;
    } catch (error) {
      if (isMissingHead(error)) return undefined;
      throw s3Error(error, 'read', location);
    }
  }

  async remove(locations: readonly string[]): Promise<void> {
    const buckets = new Map<string, string[]>();
    for (const location of locations) {
      const { bucket, key } = objectAt(location);
      const keys = buckets.get(bucket);
      if (keys === undefined) buckets.set(bucket, [key]);
      else keys.push(key);
    }
    for (const [bucket, keys] of buckets) {
      for (let first = 0; first < keys.length; first += REMOVE_BATCH) await this.#removeBatch(bucket, keys.slice(first, first + REMOVE_BATCH));
    }
  }

  async *list(prefix: string): AsyncIterable<{ location: string; size: number; modifiedMs: number }> {
    const folder = prefix.replace(/\/+$/, '');
    const { bucket, key } = parseS3Location(folder);
    const keyPrefix = key === '' ? '' : `${key}/`;
    // Found locations keep the caller's spelling of scheme and bucket.
    const root = folder.slice(0, folder.length - (key === '' ? 0 : key.length + 1));
    let token: string | undefined;
    do {
      const page = await this.#page(folder, { Bucket: bucket, Prefix: keyPrefix, ContinuationToken: token });
      for (const found of page.Contents ?? []) {
        // Names that end in a slash are folders that consoles and file system connectors pretend.
        if (found.Key === undefined || found.Key.endsWith('/')) continue;
        yield { location: `${root}/${found.Key}`, size: found.Size ?? 0, modifiedMs: found.LastModified?.getTime() ?? 0 };
      }
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    (await opened?.catch(() => undefined))?.destroy();
  }

  async #page(folder: string, input: { Bucket: string; Prefix: string; ContinuationToken: string | undefined }) {
    try {
      const client = await this.#client();
      const { ListObjectsV2Command } = await import('@aws-sdk/client-s3');
      return await client.send(new ListObjectsV2Command(input));
    } catch (error) {
      throw s3Error(error, 'list', folder);
    }
  }

  async #removeBatch(bucket: string, keys: readonly string[]): Promise<void> {
    const place = keys.length === 1 ? `s3://${bucket}/${keys[0]}` : `${keys.length} objects of s3://${bucket}`;
    try {
      const client = await this.#client();
      const { DeleteObjectsCommand } = await import('@aws-sdk/client-s3');
      const reply = await client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: keys.map((Key) => ({ Key })), Quiet: true } }));
      const failed = (reply.Errors ?? []).find((entry) => entry.Code !== 'NoSuchKey');
      if (failed !== undefined) throw s3Error({ name: failed.Code, message: failed.Message }, 'remove', `s3://${bucket}/${failed.Key ?? ''}`);
    } catch (error) {
      throw s3Error(error, 'remove', place);
    }
  }

  /**
   * True when the object has exactly these bytes. A request whose reply was lost is sent again by the SDK, and the
   * repetition is refused because of the object the first one made: then the write has succeeded.
   */
  async #holds(location: string, body: Uint8Array): Promise<boolean> {
    const there = await this.read(location).catch((error: unknown) => {
      if (error instanceof WalbergError && error.code === 'FILE_MISSING') return undefined;
      throw error;
    });
    return there !== undefined && Buffer.from(there.buffer, there.byteOffset, there.byteLength).equals(body);
  }

  #client(): Promise<S3Client> {
    this.#opened ??= openS3Client(this.#config, this.#limits).catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }
}

function objectAt(location: string): { bucket: string; key: string } {
  const found = parseS3Location(location);
  if (found.key === '') throw new WalbergError('CONFIG_INVALID', `Names a bucket, not an object: ${location}`, { hint: 'Write s3://bucket/path.' });
  return found;
}
