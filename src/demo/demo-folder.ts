import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { WalbergError } from '../errors/error.js';

/** Where the tables of a demo go: a warehouse of the file-system catalog, and the log beside its namespaces. */
export interface DemoFolder {
  /** Absolute path, also the warehouse. */
  readonly path: string;
  readonly logFile: string;
  /** Removes what the demo made: the folder unless it was there before, else what is in it. */
  remove(): void;
}

/** WAL, source rows with their large values, and tables: measured, with room. */
const FIXED_BYTES = 600 * 1024 * 1024;
const BYTES_PER_ORDER = 6 * 1024;

/**
 * Makes the folder, or takes an empty one that exists.
 *
 * @param directory default: a new folder for temporary files
 * @param orders to look for enough space, here and where the server will be
 * @throws WalbergError CONFIG_INVALID when it is not empty, STORAGE_FAILED when it cannot be made, STORAGE_FULL when there is too little space
 */
export function openDemoFolder(directory: string | undefined, orders: number): DemoFolder {
  const folder = directory === undefined ? temporaryFolder() : namedFolder(resolve(directory));
  const needed = FIXED_BYTES + orders * BYTES_PER_ORDER;
  for (const path of new Set([folder.path, tmpdir()])) {
    const { bavail, bsize } = statfsSync(path);
    const free = bavail * bsize;
    if (free >= needed) continue;
    folder.remove();
    throw new WalbergError('STORAGE_FULL', `The demo needs about ${megabytes(needed)} in ${path}, and ${megabytes(free)} are free.`, {
      context: { path, neededBytes: needed, freeBytes: free },
      hint: path === tmpdir() ? 'Free space, name another folder for temporary files with TMPDIR, or load fewer --orders.' : 'Free space, or choose another --directory.',
    });
  }
  return folder;
}

function temporaryFolder(): DemoFolder {
  try {
    const path = mkdtempSync(join(tmpdir(), 'walberg-demo-'));
    return { path, logFile: join(path, 'walberg.log'), remove: () => rmSync(path, { recursive: true, force: true }) };
  } catch (cause) {
    throw notMade(tmpdir(), cause);
  }
}

function namedFolder(path: string): DemoFolder {
  const logFile = join(path, 'walberg.log');
  try {
    if (!existsSync(path)) {
      // The topmost folder that had to be made.
      const made = mkdirSync(path, { recursive: true }) ?? path;
      return { path, logFile, remove: () => rmSync(made, { recursive: true, force: true }) };
    }
    if (readdirSync(path).length === 0) return { path, logFile, remove: () => { for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true }); } };
  } catch (cause) {
    throw notMade(path, cause);
  }
  throw new WalbergError('CONFIG_INVALID', `${path} is not empty.`, { hint: `Name a new or an empty folder, for instance ${join(dirname(path), 'walberg-demo')}.` });
}

function notMade(path: string, cause: unknown): WalbergError {
  const code = (cause as NodeJS.ErrnoException).code;
  return new WalbergError(code === 'ENOSPC' ? 'STORAGE_FULL' : 'STORAGE_FAILED', `The folder ${path} cannot be used: ${(cause as Error).message}`, { hint: 'Choose another --directory.', cause });
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024).toLocaleString('en-US')} MB`;
