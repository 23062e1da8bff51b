import { WalbergError } from '../errors/error.js';
import type { Storage } from './storage.js';

/** Objects in memory, for tests and dry runs. Locations are compared as plain strings. */
export class MemoryStorage implements Storage {
  readonly #objects = new Map<string, { body: Uint8Array; modifiedMs: number }>();

  async write(location: string, body: Uint8Array, options: { ifAbsent?: boolean } = {}): Promise<void> {
    if (options.ifAbsent === true && this.#objects.has(location)) {
      throw new WalbergError('FILE_EXISTS', `File exists already: ${location}`, { context: { location } });
    }
    this.#objects.set(location, { body: Uint8Array.from(body), modifiedMs: Date.now() });
  }

  async read(location: string): Promise<Uint8Array> {
    const found = this.#objects.get(location);
    if (found === undefined) throw new WalbergError('FILE_MISSING', `No such file: ${location}`, { context: { location } });
    return Uint8Array.from(found.body);
  }

  async size(location: string): Promise<number | undefined> {
    return this.#objects.get(location)?.body.byteLength;
  }

  async remove(locations: readonly string[]): Promise<void> {
    for (const location of locations) this.#objects.delete(location);
  }

  async *list(prefix: string): AsyncIterable<{ location: string; size: number; modifiedMs: number }> {
    const folder = `${prefix.replace(/\/+$/, '')}/`;
    for (const location of [...this.#objects.keys()].filter((name) => name.startsWith(folder)).sort()) {
      const found = this.#objects.get(location);
      if (found !== undefined) yield { location, size: found.body.byteLength, modifiedMs: found.modifiedMs };
    }
  }
}
