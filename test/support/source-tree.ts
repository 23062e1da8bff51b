import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds the sources, wherever this file was compiled to. */
export const root = holderOfSources(dirname(fileURLToPath(import.meta.url)));

function holderOfSources(from: string): string {
  if (existsSync(join(from, 'tsconfig.json')) && existsSync(join(from, 'src'))) return from;
  if (dirname(from) === from) throw new Error('No tsconfig.json with src above this file');
  return holderOfSources(dirname(from));
}

const BUILT: ReadonlySet<string> = new Set(['.git', 'node_modules', 'dist', '.build']);

/** Every file of the project by its path from the root: what git knows or would add, or all that is not built. */
export function projectFiles(): readonly string[] {
  if (existsSync(join(root, '.git'))) {
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
    return listed.split('\0').filter((path) => path !== '' && existsSync(join(root, path)));
  }
  return readdirSync(root, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile()).map((entry) => posix.join(entry.parentPath.slice(root.length + 1), entry.name))
    .filter((path) => !path.split('/').some((part) => BUILT.has(part)));
}

export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** One import or re-export of another file of the project. */
export interface Import {
  readonly from: string;
  readonly to: string;
  /** `import type`, which leaves nothing in the compiled file. */
  readonly typeOnly: boolean;
}

const STATEMENT = /^(?:import|export)\s+(type\s)?[^'";]*?from\s+'(\.[^']+)'|\bimport\(\s*'(\.[^']+)'|new URL\('(\.[^']+\.js)'|^import\s+'(\.[^']+)'/gm;

/** Imports of a file by relative path, dynamic ones and worker entry points included. */
export function importsOf(path: string): Import[] {
  return [...read(path).matchAll(STATEMENT)].map((match) => ({
    from: path,
    to: posix.normalize(posix.join(posix.dirname(path), match[2] ?? match[3] ?? match[4] ?? match[5])).replace(/\.js$/, '.ts'),
    typeOnly: match[1] !== undefined,
  }));
}

/** Lines that are not comments, numbered from 1. */
export function codeLines(path: string): { readonly line: number; readonly text: string }[] {
  return read(path).split('\n').map((text, i) => ({ line: i + 1, text })).filter(({ text }) => !/^\s*(\*|\/\*|\/\/)/.test(text));
}
