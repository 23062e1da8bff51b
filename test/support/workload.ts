import { setTimeout as sleep } from 'node:timers/promises';
import { isWalbergError } from '../../src/errors/error.js';
import type { SourceClient } from '../../src/postgres/client.js';
import { Random } from './random.js';
import { WORKLOAD_TABLES, type WorkloadTable } from './workload-tables.js';

export interface WorkloadOptions {
  /** TRUNCATE now and then; default true. */
  readonly truncate?: boolean;
  /** Most rows of one transaction; default 50,000. */
  readonly largest?: number;
  /** Pause between transactions of a session, at most; default 25 ms. */
  readonly pauseMs?: number;
  readonly sessions?: number;
  /** Names of the tables used; default: all. */
  readonly only?: readonly string[];
}

export interface Workload {
  readonly seed: number;
  readonly tables: readonly WorkloadTable[];
  /** Creates the tables with some rows, and a publication for all of them. */
  setup(publication: string): Promise<void>;
  /** Runs transactions in all sessions until each has made `steps` of them or `stop()` is called. */
  run(steps?: number): Promise<void>;
  /** Lets the sessions finish their transactions. */
  stop(): void;
  /** Transactions committed and rolled back, changes included in a rollback to a savepoint counted too. */
  readonly statistics: Readonly<Record<'committed' | 'rolledBack' | 'refused' | 'large', number>>;
}

/** Errors that a mixed load brings upon itself; the transaction is over then. */
const EXPECTED = new Set(['23505', '40P01', '40001', '55P03', '55006', '22003']);

/**
 * A random mix of everything that changes rows: single and many, unchanged values out of line, changed keys, keys swapped in
 * one transaction, rows born and gone in one, savepoints and rollbacks, large transactions, TRUNCATE, two sessions at once.
 */
export function createWorkload(client: () => Promise<SourceClient>, seed: number, options: WorkloadOptions = {}): Workload {
  return new RandomWorkload(client, seed, options);
}

class RandomWorkload implements Workload {
  readonly statistics = { committed: 0, rolledBack: 0, refused: 0, large: 0 };
  readonly tables: readonly WorkloadTable[];
  readonly #random: Random;
  #stopped = false;

  constructor(private readonly client: () => Promise<SourceClient>, readonly seed: number, private readonly options: WorkloadOptions) {
    this.#random = new Random(seed);
    this.tables = WORKLOAD_TABLES.filter((t) => options.only?.includes(t.name) ?? true);
  }

  async setup(publication: string): Promise<void> {
    const session = await this.client();
    try {
      for (const table of this.tables) {
        await session.rows(table.create);
        await session.rows(table.bulk(this.#random, 2000));
      }
      await session.rows(`CREATE PUBLICATION ${publication} FOR TABLE ${this.tables.map((t) => t.name).join(', ')}`);
    } finally {
      await session.close();
    }
  }

  async run(steps = Infinity): Promise<void> {
    this.#stopped = false;
    const work = Array.from({ length: this.options.sessions ?? 2 }, () => this.#session(this.#random.fork(), steps));
    try {
      await Promise.all(work);
    } catch (error) {
      this.#stopped = true;
      await Promise.allSettled(work);
      throw new Error(`The workload failed (seed ${this.seed}): ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  async #session(random: Random, steps: number): Promise<void> {
    const session = await this.client();
    try {
      for (let step = 0; step < steps && !this.#stopped; step++) {
        await this.#transaction(session, random);
        await sleep(random.int(0, this.options.pauseMs ?? 25));
      }
    } finally {
      await session.close();
    }
  }

  async #transaction(session: SourceClient, random: Random): Promise<void> {
    if (random.chance(0.3)) {
      await this.#attempt(session, async () => { await session.rows(this.#statement(random)); });
      return;
    }
    await this.#attempt(session, async () => {
      await session.rows('BEGIN');
      if (random.chance(0.02)) await this.#large(session, random);
      await this.#statements(session, random, 8);
      if (random.chance(0.3)) {
        await session.rows('SAVEPOINT here');
        await this.#statements(session, random, 5);
        await session.rows(random.chance(0.6) ? 'ROLLBACK TO SAVEPOINT here' : 'RELEASE SAVEPOINT here');
        await this.#statements(session, random, 3);
      }
      if (random.chance(0.12)) {
        await session.rows('ROLLBACK');
        this.statistics.rolledBack++;
      } else {
        await session.rows('COMMIT');
      }
    });
  }

  async #attempt(session: SourceClient, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.statistics.committed++;
    } catch (error) {
      const sqlstate = isWalbergError(error) ? String(error.context.sqlstate) : '';
      if (!EXPECTED.has(sqlstate)) throw error;
      this.statistics.refused++;
      await session.rows('ROLLBACK');
    }
  }

  async #large(session: SourceClient, random: Random): Promise<void> {
    this.statistics.large++;
    const rows = random.int(1000, this.options.largest ?? 50_000);
    const table = random.pick(this.tables);
    await session.rows(table.bulk(random, rows));
    // A second touch of the same rows in the same transaction.
    if (random.chance(0.5)) await session.rows(random.pick(table.change)(random));
  }

  async #statements(session: SourceClient, random: Random, most: number): Promise<void> {
    for (let n = random.int(1, most); n > 0; n--) await session.rows(this.#statement(random));
  }

  #statement(random: Random): string {
    const table = random.pick(this.tables);
    if (table.mirrored && this.options.truncate !== false && random.chance(0.0003)) return `TRUNCATE ${table.name}`;
    return random.chance(0.4) ? table.insert(random) : random.pick(table.change)(random);
  }
}
