import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { SourceClient } from '../../src/postgres/client.js';
import { readSlot } from '../../src/postgres/slot.js';
import { retentionLevel } from '../../src/pipeline/retention-watch.js';
import { readSourceStatus } from '../../src/postgres/source-status.js';
import { readPublication } from '../../src/postgres/publication.js';
import { startDaemon, waitUntilCaughtUp, waitWhileAlive } from '../support/daemon.js';
import { isLoaded } from '../support/iceberg-table.js';
import { SourceServer } from '../support/source-server.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.js');

interface Report {
  readonly code: number | null;
  readonly text: string;
  /** Lines of one mark, without it. */
  readonly problems: readonly string[];
  readonly notes: readonly string[];
  readonly oks: readonly string[];
  /** What is printed below problems. */
  readonly remedies: readonly string[];
}

/** `walberg check --connect` as a person runs it. */
async function check(config: Readonly<Record<string, string>>, args: readonly string[] = ['--connect']): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'walberg-check-'));
  const file = join(folder, 'application.properties');
  writeFileSync(file, Object.entries(config).map(([key, value]) => `${key}=${value.replaceAll('\\', '\\\\')}\n`).join(''), { mode: 0o600 });
  try {
    const child = spawn(process.execPath, ['--enable-source-maps', MAIN, 'check', ...args, '-c', file], { env: { ...process.env, NODE_OPTIONS: '', NODE_TEST_CONTEXT: undefined }, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const pipe of [child.stdout, child.stderr]) pipe.setEncoding('utf8').on('data', (part: string) => { text += part; });
    const code = await new Promise<number | null>((resolve, reject) => { child.once('error', reject); child.once('close', resolve); });
    const lines = text.split('\n');
    const marked = (mark: string): string[] => lines.flatMap((line) => new RegExp(`^ {2}${mark} +(.*)$`).exec(line)?.[1] ?? []);
    const remedies = lines.flatMap((line, i) => (/^ {2}problem /.test(lines[i - 1] ?? '') ? /^ {13}(\S.*)$/.exec(line)?.[1] ?? [] : []));
    return { code, text, problems: marked('problem'), notes: marked('note'), oks: marked('ok'), remedies };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function has(lines: readonly string[], pattern: RegExp, report: Report): void {
  assert.ok(lines.some((line) => pattern.test(line)), `no line like ${pattern} in:\n${report.text}`);
}

describe('check --connect', () => {
  let bed: TestBed;
  before(async () => { bed = await openTestBed(); });
  after(() => bed?.close());

  async function withDatabase(name: string, setup: string, work: (pg: SourceClient, config: Record<string, string>) => Promise<void>): Promise<void> {
    await bed.createDatabase(name);
    const pg = await bed.client(name);
    try {
      await pg.rows(setup);
      await work(pg, bed.config(name, name));
    } finally {
      await pg.close();
    }
  }

  test('a source that is ready: nothing prevents running, and nothing was made', async () => {
    await withDatabase('ready', 'CREATE TABLE orders (id int PRIMARY KEY, note text); CREATE TABLE log (at int); ALTER TABLE log REPLICA IDENTITY FULL', async (pg, config) => {
      const files = readdirSync(bed.warehouse);
      const report = await check(config);
      assert.equal(report.code, 0, report.text);
      assert.deepEqual(report.problems, []);
      for (const line of [/^wal_level is logical/, /^max_replication_slots is \d+, \d+ in use, 2 needed, one of them for the time of the load/, /^Slot ready does not exist and will be created/, /^A replication session can be opened/,
        /^public\.orders: mirror by id; replica identity DEFAULT/, /^public\.orders → ready\.src_public_orders: will be created and loaded/, /can be written and read$/]) has(report.oks, line, report);
      assert.ok(!report.text.includes(bed.server.password), 'a password is shown');
      assert.equal(await readSlot(pg, 'ready'), undefined);
      assert.equal(await readPublication(pg, 'ready'), undefined);
      assert.deepEqual(readdirSync(bed.warehouse), files);
    });
  });

  test('without --connect nothing is connected to', async () => {
    const report = await check({ ...bed.config('offline'), 'debezium.source.database.port': '1' }, []);
    assert.equal(report.code, 0, report.text);
    assert.ok(!report.text.includes('Server\n'));
  });

  test('a bad configuration, a server that is not there, a wrong password', async () => {
    assert.equal((await check({ ...bed.config('bad'), 'debezium.source.database.hostname': '' })).code, 2);
    const gone = await check({ ...bed.config('gone'), 'debezium.source.database.port': '1' });
    assert.equal(gone.code, 1);
    has(gone.problems, /SOURCE_UNREACHABLE/, gone);
    has(gone.oks, /can be written and read$/, gone);
    const nobody = await check({ ...bed.config('nobody'), 'debezium.source.database.password': 'not-the-password' });
    assert.equal(nobody.code, 1);
    has(nobody.problems, /SOURCE_AUTH/, nobody);
    assert.ok(!nobody.text.includes('not-the-password'));
  });

  test('a role without rights: the statements that are shown make it ready', async () => {
    const setup = `CREATE ROLE weak LOGIN PASSWORD 'weak'; CREATE SCHEMA closed; CREATE TABLE closed.secret (id int PRIMARY KEY); CREATE TABLE secured (id int PRIMARY KEY); ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
      CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (9)`;
    await withDatabase('rights', setup, async (pg, base) => {
      const config = { ...base, 'debezium.source.database.user': 'weak', 'debezium.source.database.password': 'weak', 'debezium.source.table.include.list': '(public|closed)\\..*', 'debezium.source.publish.via.partition.root': 'true' };
      const report = await check(config);
      assert.equal(report.code, 1);
      for (const line of [/^Role weak may not replicate/, /cannot create it: it has no CREATE on the database and does not own closed\.secret, public\.parted, public\.secured/, /^Role weak may not use schema closed/,
        /^Role weak may not read closed\.secret, public\.parted, public\.parted_1, public\.secured/, /^Row-level security would hide rows of public\.secured/]) has(report.problems, line, report);
      assert.equal(report.remedies.length, report.problems.length);
      for (const sql of report.remedies) await pg.rows(sql.replace(/^As the owner of the tables: /, ''));
      const mended = await check(config);
      assert.equal(mended.code, 0, mended.text);
    });
  });

  test('a publication that leaves things out: the statements that are shown complete it', async () => {
    const setup = "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY); CREATE TABLE other (id int PRIMARY KEY); CREATE PUBLICATION partial FOR TABLE a WHERE (id > 4711), other WITH (publish = 'insert, delete')";
    await withDatabase('partial', setup, async (pg, base) => {
      const config = { ...base, 'debezium.source.table.include.list': 'public\\.[ab]', 'debezium.source.publication.autocreate.mode': 'disabled' };
      const report = await check(config);
      assert.equal(report.code, 1);
      has(report.problems, /leaves out update, truncate$/, report);
      has(report.problems, /leaves out public\.b$/, report);
      has(report.notes, /not captured.*public\.other$/, report);
      has(report.notes, /pass a filter.*public\.a$/, report);
      assert.ok(!report.text.includes('4711'), 'a value of the filter is shown');
      for (const sql of report.remedies) await pg.rows(sql);
      const complete = await check(config);
      assert.equal(complete.code, 0, complete.text);
      await pg.rows('DROP PUBLICATION partial');
      const missing = await check(config);
      has(missing.problems, /^Publication partial does not exist \(publication\.autocreate\.mode=disabled\)/, missing);
      for (const sql of missing.remedies) await pg.rows(sql);
      assert.equal((await check(config)).code, 0);
    });
  });

  test('tables of every kind', async () => {
    const setup = `CREATE TABLE keyless (v int); ALTER TABLE keyless REPLICA IDENTITY FULL; CREATE TABLE late (id int PRIMARY KEY DEFERRABLE); CREATE UNLOGGED TABLE fast (id int PRIMARY KEY);
      CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; CREATE FOREIGN TABLE far (id int) SERVER s; CREATE VIEW seen AS SELECT 1 AS id;
      CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (9);
      CREATE TABLE made (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED, span int4range, big text); ALTER TABLE made ALTER big SET STORAGE EXTERNAL; INSERT INTO made VALUES (1, DEFAULT, '[1,2)', repeat('x', 100000))`;
    await withDatabase('kinds', setup, async (pg, config) => {
      const report = await check(config);
      assert.equal(report.code, 1);
      has(report.problems, /publishing would make UPDATE and DELETE fail on public\.late/, report);
      for (const line of [/^Table public\.keyless is written in append mode: it has no primary key/, /^Table public\.late is written in append mode: its primary key is deferrable/, /^Unlogged tables.*: public\.fast$/, /^Foreign tables.*: public\.far$/, /^Views.*: public\.seen$/,
        /^Partitioned tables.*: public\.parted$/, /^Generated columns.*: public\.made \(twice\)$/, /read back by key: public\.made \(span, big; 1\d\d kB now\)$/, /^public\.made: .*span.*int4range/]) has(report.notes, line, report);
      has(report.oks, /^public\.keyless: append, one row per change; replica identity FULL/, report);
      await pg.rows('CREATE PUBLICATION kinds FOR ALL TABLES');
      const published = await check(config);
      assert.equal(published.code, 0, published.text);
      has(published.notes, /^public\.late: UPDATE and DELETE fail at the source/, published);
    });
  });

  test('transactions that a new slot would wait for, and a table nobody has', async () => {
    await withDatabase('waiting', 'CREATE TABLE a (id int PRIMARY KEY)', async (pg, config) => {
      await pg.rows('BEGIN');
      await pg.rows('INSERT INTO a VALUES (1)');
      await pg.rows("PREPARE TRANSACTION 'left over'");
      try {
        const report = await check({ ...config, 'debezium.source.table.include.list': 'public\\.nothing' });
        assert.equal(report.code, 1);
        has(report.problems, /TABLE_MISSING/, report);
        has(report.notes, /waits until these transactions have ended: .*prepared left over for \d+ s/, report);
      } finally {
        await pg.rows("ROLLBACK PREPARED 'left over'");
      }
    });
  });

  test('a slot of another kind', async () => {
    await withDatabase('odd_slot', 'CREATE TABLE a (id int PRIMARY KEY)', async (pg, config) => {
      await pg.rows("SELECT pg_create_physical_replication_slot('odd_slot')");
      const report = await check(config);
      assert.equal(report.code, 1);
      has(report.problems, /is a physical slot \(SLOT_INVALID\)/, report);
      await pg.rows("SELECT pg_drop_replication_slot('odd_slot')");
    });
  });

  test('tables that were written before: while it runs, after it stopped, and when they cannot go on', async () => {
    const name = 'written';
    await withDatabase(name, 'CREATE TABLE a (id int PRIMARY KEY, v int); INSERT INTO a VALUES (1, 815)', async (pg, config) => {
      const daemon = await startDaemon({ config });
      await waitWhileAlive(daemon, 'the load', () => isLoaded(bed.location(name, 'a')));
      await waitUntilCaughtUp(daemon, pg, name);
      const running = await check(config);
      assert.equal(running.code, 0, running.text);
      has(running.notes, /^Slot written is in use by the server process \d+ \(walberg/, running);
      has(running.oks, /^public\.a → written\.src_public_a: at [0-9A-F]+\/[0-9A-F]+$/, running);
      assert.equal(await daemon.sigterm(), 0);
      const stopped = await check(config);
      assert.equal(stopped.code, 0, stopped.text);
      has(stopped.oks, /^Slot written exists: pgoutput, database written/, stopped);
      has(stopped.oks, /^It keeps .* of WAL \(wal_status reserved\)/, stopped);

      const narrower = await check({ ...config, 'debezium.sink.iceberg.upsert': 'false' });
      assert.equal(narrower.code, 1, 'the append table has columns that the mirror lacks');
      has(narrower.problems, /TABLE_INCOMPATIBLE/, narrower);
      const renamed = await check({ ...config, 'debezium.source.slot.name': 'another' });
      has(renamed.problems, /was written through replication slot written, not another \(SLOT_MISSING\)/, renamed);

      await pg.rows('ALTER TABLE a ADD w int');
      const wider = await check(config);
      assert.equal(wider.code, 1);
      has(wider.problems, /has no column w .*\(TABLE_INCOMPATIBLE\)/, wider);
      await pg.rows('ALTER TABLE a DROP w; ALTER PUBLICATION written DROP TABLE a');
      const leftOut = await check(config);
      has(leftOut.problems, /holds a position, but the publication leaves out public\.a/, leftOut);
      await pg.rows("ALTER PUBLICATION written ADD TABLE a; SELECT pg_drop_replication_slot('written')");
      const lost = await check(config);
      assert.equal(lost.code, 1);
      has(lost.problems, /^Slot written does not exist, but 1 table holds a position of it/, lost);
      const anew = await check({ ...config, 'debezium.source.snapshot.mode': 'when_needed' });
      assert.equal(anew.code, 0, anew.text);
      has(anew.notes, /will be emptied and loaded anew/, anew);
      assert.equal(await readSlot(pg, name), undefined);
    });
  });

  test('a warehouse that does not exist yet is not made', async () => {
    await withDatabase('nowhere', 'CREATE TABLE a (id int PRIMARY KEY)', async (_pg, config) => {
      const folder = join(bed.warehouse, 'deep', 'er');
      const report = await check({ ...config, 'debezium.sink.iceberg.warehouse': `file://${folder}` });
      assert.equal(report.code, 0, report.text);
      has(report.oks, /deep\/er does not exist and will be created/, report);
      assert.equal(existsSync(join(bed.warehouse, 'deep')), false);
    });
  });
});

describe('check --connect on servers that are not set up', () => {
  const servers: SourceServer[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'walberg-warehouse-'));
  after(async () => {
    for (const server of servers) await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  async function start(settings: Record<string, string>): Promise<{ server: SourceServer; config: Record<string, string> }> {
    const server = await SourceServer.start(settings);
    servers.push(server);
    return { server, config: configOf(server) };
  }
  const configOf = (server: SourceServer): Record<string, string> => ({
    'debezium.source.database.hostname': '127.0.0.1', 'debezium.source.database.port': String(server.port), 'debezium.source.database.user': 'postgres', 'debezium.source.database.password': 'postgres',
    'debezium.source.database.dbname': 'postgres', 'debezium.source.database.sslmode': 'disable', 'debezium.source.topic.prefix': 'src', 'debezium.source.slot.name': 'mine', 'debezium.source.publication.name': 'mine',
    'debezium.source.table.include.list': 'public\\..*', 'debezium.sink.type': 'iceberg', 'debezium.sink.iceberg.type': 'hadoop', 'debezium.sink.iceberg.warehouse': `file://${folder}`,
  });

  test('no logical decoding, no free slot, no timeout', async () => {
    const { server, config } = await start({ wal_level: 'replica', max_replication_slots: '1', wal_sender_timeout: '0' });
    const pg = await server.client();
    await pg.rows("CREATE TABLE public.a (id int PRIMARY KEY); SELECT pg_create_physical_replication_slot('standby')");
    await pg.close();
    const report = await check(config);
    assert.equal(report.code, 1);
    has(report.problems, /^wal_level is replica/, report);
    has(report.problems, /^max_replication_slots is 1, 1 in use, 2 needed, one of them for the time of the load/, report);
    has(report.remedies, /^ALTER SYSTEM SET wal_level = logical; then restart Postgres/, report);
    has(report.remedies, /^ALTER SYSTEM SET max_replication_slots = 10;/, report);
    has(report.notes, /^wal_sender_timeout is 0/, report);
    has(report.notes, /^Role postgres is a superuser/, report);
  });

  test('a slot that fills its share, and is lost', async () => {
    const { server, config } = await start({ max_slot_wal_keep_size: '64MB', max_wal_size: '64MB', min_wal_size: '32MB' });
    const pg = await server.client();
    try {
      await pg.rows("CREATE TABLE public.a (id int PRIMARY KEY); CREATE PUBLICATION mine FOR TABLE public.a");
      await pg.rows("SELECT pg_create_logical_replication_slot('mine', 'pgoutput')");
      const fill = async (segments: number): Promise<void> => { for (let i = 0; i < segments; i++) await pg.rows("SELECT pg_logical_emit_message(true, 'x', ''); SELECT pg_switch_wal()"); };
      await fill(3);
      const scarce = await check(config);
      assert.equal(scarce.code, 0, scarce.text);
      has(scarce.oks, /^max_slot_wal_keep_size is 64 MB/, scarce);
      has(scarce.notes, /^It keeps \d+ MB of WAL \(wal_status (?:reserved|extended|unreserved)\), \d+ (?:bytes|kB|MB) more may be written before it is lost/, scarce);
      const status = await readSourceStatus(pg, 'mine');
      assert.equal(status.keepBytes, 64n << 20n);
      assert.ok(['half', 'unreserved'].includes(retentionLevel(status, 'fine')));
      await fill(6);
      await pg.rows('CHECKPOINT');
      const lost = await check(config);
      assert.equal(lost.code, 1, lost.text);
      has(lost.problems, /^Replication slot mine was invalidated.*\(SLOT_LOST\)/, lost);
    } finally {
      await pg.close();
    }
  });

  test('a standby', async () => {
    const { server } = await start({});
    const pg = await server.client();
    await pg.rows('CREATE TABLE public.a (id int PRIMARY KEY)');
    await pg.close();
    const standby = await server.standby();
    servers.push(standby);
    const report = await check({ ...configOf(standby), 'walberg.slot.guard': 'strict' });
    assert.equal(report.code, 1);
    has(report.problems, /^Publication mine does not exist and cannot be created on a standby/, report);
    assert.match(report.text, /The server is a standby/);
    has(report.problems, /^walberg\.slot\.guard=strict writes into the WAL/, report);
  });
});
