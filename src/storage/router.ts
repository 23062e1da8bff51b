import type { S3Config } from '../config/config.js';
import { WalbergError } from '../errors/error.js';
import { isFileLocation } from './file-location.js';
import { FileStorage } from './file.js';
import { isS3Location } from './s3-location.js';
import { S3Storage } from './s3.js';
import type { Storage } from './storage.js';

/** Settings of an S3 client when the configuration names none: AWS with its default chain. */
const DEFAULT_S3: S3Config = { pathStyleAccess: false, multipartBytes: 32 * 1024 * 1024 };

/** The storage for every location: local files by `file:` or a plain path, S3 by `s3:`, `s3a:` or `s3n:`. No connection is made before the first use. */
export function createStorage(config: { s3?: S3Config } = {}): Storage {
  return new RoutedStorage(new FileStorage(), new S3Storage(config.s3 ?? DEFAULT_S3));
}

class RoutedStorage implements Storage {
  readonly #files: Storage;
  readonly #s3: Storage;

  constructor(files: Storage, s3: Storage) {
    this.#files = files;
    this.#s3 = s3;
  }

  async write(location: string, body: Uint8Array, options?: { ifAbsent?: boolean }): Promise<void> {
    await this.#of(location).write(location, body, options);
  }

  async read(location: string): Promise<Uint8Array> {
    return this.#of(location).read(location);
  }

  async size(location: string): Promise<number | undefined> {
    return this.#of(location).size(location);
  }

  async remove(locations: readonly string[]): Promise<void> {
    // Every location is routed before the first file is removed: an unknown scheme removes nothing.
    const routed = new Map<Storage, string[]>();
    for (const location of locations) {
      const storage = this.#of(location);
      const group = routed.get(storage);
      if (group === undefined) routed.set(storage, [location]);
      else group.push(location);
    }
    await Promise.all([...routed].map(([storage, group]) => storage.remove(group)));
  }

  async *list(prefix: string): AsyncIterable<{ location: string; size: number; modifiedMs: number }> {
    yield* this.#of(prefix).list(prefix);
  }

  async close(): Promise<void> {
    await this.#s3.close?.();
  }

  #of(location: string): Storage {
    if (isS3Location(location)) return this.#s3;
    if (isFileLocation(location)) return this.#files;
    const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(location)?.[1];
    throw new WalbergError('CONFIG_INVALID', scheme === undefined ? `Not a location: ${location}` : `No storage for ${scheme}: locations: ${location}`, {
      context: { location },
      hint: 'Use s3://bucket/path, file:///absolute/path or /absolute/path.',
    });
  }
}
