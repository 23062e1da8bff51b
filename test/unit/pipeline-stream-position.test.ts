import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StreamPosition } from '../../src/pipeline/stream-position.js';

describe('the position of the stream', () => {
  it('never goes back, and lets waiters go when it has passed them', async () => {
    let asked = 0;
    const position = new StreamPosition(5n, () => { asked++; });
    await position.reached(5n);
    assert.equal(asked, 0);
    const order: string[] = [];
    const far = position.reached(20n).then(() => order.push('far'));
    const near = position.reached(10n).then(() => order.push('near'));
    assert.ok(asked >= 2, 'the server is asked for its position');
    position.advance(3n);
    assert.equal(position.lsn, 5n);
    position.advance(12n);
    await near;
    assert.deepEqual(order, ['near']);
    assert.equal(position.waiting, 1);
    position.advance(20n);
    await far;
    assert.equal(position.waiting, 0);
  });

  it('fails its waiters when the stream ends', async () => {
    const position = new StreamPosition(0n, () => {});
    const waiting = position.reached(1n);
    position.end(new Error('cut'));
    await assert.rejects(waiting, /cut/);
  });
});
