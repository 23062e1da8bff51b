import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Acker } from '../../src/pipeline/acker.js';

describe('confirmation to the slot', () => {
  it('follows the stream when nothing is outstanding, and never goes back', () => {
    const confirmed: bigint[] = [];
    const acker = new Acker(() => [{ durableLsn: undefined }, { durableLsn: undefined }], (lsn) => confirmed.push(lsn));
    for (const lsn of [10n, 10n, 7n, 12n]) acker.update(lsn);
    assert.deepEqual(confirmed, [10n, 12n]);
    assert.equal(acker.confirmed, 12n);
  });

  it('is the least position that is durable in every table with something outstanding', () => {
    fc.assert(fc.property(fc.array(fc.option(fc.bigInt(0n, 100n), { nil: undefined }), { maxLength: 5 }), fc.bigInt(1n, 100n), (tables, stream) => {
      const acker = new Acker(() => tables.map((durableLsn) => ({ durableLsn })), () => {});
      acker.update(stream);
      const held = tables.filter((t) => t !== undefined);
      assert.equal(acker.confirmed, held.reduce((min, t) => (t < min ? t : min), stream));
    }));
  });
});
