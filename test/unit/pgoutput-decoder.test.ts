import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import { PgOutputDecoder } from '../../src/pgoutput/decoder.js';
import { LENGTH_NULL, LENGTH_UNCHANGED_TOAST, type TupleView } from '../../src/pgoutput/messages.js';
import * as wire from '../support/pgoutput-bytes.js';
import { RecordingHandler } from '../support/recording-handler.js';

const decode = (payload: Uint8Array, before = 0, after = 0): unknown[] => {
  const handler = new RecordingHandler();
  const surrounded = Buffer.concat([Buffer.alloc(before, 0xee), payload, Buffer.alloc(after, 0xee)]);
  new PgOutputDecoder().decode(surrounded, before, before + payload.length, handler);
  return handler.events;
};

const micros = 1_700_000_000_123_456n;

test('every message of protocol version 1 arrives with its fields', () => {
  assert.deepEqual(decode(wire.begin({ finalLsn: 0xfedcba9876543210n, commitTimeMicros: micros, xid: 0xfffffffe })), [['begin', 0xfedcba9876543210n, micros, 4294967294]]);
  assert.deepEqual(decode(wire.commit({ commitLsn: 1n, endLsn: 2n, commitTimeMicros: -5n })), [['commit', 1n, 2n, -5n]]);
  assert.deepEqual(decode(wire.origin(7n, 'öst')), [['origin', 7n, 'öst']]);
  assert.deepEqual(decode(wire.type(0x80000001, 'public', 'mood')), [['type', 2147483649, 'public', 'mood']]);
  assert.deepEqual(decode(wire.truncate([1, 0xc0000001], { cascade: true })), [['truncate', [1, 3221225473], true, false]]);
  assert.deepEqual(decode(wire.truncate([5], { restartIdentity: true })), [['truncate', [5], false, true]]);
  assert.deepEqual(decode(wire.message({ transactional: true, lsn: 9n, prefix: 'p', content: Buffer.from([0, 1, 255]) })), [['message', true, 9n, 'p', '0001ff']]);
  assert.deepEqual(decode(wire.insert(1, ['a', '', null])), [['insert', 1, ['a', '', null]]]);
  assert.deepEqual(decode(wire.update(1, ['a', wire.UNCHANGED])), [['update', 1, 'none', undefined, ['a', wire.UNCHANGED]]]);
  assert.deepEqual(decode(wire.update(1, ['b'], { kind: 'key', row: ['a'] })), [['update', 1, 'key', ['a'], ['b']]]);
  assert.deepEqual(decode(wire.update(1, ['b'], { kind: 'full', row: ['a'] })), [['update', 1, 'full', ['a'], ['b']]]);
  assert.deepEqual(decode(wire.del(1, 'key', ['a', null])), [['delete', 1, 'key', ['a', null]]]);
  assert.deepEqual(decode(wire.del(1, 'full', ['a', 'x'])), [['delete', 1, 'full', ['a', 'x']]]);
});

test('a relation keeps names exactly, OIDs unsigned and type modifiers signed', () => {
  const spec: wire.RelationSpec = {
    oid: 0xc0000001, schema: 'sche.ma', name: '\ufeffta"ble', replicaIdentity: 'f',
    columns: [{ name: 'id', typeOid: 23, identity: true }, { name: '日本 x', typeOid: 0xf0000000, typmod: 655366, identity: false }],
  };
  assert.deepEqual(decode(wire.relation(spec)), [['relation', {
    oid: 3221225473, schema: 'sche.ma', name: '\ufeffta"ble', replicaIdentity: 'f',
    columns: [{ name: 'id', typeOid: 23, typmod: -1, identity: true }, { name: '日本 x', typeOid: 4026531840, typmod: 655366, identity: false }],
  }]]);
  assert.deepEqual(decode(wire.relation({ oid: 1, schema: '', name: 'empty', columns: [] })), [['relation', { oid: 1, schema: 'pg_catalog', name: 'empty', replicaIdentity: 'd', columns: [] }]]);
});

test('a row of more columns than the first buffer holds', () => {
  const row = Array.from({ length: 1600 }, (_, i) => (i % 3 === 0 ? null : `v${i}`));
  assert.deepEqual(decode(wire.insert(1, row)), [['insert', 1, row]]);
});

test('tuple views are reused, so rows cost nothing', () => {
  const decoder = new PgOutputDecoder();
  const seen: TupleView[] = [];
  const handler = new RecordingHandler();
  handler.insert = (_oid, row) => { seen.push(row); };
  const a = wire.insert(1, ['1']);
  const b = wire.insert(1, ['2', null, wire.UNCHANGED]);
  decoder.decode(a, 0, a.length, handler);
  decoder.decode(b, 0, b.length, handler);
  assert.equal(seen[0], seen[1]);
  assert.equal(seen[1].lengths[1], LENGTH_NULL);
  assert.equal(seen[1].lengths[2], LENGTH_UNCHANGED_TOAST);
});

test('messages of later protocol versions are refused by name', () => {
  for (const [tag, name] of [['S', 'Stream Start'], ['E', 'Stream Stop'], ['c', 'Stream Commit'], ['A', 'Stream Abort'], ['b', 'Begin Prepare'], ['P', 'Prepare'], ['K', 'Commit Prepared'], ['r', 'Rollback Prepared'], ['p', 'Stream Prepare']]) {
    assert.throws(() => decode(Buffer.concat([Buffer.from(tag), Buffer.alloc(30)])), (e: unknown) => isWalbergError(e, 'PROTOCOL') && e.message.includes(name));
  }
  assert.throws(() => decode(Buffer.from('?')), (e: unknown) => isWalbergError(e, 'PROTOCOL') && e.message.includes('0x3f'));
  assert.throws(() => decode(Buffer.alloc(0)), (e: unknown) => isWalbergError(e, 'PROTOCOL'));
});

test('a handler error passes unchanged', () => {
  const handler = new RecordingHandler();
  const boom = new Error('boom');
  handler.insert = () => { throw boom; };
  const payload = wire.insert(1, ['1']);
  assert.throws(() => new PgOutputDecoder().decode(payload, 0, payload.length, handler), (e) => e === boom);
});

const value = fc.oneof(fc.constant(null), fc.constant(wire.UNCHANGED), fc.string({ unit: 'binary' }).map((s) => s.replaceAll('\0', '')));
const row = fc.array(value, { maxLength: 12 });
const name = fc.string({ unit: 'binary', maxLength: 20 }).map((s) => s.replaceAll('\0', ''));
const oid = fc.integer({ min: 1, max: 0xffffffff });
const lsn = fc.bigInt({ min: 0n, max: 0xffffffffffffffffn });
const anyMessage = fc.oneof(
  fc.tuple(oid, row).map(([o, r]) => wire.insert(o, r)),
  fc.tuple(oid, row, row, fc.constantFrom('key', 'full')).map(([o, r, old, kind]) => wire.update(o, r, { kind, row: old })),
  fc.tuple(oid, row).map(([o, r]) => wire.update(o, r)),
  fc.tuple(oid, row).map(([o, r]) => wire.del(o, 'full', r)),
  fc.tuple(lsn, oid).map(([l, x]) => wire.begin({ finalLsn: l, commitTimeMicros: micros, xid: x })),
  fc.tuple(lsn, lsn).map(([l, e]) => wire.commit({ commitLsn: l, endLsn: e, commitTimeMicros: micros })),
  fc.tuple(oid, name, name, fc.array(fc.tuple(name, oid), { maxLength: 5 })).map(([o, s, n, cs]) => wire.relation({ oid: o, schema: s, name: n, columns: cs.map(([c, t]) => ({ name: c, typeOid: t })) })),
  fc.array(oid, { maxLength: 5 }).map((oids) => wire.truncate(oids)),
  fc.tuple(lsn, name, fc.uint8Array({ maxLength: 20 })).map(([l, p, c]) => wire.message({ transactional: true, lsn: l, prefix: p, content: c })),
  fc.tuple(lsn, name).map(([l, n]) => wire.origin(l, n)),
  fc.tuple(oid, name, name).map(([o, s, n]) => wire.type(o, s, n)),
);

test('a message means the same wherever it lies in the buffer', () => {
  fc.assert(fc.property(anyMessage, fc.nat(40), fc.nat(40), (payload, before, after) => {
    assert.deepEqual(decode(payload, before, after), decode(payload));
  }));
});

test('tuples come back as they were written', () => {
  fc.assert(fc.property(oid, row, row, (o, r, old) => {
    assert.deepEqual(decode(wire.update(o, r, { kind: 'full', row: old })), [['update', o, 'full', old, r]]);
  }));
});

test('a shortened message is refused, never misread', () => {
  fc.assert(fc.property(anyMessage, fc.nat(), (payload, cut) => {
    const length = cut % payload.length;
    const handler = new RecordingHandler();
    // The cut-off bytes stay in the buffer behind the message, where a missing bounds check would find them.
    assert.throws(() => new PgOutputDecoder().decode(payload, 0, length, handler), (e: unknown) => isWalbergError(e, 'PROTOCOL'));
    assert.deepEqual(handler.events, []);
  }));
});

test('a lengthened message is refused', () => {
  fc.assert(fc.property(anyMessage, fc.uint8Array({ minLength: 1, maxLength: 8 }), (payload, extra) => {
    assert.throws(() => decode(Buffer.concat([payload, extra])), (e: unknown) => isWalbergError(e, 'PROTOCOL'));
  }));
});

test('damaged bytes end in a PROTOCOL error or a decoded message, never in another error', () => {
  fc.assert(fc.property(anyMessage, fc.nat(), fc.integer({ min: 0, max: 255 }), (payload, at, byte) => {
    payload[at % payload.length] = byte;
    try {
      decode(payload, 3, 9);
    } catch (e) {
      assert.ok(isWalbergError(e, 'PROTOCOL'), String(e));
    }
  }), { numRuns: 1000 });
});

test('row bytes never appear in an error', () => {
  const payload = wire.insert(1, ['secret-value', 'b']);
  payload[payload.length - 6] = 0x7a;
  assert.throws(() => decode(payload), (e: unknown) => isWalbergError(e, 'PROTOCOL') && !JSON.stringify([e.message, e.context, e.hint]).includes('secret'));
});
