import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { isWalbergError, type WalbergError } from '../../src/errors/error.js';
import { fileError } from '../../src/storage/file-errors.js';
import { filePath, isFileLocation } from '../../src/storage/file-location.js';
import { FileStorage } from '../../src/storage/file.js';

let root: string;
let folder: string;
let count = 0;
before(async () => void (root = await mkdtemp(join(tmpdir(), 'walberg-storage-'))));
after(() => rm(root, { recursive: true, force: true }));
beforeEach(() => void (folder = join(root, `case-${count++}`)));

const storage = new FileStorage();
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (body: Uint8Array): string => new TextDecoder().decode(body);

async function failureOf(action: Promise<unknown>): Promise<WalbergError> {
  const error = await action.then(() => assert.fail('it succeeded'), (thrown: unknown) => thrown);
  assert.ok(isWalbergError(error), String(error));
  return error;
}

async function listed(prefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { location } of storage.list(prefix)) found.push(location);
  return found;
}

describe('files: writing and reading', () => {
  it('creates folders, replaces a file, and reads what was written', async () => {
    const location = `file://${folder}/a/b/c.bin`;
    await storage.write(location, bytes('one'));
    await storage.write(location, bytes('two and more'));
    assert.equal(text(await storage.read(location)), 'two and more');
    assert.equal(await storage.size(location), 12);
    assert.equal(text(await storage.read(`${folder}/a/b/c.bin`)), 'two and more');
  });

  it('leaves nothing beside the file, whatever becomes of the write', async () => {
    await storage.write(`${folder}/x`, bytes('1'));
    await storage.write(`${folder}/x`, bytes('2'));
    await storage.write(`${folder}/y`, bytes('3'), { ifAbsent: true });
    await failureOf(storage.write(`${folder}/y`, bytes('4'), { ifAbsent: true }));
    await mkdir(join(folder, 'd'));
    await failureOf(storage.write(`${folder}/d`, bytes('5')));
    assert.deepEqual((await readdir(folder)).sort(), ['d', 'x', 'y']);
  });

  it('writes again into a folder that was removed behind its back', async () => {
    await storage.write(`${folder}/sub/x`, bytes('1'));
    await rm(folder, { recursive: true });
    await storage.write(`${folder}/sub/x`, bytes('2'));
    assert.equal(text(await storage.read(`${folder}/sub/x`)), '2');
  });

  it('an absent file: no size, FILE_MISSING to read; a folder is no file', async () => {
    await storage.write(`${folder}/x`, bytes('1'));
    for (const absent of [`${folder}/nothing`, `${folder}/no/folder`, `${folder}/x/below-a-file`]) {
      assert.equal(await storage.size(absent), undefined);
      const error = await failureOf(storage.read(absent));
      assert.equal(error.code, 'FILE_MISSING');
      assert.match(error.message, new RegExp(absent));
    }
    assert.equal(await storage.size(folder), undefined);
    assert.equal((await failureOf(storage.read(folder))).code, 'STORAGE_FAILED');
  });

  it('ifAbsent: of many writers at the same time exactly one wins, and its bytes stay', async () => {
    const writers = Array.from({ length: 24 }, (_, i) => new FileStorage().write(`${folder}/v1.metadata.json`, bytes(`writer ${i}`), { ifAbsent: true }));
    const outcomes = await Promise.allSettled(writers);
    const winners = outcomes.flatMap((outcome, i) => (outcome.status === 'fulfilled' ? [i] : []));
    assert.equal(winners.length, 1);
    for (const outcome of outcomes) if (outcome.status === 'rejected') assert.equal((outcome.reason as WalbergError).code, 'FILE_EXISTS');
    assert.equal(text(await storage.read(`${folder}/v1.metadata.json`)), `writer ${winners[0]}`);
    assert.deepEqual(await readdir(folder), ['v1.metadata.json']);
  });

  it('without ifAbsent readers see one whole version or the other, never a mixture', async () => {
    const bodies = ['a', 'b'].map((letter) => bytes(letter.repeat(200_000)));
    await storage.write(`${folder}/x`, bodies[0]);
    let writing = true;
    const writer = (async () => {
      for (let i = 0; i < 20; i++) await storage.write(`${folder}/x`, bodies[i % 2]);
      writing = false;
    })();
    while (writing) {
      const seen = text(await storage.read(`${folder}/x`));
      assert.ok(seen === seen[0].repeat(200_000));
    }
    await writer;
  });

  it('a file is whole or absent though its writer was killed', async () => {
    await mkdir(folder);
    const child = fork(join(import.meta.dirname, '..', 'support', 'endless-writer.js'), [folder], { stdio: 'inherit', execArgv: [] });
    const gone = once(child, 'exit');
    for (let written = 0; written < 3; written++) await once(child, 'message');
    child.kill('SIGKILL');
    await gone;
    const found = await listed(folder);
    assert.ok(found.length >= 3);
    for (const location of found) {
      const body = await storage.read(location);
      assert.ok(body.byteLength === 4 * 1024 * 1024 && body.every((byte) => byte === 7), location);
    }
  });
});

describe('files: listing and removing', () => {
  it('lists every file below a folder, in order, with size and time, in the spelling of the caller', async () => {
    for (const name of ['b', 'a/2', 'a/10', 'a/deep/er/x']) await storage.write(`${folder}/${name}`, bytes(name));
    await mkdir(join(folder, 'empty'));
    const found = [];
    for await (const one of storage.list(`file://${folder}/`)) found.push(one);
    assert.deepEqual(found.map(({ location }) => location.slice(`file://${folder}/`.length)), ['a/10', 'a/2', 'a/deep/er/x', 'b']);
    assert.deepEqual(found.map(({ size }) => size), [4, 3, 11, 1]);
    assert.equal(found[3].modifiedMs, Math.floor((await stat(join(folder, 'b'))).mtimeMs));
  });

  it('a folder that is not there holds nothing; a neighbour with the same beginning is not below it', async () => {
    await storage.write(`${folder}/t1/x`, bytes('1'));
    await storage.write(`${folder}/t10/x`, bytes('1'));
    assert.deepEqual(await listed(`${folder}/t2`), []);
    assert.deepEqual(await listed(`${folder}/t1`), [`${folder}/t1/x`]);
  });

  it('what a killed writer left is no file: not listed, in nobody\'s way', async () => {
    await mkdir(folder);
    await writeFile(join(folder, '.v1.metadata.json.9c12d441-03fe-4693-9a96-a0705ddf69c1.tmp'), 'half');
    await writeFile(join(folder, '.hidden.tmp'), 'somebody else\'s');
    await storage.write(`${folder}/v1.metadata.json`, bytes('whole'), { ifAbsent: true });
    assert.deepEqual(await listed(folder), [`${folder}/.hidden.tmp`, `${folder}/v1.metadata.json`]);
  });

  it('does not follow links out of the folder', async () => {
    await storage.write(`${folder}/outside/x`, bytes('1'));
    await mkdir(join(folder, 'inside'));
    await symlink(join(folder, 'outside'), join(folder, 'inside', 'link'));
    assert.deepEqual(await listed(`${folder}/inside`), []);
  });

  it('removes many, absent ones too, and says what it could not remove', async () => {
    const names = Array.from({ length: 50 }, (_, i) => `${folder}/f${i}`);
    await Promise.all(names.map((name) => storage.write(name, bytes('x'))));
    await storage.remove([...names, `${folder}/absent`]);
    assert.deepEqual(await listed(folder), []);
    await mkdir(join(folder, 'd'));
    const error = await failureOf(storage.remove([`${folder}/d`]));
    assert.match(error.message, /Could not remove .*\/d: E/);
  });
});

describe('files: locations and errors', () => {
  it('a location is an absolute path, with or without file:, nothing decoded', () => {
    for (const [location, path] of [['/a/b', '/a/b'], ['file:///a/b', '/a/b'], ['file:/a/b', '/a/b'], ['file://localhost/a/b', '/a/b'], ['FILE:///a', '/a'], ['file:///a%20b/c d/', '/a%20b/c d']]) {
      assert.equal(isFileLocation(location), true);
      assert.equal(filePath(location), path);
    }
    for (const wrong of ['a/b', 'file://host/a', 'file:a', '', '/a\0b']) assert.throws(() => filePath(wrong), { code: 'CONFIG_INVALID' });
    assert.equal(isFileLocation('s3://a/b'), false);
  });

  it('every errno has its meaning', () => {
    const failed = (code: string, doing: 'read' | 'write' | 'remove' | 'list'): string => fileError(Object.assign(new Error('x'), { code }), doing, '/x').code;
    for (const code of ['ENOSPC', 'EDQUOT', 'EFBIG']) assert.equal(failed(code, 'write'), 'STORAGE_FULL');
    for (const code of ['EACCES', 'EPERM', 'EROFS']) assert.equal(failed(code, 'write'), 'STORAGE_AUTH');
    for (const code of ['EIO', 'EMFILE', 'EISDIR', 'ENOENT']) assert.equal(failed(code, 'write'), 'STORAGE_FAILED');
    for (const code of ['ENOENT', 'ENOTDIR']) assert.equal(failed(code, 'read'), 'FILE_MISSING');
    const ours = fileError(new Error('x'), 'read', '/x');
    assert.equal(fileError(ours, 'write', '/y'), ours);
  });

  it('what Linux says of a full disk is STORAGE_FULL', { skip: process.platform !== 'linux' }, async () => {
    const full: unknown = await writeFile('/dev/full', 'x').then(() => assert.fail('it fits'), (error: unknown) => error);
    assert.equal(fileError(full, 'write', `${folder}/x`).code, 'STORAGE_FULL');
  });
});
