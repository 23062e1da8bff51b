import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWalbergError } from '../../src/errors/error.js';
import type { FoundTable } from '../../src/pipeline/open-tables.js';
import { GUARD_BASE, slotGuard } from '../../src/pipeline/guard-base.js';
import { MARKER_PREFIX, SlotGuard } from '../../src/pipeline/slot-guard.js';
import { RecordingHandler } from '../support/recording-handler.js';

const RELATION = { oid: 1, schema: 'public', name: 't', replicaIdentity: 'd', columns: [] } as const;
const moved = (error: unknown): boolean => isWalbergError(error, 'SLOT_MOVED');

/** A guard over a slot at 100, and what it did. */
function guarded(proven: boolean, onEmit: () => Promise<unknown> = async () => {}, serverLsn: () => bigint = () => 100n): { guard: SlotGuard; confirmed: bigint[]; emitted: string[]; marker: (lsn: bigint, slot?: string, prefix?: string) => void } {
  const confirmed: bigint[] = [];
  const emitted: string[] = [];
  const guard = new SlotGuard({ slot: 'mine', startLsn: 100n, proven, handler: new RecordingHandler(), confirm: (lsn) => confirmed.push(lsn), serverLsn: async () => serverLsn(), emit: (prefix, content) => { emitted.push(`${prefix} ${content}`); return onEmit(); } });
  guard.expectProofUntil(500n);
  return {
    guard, confirmed, emitted,
    marker: (lsn, slot = 'mine', prefix = MARKER_PREFIX) => {
      guard.begin(lsn, 0n, 1);
      guard.message(true, lsn - 1n, prefix, Buffer.from(slot));
      guard.commit(lsn, lsn + 8n, 0n);
    },
  };
}

test('only beginnings of markers are confirmed, once everything before them is durable', () => {
  const { guard, confirmed, marker } = guarded(true);
  guard.durable(1000n);
  assert.deepEqual(confirmed, []);
  marker(2000n);
  marker(3000n);
  guard.durable(1999n);
  assert.deepEqual(confirmed, []);
  guard.durable(2000n);
  guard.durable(2999n);
  assert.deepEqual(confirmed, [2000n]);
  marker(4000n);
  guard.durable(9000n);
  assert.deepEqual(confirmed, [2000n, 4000n]);
  assert.equal(guard.confirmed, 4000n);
});

test('the marker where the slot stands proves it, and may be left there again', () => {
  const { guard, confirmed, marker } = guarded(false);
  guard.keepalive(499n, 0n);
  marker(100n);
  guard.relation(RELATION);
  guard.keepalive(600n, 0n);
  guard.durable(600n);
  assert.deepEqual(confirmed, [100n]);
});

test('anything else that comes first is refused before it is applied', () => {
  assert.throws(() => { const { guard } = guarded(false); guard.begin(120n, 0n, 1); guard.relation(RELATION); }, moved);
  assert.throws(() => { const { guard } = guarded(false); guard.begin(100n, 0n, 1); guard.commit(100n, 108n, 0n); }, moved, 'a transaction without a message at the very place');
  assert.throws(() => guarded(false).marker(120n), moved, 'a later marker: what lies between was skipped');
  assert.throws(() => guarded(false).marker(100n, 'yours'), moved, 'the marker of another slot');
  assert.throws(() => guarded(false).marker(100n, 'mine', 'other'), moved, 'a message of somebody else');
  assert.throws(() => guarded(false).guard.keepalive(500n, 0n), moved, 'nothing came');
});

test('messages outside of transactions are no markers', () => {
  const { guard, confirmed } = guarded(true);
  guard.message(false, 2000n, MARKER_PREFIX, Buffer.from('mine'));
  guard.durable(5000n);
  assert.deepEqual(confirmed, []);
  assert.throws(() => { const g = guarded(false).guard; g.message(false, 100n, MARKER_PREFIX, Buffer.from('mine')); g.keepalive(500n, 0n); }, moved);
});

test('a marker is made at once when there is none, then only after enough WAL, one at a time, and never unproven', async () => {
  let server = 1000n;
  const { guard, emitted, marker } = guarded(true, undefined, () => server);
  await Promise.all([guard.mark(), guard.mark()]);
  assert.deepEqual(emitted, [`${MARKER_PREFIX} mine`]);
  server += 65_535n;
  await guard.mark();
  assert.equal(emitted.length, 1);
  server += 1n;
  await guard.mark();
  assert.equal(emitted.length, 2, 'though none has arrived yet');
  marker(900_000n);
  server = 900_000n + 65_535n;
  await guard.mark();
  assert.equal(emitted.length, 2);
  const unproven = guarded(false);
  await unproven.guard.mark();
  assert.deepEqual(unproven.emitted, []);
});

test('a marker that could not be made is made later', async () => {
  let fail = true;
  const { guard, emitted } = guarded(true, async () => { if (fail) throw new Error('refused'); });
  await assert.rejects(guard.mark(), /refused/);
  fail = false;
  await guard.mark();
  assert.equal(emitted.length, 2);
});

test('the base: none at first, kept by later sessions, reloads do not count, and a slot at or before it needs no marker', () => {
  const found = (base?: string, reloadPending = false): FoundTable => ({ reloadPending, existing: { metadata: { properties: base === undefined ? {} : { [GUARD_BASE]: base } } } }) as unknown as FoundTable;
  const of = (tables: FoundTable[], confirmedFlushLsn: bigint, created = false): string => { const { proven, properties } = slotGuard(tables, { confirmedFlushLsn, created }); return `${proven} ${properties[GUARD_BASE]}`; };
  assert.equal(of([], 0x20n), 'true 0000000000000020');
  assert.equal(of([found()], 0x20n), 'true 0000000000000020');
  assert.equal(of([found(), found('0000000000000010')], 0x20n), 'false 0000000000000010');
  assert.equal(of([found('0000000000000020')], 0x20n), 'true 0000000000000020');
  assert.equal(of([found('0000000000000030')], 0x20n), 'true 0000000000000030');
  assert.equal(of([found('0000000000000010', true)], 0x20n), 'true 0000000000000020');
  assert.equal(of([found('0000000000000010')], 0x20n, true), 'true 0000000000000020');
});
