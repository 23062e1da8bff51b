import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FaultRun, type Mode } from '../support/fault-run.js';
import type { StorageFault } from '../support/fault-storage.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const inData = (location: string): boolean => location.includes('/data/');
const isManifest = (location: string): boolean => location.endsWith('-m0.avro');
const isManifestList = (location: string): boolean => location.includes('/snap-');
const isMetadata = (location: string): boolean => location.endsWith('.metadata.json');

/** A fault while the tables are loaded, and again while changes arrive. */
const PASSING: Record<string, StorageFault> = {
  'an upload fails once': { on: 'write', where: inData, action: { kind: 'fail', code: 'STORAGE_UNREACHABLE' } },
  'uploads fail more often than one upload is repeated': { on: 'write', where: inData, times: 9, action: { kind: 'fail', code: 'STORAGE_UNREACHABLE' } },
  'an upload arrives and its reply is lost': { on: 'write', where: inData, times: 2, action: { kind: 'fail-after', code: 'STORAGE_UNREACHABLE' } },
  'the disk is full for a while': { on: 'write', times: 6, action: { kind: 'fail', code: 'STORAGE_FULL' } },
  'a manifest cannot be written': { on: 'write', where: isManifest, times: 3, action: { kind: 'fail', code: 'STORAGE_FAILED' } },
  'a manifest list cannot be written': { on: 'write', where: isManifestList, times: 12, action: { kind: 'fail', code: 'STORAGE_UNREACHABLE' } },
  'a manifest list arrives and its reply is lost': { on: 'write', where: isManifestList, action: { kind: 'fail-after', code: 'STORAGE_UNREACHABLE' } },
  'a metadata file cannot be written': { on: 'write', where: isMetadata, times: 2, action: { kind: 'fail', code: 'STORAGE_UNREACHABLE' } },
  'a metadata file arrives and its reply is lost': { on: 'write', where: isMetadata, action: { kind: 'fail-after', code: 'STORAGE_UNREACHABLE' } },
  'the table cannot be read': { on: ['read', 'size'], times: 5, action: { kind: 'fail', code: 'STORAGE_UNREACHABLE' } },
};

describe('a storage that fails', { concurrency: 3 }, () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());

  for (const [name, fault] of Object.entries(PASSING)) {
    for (const mode of ['mirror', 'append'] satisfies Mode[]) {
      test(`${name}, ${mode}`, async () => {
        await FaultRun.with(bed, mode, async (run) => {
          const pipeline = await run.startLoaded({ storage: [fault] });
          assert.ok(pipeline.storage.exhausted, 'the fault did not meet the load');
          pipeline.storage.add(fault);
          await run.rounds(3);
          await run.finish();
          assert.ok(pipeline.storage.exhausted, 'the fault did not meet the changes');
        });
      });
    }
  }

  for (const mode of ['mirror', 'append'] satisfies Mode[]) {
    test(`nothing can be written for as long as changes arrive, ${mode}`, async () => {
      await FaultRun.with(bed, mode, async (run) => {
        const pipeline = await run.startLoaded();
        pipeline.storage.add({ on: 'write', times: Infinity, action: { kind: 'fail', code: 'STORAGE_UNREACHABLE' } });
        const commits = pipeline.commits.length;
        await run.rounds(1);
        const changed = await run.lsn();
        await pipeline.until('three sessions to fail', () => pipeline.failures.length >= 3);
        await run.rounds(2);
        assert.equal(pipeline.commits.length, commits);
        assert.ok(pipeline.confirmed < changed, 'changes that are nowhere were confirmed');
        pipeline.storage.heal();
        await run.finish();
      });
    });
  }

  test('access is refused: it stops, and a new start finishes what was begun', async () => {
    for (const phase of ['load', 'changes']) {
      await FaultRun.with(bed, 'mirror', async (run) => {
        const fault: StorageFault = { on: 'write', where: inData, times: Infinity, action: { kind: 'fail', code: 'STORAGE_AUTH' } };
        if (phase === 'load') run.start({ storage: [fault] });
        else (await run.startLoaded()).storage.add(fault);
        await run.rounds(2);
        assert.equal((await run.pipeline.fails()).code, 'STORAGE_AUTH', phase);
        assert.deepEqual(run.pipeline.failures, ['STORAGE_AUTH'], 'it tried again');
        await run.startLoaded();
        await run.rounds(1);
        await run.finish();
      });
    }
  });
});
