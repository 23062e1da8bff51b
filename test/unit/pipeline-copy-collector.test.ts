import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { CopyCollector } from '../../src/pipeline/copy-collector.js';

it('COPY rows keep their places however they arrive', () => {
  const row = fc.string({ maxLength: 12 }).map((s) => `${s.replaceAll('\n', '')}\n`);
  fc.assert(fc.property(fc.array(fc.array(row, { minLength: 1, maxLength: 5 }), { maxLength: 8 }), (chunks) => {
    const collector = new CopyCollector(1 << 20);
    for (const rows of chunks) assert.equal(collector.add(Buffer.from(rows.join(''))), rows.length);
    const taken = collector.take();
    if (chunks.length === 0) return assert.equal(taken, undefined);
    const all = chunks.flat();
    const found = [...taken!.rowOffsets].map((at) => Buffer.from(taken!.arena.subarray(at, Buffer.from(taken!.arena).indexOf(0x0a, at) + 1)).toString());
    assert.deepEqual(found, all);
    assert.equal(collector.take(), undefined);
  }));
});
