import { installation } from '../servers/installation.js';
import { PythonProcess } from './python-process.js';
import type { CanonicalRow, ForeignReader, ReadOptions, TableSource } from './reader.js';

class PythonReader implements ForeignReader {
  constructor(protected readonly process: PythonProcess) {}

  get name(): string {
    return this.process.name;
  }

  async version(): Promise<string> {
    return String((await this.process.call('version')).value);
  }

  async readTable(source: TableSource, options: ReadOptions = {}): Promise<CanonicalRow[]> {
    return this.process.table('read', { source, ...options });
  }

  async close(): Promise<void> {
    await this.process.close();
  }
}

/** Spark, which is also the foreign writer of the tests: compaction, expiry, its own deletes. */
export class SparkReader extends PythonReader {
  /**
   * Runs one statement with Spark SQL; `{catalog}` and `{table}` in it stand for the source's, e.g.
   * `CALL {catalog}.system.rewrite_data_files(table => 'ns.t')`, `DELETE FROM {table} WHERE id = 1`.
   */
  async sql(source: TableSource, statement: string): Promise<CanonicalRow[]> {
    return this.process.table('sql', { source, statement });
  }

  /** Commits one equality delete file for one column of an unpartitioned table by Iceberg's Java library; values as text, types int, long, string, boolean, uuid, decimal. */
  async deleteByEquality(source: TableSource, column: string, values: readonly string[]): Promise<void> {
    await this.process.call('deleteByEquality', { source, column, values });
  }

  /**
   * Reads every manifest of every snapshot and plans a scan with Iceberg's Java library.
   * @returns what was read, and one text for everything that contradicts itself: totals of summaries, sequence numbers, counts and lengths of files
   */
  async audit(source: TableSource): Promise<{ readonly read: string; readonly problems: readonly string[] }> {
    const [read, ...problems] = (await this.process.call('audit', { source })).value as string[];
    return { read: read!, problems };
  }
}

/** One column of a table that PyIceberg is to write; values as CanonicalRow texts where the type has no JSON form. */
export interface NewColumn {
  readonly name: string;
  readonly type: 'bool' | 'int32' | 'int64' | 'float' | 'double' | 'string' | 'decimal' | 'timestamp' | 'timestamptz' | 'date' | 'time' | 'binary' | 'uuid' | 'list' | 'map' | 'struct';
  readonly values: readonly unknown[];
}

export interface NewTable {
  readonly location: string;
  readonly metadataLocation: string;
  readonly snapshotIds: readonly bigint[];
}

/** PyIceberg cannot read equality deletes: `readTable` then fails with `isEqualityDeleteRefusal`. */
export class PyIcebergReader extends PythonReader {
  /** Creates a table in a REST catalog, one append for each part. Floats as text (`NaN`), decimal(38,4), map string to long, struct (a int, b string). */
  async createTable(source: TableSource, parts: readonly (readonly NewColumn[])[]): Promise<NewTable> {
    const made = (await this.process.call('create', { source, parts })).value as { location: string; metadataLocation: string; snapshotIds: string[] };
    return { ...made, snapshotIds: made.snapshotIds.map(BigInt) };
  }
}

/** Takes about 4 s; Spark's schema has no `time`: tables with such a column are refused as a whole. */
export async function startSpark(): Promise<SparkReader> {
  return new SparkReader(await PythonProcess.start('spark', 'read_spark.py', { WALBERG_SPARK_CLASS_PATH: installation().sparkClassPath }));
}

export async function startPyIceberg(): Promise<PyIcebergReader> {
  return new PyIcebergReader(await PythonProcess.start('pyiceberg', 'read_pyiceberg.py'));
}

export async function startDuckDb(): Promise<ForeignReader> {
  return new PythonReader(await PythonProcess.start('duckdb', 'read_duckdb.py'));
}

/**
 * ClickHouse as a library, one short-lived process per read. What it cannot show (not the writer's fault, so not to be compared):
 * a NULL list or map comes back as `[]`, a NULL struct with all fields NULL; `time` loses what is below a second, and its filters prune wrongly.
 * Global equality deletes (unpartitioned spec) are not applied to partitioned data; year, month, day and hour partitions lose rows before 1970 when filtered.
 */
export async function startClickHouse(): Promise<ForeignReader> {
  return new PythonReader(await PythonProcess.start('clickhouse', 'read_clickhouse.py'));
}
