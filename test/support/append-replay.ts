import assert from 'node:assert/strict';
import type { SourceClient } from '../../src/postgres/client.js';
import { clickHouseExpression, clickHouseRowHash, sourceColumns } from './canonical.js';
import type { ClickHouse } from './clickhouse.js';
import { differences, sourceKeys, targetKeys } from './compare-table.js';

/** Changes of one table as Postgres itself decodes them. */
export interface EventCounts { readonly inserts: number; readonly updates: number; readonly deletes: number; readonly keyChanges: number }

/** From now on Postgres keeps the changes of this database in a slot of the test's own. */
export async function startCounting(pg: SourceClient, slot: string): Promise<void> {
  await pg.rows('SELECT pg_create_logical_replication_slot($1, $2)', [slot, 'pgoutput']);
}

/** Changes per table since `startCounting`, counted by Postgres from the messages its plugin would send. Drops the slot. */
export async function eventCounts(pg: SourceClient, slot: string, publication: string): Promise<Record<string, EventCounts>> {
  const rows = await pg.rows<{ name: string; inserts: string; updates: string; deletes: string; key_changes: string }>(`
    SELECT relname AS name, count(*) FILTER (WHERE kind = 'I') AS inserts, count(*) FILTER (WHERE kind = 'U') AS updates, count(*) FILTER (WHERE kind = 'D') AS deletes,
           count(*) FILTER (WHERE kind = 'U' AND tuple = 'K') AS key_changes
    FROM (SELECT chr(get_byte(data, 0)) AS kind, ('x' || encode(substr(data, 2, 4), 'hex'))::bit(32)::bigint::oid AS rel, chr(get_byte(data, 5)) AS tuple
          FROM pg_logical_slot_get_binary_changes($1, NULL, NULL, 'proto_version', '1', 'publication_names', $2) WHERE chr(get_byte(data, 0)) IN ('I', 'U', 'D')) AS m
    JOIN pg_class c ON c.oid = m.rel GROUP BY 1`, [slot, publication], 0);
  await pg.rows('SELECT pg_drop_replication_slot($1)', [slot]);
  return Object.fromEntries(rows.map((r) => [r.name, { inserts: Number(r.inserts), updates: Number(r.updates), deletes: Number(r.deletes), keyChanges: Number(r.key_changes) }]));
}

/**
 * Replays a table of changes (columns `__op` and `__lsn`): the last change of each key must be the source's row, or a delete
 * where the source has none. Without a key every insert must be a row of the source. Columns that an update may leave out
 * (stored out of line) are not compared.
 */
export async function assertReplayEqualsSource(pg: SourceClient, clickhouse: ClickHouse, table: string, location: string, message: string): Promise<void> {
  const { columns: all, key } = await sourceColumns(pg, table);
  const stored = await pg.rows<{ name: string }>("SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND attstorage = 'e'", [table]);
  const outOfLine = stored.map((r) => r.name);
  const columns = all.filter((c) => !outOfLine.includes(c.name));
  const hash = clickHouseRowHash(columns);
  const keys = key.map(clickHouseExpression).join(', ');
  // Loaded rows are older than all changes; a transaction's changes lie in the order of its files and rows.
  const order = "tuple(__op != 'r', ifNull(__lsn, 0), _file, _row_number)";
  const target = await clickhouse.query(key.length === 0
    ? `SELECT ${hash} FROM {table} WHERE __op IN ('r', 'c')`
    : `SELECT argMax(${hash}, ${order}), ${keys} FROM {table} GROUP BY ${keys} HAVING argMax(__op, ${order}) != 'd'`, location);
  const found = differences(await sourceKeys(pg, table, columns, key), targetKeys(target));
  assert.deepEqual(found, differences([], []), `${table}: replayed changes differ from the source (${message})`);
}
