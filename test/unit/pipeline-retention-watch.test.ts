import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SourceStatus } from '../../src/observe/events.js';
import { retentionLevel, RetentionWatch } from '../../src/pipeline/retention-watch.js';

const share = (retainedBytes: bigint, walStatus = 'reserved'): SourceStatus => ({ walStatus, retainedBytes, keepBytes: 1000n });

test('half of the limit is a level of its own, which is left at two fifths', () => {
  assert.equal(retentionLevel(share(500n), 'fine'), 'fine');
  assert.equal(retentionLevel(share(501n), 'fine'), 'half');
  assert.equal(retentionLevel(share(501n, 'extended'), 'extended'), 'half');
  assert.equal(retentionLevel(share(401n), 'half'), 'half');
  assert.equal(retentionLevel(share(400n), 'half'), 'fine');
  assert.equal(retentionLevel(share(400n, 'extended'), 'unreserved'), 'extended');
});

test("the server's word counts more, and without a limit nothing is half", () => {
  assert.equal(retentionLevel(share(1n, 'unreserved'), 'fine'), 'unreserved');
  assert.equal(retentionLevel(share(1n, 'lost'), 'fine'), 'lost');
  assert.equal(retentionLevel({ walStatus: 'extended', retainedBytes: 1n << 60n }, 'fine'), 'extended');
  assert.equal(retentionLevel({}, 'fine'), 'fine');
});

test('a warning whenever it becomes worse, none while it stays or gets better', () => {
  const warnings: unknown[] = [];
  const watch = new RetentionWatch({ warning: ({ context }) => warnings.push(context) });
  for (const status of [share(1n), share(600n), share(700n), share(450n), share(100n), share(501n), share(900n, 'unreserved'), share(900n, 'unreserved'), share(1n), share(1n, 'extended')]) watch.look(status);
  assert.deepEqual(warnings, [[600n, 'reserved'], [501n, 'reserved'], [900n, 'unreserved'], [1n, 'extended']].map(([retainedBytes, walStatus]) => ({ walStatus, retainedBytes, keepBytes: 1000n, safeBytes: undefined })));
});
