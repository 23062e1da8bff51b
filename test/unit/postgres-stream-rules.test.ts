import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import { Confirmation } from '../../src/postgres/confirmation.js';
import { classifyPostgresError } from '../../src/postgres/errors.js';
import { liveness, type LivenessState } from '../../src/postgres/liveness.js';
import { formatLsn, parseLsn, sortableLsn } from '../../src/postgres/lsn.js';
import { quoteLiteral, quotePublicationList } from '../../src/postgres/quote.js';
import { standbyStatusFrame } from '../../src/postgres/standby-status.js';
import { parseSnapshot, snapshotSees } from '../../src/postgres/transaction-snapshot.js';

const lsn = fc.bigInt({ min: 0n, max: 0xffffffffffffffffn });

test('LSNs: text and back, sortable text sorts like the number', () => {
  assert.equal(parseLsn('16/B374D848'), 0x16b374d848n);
  assert.equal(formatLsn(0x100000000n), '1/0');
  fc.assert(fc.property(lsn, (l) => { assert.equal(parseLsn(formatLsn(l)), l); assert.equal(BigInt(`0x${sortableLsn(l)}`), l); }));
  fc.assert(fc.property(lsn, lsn, (a, b) => { assert.equal(sortableLsn(a) < sortableLsn(b), a < b); }));
  for (const bad of ['', '1', '1/', '/1', '1/123456789', 'g/0', '1/0 ']) assert.throws(() => parseLsn(bad));
});

test('reported positions never fall and never pass what arrived', () => {
  const step = fc.oneof(fc.record({ received: lsn }), fc.record({ confirm: lsn }), fc.constant({ report: true }));
  fc.assert(fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
    const c = new Confirmation();
    let received = 0n;
    let wanted = 0n;
    let last = 0n;
    for (const s of steps) {
      if ('received' in s) {
        c.noteReceived(Number(s.received >> 32n), Number(s.received & 0xffffffffn));
        if (s.received > received) received = s.received;
      } else if ('confirm' in s) {
        c.request(s.confirm);
        if (s.confirm > wanted) wanted = s.confirm;
      } else {
        const reported = c.report();
        assert.ok(reported >= last);
        last = reported;
        assert.equal(reported, wanted < received ? wanted : received);
      }
      assert.equal(c.received, received);
    }
  }));
});

test('the status message, byte by byte', () => {
  const frame = standbyStatusFrame({ writeLsn: 0x1122334455667788n, flushLsn: 0x99n, replyRequested: true, nowMs: Date.UTC(2000, 0, 1) + 2 });
  assert.equal(frame.toString('hex'), '64' + '00000026' + '72' + '1122334455667788' + '0000000000000099' + '0000000000000099' + '00000000000007d0' + '01');
});

test('liveness', () => {
  const state = (changes: Partial<LivenessState>): LivenessState => ({ now: 0, heardAt: 0, askedAt: undefined, paused: false, walSenderTimeoutMs: 60_000, ...changes });
  assert.equal(liveness(state({ now: 29_999 })), 'alive');
  assert.equal(liveness(state({ now: 30_000 })), 'ask');
  assert.equal(liveness(state({ now: 119_999, askedAt: 30_000 })), 'alive');
  assert.equal(liveness(state({ now: 120_000, askedAt: 30_000 })), 'dead');
  assert.equal(liveness(state({ now: 120_000, askedAt: 119_000 })), 'alive', 'a reply just asked for is waited for');
  assert.equal(liveness(state({ now: 500_000 })), 'ask', 'never dead without having asked');
  assert.equal(liveness(state({ now: 1e9, askedAt: 1, walSenderTimeoutMs: 0 })), 'alive', 'no timeout at the server, no watchdog');
  assert.equal(liveness(state({ now: 1e9, askedAt: 1, paused: true })), 'alive', 'silence of our own making');
});

test('errors get their code by SQLSTATE, errno or the words of the driver', () => {
  const server = (code: string, message = 'x', routine = ''): object => Object.assign(new Error(message), { code, severity: 'ERROR', routine });
  const cases: [unknown, string][] = [
    [server('55006'), 'SLOT_TAKEN'],
    [server('57P01'), 'SOURCE_SHUTDOWN'],
    [server('57P03'), 'SOURCE_SHUTDOWN'],
    [server('53300'), 'SOURCE_BUSY'],
    [server('53400'), 'SOURCE_BUSY'],
    [server('28P01'), 'SOURCE_AUTH'],
    [server('28000'), 'SOURCE_AUTH'],
    [server('42501'), 'SOURCE_PRIVILEGE'],
    [server('42704', 'le slot de réplication « x » n\'existe pas', 'ReplicationSlotAcquire'), 'SLOT_MISSING'],
    [server('42704', 'publication "x" does not exist', 'get_publication_oid'), 'PUBLICATION_MISSING'],
    [server('42704', 'unrecognized configuration parameter "idle_session_timeout"', 'find_option'), 'SOURCE_SETTINGS'],
    [server('55000', 'cannot read from logical replication slot "x"', 'StartLogicalReplication'), 'SLOT_LOST'],
    [server('55000', 'can no longer access replication slot "x"', 'ReplicationSlotAcquire'), 'SLOT_LOST'],
    [server('55000', 'logical decoding requires "wal_level" >= "logical"', 'CheckLogicalDecodingRequirements'), 'SOURCE_SETTINGS'],
    [server('58P01'), 'SLOT_LOST'],
    [server('XX000'), 'PROTOCOL'],
    [server('08006'), 'SOURCE_UNREACHABLE'],
    [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 'SOURCE_UNREACHABLE'],
    [Object.assign(new Error('x'), { code: 'EPIPE' }), 'SOURCE_UNREACHABLE'],
    [Object.assign(new Error('x'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' }), 'SOURCE_TLS'],
    [Object.assign(new Error('x'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }), 'SOURCE_TLS'],
    [new Error('The server does not support SSL connections'), 'SOURCE_TLS'],
    [new Error('Connection terminated unexpectedly'), 'SOURCE_UNREACHABLE'],
    [new Error('timeout expired'), 'SOURCE_UNREACHABLE'],
    [new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a non-empty string'), 'SOURCE_AUTH'],
    [new Error('Query read timeout'), 'SOURCE_TIMEOUT'],
    [new TypeError('x is not a function'), 'INTERNAL'],
    ['text', 'INTERNAL'],
  ];
  for (const [error, code] of cases) assert.equal(classifyPostgresError(error).code, code, `${(error as { code?: string }).code} ${String(error)}`);
});

test('row values in server messages stay out of ours', () => {
  const error = classifyPostgresError(Object.assign(new Error('invalid input syntax for type integer: "secret"'), { code: '22P02', severity: 'ERROR', detail: 'secret' }));
  assert.ok(!JSON.stringify([error.message, error.context, error.hint]).includes('secret'));
  assert.ok(isWalbergError(error));
});

test('quoting', () => {
  assert.equal(quotePublicationList(['MyPub', `a"b'c`]), `'"MyPub","a""b''c"'`);
  assert.equal(quoteLiteral(`it's`), `'it''s'`);
  assert.equal(quoteLiteral('a\\b'), `E'a\\\\b'`);
});

test('a snapshot sees what ended before it, around the wrap of 32-bit ids too', () => {
  const s = parseSnapshot('100:110:102,105', false);
  assert.deepEqual([99, 100, 101, 102, 105, 109, 110, 111].map((x) => snapshotSees(s, x)), [true, true, true, false, false, true, false, false]);
  const wrapped = parseSnapshot('4294967290:4294967302:4294967291,4294967300', false);
  assert.deepEqual([0xfffffff9, 0xfffffffb, 0xfffffffc, 3, 4, 5, 6, 7].map((x) => snapshotSees(wrapped, x)), [true, false, true, true, false, true, false, false]);
  assert.deepEqual([99, 101].map((x) => snapshotSees(parseSnapshot('100:110:', true), x)), [true, false]);
  assert.deepEqual([4, 5].map((x) => snapshotSees(parseSnapshot('5:5:', false), x)), [true, false]);
});
