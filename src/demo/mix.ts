import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionConfig } from '../config/config.js';
import { isWalbergError } from '../errors/error.js';
import type { SourceClient } from '../postgres/client.js';
import { withSession } from './session.js';
import { newLines, newOrders, NOTE, ORDER_COLUMNS } from './shop.js';

/** What live changes did at the source. */
export interface MixResult {
  readonly committed: number;
  readonly rolledBack: number;
}

export interface MixOptions {
  readonly connection: ConnectionConfig;
  /** Customers with an id up to here are never removed. */
  readonly customers: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

const SESSIONS = 2;
/** Between transactions, so that both cores are not the client's alone. */
const PAUSE_MS = 2;
/** SQLSTATE deadlock_detected. */
const DEADLOCK = '40P01';

/** Statements of one transaction; the last one may be ROLLBACK. `$1`, where a statement has it, is a random uuid. */
type Transaction = readonly string[];

/** The next `count` orders from a random place on that no other session works on, so that sessions never wait for each other. */
const someOrders = (count: number): string => `(SELECT id FROM orders WHERE id >= $1 ORDER BY id LIMIT ${count} FOR UPDATE SKIP LOCKED)`;

const insertOrders = (count: number, customers: number): string =>
  `WITH o AS (INSERT INTO orders (${ORDER_COLUMNS}) ${newOrders(String(count), customers)} RETURNING id), l AS (INSERT INTO order_lines ${newLines('o')})
   INSERT INTO outbox (aggregate, type, payload) SELECT id, 'order-placed', jsonb_build_object('at', clock_timestamp()) FROM o`;

const ADVANCE = `status = (enum_range(NULL::order_status))[1 + floor(random() * 5)::int], details = details || jsonb_build_object('touched', clock_timestamp())`;

/** Kinds of transactions with how often they occur, relative to each other. */
function kinds(customers: number): readonly { readonly weight: number; readonly transaction: Transaction }[] {
  const insert = (count: number): string => insertOrders(count, customers);
  return [
    // One order, and many at once.
    { weight: 25, transaction: [insert(1)] },
    { weight: 8, transaction: [insert(100)] },
    // Long notes stay what they were, and are not in the WAL.
    { weight: 25, transaction: [`UPDATE orders SET ${ADVANCE} WHERE id IN ${someOrders(40)}`] },
    // Long notes change.
    { weight: 6, transaction: [`UPDATE orders SET note = ${NOTE} WHERE id IN ${someOrders(5)}`] },
    // Orders go with their lines.
    { weight: 10, transaction: [`DELETE FROM orders WHERE id IN ${someOrders(15)}`] },
    // Orders get another key, and so do their lines.
    { weight: 6, transaction: [`UPDATE orders SET id = gen_random_uuid() WHERE id IN ${someOrders(3)}`] },
    // Several statements on the same rows: only their net effect counts.
    { weight: 6, transaction: [insert(3), `UPDATE orders SET ${ADVANCE} WHERE id IN ${someOrders(10)}`, `UPDATE order_lines SET quantity = quantity + 1 WHERE order_id IN ${someOrders(10)}`, `DELETE FROM orders WHERE id IN ${someOrders(2)}`] },
    // Messages that are gone before anybody sees them.
    { weight: 4, transaction: [`WITH gone AS (INSERT INTO outbox (aggregate, type, payload) VALUES ($1, 'ping', '{}') RETURNING 1) SELECT FROM gone`, `DELETE FROM outbox WHERE aggregate = $1 AND created > clock_timestamp() - interval '1 minute'`] },
    // Nothing of these may arrive.
    { weight: 5, transaction: [insert(10), `DELETE FROM orders WHERE id IN ${someOrders(10)}`, 'ROLLBACK'] },
    { weight: 5, transaction: [`UPDATE orders SET ${ADVANCE} WHERE id IN ${someOrders(5)}`, 'SAVEPOINT s', `DELETE FROM orders WHERE id IN ${someOrders(5)}`, 'ROLLBACK TO s', insert(1)] },
    // Customers come, change and go.
    { weight: 4, transaction: [`INSERT INTO customers (name, email, country) SELECT 'New ' || i, 'new' || i || '@example.com', 'DE' FROM generate_series(1, 5) i`] },
    { weight: 4, transaction: [`UPDATE customers SET email = md5(random()::text) || '@example.com' WHERE id IN (SELECT 1 + floor(random() * ${customers})::bigint FROM generate_series(1, 3))`] },
    { weight: 2, transaction: [`DELETE FROM customers WHERE id IN (SELECT id FROM customers WHERE id > ${customers} ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED)`] },
  ];
}

/**
 * Changes the shop from two sessions for a while: inserts, updates, deletes, key changes, transactions of several rows and
 * tables, roll-backs and savepoints. Returns when every session has ended its last transaction.
 */
export async function runMix(options: MixOptions): Promise<MixResult> {
  const deadline = performance.now() + options.seconds * 1000;
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => withSession(options.connection, options.signal, (client) => changeUntil(client, deadline, options))));
  return { committed: sessions.reduce((n, s) => n + s.committed, 0), rolledBack: sessions.reduce((n, s) => n + s.rolledBack, 0) };
}

async function changeUntil(client: SourceClient, deadline: number, { customers, signal }: MixOptions): Promise<MixResult> {
  const deck = kinds(customers).flatMap(({ weight, transaction }) => Array.from({ length: weight }, () => transaction));
  let committed = 0;
  let rolledBack = 0;
  while (performance.now() < deadline) {
    if (await run(client, deck[Math.floor(Math.random() * deck.length)])) committed++;
    else rolledBack++;
    await sleep(PAUSE_MS, undefined, { signal });
  }
  return { committed, rolledBack };
}

/** @returns false when it was rolled back */
async function run(client: SourceClient, transaction: Transaction): Promise<boolean> {
  await client.rows('BEGIN');
  try {
    const random = randomUUID();
    for (const statement of transaction) await client.rows(statement, statement.includes('$1') ? [random] : []);
    await client.rows('COMMIT');
    return transaction.at(-1) !== 'ROLLBACK';
  } catch (error) {
    // Sessions that met in a foreign key: one of them gives way, as in any application.
    if (!isWalbergError(error) || error.context.sqlstate !== DEADLOCK) throw error;
    await client.rows('ROLLBACK');
    return false;
  }
}
