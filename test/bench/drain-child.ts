/**
 * Receives a slot's stream up to a position and throws it away undecoded: what `pg_recvlogical` does, for machines that do not
 * have it. Arguments as JSON: connection, slot, publication, endLsn. Prints the seconds it took.
 */
import { WalsenderService } from '../../src/postgres/walsender-service.js';
import { parseLsn } from '../../src/postgres/lsn.js';
import { standbyStatusFrame } from '../../src/postgres/standby-status.js';
import type { ConnectionConfig } from '../../src/config/config.js';

const { connection, slot, publication, endLsn } = JSON.parse(process.argv[2]) as { connection: ConnectionConfig; slot: string; publication: string; endLsn: string };
const end = parseLsn(endLsn);
const service = new WalsenderService(connection, 'drain');
const [, wire] = await service.client();
const started = performance.now();
let received = 0n;
const done = (): void => {
  process.stdout.write(`${JSON.stringify({ seconds: (performance.now() - started) / 1000 })}\n`, () => process.exit());
};
await service.stream(slot, [publication], 0n, {
  onMessage: (buffer, start) => {
    const lsn = buffer.readBigUInt64BE(start + (buffer[start] === 0x77 ? 9 : 1));
    if (lsn > received) received = lsn;
    if (buffer[start] === 0x6b && received >= end) done();
  },
  onChunk: () => { if (received >= end) wire.stream.write(standbyStatusFrame({ writeLsn: received, flushLsn: 0n, replyRequested: true, nowMs: Date.now() })); },
  onError: (error) => { throw error; },
  onStart: () => {},
});
