import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionConfig } from '../../src/config/config.js';
import { startPostgres, type PostgresServer } from '../../src/demo/postgres-server.js';
import { connect, type SourceClient } from '../../src/postgres/client.js';
import { quoteIdentifier } from '../../src/postgres/quote.js';
import { openClickHouse, type ClickHouse } from './clickhouse.js';

export function connectionOf(server: PostgresServer, database: string = server.database): ConnectionConfig {
  return { host: server.host, port: server.port, user: server.user, password: server.password, database, sslMode: 'disable', tcpKeepAlive: true, queryTimeoutMs: 120_000 };
}

/** One Postgres, one ClickHouse and one folder for the warehouses of a test file. */
export interface TestBed {
  readonly server: PostgresServer;
  readonly clickhouse: ClickHouse;
  /** Folder of the hadoop catalog's tables. */
  readonly warehouse: string;
  /** A new session; closed by the caller. */
  client(database?: string): Promise<SourceClient>;
  createDatabase(name: string): Promise<void>;
  /** Folder of the table that mirrors `public.<table>` in a namespace. */
  location(namespace: string, table: string): string;
  /** Properties for a daemon with this source and warehouse; `name` is slot, publication and namespace. */
  config(name: string, database?: string): Record<string, string>;
  close(): Promise<void>;
}

const PREFIX = 'src';

/**
 * @param settings of the server beyond logical replication
 * @param binaries a folder with bin/ and lib/; absent = WALBERG_TEST_PG_NATIVE, else the installed package
 */
export async function openTestBed(settings: Readonly<Record<string, string>> = {}, binaries = process.env.WALBERG_TEST_PG_NATIVE): Promise<TestBed> {
  const server = await startPostgres({
    binaries,
    // Nothing has to survive a power cut, and settings of the server must not reach the tables.
    settings: { fsync: 'off', full_page_writes: 'off', max_prepared_transactions: '5', timezone: 'Asia/Kolkata', datestyle: 'SQL, DMY', intervalstyle: 'iso_8601', bytea_output: 'escape', extra_float_digits: '0', ...settings },
  });
  return new Bed(server);
}

class Bed implements TestBed {
  readonly clickhouse = openClickHouse();
  readonly warehouse = mkdtempSync(join(tmpdir(), 'walberg-warehouse-'));
  constructor(readonly server: PostgresServer) {}

  async client(database?: string): Promise<SourceClient> {
    const client = await connect(connectionOf(this.server, database), { applicationName: 'test' });
    // The product's sessions see pg_catalog only.
    await client.rows('SET search_path = public');
    return client;
  }

  async createDatabase(name: string): Promise<void> {
    const admin = await this.client();
    try {
      await admin.rows(`CREATE DATABASE ${quoteIdentifier(name)}`);
    } finally {
      await admin.close();
    }
  }

  location(namespace: string, table: string): string {
    return join(this.warehouse, namespace, `${PREFIX}_public_${table}`);
  }

  config(name: string, database: string = this.server.database): Record<string, string> {
    return {
      'debezium.source.database.hostname': this.server.host,
      'debezium.source.database.port': String(this.server.port),
      'debezium.source.database.user': this.server.user,
      'debezium.source.database.password': this.server.password,
      'debezium.source.database.dbname': database,
      'debezium.source.database.sslmode': 'disable',
      'debezium.source.topic.prefix': PREFIX,
      'debezium.source.slot.name': name,
      'debezium.source.slot.retry.delay.ms': '100',
      'debezium.source.slot.max.retries': '100',
      'debezium.source.publication.name': name,
      'debezium.source.status.update.interval.ms': '200',
      'debezium.source.table.include.list': 'public\\..*',
      'debezium.sink.type': 'iceberg',
      'debezium.sink.iceberg.type': 'hadoop',
      'debezium.sink.iceberg.warehouse': `file://${this.warehouse}`,
      'debezium.sink.iceberg.table-namespace': name,
      'debezium.sink.iceberg.upsert': 'true',
      'debezium.sink.iceberg.upsert-keep-deletes': 'false',
      'walberg.commit.interval.ms': '200',
      'walberg.retry.initial.ms': '50',
      'walberg.retry.max.ms': '500',
      // Tests share a machine with each other.
      'walberg.encode.workers': '1',
    };
  }

  async close(): Promise<void> {
    await this.clickhouse.close();
    await this.server.destroy();
    rmSync(this.warehouse, { recursive: true, force: true });
  }
}
