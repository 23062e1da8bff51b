import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryGate } from '../../src/pipeline/memory-gate.js';

class Buffer_ {
  sealed = 0;
  constructor(public bytes: number, private readonly gate: () => MemoryGate) {}
  seal(): void {
    const { bytes } = this;
    this.sealed += bytes;
    this.bytes = 0;
    this.gate().addPending(bytes);
  }
}

function bed(...sizes: number[]): { gate: MemoryGate; buffers: Buffer_[]; calls: string[] } {
  const calls: string[] = [];
  const buffers = sizes.map((s) => new Buffer_(s, () => gate));
  const gate: MemoryGate = new MemoryGate({ maxBytes: 100, holders: () => buffers, pause: () => calls.push('pause'), resume: () => calls.push('resume'), onChange: () => {} });
  return { gate, buffers, calls };
}

describe('memory of all tables', () => {
  it('is left alone below the limit', () => {
    const { gate, buffers, calls } = bed(60, 40);
    gate.check();
    assert.deepEqual(buffers.map((b) => b.sealed), [0, 0]);
    assert.deepEqual(calls, []);
  });

  it('above it, the largest buffers are written and reading waits until enough is free', () => {
    const { gate, buffers, calls } = bed(20, 90);
    gate.check();
    assert.deepEqual(buffers.map((b) => b.bytes), [20, 0]);
    assert.deepEqual(calls, ['pause']);
    gate.addPending(-30);
    assert.deepEqual(calls, ['pause'], 'still 80 of 100');
    gate.addPending(-60);
    assert.deepEqual(calls, ['pause', 'resume']);
  });

  it('does not wait when nothing is being written, which would free nothing', () => {
    const { gate, calls } = bed(200);
    const stuck = new MemoryGate({ maxBytes: 100, holders: () => [{ bytes: 200, seal: () => {} }], pause: () => calls.push('pause'), resume: () => calls.push('resume'), onChange: () => {} });
    stuck.check();
    assert.equal(stuck.paused, false);
    gate.check();
    assert.equal(gate.paused, true);
  });

  it('goes on when all is written, however much is still held', () => {
    const { gate, buffers, calls } = bed(200);
    gate.check();
    buffers[0].bytes = 95;
    gate.addPending(-200);
    assert.deepEqual(calls, ['pause', 'resume']);
  });
});
