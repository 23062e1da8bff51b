/**
 * Walberg against a drain of the same WAL to nowhere: `npm run bench [-- rows [rounds]]`. Both read the same 2,000,000 inserts of 10
 * columns from slots of their own, in turn; the ratio says how much of the server's speed is left when tables are written.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ConnectionConfig } from '../../src/config/config.js';
import { startPostgres, type PostgresServer } from '../../src/demo/postgres-server.js';
import { connect, type SourceClient } from '../../src/postgres/client.js';

const ROWS = Number(process.argv[2] ?? 2_000_000);
const ROUNDS = Number(process.argv[3] ?? 3);
const ROWS_PER_TRANSACTION = 1000;
const PUBLICATION = 'bench';
const run = promisify(execFile);
const out = (text: string): void => { process.stdout.write(`${text}\n`); };

const TABLE = `CREATE TABLE public.bench (id bigint PRIMARY KEY, customer int NOT NULL, paid boolean, price numeric(12,2), weight double precision, name text, status text, day date, created timestamptz, note text)`;
const INSERT = `INSERT INTO public.bench SELECT g, g % 50000, g % 3 = 0, (g % 9000) + 0.25, g / 7.0, 'customer name ' || g % 200000, (ARRAY['new','paid','shipped','returned'])[g % 4 + 1],
  date '2024-01-01' + (g % 365)::int, timestamptz '2024-05-01 00:00:00+00' + g * interval '1.000123 s', CASE WHEN g % 5 = 0 THEN NULL ELSE 'order ' || g || ' left the warehouse' END FROM generate_series($1::bigint, $2::bigint) g`;

function connectionTo(server: PostgresServer): ConnectionConfig {
  return { host: server.host, port: server.port, user: server.user, password: server.password, database: server.database, sslMode: 'disable', tcpKeepAlive: true, queryTimeoutMs: 0 };
}

function properties(server: PostgresServer, warehouse: string, slot: string, snapshotMode: string): Record<string, string> {
  return {
    'debezium.source.database.hostname': server.host, 'debezium.source.database.port': String(server.port), 'debezium.source.database.user': server.user,
    'debezium.source.database.password': server.password, 'debezium.source.database.dbname': server.database, 'debezium.source.topic.prefix': slot,
    'debezium.source.slot.name': slot, 'debezium.source.publication.name': PUBLICATION, 'debezium.source.table.include.list': 'public.bench', 'debezium.source.snapshot.mode': snapshotMode,
    'debezium.sink.type': 'iceberg', 'debezium.sink.iceberg.type': 'hadoop', 'debezium.sink.iceberg.warehouse': warehouse, 'debezium.sink.iceberg.table-namespace': 'bench',
    'debezium.sink.iceberg.upsert': 'true', 'debezium.sink.iceberg.upsert-keep-deletes': 'false', 'quarkus.http.port': '0', 'walberg.commit.interval.ms': '1000',
  };
}

async function child(script: string, argument: object): Promise<Record<string, number>> {
  const { stdout } = await run(process.execPath, [join(import.meta.dirname, script), JSON.stringify(argument)], { maxBuffer: 1 << 24 });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}') as Record<string, number>;
}

const hasRecvlogical = spawnSync('pg_recvlogical', ['--version']).status === 0;

async function drain(server: PostgresServer, slot: string, endLsn: string): Promise<number> {
  if (!hasRecvlogical) return (await child('drain-child.js', { connection: connectionTo(server), slot, publication: PUBLICATION, endLsn })).seconds;
  const started = performance.now();
  await run('/bin/sh', ['-c', `exec pg_recvlogical -h ${server.host} -p ${server.port} -U ${server.user} -d ${server.database} --slot ${slot} --start --no-loop -o proto_version=1 -o publication_names=${PUBLICATION} --endpos ${endLsn} -f - > /dev/null`],
    { env: { ...process.env, PGPASSWORD: server.password } });
  return (performance.now() - started) / 1000;
}

async function write(client: SourceClient): Promise<string> {
  for (let from = 1; from <= ROWS; from += ROWS_PER_TRANSACTION) await client.rows(INSERT, [from, Math.min(ROWS, from + ROWS_PER_TRANSACTION - 1)], 0);
  // A last transaction of its own, so that the end is a commit both sides receive.
  const [{ lsn }] = await client.rows<{ lsn: string }>('SELECT pg_current_wal_insert_lsn() AS lsn');
  await client.rows('DELETE FROM public.bench WHERE id = 1');
  await client.rows('CHECKPOINT', [], 0);
  return lsn;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1];

const server = await startPostgres({ settings: { max_wal_size: '16GB', shared_buffers: '256MB', synchronous_commit: 'off', wal_sender_timeout: '0' } });
const warehouse = mkdtempSync(join(tmpdir(), 'walberg-bench-'));
try {
  const client = await connect(connectionTo(server));
  await client.rows(TABLE);
  await client.rows(`CREATE PUBLICATION ${PUBLICATION} FOR TABLE public.bench`);
  const slots = Array.from({ length: ROUNDS }, (_, i) => ({ drain: `drain_${i}`, walberg: `walberg_${i}` }));
  for (const slot of slots) {
    await client.rows(`SELECT pg_create_logical_replication_slot('${slot.drain}', 'pgoutput')`);
    // Creates its slot and its table, at a position before the rows.
    await child('daemon-child.js', { properties: properties(server, warehouse, slot.walberg, 'no_data') });
  }
  out(`${ROWS.toLocaleString('en')} rows of 10 columns, ${ROWS_PER_TRANSACTION} per transaction; ${cpus()[0]?.model ?? 'unknown'} × ${availableParallelism()}, Node ${process.version}, load ${loadavg()[0].toFixed(2)}`);
  const endLsn = await write(client);
  const ratios: number[] = [];
  for (const slot of slots) {
    const drained = await drain(server, slot.drain, endLsn);
    const walberg = await child('daemon-child.js', { properties: properties(server, warehouse, slot.walberg, 'initial'), endLsn });
    ratios.push(drained / walberg.seconds);
    out(`drain (${hasRecvlogical ? 'pg_recvlogical' : 'own'}) ${Math.round(ROWS / drained).toLocaleString('en')} rows/s   walberg ${Math.round(ROWS / walberg.seconds).toLocaleString('en')} rows/s   ratio ${ratios.at(-1)!.toFixed(2)}   ${walberg.commits} commits, peak ${Math.round(walberg.peakMib)} MiB, ${(walberg.cpuSeconds / ROWS * 1e6).toFixed(1)} CPU s per million rows`);
  }
  out(`ratio: median ${median(ratios).toFixed(2)}, from ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)} over ${ROUNDS} rounds`);
  await client.close();
} finally {
  await server.destroy();
  rmSync(warehouse, { recursive: true, force: true });
}
const writers = join(import.meta.dirname, 'parquet-writers.js');
out(`\nParquet writers\n${(await run(process.execPath, [writers], { maxBuffer: 1 << 24 })).stdout.trim()}`);
