import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { WalbergError } from '../errors/error.js';
import { errnoOf, fileError, isAbsent } from './file-errors.js';
import { filePath } from './file-location.js';
import type { Storage } from './storage.js';

/** Files removed at the same time. */
const REMOVE_CONCURRENCY = 16;

/**
 * The local file system: `file:///…` and plain absolute paths.
 *
 * A file appears under its name only when it is whole and on disk: the bytes go to a hidden temporary name beside it, are
 * synced, and get the final name by rename(2), or by link(2) for `ifAbsent`, which never replaces a file. Then the
 * folder is synced, so that the name survives a power cut as well. A killed process leaves at most a `.<name>.<uuid>.tmp`,
 * which is never listed.
 */
export class FileStorage implements Storage {
  /** Folders known to exist, so that a write costs no mkdir. */
  readonly #folders = new Set<string>();

  async write(location: string, body: Uint8Array, options: { ifAbsent?: boolean } = {}): Promise<void> {
    const path = filePath(location);
    const folder = dirname(path);
    const temporary = join(folder, temporaryName(basename(path)));
    try {
      await this.#writeSynced(folder, temporary, body);
      if (options.ifAbsent === true) await publishNew(temporary, path, location);
      else await rename(temporary, path);
    } catch (error) {
      await unlink(temporary).catch(() => undefined);
      throw fileError(error, 'write', location);
    }
    try {
      if (options.ifAbsent === true) await unlink(temporary);
      await syncFolder(folder);
    } catch (error) {
      throw fileError(error, 'write', location);
    }
  }

  async read(location: string): Promise<Uint8Array> {
    try {
      return await readFile(filePath(location));
    } catch (error) {
      throw fileError(error, 'read', location);
    }
  }

  async size(location: string): Promise<number | undefined> {
    try {
      const found = await stat(filePath(location));
      return found.isFile() ? found.size : undefined;
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw fileError(error, 'read', location);
    }
  }

  async remove(locations: readonly string[]): Promise<void> {
    const rest = [...locations];
    const removeNext = async (): Promise<void> => {
      for (let location = rest.pop(); location !== undefined; location = rest.pop()) {
        try {
          await unlink(filePath(location));
        } catch (error) {
          if (!isAbsent(error)) throw fileError(error, 'remove', location);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(REMOVE_CONCURRENCY, rest.length) }, removeNext));
  }

  async *list(prefix: string): AsyncIterable<{ location: string; size: number; modifiedMs: number }> {
    const base = prefix.replace(/\/+$/, '');
    yield* listFolder(filePath(prefix), base);
  }

  async #writeSynced(folder: string, temporary: string, body: Uint8Array): Promise<void> {
    if (!this.#folders.has(folder)) await this.#makeFolder(folder);
    try {
      await writeAndSync(temporary, body);
    } catch (error) {
      if (!isAbsent(error)) throw error;
      // Someone removed the folder since it was seen last.
      await this.#makeFolder(folder);
      await writeAndSync(temporary, body);
    }
  }

  async #makeFolder(folder: string): Promise<void> {
    const first = await mkdir(folder, { recursive: true });
    // Every new name must survive a crash: sync the parent of each folder that was created.
    if (first !== undefined) {
      for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
    }
    this.#folders.add(folder);
  }
}

/** Hidden from readers by its dot, and from `list` by its form. */
function temporaryName(name: string): string {
  return `.${name}.${randomUUID()}.tmp`;
}

const TEMPORARY = /^\..*\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/s;

async function writeAndSync(path: string, body: Uint8Array): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(body);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Gives the file its final name unless that name is taken. */
async function publishNew(temporary: string, path: string, location: string): Promise<void> {
  try {
    await link(temporary, path);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'EEXIST') {
      // On NFS the reply to a link that succeeded can be lost and the retry says EEXIST: the same inode means it was us.
      const [ours, there] = await Promise.all([stat(temporary), stat(path).catch(() => undefined)]);
      if (there !== undefined && there.ino === ours.ino && there.dev === ours.dev) return;
      throw new WalbergError('FILE_EXISTS', `File exists already: ${location}`, { context: { location }, cause: error });
    }
    if (errno === 'EPERM' || errno === 'EOPNOTSUPP' || errno === 'ENOSYS') {
      throw new WalbergError('STORAGE_AUTH', `This file system refuses hard links: ${location}`, {
        context: { location, errno },
        cause: error,
        hint: 'Commits on a plain file system need link(2) so that nobody is overwritten; use another file system or a REST catalog.',
      });
    }
    throw error;
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } catch (error) {
    // Some network and FUSE file systems cannot sync a folder; there is nothing more to be had from them.
    if (!['EINVAL', 'EBADF', 'ENOTSUP', 'EOPNOTSUPP'].includes(errnoOf(error) ?? '')) throw error;
  } finally {
    await handle.close();
  }
}

async function* listFolder(path: string, base: string): AsyncIterable<{ location: string; size: number; modifiedMs: number }> {
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
    if (isAbsent(error)) return [];
    throw fileError(error, 'list', base);
  });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const location = `${base}/${entry.name}`;
    if (entry.isDirectory()) {
      yield* listFolder(join(path, entry.name), location);
    } else if (entry.isFile() && !TEMPORARY.test(entry.name)) {
      const found = await stat(join(path, entry.name)).catch((error: unknown) => {
        if (isAbsent(error)) return undefined;
        throw fileError(error, 'list', location);
      });
      if (found !== undefined) yield { location, size: found.size, modifiedMs: Math.floor(found.mtimeMs) };
    }
  }
}
