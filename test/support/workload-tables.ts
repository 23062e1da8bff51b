import type { Random } from './random.js';

/** A table of the workload: how it is made, and statements that change it. */
export interface WorkloadTable {
  readonly name: string;
  readonly create: string;
  /** False for tables whose rows are only appended. */
  readonly mirrored: boolean;
  readonly insert: (random: Random) => string;
  readonly change: readonly ((random: Random) => string)[];
  /** Many rows in one statement. */
  readonly bulk: (random: Random, rows: number) => string;
}

/** Random text that does not compress, 32 characters a piece: a column that holds it is stored out of line from 2 kB on. */
const noise = (pieces: number): string => `(SELECT string_agg(md5(random()::text || g), '') FROM generate_series(1, ${pieces}) g)`;
/** A few rows of a range of ids. */
const range = (random: Random, limit: number, width: number): string => { const from = random.int(1, limit); return `BETWEEN ${from} AND ${from + random.int(0, width)}`; };
const uuidOf = (n: string): string => `md5('row' || ${n})::uuid`;
const words = ["'ä€🜁'", "''", "'plain'", 'NULL', "E'line\\nbreak\\t\\\\'", "repeat('long ', 40)"] as const;

const SERIAL_IDS = 60_000;
const SMALL_IDS = 3000;

export const WORKLOAD_TABLES: readonly WorkloadTable[] = [
  {
    name: 'wl_serial', mirrored: true,
    create: 'CREATE TABLE wl_serial (id bigserial PRIMARY KEY, n integer NOT NULL, v text, amount numeric(12,2), at timestamptz, flag boolean, d double precision, r real)',
    insert: (r) => `INSERT INTO wl_serial (n, v, amount, at, flag, d, r) VALUES (${r.int(-1000, 1000)}, ${r.pick(words)}, ${r.int(-1e9, 1e9)} / 100.0, now(), ${r.chance(0.5)}, random(), ${r.pick(["'NaN'", "'-0'", 'random()', 'NULL'])})`,
    change: [
      (r) => `UPDATE wl_serial SET n = n + 1, v = ${r.pick(words)}, at = clock_timestamp() WHERE id ${range(r, SERIAL_IDS, 5)}`,
      (r) => `UPDATE wl_serial SET amount = -amount, d = ${r.pick(["'NaN'", "'Infinity'", 'random() * 1e300', '1e-310'])} WHERE id = ${r.int(1, SERIAL_IDS)}`,
      (r) => `DELETE FROM wl_serial WHERE id ${range(r, SERIAL_IDS, 40)}`,
      (r) => `UPDATE wl_serial SET n = n + 1 WHERE id ${range(r, SERIAL_IDS, 500)}`,
      // Born, changed and gone within one transaction more often than not.
      (r) => `WITH born AS (INSERT INTO wl_serial (n) SELECT g FROM generate_series(1, ${r.int(1, 20)}) g RETURNING id) SELECT count(*) FROM born`,
    ],
    bulk: (r, rows) => `INSERT INTO wl_serial (n, v, amount, at, flag, d) SELECT g, 'bulk ' || g, g / 100.0, now(), g % 2 = 0, g * ${r.next()} FROM generate_series(1, ${rows}) g`,
  },
  {
    name: 'wl_uuid', mirrored: true,
    create: 'CREATE TABLE wl_uuid (id uuid PRIMARY KEY, n bigint, b bytea, day date)',
    insert: (r) => `INSERT INTO wl_uuid VALUES (${uuidOf(String(r.int(1, SMALL_IDS)))}, ${r.int(0, 2 ** 31)} * 4294967296, decode(md5(random()::text), 'hex'), date '2024-01-01' + ${r.int(-3000, 3000)}) ON CONFLICT (id) DO UPDATE SET n = excluded.n`,
    change: [
      (r) => `UPDATE wl_uuid SET n = n - 1, b = ${r.pick(['NULL', "'\\x'", "decode(md5(random()::text), 'hex')"])} WHERE id = ${uuidOf(String(r.int(1, SMALL_IDS)))}`,
      (r) => `DELETE FROM wl_uuid WHERE id = ${uuidOf(String(r.int(1, SMALL_IDS)))}`,
      (r) => `UPDATE wl_uuid SET id = ${uuidOf(`'moved' || ${r.int(1, 1e9)}`)} WHERE id = ${uuidOf(String(r.int(1, SMALL_IDS)))}`,
      (r) => `DELETE FROM wl_uuid WHERE n % 97 = ${r.int(0, 96)}`,
    ],
    bulk: (r, rows) => `INSERT INTO wl_uuid SELECT ${uuidOf('g')}, g, NULL, '2024-02-29' FROM generate_series(1, ${Math.min(rows, SMALL_IDS)}) g ON CONFLICT (id) DO UPDATE SET n = wl_uuid.n + ${r.int(1, 9)}`,
  },
  {
    name: 'wl_composite', mirrored: true,
    // The key is not the first column, and not in the order of the columns.
    create: 'CREATE TABLE wl_composite (v text, b integer, a text, ts timestamp, PRIMARY KEY (a, b))',
    insert: (r) => `INSERT INTO wl_composite VALUES (${r.pick(words)}, ${r.int(0, 200)}, ${r.pick(["'ä'", "''", "'k:1'", "'k'"])}, localtimestamp) ON CONFLICT (a, b) DO UPDATE SET v = excluded.v, ts = excluded.ts`,
    change: [
      (r) => `UPDATE wl_composite SET v = ${r.pick(words)} WHERE b ${range(r, 200, 3)}`,
      (r) => `DELETE FROM wl_composite WHERE b = ${r.int(0, 200)} AND a = ${r.pick(["'ä'", "''", "'k:1'", "'k'"])}`,
      (r) => `UPDATE wl_composite SET b = b + ${r.int(1000, 100_000)} WHERE b = ${r.int(0, 200)}`,
      (r) => `UPDATE wl_composite SET a = a || '+' WHERE b = ${r.int(0, 200)} AND length(a) < 6`,
    ],
    bulk: (r, rows) => `INSERT INTO wl_composite SELECT 'bulk', g, 'bulk', now() FROM generate_series(1, ${Math.min(rows, 10_000)}) g ON CONFLICT (a, b) DO UPDATE SET v = 'again ${r.int(1, 9)}'`,
  },
  {
    name: 'wl_full', mirrored: true,
    create: 'CREATE TABLE wl_full (id integer PRIMARY KEY, v text, n integer, body text); ALTER TABLE wl_full REPLICA IDENTITY FULL; ALTER TABLE wl_full ALTER body SET STORAGE EXTERNAL',
    insert: (r) => `INSERT INTO wl_full VALUES (${r.int(1, SMALL_IDS)}, ${r.pick(words)}, 0, ${r.chance(0.3) ? noise(90) : "'short'"}) ON CONFLICT (id) DO UPDATE SET n = wl_full.n + 1`,
    change: [
      (r) => `UPDATE wl_full SET n = n WHERE id ${range(r, SMALL_IDS, 20)}`,
      (r) => `UPDATE wl_full SET n = n + 1, v = ${r.pick(words)} WHERE id ${range(r, SMALL_IDS, 20)}`,
      (r) => `DELETE FROM wl_full WHERE id ${range(r, SMALL_IDS, 5)}`,
      (r) => `UPDATE wl_full SET id = id + ${r.int(10_000, 1_000_000)} WHERE id = ${r.int(1, SMALL_IDS)}`,
    ],
    bulk: (_, rows) => `INSERT INTO wl_full SELECT g, 'bulk', 0, NULL FROM generate_series(1, ${Math.min(rows, SMALL_IDS)}) g ON CONFLICT (id) DO UPDATE SET v = NULL`,
  },
  {
    name: 'wl_toast', mirrored: true,
    create: 'CREATE TABLE wl_toast (id integer PRIMARY KEY, title text, body text, data bytea); ALTER TABLE wl_toast ALTER body SET STORAGE EXTERNAL; ALTER TABLE wl_toast ALTER data SET STORAGE EXTERNAL',
    insert: (r) => `INSERT INTO wl_toast VALUES (${r.int(1, 300)}, 'new', ${r.pick([noise(90), noise(200), 'NULL', "'short'"])}, ${r.chance(0.5) ? `decode(${noise(160)}, 'hex')` : 'NULL'}) ON CONFLICT (id) DO UPDATE SET title = 'again'`,
    change: [
      (r) => `UPDATE wl_toast SET title = ${r.pick(words)} WHERE id ${range(r, 300, 10)}`,
      (r) => `UPDATE wl_toast SET body = ${noise(r.int(70, 150))} WHERE id = ${r.int(1, 300)}`,
      (r) => `UPDATE wl_toast SET body = ${r.pick(['NULL', "''"])}, data = NULL WHERE id = ${r.int(1, 300)}`,
      (r) => `DELETE FROM wl_toast WHERE id = ${r.int(1, 300)}`,
      (r) => `UPDATE wl_toast SET id = id + ${r.int(1000, 1_000_000)} WHERE id = ${r.int(1, 300)}`,
    ],
    bulk: (_, rows) => `INSERT INTO wl_toast SELECT g, 'bulk', repeat(md5(g::text), 80), NULL FROM generate_series(1, ${Math.min(rows, 300)}) g ON CONFLICT (id) DO UPDATE SET title = 'bulk again'`,
  },
  {
    name: 'wl_swap', mirrored: true,
    create: 'CREATE TABLE wl_swap (id integer PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, v text NOT NULL, n integer NOT NULL DEFAULT 0); ALTER TABLE wl_swap REPLICA IDENTITY FULL',
    insert: (r) => `INSERT INTO wl_swap SELECT ${r.int(1, 100)}, md5(random()::text) WHERE (SELECT count(*) FROM wl_swap) < 150`,
    change: [
      (r) => { const [a, b] = [r.int(1, 100), r.int(1, 100)]; return `UPDATE wl_swap SET id = CASE id WHEN ${a} THEN ${b} ELSE ${a} END WHERE id IN (${a}, ${b}) AND (SELECT count(*) FROM wl_swap WHERE id IN (${a}, ${b})) = 2`; },
      (r) => `UPDATE wl_swap SET id = id + ${r.pick([1, 1, 7, -1])} WHERE id >= ${r.int(1, 100)}`,
      (r) => `UPDATE wl_swap SET n = n + 1 WHERE id ${range(r, 100, 10)}`,
      (r) => `DELETE FROM wl_swap WHERE id ${range(r, 120, 2)}`,
    ],
    bulk: (r) => `INSERT INTO wl_swap SELECT g, 'bulk' FROM generate_series(${r.int(1000, 1_000_000)}, ${r.int(1000, 1_000_000)}) g LIMIT 50`,
  },
  {
    name: 'wl_log', mirrored: false,
    create: 'CREATE TABLE wl_log (at timestamptz NOT NULL, session integer, n bigint, msg text)',
    insert: (r) => `INSERT INTO wl_log VALUES (clock_timestamp(), ${r.int(1, 2)}, ${r.int(0, 1e6)}, ${r.pick(words)})`,
    change: [(r) => `INSERT INTO wl_log SELECT 'epoch', 0, 0, 'equal rows' FROM generate_series(1, ${r.int(1, 5)})`],
    bulk: (r, rows) => `INSERT INTO wl_log SELECT now(), ${r.int(1, 2)}, g, 'bulk' FROM generate_series(1, ${rows}) g`,
  },
];
