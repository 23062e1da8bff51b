import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isWalbergError } from '../../src/errors/error.js';
import type { LoadedTable, TableIdentifier } from '../../src/iceberg/catalog/catalog.js';
import { HadoopCatalog } from '../../src/iceberg/catalog/hadoop.js';
import { TableCommitter } from '../../src/iceberg/commit/table-committer.js';
import type { DataFile } from '../../src/iceberg/spec/types.js';
import { encodePositionDeletes } from '../../src/parquet/delete-files.js';
import { encodeFile } from '../../src/parquet/encode-file.js';
import type { EncodeColumn } from '../../src/parquet/encode-types.js';
import { FileStorage } from '../../src/storage/file.js';
import { ForeignReaderError, sortRows, type CanonicalRow, type ForeignReader } from './readers/reader.js';
import { startDuckDb, startPyIceberg, startSpark, type SparkReader } from './readers/readers.js';

const COLUMNS: readonly EncodeColumn[] = [
  { fieldId: 1, name: 'id', type: 'long', required: true, source: { from: 'tuple', ordinal: 0, codec: { kind: 'long' } } },
  { fieldId: 2, name: 'note', type: 'string', required: false, source: { from: 'tuple', ordinal: 1, codec: { kind: 'string' } } },
];

/** `[id, note]` */
type Row = readonly [number, string];

describe('tables of the file-system catalog, read and written by engines that share no code', () => {
  const storage = new FileStorage();
  let warehouse: string, catalog: HadoopCatalog, spark: SparkReader, readers: ForeignReader[];
  let lsn = 0n;

  before(async () => {
    warehouse = mkdtempSync(join(tmpdir(), 'walberg-interop-'));
    catalog = new HadoopCatalog({ name: 'lake', warehouse, storage });
    readers = await Promise.all([startSpark(), startPyIceberg(), startDuckDb()]);
    spark = readers[0] as SparkReader;
  });

  after(async () => {
    await Promise.all(readers.map((reader) => reader.close()));
    rmSync(warehouse, { recursive: true });
  });

  async function create(name: string, properties: Record<string, string> = {}): Promise<LoadedTable> {
    return catalog.createTable({ namespace: ['shop'], name }, {
      schema: { type: 'struct', fields: [{ id: 1, name: 'id', required: true, type: 'long' }, { id: 2, name: 'note', required: false, type: 'string' }] },
      properties,
    });
  }

  async function committerOf(name: string): Promise<TableCommitter> {
    const table = (await catalog.loadTable({ namespace: ['shop'], name }))!;
    return new TableCommitter(table, { catalog, storage, slot: 's', systemId: '1', process: randomUUID(), retries: 5, initialMs: 1, maxMs: 5 });
  }

  async function store(table: LoadedTable, content: 0 | 2, columns: readonly EncodeColumn[], lines: readonly string[], more: Partial<DataFile>): Promise<DataFile> {
    const arena = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    const rowOffsets = Int32Array.from(lines, (_line, index) => Buffer.byteLength(lines.slice(0, index).map((line) => `${line}\n`).join('')));
    const { bytes, recordCount, metrics, splitOffsets } = encodeFile({
      columns, format: 'copy', sourceColumnNames: columns.map(({ name }) => name), arena, rowOffsets, compression: { codec: 'zstd' }, rowGroupRows: 1000, tableName: 't',
      keyValues: content === 0 ? {} : { 'delete-type': 'equality', 'delete-field-ids': '1' },
    });
    const filePath = `${table.metadata.location}/data/${randomUUID()}.parquet`;
    await storage.write(filePath, bytes);
    return { content, filePath, fileFormat: 'PARQUET', specId: 0, partition: [], recordCount, fileSizeInBytes: bytes.length, splitOffsets, ...metrics, ...(content === 2 ? { equalityIds: [1] } : {}), ...more };
  }

  const data = (table: LoadedTable, rows: readonly Row[], more: Partial<DataFile> = {}): Promise<DataFile> => store(table, 0, COLUMNS, rows.map((row) => row.join('\t')), more);

  const deletes = (table: LoadedTable, ids: readonly number[], more: Partial<DataFile> = {}): Promise<DataFile> => store(table, 2, [COLUMNS[0]], ids.map(String), more);

  async function positions(table: LoadedTable, file: DataFile, rows: readonly number[]): Promise<DataFile> {
    const { bytes, recordCount, metrics, referencedDataFile } = encodePositionDeletes(rows.map((pos) => ({ path: file.filePath, pos })), { compression: { codec: 'zstd' }, tableName: 't' });
    const filePath = `${table.metadata.location}/data/${randomUUID()}-deletes.parquet`;
    await storage.write(filePath, bytes);
    return { content: 1, filePath, fileFormat: 'PARQUET', specId: 0, partition: [], recordCount, fileSizeInBytes: bytes.length, ...metrics, referencedDataFile };
  }

  const commit = async (committer: TableCommitter, dataFiles: DataFile[], deleteFiles: DataFile[] = [], truncate = false): Promise<void> => {
    await committer.commit({ dataFiles, deleteFiles, truncate, endLsn: (lsn += 1n) });
  };

  async function expectRows(identifier: TableIdentifier, rows: readonly Row[]): Promise<void> {
    const table = (await catalog.loadTable(identifier))!;
    const expected: CanonicalRow[] = sortRows(rows.map(([id, note]) => ({ id: String(id), note })));
    for (const reader of readers) {
      try {
        assert.deepEqual(sortRows(await reader.readTable({ kind: 'path', location: table.metadata.location, metadataLocation: table.metadataLocation })), expected, reader.name);
      } catch (error) {
        if (!(error instanceof ForeignReaderError && error.isEqualityDeleteRefusal)) throw error;
      }
    }
  }

  it('appends, equality deletes, position deletes, steps, an older data sequence number, truncate, merged manifests', async () => {
    await create('orders', { 'commit.manifest.min-count-to-merge': '3' });
    const identifier = { namespace: ['shop'], name: 'orders' };
    const committer = await committerOf('orders');
    const { table } = committer;
    await commit(committer, []);
    await expectRows(identifier, []);
    const first = await data(table, [[1, 'a'], [2, 'a'], [3, 'a'], [4, 'a']]);
    await commit(committer, [first]);
    await expectRows(identifier, [[1, 'a'], [2, 'a'], [3, 'a'], [4, 'a']]);
    await commit(committer, [], [await positions(table, first, [0, 2])]);
    await expectRows(identifier, [[2, 'a'], [4, 'a']]);
    await commit(committer, [await data(table, [[2, 'b']])], [await deletes(table, [2])]);
    await expectRows(identifier, [[2, 'b'], [4, 'a']]);
    // One snapshot, three steps: 7 is born, changed and gone; 4 changes twice.
    await commit(committer, [await data(table, [[7, 'c'], [4, 'c']]), await data(table, [[7, 'd']], { sequenceStep: 1 }), await data(table, [[4, 'e'], [8, 'e']], { sequenceStep: 2 })],
      [await deletes(table, [4]), await deletes(table, [7], { sequenceStep: 1 }), await deletes(table, [7, 4], { sequenceStep: 2 })]);
    await expectRows(identifier, [[2, 'b'], [4, 'e'], [8, 'e']]);
    // Rows that lie beneath all that: 4 was deleted above, 9 never.
    await committer.commit({ dataFiles: [await data(table, [[4, 'old'], [9, 'old']])], deleteFiles: [], dataSequenceNumber: 1n, endLsn: lsn });
    await expectRows(identifier, [[2, 'b'], [4, 'e'], [8, 'e'], [9, 'old']]);
    for (let id = 20; id < 26; id++) await commit(committer, [await data(table, [[id, 'm']])], [await deletes(table, [id])]);
    await expectRows(identifier, [[2, 'b'], [4, 'e'], [8, 'e'], [9, 'old'], ...[20, 21, 22, 23, 24, 25].map((id): Row => [id, 'm'])]);
    await commit(committer, [await data(table, [[30, 'n']])], [], true);
    await expectRows(identifier, [[30, 'n']]);
    await commit(committer, [], [], true);
    await expectRows(identifier, []);
    await commit(committer, [await data(table, [[31, 'n']])]);
    await expectRows(identifier, [[31, 'n']]);
  });

  it('Java\'s own file-system catalog finds the table, reads it, writes and compacts it; commits go on above its versions', async () => {
    const identifier = { namespace: ['shop'], name: 'shared' };
    const source = { kind: 'path', location: '', metadataLocation: '' } as const;
    for (const [key, value] of [['', 'org.apache.iceberg.spark.SparkCatalog'], ['.type', 'hadoop'], ['.warehouse', `file://${warehouse}`], ['.cache-enabled', 'false']]) {
      await spark.sql(source, `SET \`spark.sql.catalog.lake${key}\`=\`${value}\``);
    }
    await create('shared');
    const committer = await committerOf('shared');
    const rows: Row[] = [[1, 'a'], [2, 'a'], [3, 'a']];
    for (const row of rows) await commit(committer, [await data(committer.table, [row])]);
    assert.deepEqual(sortRows(await spark.sql(source, 'SELECT * FROM lake.shop.shared')), rows.map(([id, note]) => ({ id: String(id), note })));
    await spark.sql(source, "INSERT INTO lake.shop.shared VALUES (10, 'spark')");
    await commit(committer, [await data(committer.table, [[2, 'b']])], [await deletes(committer.table, [2])]);
    await expectRows(identifier, [[1, 'a'], [2, 'b'], [3, 'a'], [10, 'spark']]);
    await spark.sql(source, "CALL lake.system.rewrite_data_files(table => 'shop.shared', options => map('rewrite-all', 'true'))");
    await commit(committer, [await data(committer.table, [[3, 'c']])], [await deletes(committer.table, [3, 1])]);
    await expectRows(identifier, [[2, 'b'], [3, 'c'], [10, 'spark']]);
    await spark.sql(source, "ALTER TABLE lake.shop.shared SET TBLPROPERTIES ('team' = 'spark')");
    await commit(committer, [await data(committer.table, [[4, 'd']])]);
    const table = (await catalog.loadTable(identifier))!;
    assert.equal(table.metadata.properties.team, 'spark');
    assert.equal(committer.position, lsn);
    assert.equal(readFileSync(join(warehouse, 'shop/shared/metadata/version-hint.text'), 'utf8'), /v(\d+)\.metadata\.json$/.exec(table.metadataLocation)![1]);
    // What Java counts over the live files is what the summary carries.
    const summary = table.metadata.snapshots.at(-1)!.summary;
    const [counted] = await spark.sql(source, 'SELECT count(*) AS files, sum(record_count) AS records, sum(file_size_in_bytes) AS bytes FROM lake.shop.shared.data_files');
    assert.deepEqual([summary['total-data-files'], summary['total-records']], [counted.files, counted.records]);
    await spark.sql(source, "CALL lake.system.expire_snapshots(table => 'shop.shared', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)");
    await commit(committer, [await data(committer.table, [[5, 'e']])]);
    await expectRows(identifier, [[2, 'b'], [3, 'c'], [10, 'spark'], [4, 'd'], [5, 'e']]);
  });

  it('a rewrite by Spark under position deletes that are on their way is noticed', async () => {
    await create('located');
    const committer = await committerOf('located');
    const source = { kind: 'path', location: '', metadataLocation: '' } as const;
    const file = await data(committer.table, [[1, 'a'], [2, 'a']]);
    await commit(committer, [file]);
    await commit(committer, [await data(committer.table, [[3, 'a']])]);
    const onItsWay = await positions(committer.table, file, [0]);
    await spark.sql(source, "CALL lake.system.rewrite_data_files(table => 'shop.located', options => map('rewrite-all', 'true'))");
    await assert.rejects(commit(committer, [], [onItsWay]), (error) => isWalbergError(error, 'COMMIT_CONFLICT'));
    await expectRows({ namespace: ['shop'], name: 'located' }, [[1, 'a'], [2, 'a'], [3, 'a']]);
  });
});
