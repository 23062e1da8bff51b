import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SourceLag } from '../../src/observe/source-lag.js';

function setup(): { lag: SourceLag; at: (ms: number) => void; accept: (endLsn: bigint, commitTimeMs: number) => void; confirm: (lsn: bigint) => void; current: (lsn: bigint) => void; start: (lsn: bigint) => void } {
  let now = 0;
  const lag = new SourceLag(() => now);
  const l = lag.listener;
  return {
    lag,
    at: (ms) => { now = ms; },
    accept: (endLsn, commitTimeMs) => l.transactionAccepted!({ endLsn, commitTimeMs }),
    confirm: (lsn) => l.confirmed!(lsn),
    current: (currentLsn) => l.sourceStatus!({ currentLsn }),
    start: (startLsn) => l.sessionStarted!({ slot: 's', publication: 'p', startLsn, tables: [] }),
  };
}

test('nothing waits: no lag', () => {
  const { lag, start } = setup();
  assert.deepEqual([lag.ms, lag.bytes, lag.waitingSinceMs], [0, 0n, undefined]);
  start(100n);
  assert.deepEqual([lag.ms, lag.bytes], [0, 0n]);
});

test('a transaction counts from its commit at the source until it is confirmed', () => {
  const { lag, start, at, accept, confirm } = setup();
  start(100n);
  at(10_000);
  accept(200n, 9_000);
  assert.deepEqual([lag.ms, lag.bytes, lag.waitingSinceMs], [1000, 100n, 10_000]);
  at(12_000);
  accept(300n, 11_900);
  assert.equal(lag.ms, 3000, 'the oldest counts');
  confirm(199n);
  assert.equal(lag.ms, 3000, 'confirmed below its end: it still waits');
  confirm(200n);
  assert.deepEqual([lag.ms, lag.bytes], [100, 100n]);
  confirm(300n);
  assert.deepEqual([lag.ms, lag.bytes, lag.waitingSinceMs], [0, 0n, undefined]);
});

test('bytes count up to the end of WAL at the server', () => {
  const { lag, start, current, confirm } = setup();
  start(100n);
  current(1100n);
  assert.equal(lag.bytes, 1000n);
  confirm(600n);
  assert.equal(lag.bytes, 500n);
  assert.equal(lag.ms, 0, 'nothing of ours waits');
});

test('a new session forgets what waited, and confirmed transactions streamed again do not wait', () => {
  const { lag, start, at, accept } = setup();
  start(100n);
  accept(200n, 0);
  at(50_000);
  start(300n);
  assert.equal(lag.ms, 0);
  accept(200n, 0);
  assert.equal(lag.ms, 0);
  accept(301n, 0);
  assert.equal(lag.ms, 50_000);
});

test('a clock behind the source shows no negative lag', () => {
  const { lag, start, accept } = setup();
  start(1n);
  accept(2n, 5000);
  assert.equal(lag.ms, 0);
});

test('lag agrees with a list of all transactions as long as none shares a slice, and is never below it', () => {
  fc.assert(fc.property(fc.array(fc.record({ gap: fc.integer({ min: 1, max: 400 }), age: fc.integer({ min: 0, max: 1000 }), confirmBack: fc.option(fc.nat(20)) }), { maxLength: 1500 }), (steps) => {
    const { lag, start, at, accept, confirm } = setup();
    start(1n);
    let now = 10_000;
    let lsn = 1n;
    let model: { lsn: bigint; commit: number }[] = [];
    let exact = true;
    for (const { gap, age, confirmBack } of steps) {
      at(now += gap);
      lsn += 10n;
      if (model.length >= 500 || gap < 100) exact = false;
      accept(lsn, now - age);
      model.push({ lsn, commit: now - age });
      if (confirmBack !== null) {
        const to = lsn - BigInt(confirmBack);
        confirm(to);
        model = model.filter((t) => t.lsn > to);
      }
      // Commit times of a stream do not decrease in reality; the oldest here is the first that waits.
      const expected = model.length === 0 ? 0 : now - model[0].commit;
      if (exact) assert.equal(lag.ms, expected);
      if (model.length > 0) assert.ok(lag.waitingSinceMs !== undefined, 'something waits');
      else assert.equal(lag.ms, 0);
    }
  }), { numRuns: 60 });
});
