import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Bool, type DataType, Decimal, Field, FixedSizeBinary, Int32, Int64, makeData, RecordBatch, RecordBatchStreamWriter, Schema as ArrowSchema, Struct, TimestampMicrosecond, Utf8, vectorFromArray } from 'apache-arrow';
import { Table, writeParquet } from 'parquet-wasm';
import { arrowText, sourceText } from '../../src/demo/canonical-text.js';
import { RowBytes } from '../../src/demo/row-digest.js';
import { TableReader } from '../../src/demo/table-reader.js';
import type { LoadedTable } from '../../src/iceberg/catalog/catalog.js';
import { addedEntry, type ManifestFile, toManifestFile, writeManifest, writeManifestList } from '../../src/iceberg/manifest/index.js';
import type { DataFile, NestedField, Schema } from '../../src/iceberg/spec/types.js';
import { MemoryStorage } from '../../src/storage/memory.js';
import { isWalbergError } from '../../src/errors/error.js';

const field = (type: string, name = 'c'): NestedField => ({ id: 1, name, required: false, type });

/** Texts of a row's values, decoded from its bytes. */
function texts(row: RowBytes): (string | null)[] {
  const { bytes } = row;
  const found: (string | null)[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readUInt32LE(at);
    at += 4;
    found.push(length === 0xffff_ffff ? null : bytes.toString('utf8', at, at + length));
    if (length !== 0xffff_ffff) at += length;
  }
  return found;
}

function columnTexts(type: string, arrow: DataType, values: readonly unknown[]): (string | null)[] {
  const data = vectorFromArray(values as never[], arrow as never).data[0];
  const read = arrowText(field(type), data as never);
  const row = new RowBytes();
  for (let i = 0; i < values.length; i++) read(i, row);
  return texts(row);
}

describe('canonical text of a column', () => {
  it('is what Postgres prints', () => {
    assert.deepEqual(columnTexts('string', new Utf8(), ['a', '', null, 'é€😀']), ['a', '', null, 'é€😀']);
    assert.deepEqual(columnTexts('int', new Int32(), [1, null, -2147483648]), ['1', null, '-2147483648']);
    assert.deepEqual(columnTexts('long', new Int64(), [9007199254740993n, null, -1n]), ['9007199254740993', null, '-1']);
    assert.deepEqual(columnTexts('boolean', new Bool(), [true, null, false, false, true, true, false, true, false, true]), ['true', null, 'false', 'false', 'true', 'true', 'false', 'true', 'false', 'true']);
    assert.deepEqual(columnTexts('uuid', new FixedSizeBinary(16), [Buffer.from('00112233445566778899aabbccddeeff', 'hex'), null]), ['00112233-4455-6677-8899-aabbccddeeff', null]);
  });

  it('has all digits of a decimal, with its sign', () => {
    const unscaled = [5n, -5n, 0n, 123456n, -(10n ** 37n), 10n ** 38n - 1n];
    const words = new Uint32Array(unscaled.length * 4);
    unscaled.forEach((value, i) => { for (let w = 0; w < 4; w++) words[i * 4 + w] = Number(BigInt.asUintN(32, value >> BigInt(32 * w))); });
    const read = (scale: number): (string | null)[] => {
      const data = makeData({ type: new Decimal(scale, 38, 128), length: unscaled.length, nullCount: 0, data: words });
      const value = arrowText(field(`decimal(38, ${scale})`), data as never);
      const row = new RowBytes();
      unscaled.forEach((_, i) => { value(i, row); });
      return texts(row);
    };
    assert.deepEqual(read(2), ['0.05', '-0.05', '0.00', '1234.56', `-1${'0'.repeat(35)}.00`, `${'9'.repeat(36)}.99`]);
    assert.deepEqual(read(0), ['5', '-5', '0', '123456', `-1${'0'.repeat(37)}`, '9'.repeat(38)]);
  });

  it('keeps microseconds', () => {
    const data = makeData({ type: new TimestampMicrosecond('UTC'), length: 2, nullCount: 0, data: new BigInt64Array([1_700_000_000_000_001n, -1n]) });
    const value = arrowText(field('timestamptz'), data as never);
    const row = new RowBytes();
    value(0, row);
    value(1, row);
    assert.deepEqual(texts(row), ['1700000000000001', '-1']);
    assert.match(sourceText(field('timestamptz', 'at')), /epoch FROM "at"\) \* 1000000/);
    assert.equal(sourceText(field('string', 'no"te')), '"no""te"::text');
  });

  it('refuses a type it does not know', () => {
    assert.throws(() => columnTexts('fixed[4]', new FixedSizeBinary(4), [Buffer.alloc(4)]), (error) => isWalbergError(error, 'FORMAT_UNSUPPORTED'));
  });
});

const SCHEMA: Schema = { type: 'struct', 'schema-id': 0, fields: [{ id: 1, name: 'id', required: true, type: 'long' }, { id: 2, name: 'value', required: false, type: 'string' }] };
const SPEC = { 'spec-id': 0, fields: [] };
const PATH = 2147483546;
const POSITION = 2147483545;

interface FileRows { readonly sequence: bigint; readonly content?: 0 | 1 | 2; readonly equalityIds?: readonly number[]; readonly columns: readonly { readonly id: number; readonly type: DataType; readonly values: readonly unknown[] }[] }

/** A table of one snapshot, whose files have the sequence numbers given. */
class Files {
  readonly storage = new MemoryStorage();
  readonly #files: { file: DataFile; sequence: bigint }[] = [];

  async add({ sequence, content = 0, equalityIds, columns }: FileRows): Promise<string> {
    const filePath = `memory://t/${this.#files.length}.parquet`;
    const schema = new ArrowSchema(columns.map((c) => new Field(`column ${c.id}`, c.type, true, new Map([['PARQUET:field_id', String(c.id)]]))));
    const children = columns.map((c) => vectorFromArray(c.values as never[], c.type as never).data[0]);
    const batch = new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: columns[0].values.length, nullCount: 0, children: children as never }));
    const body = writeParquet(Table.fromIPCStream(RecordBatchStreamWriter.writeAll([batch]).toUint8Array(true)));
    await this.storage.write(filePath, body);
    this.#files.push({ sequence, file: { content, filePath, fileFormat: 'PARQUET', specId: 0, partition: [], recordCount: columns[0].values.length, fileSizeInBytes: body.length, ...(equalityIds === undefined ? {} : { equalityIds }) } });
    return filePath;
  }

  async rows(): Promise<(string | null)[][]> {
    const manifests: ManifestFile[] = [];
    for (const content of ['data', 'deletes'] as const) {
      const entries = this.#files.filter((f) => (f.file.content === 0) === (content === 'data')).map(({ file, sequence }) => addedEntry(file, 1n, sequence));
      const { bytes, stats } = writeManifest({ schema: SCHEMA, spec: SPEC, content, entries });
      const path = `memory://t/${content}.avro`;
      await this.storage.write(path, bytes);
      manifests.push(toManifestFile(stats, { path, sequenceNumber: 9n, addedSnapshotId: 1n }));
    }
    await this.storage.write('memory://t/list.avro', writeManifestList({ snapshotId: 1n, parentSnapshotId: null, sequenceNumber: 9n, manifests }));
    const metadata = { schemas: [SCHEMA], 'current-schema-id': 0, refs: { main: { 'snapshot-id': 1, type: 'branch' } }, snapshots: [{ 'snapshot-id': 1, 'sequence-number': 9, 'timestamp-ms': 0, 'manifest-list': 'memory://t/list.avro', summary: {} }] };
    const reader = await TableReader.open({ identifier: { namespace: ['n'], name: 't' }, metadata, metadataLocation: 'memory://t/v1.metadata.json' } as unknown as LoadedTable, this.storage);
    const found: (string | null)[][] = [];
    await reader.eachRow((row) => { found.push(texts(row)); });
    return found;
  }
}

describe('reading a table from its files', () => {
  let files: Files;
  beforeEach(() => { files = new Files(); });
  const data = (sequence: bigint, ids: readonly bigint[], values: readonly (string | null)[]): FileRows => ({ sequence, columns: [{ id: 1, type: new Int64(), values: ids }, { id: 2, type: new Utf8(), values }] });

  it('finds columns by field id, and those the file lacks are NULL', async () => {
    await files.add({ sequence: 1n, columns: [{ id: 2, type: new Utf8(), values: ['a', null] }, { id: 1, type: new Int64(), values: [1n, 2n] }] });
    await files.add({ sequence: 2n, columns: [{ id: 1, type: new Int64(), values: [3n] }] });
    assert.deepEqual(await files.rows(), [['1', 'a'], ['2', null], ['3', null]]);
  });

  it('applies equality deletes to rows of lower sequence number only', async () => {
    await files.add(data(1n, [1n, 2n], ['old', 'kept']));
    await files.add(data(3n, [1n], ['new']));
    await files.add(data(4n, [1n], ['newest']));
    await files.add({ sequence: 3n, content: 2, equalityIds: [1], columns: [{ id: 1, type: new Int64(), values: [1n] }] });
    assert.deepEqual(await files.rows(), [['2', 'kept'], ['1', 'new'], ['1', 'newest']]);
  });

  it('keeps deletes on different columns apart, and NULL equals NULL', async () => {
    await files.add(data(1n, [1n, 2n, 3n], ['x', null, 'y']));
    await files.add({ sequence: 2n, content: 2, equalityIds: [2], columns: [{ id: 2, type: new Utf8(), values: [null] }] });
    await files.add({ sequence: 2n, content: 2, equalityIds: [1], columns: [{ id: 1, type: new Int64(), values: [3n] }] });
    assert.deepEqual(await files.rows(), [['1', 'x']]);
  });

  it('applies position deletes to rows of the same or lower sequence number, in the file they name', async () => {
    const deleted = await files.add(data(2n, [1n, 2n, 3n], ['a', 'b', 'c']));
    await files.add(data(2n, [4n, 5n], ['d', 'e']));
    const later = await files.add(data(3n, [6n, 7n], ['f', 'g']));
    await files.add({ sequence: 2n, content: 1, columns: [{ id: PATH, type: new Utf8(), values: [deleted, later] }, { id: POSITION, type: new Int64(), values: [1n, 0n] }] });
    assert.deepEqual((await files.rows()).map(([id]) => id), ['1', '3', '4', '5', '6', '7']);
  });
});
