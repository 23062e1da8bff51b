import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import { AvroCursor } from '../../src/iceberg/manifest/avro/cursor.js';
import { AvroSink } from '../../src/iceberg/manifest/avro/sink.js';
import { addedEntry, readManifest, readManifestList, writeManifest, writeManifestList, type ManifestEntry, type ManifestFile } from '../../src/iceberg/manifest/index.js';
import { UNPARTITIONED } from '../../src/iceberg/spec/partition.js';
import { readWithAvsc, writeWithAvsc } from '../support/avsc-container.js';
import { entries, long, manifestFile, SCHEMA, SPEC } from '../support/manifest-arbitraries.js';

const listed = (more: Partial<ManifestFile> = {}): ManifestFile => ({
  path: 's3://bucket/metadata/m0.avro', length: 1, specId: 3, content: 'data', sequenceNumber: 40n, minSequenceNumber: 1n, addedSnapshotId: 77n,
  addedFilesCount: 0, existingFilesCount: 0, deletedFilesCount: 0, addedRowsCount: 0n, existingRowsCount: 0n, deletedRowsCount: 0n, ...more,
});

/** What a reader of an entry sees: ADDED inherits the numbers of the manifest. */
const inherited = (entry: ManifestEntry, sequenceNumber: bigint): ManifestEntry =>
  entry.status === 1 ? { ...entry, sequenceNumber: entry.sequenceNumber ?? sequenceNumber, fileSequenceNumber: sequenceNumber } : entry;

test('what is written is read back, with inheritance', () => {
  const cases = fc.constantFrom('data' as const, 'deletes' as const).chain((content) =>
    fc.constantFrom(SPEC, UNPARTITIONED).chain((spec) => entries(content, spec).map((list) => ({ content, spec, list }))));
  fc.assert(fc.property(cases, ({ content, spec, list }) => {
    const { bytes } = writeManifest({ schema: SCHEMA, spec, content, entries: list });
    assert.deepEqual(readManifest(bytes, listed({ content, specId: spec['spec-id'] })), list.map((entry) => inherited(entry, 40n)));
  }), { numRuns: 300 });
  fc.assert(fc.property(fc.array(manifestFile, { maxLength: 5 }), (manifests) => {
    assert.deepEqual(readManifestList(writeManifestList({ snapshotId: 1n, parentSnapshotId: null, sequenceNumber: 1n, manifests })), manifests);
  }), { numRuns: 300 });
});

test('what avsc writes under our schema is read, in every codec avsc has', async () => {
  await fc.assert(fc.asyncProperty(entries('data', SPEC), fc.constantFrom('null', 'deflate'), async (list, codec) => {
    const ours = await readWithAvsc(writeManifest({ schema: SCHEMA, spec: SPEC, content: 'data', entries: list }).bytes);
    const theirs = await writeWithAvsc(ours.schema, ours.records, { codec, metadata: ours.metadata, blockSize: 600 });
    assert.deepEqual(readManifest(theirs, listed()), list.map((entry) => inherited(entry, 40n)));
    // Without the header keys of Iceberg the partition record of the schema gives the order.
    assert.deepEqual(readManifest(await writeWithAvsc(ours.schema, ours.records, { codec }), listed()), list.map((entry) => inherited(entry, 40n)));
  }), { numRuns: 60 });
  await fc.assert(fc.asyncProperty(fc.array(manifestFile, { maxLength: 4 }), fc.constantFrom('null', 'deflate'), async (manifests, codec) => {
    const ours = await readWithAvsc(writeManifestList({ snapshotId: 1n, parentSnapshotId: null, sequenceNumber: 1n, manifests }));
    assert.deepEqual(readManifestList(await writeWithAvsc(ours.schema, ours.records, { codec })), manifests);
  }), { numRuns: 60 });
});

const field = (id: number | undefined, name: string, type: unknown, more: object = {}): object => ({ name, type, ...(id === undefined ? {} : { 'field-id': id }), ...more });
const record = (name: string, ...fields: object[]): object => ({ type: 'record', name, fields });

/** A manifest of another writer: other order, other names, namespaces, fields unknown to us, optional ones left out. */
const foreignSchema = record('org.example.entry',
  field(9000, 'history', { type: 'map', values: { type: 'array', items: ['null', 'string', 'double'] } }),
  field(2, 'file', record('df',
    field(9001, 'kind', { type: 'enum', name: 'kind', symbols: ['A', 'B'] }),
    field(104, 'size', 'long'),
    field(103, 'rows', 'int'),
    field(102, 'tuple', record('pt', field(1001, 'second', ['null', { type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 }]), field(1000, 'first', ['long', 'null']))),
    field(101, 'fmt', 'string'),
    field(100, 'path', 'string'),
    field(134, 'content', 'int'),
    field(9002, 'checksum', { type: 'fixed', name: 'sum', size: 2 }),
    field(108, 'sizes', ['null', { type: 'array', logicalType: 'map', items: record('kv', field(118, 'v', 'long'), field(117, 'k', 'int')) }]),
    field(9003, 'again', 'org.example.sum'),
  )),
  field(0, 'st', 'int'),
  field(1, 'sid', 'long'),
);

test('fields are found by id whatever their name, order and type variant; unknown ones are read over', async () => {
  const file = { kind: 'B', size: 12n, rows: 3, tuple: { second: Buffer.from('ff7f', 'hex'), first: 9n }, fmt: 'parquet', path: 'p', content: 0, checksum: Buffer.from([1, 2]), sizes: [{ v: 5n, k: 1 }, { v: 6n, k: 2 }], again: Buffer.from([3, 4]) };
  const bytes = await writeWithAvsc(foreignSchema, [{ history: { x: [null, 'a', 1.5] }, file, st: 1, sid: 5n }, { history: {}, file: { ...file, tuple: { second: null, first: null }, sizes: null, path: 'q' }, st: 1, sid: 6n }], {
    metadata: { 'partition-spec': JSON.stringify([{ 'source-id': 1, 'field-id': 1000, name: 'a', transform: 'identity' }, { 'source-id': 2, 'field-id': 1001, name: 'b', transform: 'identity' }]) },
  });
  const base = { content: 0, fileFormat: 'PARQUET', specId: 3, recordCount: 3, fileSizeInBytes: 12 };
  assert.deepEqual(readManifest(bytes, listed()), [
    { status: 1, snapshotId: 5n, sequenceNumber: 40n, fileSequenceNumber: 40n, file: { ...base, filePath: 'p', partition: [9n, -129n], columnSizes: new Map([[1, 5], [2, 6]]) } },
    { status: 1, snapshotId: 6n, sequenceNumber: 40n, fileSequenceNumber: 40n, file: { ...base, filePath: 'q', partition: [null, null] } },
  ]);
});

/** Format version 1: no content, no sequence numbers. */
const version1 = (withIds: boolean): object => {
  const id = (value: number): number | undefined => (withIds ? value : undefined);
  return record('manifest_entry', field(id(0), 'status', 'int'), field(id(1), 'snapshot_id', ['null', 'long']),
    field(id(2), 'data_file', record('r2', field(id(100), 'file_path', 'string'), field(id(101), 'file_format', 'string'), field(id(102), 'partition', record('r102', field(id(1000), 'p', ['null', { type: 'int', logicalType: 'date' }]))),
      field(id(103), 'record_count', 'long'), field(id(104), 'file_size_in_bytes', 'long'), field(id(105), 'block_size_in_bytes', 'long'))));
};

test('format version 1 is data with sequence number 0; ids left out fall back to names; the snapshot id is inherited', async () => {
  const records = [1, 0].map((status) => ({ status, snapshot_id: status === 1 ? null : 3n, data_file: { file_path: `p${status}`, file_format: 'PARQUET', partition: { p: 17 }, record_count: 1n, file_size_in_bytes: 2n, block_size_in_bytes: 3n } }));
  for (const withIds of [true, false]) {
    const bytes = await writeWithAvsc(version1(withIds), records, { metadata: { 'partition-spec': '[{"name":"p","transform":"day","source-id":4}]' } });
    const read = readManifest(bytes, listed({ sequenceNumber: 0n, minSequenceNumber: 0n }));
    assert.deepEqual(read.map((e) => [e.status, e.snapshotId, e.sequenceNumber, e.fileSequenceNumber, e.file.filePath, e.file.content, e.file.partition]), [[1, 77n, 0n, 0n, 'p1', 0, [17]], [0, 3n, 0n, 0n, 'p0', 0, [17]]]);
    // In a manifest of a numbered snapshot an existing entry without a number has no place in the table's history.
    assert.throws(() => readManifest(bytes, listed()), (error) => isWalbergError(error, 'FILE_MALFORMED') && error.message.includes('s3://bucket/metadata/m0.avro'));
  }
  const list = await writeWithAvsc(record('manifest_file', field(500, 'manifest_path', 'string'), field(501, 'manifest_length', 'long'), field(502, 'partition_spec_id', 'int'), field(503, 'added_snapshot_id', ['null', 'long']),
    ...[504, 505, 506].map((id) => field(id, `old_name_${id}`, ['null', 'int'])), ...[512, 513, 514].map((id) => field(id, `rows_${id}`, ['null', 'long'])),
    field(507, 'partitions', ['null', { type: 'array', items: record('r508', field(509, 'contains_null', 'boolean'), field(510, 'lower_bound', ['null', 'bytes']), field(511, 'upper_bound', ['null', 'bytes'])) }])),
  [{ manifest_path: 'm', manifest_length: 9n, partition_spec_id: 0, added_snapshot_id: 4n, old_name_504: 1, old_name_505: 2, old_name_506: 3, rows_512: 4n, rows_513: 5n, rows_514: 6n, partitions: [{ contains_null: true, lower_bound: null, upper_bound: Buffer.from([1]) }] }]);
  assert.deepEqual(readManifestList(list), [listed({ path: 'm', length: 9, specId: 0, content: 'data', sequenceNumber: 0n, minSequenceNumber: 0n, addedSnapshotId: 4n, addedFilesCount: 1, existingFilesCount: 2, deletedFilesCount: 3,
    addedRowsCount: 4n, existingRowsCount: 5n, deletedRowsCount: 6n, partitions: [{ containsNull: true, upperBound: Uint8Array.of(1) }] })]);
});

const sample = (): Uint8Array =>
  writeManifest({ schema: SCHEMA, spec: UNPARTITIONED, content: 'data', entries: Array.from({ length: 40 }, (_, i) => addedEntry({ content: 0, filePath: `s3://bucket/data/${i}.parquet`, fileFormat: 'PARQUET', specId: 0, partition: [], recordCount: i, fileSizeInBytes: 4, lowerBounds: new Map([[1, Uint8Array.of(i)]]) }, 1n)) }).bytes;

/** The sample under another codec, compressed by a library. */
async function recompressed(codec: string, compress: (data: Buffer) => Uint8Array): Promise<Uint8Array> {
  const ours = await readWithAvsc(sample());
  return writeWithAvsc(ours.schema, ours.records, { codec, codecs: { [codec]: (data, done) => done(null, Buffer.from(compress(data))) } });
}

test('snappy is read', async () => {
  const snappy = createRequire(import.meta.url)('snappyjs') as { compress(data: Buffer): Buffer };
  const bytes = await recompressed('snappy', (data) => Buffer.concat([snappy.compress(data), Buffer.alloc(4)]));
  assert.deepEqual(readManifest(bytes, listed({ specId: 0 })), readManifest(sample(), listed({ specId: 0 })));
  const damaged = await recompressed('snappy', (data) => snappy.compress(data).subarray(0, 50));
  assert.throws(() => readManifest(damaged, listed()), (error) => isWalbergError(error, 'FILE_MALFORMED'));
});

test('zstandard is read where Node has it, and refused by name where not', async () => {
  const { zstdCompressSync: compress } = zlib as { zstdCompressSync?: (data: Uint8Array) => Buffer };
  const bytes = await recompressed('zstandard', (data) => compress?.(data) ?? data);
  if (compress === undefined) assert.throws(() => readManifest(bytes, listed()), (error) => isWalbergError(error, 'FORMAT_UNSUPPORTED') && /zstandard/.test(error.message) && /22\.15/.test(error.hint));
  else assert.deepEqual(readManifest(bytes, listed({ specId: 0 })), readManifest(sample(), listed({ specId: 0 })));
  const unknown = await recompressed('bzip2', (data) => data);
  assert.throws(() => readManifest(unknown, listed()), (error) => isWalbergError(error, 'FORMAT_UNSUPPORTED') && /bzip2/.test(error.message));
});

test('a later format version is refused', async () => {
  const ours = await readWithAvsc(sample());
  const bytes = await writeWithAvsc(ours.schema, ours.records, { metadata: { 'format-version': '3' } });
  assert.throws(() => readManifest(bytes, listed()), (error) => isWalbergError(error, 'FORMAT_UNSUPPORTED'));
  const list = await readWithAvsc(writeManifestList({ snapshotId: 1n, parentSnapshotId: null, sequenceNumber: 1n, manifests: [] }));
  const newer = await writeWithAvsc(list.schema, [], { metadata: { 'format-version': '3' } });
  assert.throws(() => readManifestList(newer), (error) => isWalbergError(error, 'FORMAT_UNSUPPORTED'));
});

test('a manifest of the other content is refused', () => {
  assert.throws(() => readManifest(sample(), listed({ content: 'deletes' })), (error) => isWalbergError(error, 'FILE_MALFORMED'));
});

const neverElse = (read: () => unknown): boolean => {
  try {
    read();
    return false;
  } catch (error) {
    assert.ok(isWalbergError(error, 'FILE_MALFORMED', 'FORMAT_UNSUPPORTED'), String(error instanceof Error ? error.stack : error));
    return true;
  }
};

test('damage of any kind ends in an error of ours, never in a crash, a hang or a huge allocation', async () => {
  const packed = sample();
  const file = await readWithAvsc(packed);
  const plain = await writeWithAvsc(file.schema, file.records, { codec: 'null' });
  const list = writeManifestList({ snapshotId: 1n, parentSnapshotId: null, sequenceNumber: 1n, manifests: [listed({ partitions: [{ containsNull: false, lowerBound: Uint8Array.of(1, 2) }] })] });
  const files: [Uint8Array, (bytes: Uint8Array) => unknown][] = [[packed, (b) => readManifest(b, listed({ specId: 0 }))], [plain, (b) => readManifest(b, listed({ specId: 0 }))], [list, (b) => readManifestList(b)]];
  for (const [bytes, read] of files) {
    const whole = read(bytes) as unknown[];
    for (const end of [0, 3, 4, 20, 300, bytes.length - 17, bytes.length - 16, bytes.length - 1]) {
      assert.ok(neverElse(() => read(bytes.subarray(0, end))), `cut at ${end}`);
    }
    fc.assert(fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), fc.boolean(), (at, flip, tail) => {
      const damaged = bytes.slice();
      // Half of the damage goes into the data rather than into the long header.
      const place = tail ? damaged.length - 1 - (at % Math.min(damaged.length, 700)) : at;
      damaged[place] ^= flip;
      neverElse(() => read(damaged));
    }), { numRuns: 1500 });
    assert.deepEqual(read(bytes), whole, 'reading changes nothing');
  }
});

test('a file whose whole content was swapped for something else says so', () => {
  for (const text of ['', 'PAR1', '<Error><Code>NoSuchKey</Code></Error>', 'Obj\u0001']) {
    assert.throws(() => readManifestList(Buffer.from(text), 'manifest list s3://bucket/snap-1.avro'), (error) => isWalbergError(error, 'FILE_MALFORMED') && error.message.includes('s3://bucket/snap-1.avro'));
  }
});

test('integers of 64 bits keep every bit; arrays may come in sized blocks', () => {
  fc.assert(fc.property(fc.array(fc.oneof(long, fc.integer(), fc.maxSafeInteger(), fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 48n, -(2n ** 48n) - 1n, 2 ** 30, -(2 ** 30), 2 ** 53 - 1))), (values) => {
    const sink = new AvroSink(1);
    for (const value of values) sink.long(value);
    const cursor = new AvroCursor(sink.view(), 'test');
    assert.deepEqual(values.map(() => BigInt(cursor.long())), values.map(BigInt));
    assert.equal(cursor.remaining, 0);
  }));
  const sink = new AvroSink(1);
  for (const value of [-2, 2, 7, 8, 1, 9, 0]) sink.long(value);
  const seen: unknown[] = [];
  const cursor = new AvroCursor(sink.view(), 'test');
  cursor.blocks(() => seen.push(cursor.long()));
  assert.deepEqual(seen, [7, 8, 9]);
});

test('a value read does not keep the file in memory', () => {
  const [entry] = readManifest(sample(), listed({ specId: 0 }));
  const bound = entry.file.lowerBounds!.get(1)!;
  assert.equal(bound.buffer.byteLength, bound.byteLength);
});

