import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { compareTable, type ComparedTable } from '../../src/demo/compare.js';
import { demoConfig, shopIdentifier } from '../../src/demo/demo-config.js';
import { startPostgres, type PostgresServer } from '../../src/demo/postgres-server.js';
import { connectionTo, withSession } from '../../src/demo/session.js';
import { buildShop, SHOP_TABLES } from '../../src/demo/shop.js';
import { WalbergRun } from '../../src/demo/walberg-run.js';
import { isWalbergError } from '../../src/errors/error.js';
import { HadoopCatalog } from '../../src/iceberg/catalog/hadoop.js';
import { createStorage } from '../../src/storage/router.js';

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.js');

/** A folder that the server's account can enter, too. */
function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'walberg-demo-test-'));
  chmodSync(path, 0o755);
  return path;
}

/** The demo as a person starts it, with a folder of its own for temporary files. */
class DemoProcess {
  readonly temporary = folder();
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  #text = '';
  #waiting: (() => void) | undefined;

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, ['--enable-source-maps', MAIN, 'demo', ...args], { env: { ...process.env, TMPDIR: this.temporary, NODE_OPTIONS: '', NODE_TEST_CONTEXT: undefined }, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const pipe of [this.#child.stdout!, this.#child.stderr!]) pipe.setEncoding('utf8').on('data', (text: string) => { this.#text += text; this.#waiting?.(); });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code) => { resolve(code); this.#waiting?.(); });
    });
  }

  get text(): string {
    return this.#text;
  }

  /** Sends the signal as soon as the text has been shown. */
  async signalAfter(shown: string, signal: NodeJS.Signals): Promise<void> {
    while (!this.#text.includes(shown)) {
      assert.equal(this.#child.exitCode, null, `the demo ended before it showed "${shown}":\n${this.#text}`);
      await new Promise<void>((resolve) => { this.#waiting = resolve; });
    }
    this.#child.kill(signal);
  }

  /** What it left in its temporary folder, and processes that were started there. */
  leftovers(): string[] {
    const { stdout } = spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    assert.ok(stdout.includes('node'), 'ps lists processes');
    return [...readdirSync(this.temporary), ...stdout.split('\n').filter((line) => line.includes(this.temporary))];
  }

  remove(): void {
    this.#child.kill('SIGKILL');
    rmSync(this.temporary, { recursive: true, force: true });
  }
}

describe('the demo', () => {
  it('ends with tables that equal their source, and leaves nothing else', async () => {
    const demo = new DemoProcess(['--orders', '2000', '--seconds', '2']);
    try {
      assert.equal(await demo.ended, 0, demo.text);
      for (const name of SHOP_TABLES) assert.match(demo.text, new RegExp(`│ shop\\.${name} +│ +[\\d,]+ │ +[\\d,]+ │ yes +│`));
      assert.match(demo.text, /Every table equals its source/);
      for (const engine of ['DuckDB', 'ClickHouse', 'Spark', 'PyIceberg']) assert.match(demo.text, new RegExp(`^  ${engine} +\\S`, 'm'));
      const left = demo.leftovers();
      assert.equal(left.length, 1, left.join('\n'));
      assert.match(left[0], /^walberg-demo-/);
      assert.deepEqual(readdirSync(join(demo.temporary, left[0], 'shop')).sort(), [...SHOP_TABLES].sort());
    } finally {
      demo.remove();
    }
  });

  for (const [signal, exitCode] of [['SIGINT', 130], ['SIGTERM', 143]] as const) {
    it(`stops on ${signal} during live changes: only the tables stay`, async () => {
      const demo = new DemoProcess(['--orders', '2000', '--seconds', '600']);
      try {
        await demo.signalAfter('Changing the shop', signal);
        assert.equal(await demo.ended, exitCode, demo.text);
        assert.match(demo.text, /Stopped\.\n$/);
        const left = demo.leftovers();
        assert.equal(left.length, 1, left.join('\n'));
        assert.deepEqual(readdirSync(join(demo.temporary, left[0], 'shop')).sort(), [...SHOP_TABLES].sort());
      } finally {
        demo.remove();
      }
    });
  }

  for (const step of ['Starting Postgres', 'Filling a shop', 'Loading ']) {
    it(`stops on SIGINT at "${step.trim()}": nothing stays`, async () => {
      const target = folder();
      // Enough that the step is not over before the signal arrives.
      const demo = new DemoProcess(['--orders', '100000', '--seconds', '1', '--directory', join(target, 'a', 'b')]);
      try {
        await demo.signalAfter(step, 'SIGINT');
        assert.equal(await demo.ended, 130, demo.text);
        assert.deepEqual(demo.leftovers(), []);
        assert.deepEqual(readdirSync(target), []);
      } finally {
        demo.remove();
        rmSync(target, { recursive: true, force: true });
      }
    });
  }

  it('refuses bad options with what to do', async () => {
    for (const args of [['--orders', 'many'], ['--orders', '0'], ['--seconds', '-1']]) {
      const demo = new DemoProcess(args);
      try {
        assert.equal(await demo.ended, 2, demo.text);
        assert.match(demo.text, /takes a (whole )?number.*\nTry /);
        assert.deepEqual(demo.leftovers(), []);
      } finally {
        demo.remove();
      }
    }
  });
});

describe('comparison of source and tables', () => {
  const warehouse = folder();
  const never = new AbortController().signal;
  let server: PostgresServer;
  let walberg: WalbergRun;
  const sql = (text: string): Promise<unknown> => withSession(connectionTo(server), never, (client) => client.rows(text));
  const compare = (name: string): Promise<ComparedTable> => {
    const storage = createStorage();
    return compareTable({ schema: 'shop', name }, shopIdentifier(name), { connection: connectionTo(server), storage, catalog: new HadoopCatalog({ name: 'demo', warehouse, storage }), signal: never });
  };

  before(async () => {
    server = await startPostgres({ settings: { fsync: 'off' } });
    await buildShop(connectionTo(server), 500, never);
    walberg = new WalbergRun(demoConfig(server, warehouse), [], join(warehouse, 'walberg.log'), never);
    await walberg.loaded();
    await walberg.stop();
  });
  after(async () => {
    await walberg.stop();
    await server.destroy();
    rmSync(warehouse, { recursive: true, force: true });
  });

  it('finds loaded tables equal', async () => {
    for (const name of SHOP_TABLES) {
      const { equal, sourceRows, tableRows } = await compare(name);
      assert.ok(equal && sourceRows > 0 && sourceRows === tableRows, name);
    }
  });

  const changes: readonly (readonly [what: string, table: string, sql: string])[] = [
    ['a digit of an amount', 'orders', 'UPDATE orders SET amount = amount + 0.01 WHERE id = (SELECT id FROM orders LIMIT 1)'],
    ['a microsecond', 'customers', "UPDATE customers SET created = created + interval '1 microsecond' WHERE id = 1"],
    ['a value that becomes NULL', 'orders', 'UPDATE orders SET note = NULL WHERE id = (SELECT id FROM orders WHERE length(note) > 3000 LIMIT 1)'],
    ['a boolean', 'order_lines', 'UPDATE order_lines SET gift = NOT gift WHERE ctid = (SELECT ctid FROM order_lines LIMIT 1)'],
    ['two values that change places', 'customers', 'UPDATE customers SET name = email, email = name WHERE id = 2'],
    ['a row that takes the place of another', 'outbox', 'UPDATE outbox SET id = gen_random_uuid() WHERE id = (SELECT id FROM outbox LIMIT 1)'],
  ];
  for (const [what, table, change] of changes) {
    it(`notices ${what}`, async () => {
      await sql(change);
      const { equal, sourceRows, tableRows } = await compare(table);
      assert.equal(equal, false);
      assert.equal(sourceRows, tableRows);
    });
  }

  it('notices a row that is gone', async () => {
    await sql('DELETE FROM customers WHERE id = (SELECT max(id) FROM customers c WHERE NOT EXISTS (SELECT FROM orders WHERE customer_id = c.id))');
    await sql("INSERT INTO customers (name, email, country) VALUES ('x', 'y', 'DE'), ('z', 'y', 'DE')");
    const { equal, sourceRows, tableRows } = await compare('customers');
    assert.equal(equal, false);
    assert.notEqual(sourceRows, tableRows);
  });
});

describe('Walberg in the demo', () => {
  it('ends every wait with the error when it cannot work, instead of trying again', async () => {
    const path = folder();
    const server = await startPostgres({ settings: { fsync: 'off' } });
    try {
      await buildShop(connectionTo(server), 10, new AbortController().signal);
      const config = demoConfig(server, path);
      await server.stop();
      const walberg = new WalbergRun(config, [], join(path, 'walberg.log'), new AbortController().signal);
      await assert.rejects(walberg.loaded(), (error) => isWalbergError(error, 'SOURCE_UNREACHABLE'));
      await assert.rejects(walberg.reached(1n), (error) => isWalbergError(error, 'SOURCE_UNREACHABLE'));
      assert.equal(walberg.isLoaded, false);
      await walberg.stop();
      assert.ok(existsSync(join(path, 'walberg.log')));
    } finally {
      await server.destroy();
      rmSync(path, { recursive: true, force: true });
    }
  });

  it('ends every wait when it is stopped from outside', async () => {
    const path = folder();
    const server = await startPostgres({ settings: { fsync: 'off' } });
    try {
      await buildShop(connectionTo(server), 10, new AbortController().signal);
      const stop = new AbortController();
      const walberg = new WalbergRun(demoConfig(server, path), [], join(path, 'walberg.log'), stop.signal);
      await walberg.loaded();
      const waiting = assert.rejects(walberg.reached(0xffff_ffff_ffff_ffffn), /abort/i);
      stop.abort();
      await waiting;
      await walberg.stop();
    } finally {
      await server.destroy();
      rmSync(path, { recursive: true, force: true });
    }
  });
});
