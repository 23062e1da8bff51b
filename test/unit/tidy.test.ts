import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { codeLines, type Import, importsOf, projectFiles, read, root } from '../support/source-tree.js';

const files = projectFiles();
const sources = files.filter((path) => path.startsWith('src/') && path.endsWith('.ts'));
const tests = files.filter((path) => path.startsWith('test/') && path.endsWith('.ts'));

/** Folders from the bottom up: a folder imports from lower rows only. Folders of one row do not know each other. */
const ORDER: readonly (readonly string[])[] = [
  ['errors'],
  ['config'],
  // who announces knows the announcement, not who listens
  ['observe/events'],
  ['pgoutput', 'iceberg/spec'],
  ['parquet'],
  ['schema', 'buffer'],
  ['postgres', 'storage'],
  ['iceberg/catalog'],
  ['iceberg/manifest'],
  ['iceberg/commit'],
  ['pipeline'],
  // looks with the eyes of the pipeline before it runs
  ['preflight'],
  ['observe'],
  ['demo'],
  ['main'],
];

/** Contracts that lower folders may import as types, with the reason. */
const CONTRACTS: readonly { readonly file: string; readonly by: readonly string[]; readonly reason: string }[] = [
  { file: 'src/schema/codec.ts', by: ['parquet'], reason: 'a plan tells the encoder how to read a value; the words are the plan\'s' },
];

/** Files that only tests import, with the reason. */
const FOR_TESTS: Readonly<Record<string, string>> = {
  'src/storage/memory.ts': 'the twin of the storage port without a disk',
  'src/parquet/delete-files.ts': 'position delete files: read by every engine in the interop tests, not written by the stream yet',
  'src/postgres/old-transactions.ts': 'what a load under a moving slot waits for; loads use the snapshot of a slot of their own, which waits in the server',
};

/** The folder that decides the rank; files directly in src belong to `main`. */
function folderOf(path: string): string {
  if (path === 'src/observe/events.ts') return 'observe/events';
  const parts = path.split('/').slice(1, -1);
  if (parts.length === 0) return 'main';
  return parts[0] === 'iceberg' ? parts.slice(0, 2).join('/') : parts[0];
}

const rankOf = (path: string): number => ORDER.findIndex((row) => row.includes(folderOf(path)));

const contractOf = (i: Import): typeof CONTRACTS[number] | undefined => CONTRACTS.find((c) => c.file === i.to && c.by.includes(folderOf(i.from)));

/** Fails with one line per finding. */
function none(findings: readonly string[]): void {
  assert.equal(findings.length, 0, `\n${findings.join('\n')}`);
}

test('the tree is read: sources, tests and imports are found', () => {
  assert.ok(sources.length > 50 && tests.length > 10, `${sources.length} sources, ${tests.length} tests`);
  assert.deepEqual(importsOf('src/config/config.ts'), []);
  assert.deepEqual(importsOf('src/schema/source-table.ts'), [{ from: 'src/schema/source-table.ts', to: 'src/pgoutput/messages.ts', typeOnly: true }]);
  assert.ok(importsOf('src/config/reference.ts').some((i) => i.to === 'src/errors/codes.ts' && !i.typeOnly));
});

test('every folder has a place in the order', () => {
  none(sources.filter((path) => rankOf(path) === -1).map((path) => `${path}: folder ${folderOf(path)} is not in the order`));
});

test('folders import lower folders only', () => {
  none(sources.flatMap(importsOf).filter((i) => folderOf(i.from) !== folderOf(i.to) && rankOf(i.to) >= rankOf(i.from) && !(i.typeOnly && contractOf(i) !== undefined))
    .map((i) => `${i.from} imports ${i.to}${i.typeOnly ? ' (type)' : ''}`));
});

test('exceptions for contracts are still needed', () => {
  const used = sources.flatMap(importsOf).map(contractOf);
  none(CONTRACTS.filter((c) => !used.includes(c)).map((c) => `${c.file} needs no exception any more`));
});

test('imports lead to files', () => {
  none([...sources, ...tests].flatMap(importsOf).filter((i) => !existsSync(join(root, i.to))).map((i) => `${i.from} imports ${i.to}`));
});

test('src does not import tests', () => {
  none(sources.flatMap(importsOf).filter((i) => !i.to.startsWith('src/')).map((i) => `${i.from} imports ${i.to}`));
});

test('every source file is part of the program', (t) => {
  if (!existsSync(join(root, 'src/main.ts'))) return t.skip('there is no src/main.ts yet');
  const reached = new Set(['src/main.ts', 'src/config/write-reference.ts', ...Object.keys(FOR_TESTS)]);
  for (const path of reached) for (const i of importsOf(path)) if (existsSync(join(root, i.to))) reached.add(i.to);
  none(sources.filter((path) => !reached.has(path)).map((path) => `${path} is not imported from src/main.ts on`));
});

test('source files stay below 400 lines', () => {
  none(sources.map((path) => [path, read(path).split('\n').length] as const).filter(([, lines]) => lines >= 400).map(([path, lines]) => `${path}: ${lines} lines`));
});

/** What no line of code may hold, and where it may. */
const FORBIDDEN: readonly { readonly what: string; readonly pattern: RegExp; readonly except?: RegExp }[] = [
  { what: 'default export', pattern: /^export default\b|^export \{[^}]*\bas default\b/ },
  { what: 'the type any', pattern: /(?::|\bas|<|,|=>)\s*any\b\s*(?:$|[[\])>,;=|{&])/ },
  { what: 'console', pattern: /\bconsole\.(?:log|error|warn|info|debug|table|dir|trace)\b/, except: /^src\/(?:main\.ts|demo\/)/ },
  { what: 'a switched-off compiler check', pattern: /@ts-(?:ignore|nocheck|expect-error)/ },
  { what: 'a debugger statement', pattern: /^\s*debugger;/ },
];

for (const { what, pattern, except } of FORBIDDEN) {
  test(`no source file has ${what}`, () => {
    none(sources.filter((path) => except?.test(path) !== true).flatMap((path) => codeLines(path).filter(({ text }) => pattern.test(text)).map(({ line, text }) => `${path}:${line}: ${text.trim()}`)));
  });
}

test('nothing is left for later', () => {
  none([...sources, ...tests].filter((path) => path !== 'test/unit/tidy.test.ts').flatMap((path) => read(path).split('\n').flatMap((text, i) => (/\b(?:TODO|FIXME|XXX|HACK)\b/.test(text) ? [`${path}:${i + 1}: ${text.trim()}`] : []))));
});

test('every source file says what it is for, and exported functions and classes say what they do', () => {
  none(sources.flatMap((path) => {
    const lines = read(path).split('\n');
    // a file of re-exports says nothing of its own
    if (!lines.some((text) => text === '/**' || text.includes('/** ')) && !codeLines(path).every(({ text }) => text === '' || /^export .* from '/.test(text))) return [`${path}: no docstring`];
    return lines.flatMap((text, i) => (/^export (?:async )?(?:abstract )?(?:function|class)\b/.test(text) && !/\*\/\s*$/.test(lines[i - 1] ?? '') && !isOverload(lines, i) ? [`${path}:${i + 1}: ${text.trim().slice(0, 100)}`] : []));
  }));
});

/** A further signature of the function on the line before. */
function isOverload(lines: readonly string[], index: number): boolean {
  const name = /function (\w+)/.exec(lines[index])?.[1];
  return name !== undefined && new RegExp(`^export (?:async )?function ${name}\\b`).test(lines[index - 1] ?? '');
}

test('no test is singled out', () => {
  none(tests.flatMap((path) => codeLines(path).filter(({ text }) => /\b(?:test|describe|it)\.only\(|\bonly: true\b/.test(text)).map(({ line }) => `${path}:${line}`)));
});

test('nothing names a path of the machine it was written on', () => {
  // spelled apart so that this file does not hold them
  const machine = [['', 'work', ''].join('/'), ['', 'tmp', 'bash' + '_jobs'].join('/'), ['', 'home', 'user', ''].join('/')];
  const text = files.filter((path) => /\.(?:ts|js|mjs|cjs|json|md|sh|py|yaml|yml|properties|sql|service|example|java|xml|txt)$|(?:^|\/)(?:Dockerfile[^/]*|run|\.gitignore)$/.test(path));
  assert.ok(text.length > 100);
  none(text.flatMap((path) => machine.filter((word) => new RegExp(`(?<![\\w.:/-])${word}`).test(read(path))).map((word) => `${path}: ${word}`)));
});

test('the top level holds what belongs there', () => {
  const allowed = new Set(['package.json', 'package-lock.json', 'tsconfig.json', 'LICENSE', 'README.md', 'src', 'conf', 'test', 'docker', '.ci', '.gitignore']);
  none([...new Set(files.map((path) => path.split('/')[0]))].filter((name) => !allowed.has(name)));
});

test('links in pages lead to files', () => {
  const pages = files.filter((path) => path.endsWith('.md'));
  none(pages.flatMap((path) => [...read(path).matchAll(/\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)]*)?\)/g)].map((match) => posix.normalize(posix.join(posix.dirname(path), match[1])))
    .filter((target) => !existsSync(join(root, target))).map((target) => `${path} links ${target}`)));
});
