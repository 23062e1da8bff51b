import type { SourceClient } from '../../src/postgres/client.js';
import { parseJson } from '../../src/iceberg/spec/json.js';
import { quoteIdentifier } from '../../src/postgres/quote.js';
import { type Daemon, startDaemon, waitUntilCaughtUp, waitWhileAlive } from '../support/daemon.js';
import { dropSlot } from '../support/case.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';
import type { CanonicalRow, TableSource } from './readers/reader.js';
import { CANONICAL_SESSION_SQL, postgresCanonicalSql } from './readers/postgres-canonical.js';
import { type RestCatalog, startRestCatalog } from './servers/rest-catalog.js';
import { type S3Server, startS3Server } from './servers/s3.js';

/** What tests look at in a table's metadata. */
export interface TableMetadata {
  readonly properties: Readonly<Record<string, string>>;
  readonly schema: readonly { readonly name: string; readonly type: unknown; readonly required: boolean }[];
  readonly currentSnapshotId: bigint | undefined;
  readonly snapshots: readonly { readonly id: bigint; readonly sequenceNumber: number; readonly summary: Readonly<Record<string, string>> }[];
}

/** Postgres, an S3 server and a REST catalog over it: what the daemon needs to run as in production. */
export class Lake {
  private constructor(readonly bed: TestBed, readonly s3: S3Server, readonly catalog: RestCatalog) {}

  static async open(settings: Readonly<Record<string, string>> = {}): Promise<Lake> {
    const [bed, s3] = await Promise.all([openTestBed(settings), startS3Server()]);
    await s3.createBucket('lake');
    return new Lake(bed, s3, await startRestCatalog({ warehouse: 's3://lake/warehouse', s3 }));
  }

  /** Properties of a daemon that mirrors database `name` into namespace `name`. */
  config(name: string): Record<string, string> {
    const { s3 } = this;
    return {
      ...this.bed.config(name, name),
      'debezium.sink.iceberg.type': 'rest',
      'debezium.sink.iceberg.uri': this.catalog.uri,
      'debezium.sink.iceberg.warehouse': 's3://lake/warehouse',
      'debezium.sink.iceberg.s3.endpoint': s3.endpoint,
      'debezium.sink.iceberg.s3.access-key-id': s3.accessKeyId,
      'debezium.sink.iceberg.s3.secret-access-key': s3.secretAccessKey,
      'debezium.sink.iceberg.s3.path-style-access': 'true',
      'debezium.sink.iceberg.client.region': s3.region,
    };
  }

  /** The Iceberg table that mirrors `public.<table>` of database `name`. */
  source(name: string, table: string): TableSource {
    return { kind: 'rest', uri: this.catalog.uri, namespace: name, table: `src_public_${table}`, s3: this.s3 };
  }

  /** Undefined when the catalog has no such table. */
  async metadata(name: string, table: string): Promise<TableMetadata | undefined> {
    const response = await fetch(`${this.catalog.uri}/v1/namespaces/${name}/tables/src_public_${table}`);
    const text = await response.text();
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`${name}.${table}: ${response.status} ${text}`);
    return tableMetadata((parseJson(text) as { metadata: RawMetadata }).metadata);
  }

  /** Whether readers see the whole initial load. */
  async isLoaded(name: string, table: string): Promise<boolean> {
    const found = await this.metadata(name, table);
    return found?.properties['walberg.lsn'] !== undefined && found.properties['walberg.load'] === undefined;
  }

  async close(): Promise<void> {
    await this.catalog.stop();
    await this.s3.stop();
    await this.bed.close();
  }
}

/** One database of a lake with its slot, publication and namespace, all of one name, and the daemon that mirrors it. */
export class LakeRun {
  daemon: Daemon | undefined;
  private constructor(readonly lake: Lake, readonly name: string, readonly pg: SourceClient, readonly changes: Readonly<Record<string, string>>) {}

  static async open(lake: Lake, name: string, changes: Readonly<Record<string, string>> = {}): Promise<LakeRun> {
    await lake.bed.createDatabase(name);
    const pg = await lake.bed.client(name);
    await pg.rows(CANONICAL_SESSION_SQL);
    return new LakeRun(lake, name, pg, changes);
  }

  sql(text: string): Promise<Record<string, string | null>[]> {
    return this.pg.rows(text);
  }

  /** Starts the daemon and waits for the initial load of the tables. */
  async start(tables: readonly string[]): Promise<void> {
    this.daemon = await startDaemon({ config: { ...this.lake.config(this.name), ...this.changes } });
    for (const table of tables) await waitWhileAlive(this.daemon, `the load of ${table}`, () => this.lake.isLoaded(this.name, table));
  }

  /** Waits until everything written so far is in committed snapshots. */
  async settle(): Promise<void> {
    await waitUntilCaughtUp(this.daemon!, this.pg, this.name);
  }

  /** SIGTERM. @throws Error when the daemon does not end by itself with 0 */
  async stop(): Promise<void> {
    const code = await this.daemon!.sigterm();
    if (code !== 0) throw new Error(`the daemon ended with ${code}\n${this.daemon!.logTail()}`);
  }

  source(table: string): TableSource {
    return this.lake.source(this.name, table);
  }

  async metadata(table: string): Promise<TableMetadata> {
    const found = await this.lake.metadata(this.name, table);
    if (found === undefined) throw new Error(`there is no table ${table}\n${this.daemon?.logTail()}`);
    return found;
  }

  /** Rows of the source in the readers' canonical text. */
  async rows(table: string): Promise<CanonicalRow[]> {
    return sourceRows(this.pg, table);
  }

  async close(): Promise<void> {
    if (this.daemon !== undefined && this.daemon.exit === undefined) await this.daemon.kill9();
    await dropSlot(this.pg, this.name);
    await this.pg.close();
  }
}

/** Rows of a source table in the readers' canonical text, domains by their base type. Arrays declared with several dimensions are text in the tables. */
export async function sourceRows(pg: SourceClient, table: string): Promise<CanonicalRow[]> {
  const columns = await pg.rows<{ name: string; type: string }>(`
    SELECT a.attname AS name, CASE WHEN a.attndims > 1 THEN 'text' WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) ELSE format_type(a.atttypid, a.atttypmod) END AS type
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, [table]);
  return pg.rows(`SELECT ${columns.map(({ name, type }) => `${postgresCanonicalSql(name!, type!)} AS ${quoteIdentifier(name!)}`).join(', ')} FROM ${table}`);
}

interface RawMetadata {
  properties?: Record<string, string>;
  schemas: { 'schema-id': unknown; fields: { name: string; type: unknown; required: boolean }[] }[];
  'current-schema-id': unknown;
  'current-snapshot-id'?: number | bigint | null;
  snapshots?: { 'snapshot-id': unknown; 'sequence-number': unknown; summary: Record<string, string> }[];
}

function tableMetadata(raw: RawMetadata): TableMetadata {
  const current = raw['current-snapshot-id'];
  return {
    properties: raw.properties ?? {},
    schema: raw.schemas.find((schema) => Number(schema['schema-id']) === Number(raw['current-schema-id']))!.fields,
    currentSnapshotId: current === undefined || current === null || String(current) === '-1' ? undefined : BigInt(String(current)),
    snapshots: (raw.snapshots ?? []).map((s) => ({ id: BigInt(String(s['snapshot-id'])), sequenceNumber: Number(s['sequence-number']), summary: s.summary })),
  };
}
