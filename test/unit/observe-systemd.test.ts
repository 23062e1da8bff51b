import assert from 'node:assert/strict';
import { test } from 'node:test';
import { broadcast } from '../../src/observe/events.js';
import { Health } from '../../src/observe/health.js';
import { SourceLag } from '../../src/observe/source-lag.js';
import { systemdNotify, SystemdService, watchdogMs } from '../../src/observe/systemd.js';

test('no service manager: nothing to notify, nothing fails', async () => {
  assert.equal(systemdNotify({}), undefined);
  assert.equal(systemdNotify({ NOTIFY_SOCKET: '' }), undefined);
  const service = new SystemdService({ notify: undefined, watchdogMs: 1000, health: new Health({ lag: new SourceLag() }) });
  service.ready('x');
  service.beat();
  service.stopping();
  await service.close();
});

test('a missing systemd-notify is no error', async () => {
  const notify = systemdNotify({ NOTIFY_SOCKET: '/nowhere', PATH: '/nowhere' });
  await notify!('READY=1');
});

test('the watchdog period is for this process only', () => {
  assert.equal(watchdogMs({}), undefined);
  assert.equal(watchdogMs({ WATCHDOG_USEC: '30000000' }), 30_000);
  assert.equal(watchdogMs({ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7' }, 7), 30_000);
  assert.equal(watchdogMs({ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '8' }, 7), undefined);
  assert.equal(watchdogMs({ WATCHDOG_USEC: '0' }), undefined);
});

test('ready, status, signs of life only while live, stopping: in this order', async () => {
  let now = 0;
  const sent: string[] = [];
  const lag = new SourceLag(() => now);
  const health = new Health({ lag, limits: { notReadyAfterMs: 1, notLiveAfterMs: 1000 }, now: () => now });
  const events = broadcast([lag.listener, health.listener]);
  const service = new SystemdService({ notify: async (...assignments) => {
    // The first takes longest: the order must hold nevertheless.
    for (let turns = 20 - sent.length; turns > 0; turns--) await Promise.resolve();
    sent.push(...assignments);
  }, watchdogMs: 60_000, health });
  service.ready('starting');
  service.beat();
  events.sessionStarted({ slot: 's', publication: 'p', startLsn: 1n, tables: [] });
  service.status('streaming');
  events.transactionAccepted({ endLsn: 9n, commitTimeMs: 0 });
  now = 1001;
  service.beat();
  events.confirmed(9n);
  service.beat();
  service.stopping();
  await service.close();
  assert.deepEqual(sent, ['READY=1', 'STATUS=starting', 'WATCHDOG=1', 'STATUS=streaming', 'WATCHDOG=1', 'STOPPING=1']);
});
