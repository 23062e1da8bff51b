import Table from 'cli-table3';
import { asWalbergError, WalbergError } from '../errors/error.js';
import { HadoopCatalog } from '../iceberg/catalog/hadoop.js';
import { parseLsn } from '../postgres/lsn.js';
import { createStorage } from '../storage/router.js';
import { compareTable, type ComparedTable } from './compare.js';
import { demoConfig, shopIdentifier } from './demo-config.js';
import { type DemoFolder, openDemoFolder } from './demo-folder.js';
import { Interrupt } from './interrupt.js';
import { LiveTable } from './live-table.js';
import { LoadProgress } from './load-progress.js';
import { runMix } from './mix.js';
import { openLines } from './open-lines.js';
import { type PostgresServer, startPostgres } from './postgres-server.js';
import { connectionTo, withSession } from './session.js';
import { buildShop, customersFor, SHOP_TABLES } from './shop.js';
import { count, seconds } from './text.js';
import { WalbergRun } from './walberg-run.js';

/** What `walberg demo` was asked for. */
export interface DemoOptions {
  /** Warehouse of the tables, new or empty; default: a new temporary folder. */
  readonly directory?: string;
  /** Orders that exist before Walberg starts. */
  readonly orders: number;
  /** Seconds of live changes. */
  readonly seconds: number;
}

const EXIT_FAILURE = 1;
const EXIT_CONFIGURATION = 2;
const MAX_ORDERS = 1_000_000;
const MAX_SECONDS = 3600;

/** Nothing of the server has to survive a power cut, and its WAL shall stay small. */
const SERVER_SETTINGS = { fsync: 'off', full_page_writes: 'off', max_wal_size: '256MB', wal_sender_timeout: '0', log_checkpoints: 'off' };

/**
 * Starts a Postgres of its own with a shop in it, streams it into local Iceberg tables under live changes, and compares
 * each table with its source. The tables stay; everything else is removed, also when it is stopped by a signal.
 *
 * @returns the exit code: 0 all tables are equal, 1 a table differs or something failed, 2 bad options, 130 SIGINT, 143 SIGTERM
 */
export async function runDemo(options: DemoOptions): Promise<number> {
  const interrupt = new Interrupt();
  try {
    check(options);
    return await new Demo(options, interrupt.signal).run() ? 0 : EXIT_FAILURE;
  } catch (thrown) {
    if (interrupt.exitCode !== undefined) {
      process.stdout.write('\nStopped.\n');
      return interrupt.exitCode;
    }
    const error = asWalbergError(thrown);
    process.stderr.write(`\n${error.message}\n${error.hint}\n`);
    return error.policy === 'config' ? EXIT_CONFIGURATION : EXIT_FAILURE;
  } finally {
    interrupt.close();
  }
}

function check({ orders, seconds: duration }: DemoOptions): void {
  if (!Number.isInteger(orders) || orders < 1 || orders > MAX_ORDERS) throw new WalbergError('CONFIG_INVALID', `--orders takes a whole number from 1 to ${count(MAX_ORDERS)}.`, { hint: 'Try --orders 100000.' });
  if (!(duration >= 0 && duration <= MAX_SECONDS)) throw new WalbergError('CONFIG_INVALID', `--seconds takes a number from 0 to ${count(MAX_SECONDS)}.`, { hint: 'Try --seconds 15.' });
}

/** One run, step by step. */
class Demo {
  readonly #out = process.stdout;

  constructor(private readonly options: DemoOptions, private readonly signal: AbortSignal) {}

  /** @returns true when every table equals its source */
  async run(): Promise<boolean> {
    const folder = openDemoFolder(this.options.directory, this.options.orders);
    let loaded = false;
    try {
      this.#say('Starting Postgres');
      const server = await startPostgres({ settings: SERVER_SETTINGS });
      try {
        await this.#mirror(server, folder, () => { loaded = true; });
        return await this.#compare(server, folder);
      } finally {
        await server.destroy();
      }
    } finally {
      if (!loaded) folder.remove();
    }
  }

  /** Fills the shop, loads it, follows it under change, and ends when everything is in committed snapshots. */
  async #mirror(server: PostgresServer, folder: DemoFolder, onLoaded: () => void): Promise<void> {
    const { signal } = this;
    const { orders, seconds: duration } = this.options;
    const connection = connectionTo(server);
    this.#say(`Filling a shop with ${count(orders)} orders`);
    const rows = await buildShop(connection, orders, signal);
    const progress = new LoadProgress(this.#out, rows);
    const live = new LiveTable(this.#out, SHOP_TABLES.map((t) => `shop.${t}`));
    this.#say(`Loading ${count(Object.values(rows).reduce((a, b) => a + b))} rows into Iceberg tables`);
    const walberg = new WalbergRun(demoConfig(server, folder.path), [progress.listener, live.listener], folder.logFile, signal);
    try {
      await walberg.loaded();
      onLoaded();
      progress.stop();
      this.#say(`Changing the shop for ${duration} s: inserts, updates, deletes, new keys, roll-backs`);
      live.start();
      const mix = await walberg.during(runMix({ connection, customers: customersFor(orders), seconds: duration, signal }));
      const started = performance.now();
      await walberg.reached(await walberg.during(endOfWal(server, signal)));
      live.stop();
      this.#say(`${count(mix.committed)} transactions committed, ${count(mix.rolledBack)} rolled back; all in the tables ${seconds(performance.now() - started)} after the last`);
    } finally {
      progress.stop();
      live.stop();
      await walberg.stop();
    }
  }

  async #compare(server: PostgresServer, folder: DemoFolder): Promise<boolean> {
    this.#say('Comparing all rows and columns with the source, read back from the files');
    const storage = createStorage();
    const catalog = new HadoopCatalog({ name: 'demo', warehouse: folder.path, storage });
    const compared: ComparedTable[] = [];
    for (const name of SHOP_TABLES) compared.push(await compareTable({ schema: 'shop', name }, shopIdentifier(name), { connection: connectionTo(server), catalog, storage, signal: this.signal }));
    const table = new Table({ head: ['table', 'source rows', 'table rows', 'equal'], colAligns: ['left', 'right', 'right', 'left'], style: { head: [], border: [], compact: true } });
    for (const t of compared) table.push([t.name, count(t.sourceRows), count(t.tableRows), t.equal ? 'yes' : 'NO']);
    const equal = compared.every((t) => t.equal);
    this.#out.write(`${table.toString()}\n\n`);
    this.#out.write(equal ? 'Every table equals its source.\n' : 'A table differs from its source.\n');
    this.#out.write(`\nThe tables are in ${folder.path}, the log is ${folder.logFile}. Open them with\n\n${openLines(folder.path, compared).map((line) => `  ${line}\n`).join('')}\n`);
    return equal;
  }

  #say(text: string): void {
    this.signal.throwIfAborted();
    this.#out.write(`${text}\n`);
  }
}

/** A WAL position after everything that was committed, which the stream will pass. */
async function endOfWal(server: PostgresServer, signal: AbortSignal): Promise<bigint> {
  return withSession(connectionTo(server), signal, async (client) => {
    const [row] = await client.rows<{ lsn: string }>('SELECT pg_current_wal_insert_lsn()::text AS lsn');
    // A transaction after it, so that everything before is flushed and sent.
    await client.rows("SELECT pg_logical_emit_message(true, 'walberg-demo', '')");
    return parseLsn(row.lsn);
  });
}
