import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The folder that holds package.json, wherever the tests were compiled to. */
export function projectRoot(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'test', 'readers', 'package.json'))) return folder;
    if (folder === dirname(folder)) throw new Error(`no project above ${import.meta.dirname}`);
  }
}

const readers = (): string => join(projectRoot(), 'test', 'readers');

/** Loads a package of test/readers. */
export function requireReader(name: string): unknown {
  if (!existsSync(join(readers(), 'node_modules'))) throw new Error('The readers are not installed: npm ci --prefix test/readers');
  return createRequire(join(readers(), 'package.json'))(name);
}

/** Folder with bin/, lib/ and share/ of an older Postgres, for the option `binaries` of startPostgres. */
export function olderPostgres(version: 15 | 16): string {
  return join(readers(), 'node_modules', `pg${version}`, 'native');
}

/** Executable of a newer Node, for the option `nodeBinary` of startDaemon. */
export function newerNode(): string {
  return join(readers(), 'node_modules', 'node24', 'bin', 'node');
}
