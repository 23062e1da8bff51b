import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isWalbergError } from '../../src/errors/error.js';
import { encodeFile } from '../../src/parquet/encode-file.js';
import { EncodePool } from '../../src/parquet/encode-pool.js';
import type { EncodeRequest } from '../../src/parquet/encode-types.js';
import { codecOf, physicalColumn, tupleRequest } from '../support/parquet-rows.js';

const request = (values: readonly string[], type = 'long'): EncodeRequest => tupleRequest([{ type, codec: codecOf(type) }], values.map((value) => [value]));
const folder = mkdtempSync(join(tmpdir(), 'walberg-pool-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A thread script that dies on requests of tables named 'die…' and otherwise answers with its thread id as the record count. */
const script = join(folder, 'worker.mjs');
writeFileSync(script, `
import { parentPort, threadId } from 'node:worker_threads';
parentPort.on('message', (request) => {
  if (request.tableName === 'die by exit') process.exit(3);
  if (request.tableName === 'die by error') throw new Error('broken');
  parentPort.postMessage({ wasmBytes: request.tableName === 'grow' ? 1000 : 10, file: { recordCount: threadId } });
});`);

describe('encode pool', () => {
  it('gives what encodeFile gives, and takes the arena along', async () => {
    const pool = new EncodePool({ workers: 2 });
    try {
      const jobs = Array.from({ length: 7 }, (_, i) => request([String(i), String(i * 2 ** 40)]));
      const expected = jobs.map((job) => encodeFile(job));
      const files = await Promise.all(jobs.map((job) => pool.encode(job)));
      files.forEach((file, i) => assert.deepEqual({ ...file, bytes: Buffer.from(file.bytes) }, { ...expected[i], bytes: Buffer.from(expected[i].bytes) }));
      assert.ok(jobs.every((job) => job.arena.length === 0 && job.rowOffsets.length === 0));
    } finally {
      await pool.close();
    }
  });
  it('copies an arena that is part of a larger buffer', async () => {
    const pool = new EncodePool({ workers: 1 });
    try {
      const whole = request(['5', '6']);
      const larger = new Uint8Array(whole.arena.length + 20);
      larger.set(whole.arena, 7);
      const arena = larger.subarray(7, 7 + whole.arena.length);
      assert.deepEqual(await physicalColumn(await pool.encode({ ...whole, arena })), [5n, 6n]);
      assert.equal(arena.length, larger.length - 20);
    } finally {
      await pool.close();
    }
  });
  it('rejects with the error of the job, and goes on', async () => {
    const pool = new EncodePool({ workers: 1 });
    try {
      const failed = pool.encode(request(['infinity'], 'date'));
      const good = pool.encode(request(['2024-01-01'], 'date'));
      await assert.rejects(failed, (error) => isWalbergError(error, 'VALUE_INVALID') && error.context.column === 'c0' && error.hint.includes('walberg.special-values') && error.policy === 'stop');
      assert.equal((await good).recordCount, 1);
    } finally {
      await pool.close();
    }
  });
  it('rejects the jobs of a thread that dies and replaces it', async () => {
    const pool = new EncodePool({ workers: 1, script: pathToFileURL(script) });
    try {
      const first = (await pool.encode(request(['1']))).recordCount;
      for (const tableName of ['die by exit', 'die by error']) {
        const [dead, next] = await Promise.allSettled([pool.encode({ ...request(['1']), tableName }), pool.encode(request(['1']))]);
        assert.ok(dead.status === 'rejected' && isWalbergError(dead.reason, 'INTERNAL') && dead.reason.context.table === tableName);
        assert.ok(next.status === 'fulfilled' && next.value.recordCount !== first);
      }
    } finally {
      await pool.close();
    }
  });
  it('replaces a thread whose WebAssembly memory has grown too far', async () => {
    const pool = new EncodePool({ workers: 1, maxWasmBytes: 100, script: pathToFileURL(script) });
    try {
      const ids = [];
      for (const tableName of ['small', 'small', 'grow', 'small']) ids.push((await pool.encode({ ...request(['1']), tableName })).recordCount);
      assert.equal(ids[1], ids[0]);
      assert.equal(ids[2], ids[0]);
      assert.notEqual(ids[3], ids[0]);
    } finally {
      await pool.close();
    }
  });
  it('finishes accepted jobs on close and takes no more', async () => {
    const pool = new EncodePool({ workers: 1 });
    const jobs = [pool.encode(request(['1'])), pool.encode(request(['2'])), pool.encode(request(['3']))];
    let settled = 0;
    for (const job of jobs) void job.then(() => settled++);
    await Promise.all([pool.close(), pool.close()]);
    assert.equal(settled, 3);
    await assert.rejects(pool.encode(request(['4'])), (error) => isWalbergError(error, 'INTERNAL'));
    await pool.close();
  });
  it('can be closed without ever having worked', async () => {
    await new EncodePool({ workers: 3 }).close();
  });
});
