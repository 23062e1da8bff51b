import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Path of a file kept in test/fixtures; the compiled tests run from a build folder somewhere below the source tree. */
export function fixture(...parts: string[]): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const path = join(folder, 'test', 'fixtures', ...parts);
    if (existsSync(path)) return path;
    if (folder === dirname(folder)) throw new Error(`no test/fixtures/${parts.join('/')} above ${import.meta.dirname}`);
  }
}
