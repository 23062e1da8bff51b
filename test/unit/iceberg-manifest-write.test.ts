import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import { addedEntry, deletedEntry, existingEntry, toManifestFile, writeManifest, writeManifestList, type ManifestEntry } from '../../src/iceberg/manifest/index.js';
import { parseJson } from '../../src/iceberg/spec/json.js';
import { UNPARTITIONED } from '../../src/iceberg/spec/partition.js';
import type { DataFile, PartitionSpec, PartitionValue, Schema } from '../../src/iceberg/spec/types.js';
import { readWithAvsc, type AvscRecord, type AvscSchema } from '../support/avsc-container.js';
import { entries, manifestFile, SCHEMA, SPEC } from '../support/manifest-arbitraries.js';

const ids = (value: ReadonlyMap<number, unknown> | undefined, convert: (member: never) => unknown = (member) => member): unknown =>
  value === undefined ? null : [...value].map(([key, member]) => ({ key, value: convert(member as never) }));

/** What an Avro reader should see for a partition value: decimals and UUIDs as bytes, longs as bigint. */
const avroPartition = (values: readonly PartitionValue[]): PartitionValue[] =>
  values.map((value, i) => {
    if (value === null || SPEC.fields[i]['source-id'] !== 5) return value;
    const buffer = Buffer.alloc(16);
    const unsigned = BigInt.asUintN(128, value as bigint);
    buffer.writeBigUInt64BE(unsigned >> 64n);
    buffer.writeBigUInt64BE(BigInt.asUintN(64, unsigned), 8);
    return new Uint8Array(buffer.subarray(16 - 9));
  });

const PARTITION_NAMES = ['i_bucket', 'l', 'd', 'ts', 'ts_day', 'dec', 'gr_xF6_xDFe_x201', 'u', '_2u', 'b', 'f', 'bin', 'dec2'];

function expectedEntry(entry: ManifestEntry): unknown {
  const { file } = entry;
  return {
    status: entry.status,
    snapshot_id: entry.snapshotId,
    sequence_number: entry.sequenceNumber,
    file_sequence_number: entry.fileSequenceNumber,
    data_file: {
      content: file.content,
      file_path: file.filePath,
      file_format: file.fileFormat,
      partition: Object.fromEntries(avroPartition(file.partition).map((value, i) => [PARTITION_NAMES[i], value])),
      record_count: BigInt(file.recordCount),
      file_size_in_bytes: BigInt(file.fileSizeInBytes),
      column_sizes: ids(file.columnSizes, BigInt),
      value_counts: ids(file.valueCounts, BigInt),
      null_value_counts: ids(file.nullValueCounts, BigInt),
      nan_value_counts: ids(file.nanValueCounts, BigInt),
      lower_bounds: ids(file.lowerBounds),
      upper_bounds: ids(file.upperBounds),
      key_metadata: file.keyMetadata ?? null,
      split_offsets: file.splitOffsets?.map(BigInt) ?? null,
      equality_ids: file.equalityIds ?? null,
      sort_order_id: file.sortOrderId ?? null,
      referenced_data_file: file.referencedDataFile ?? null,
    },
  };
}

test('avsc reads every manifest we write, value by value', async () => {
  const cases = fc.constantFrom('data' as const, 'deletes' as const).chain((content) =>
    fc.constantFrom(SPEC, UNPARTITIONED).chain((spec) => entries(content, spec).map((list) => ({ content, spec, list }))));
  await fc.assert(fc.asyncProperty(cases, async ({ content, spec, list }) => {
    const { bytes, stats } = writeManifest({ schema: SCHEMA, spec, content, entries: list });
    const file = await readWithAvsc(bytes);
    assert.equal(stats.length, bytes.length);
    assert.deepEqual(file.records, list.map(expectedEntry));
    assert.equal(stats.addedFilesCount, list.filter((e) => e.status === 1).length);
    assert.equal(stats.existingFilesCount, list.filter((e) => e.status === 0).length);
    assert.equal(stats.deletedFilesCount, list.filter((e) => e.status === 2).length);
    for (const [status, sum] of [[0, stats.existingRowsCount], [1, stats.addedRowsCount], [2, stats.deletedRowsCount]] as const) {
      assert.equal(sum, list.filter((e) => e.status === status).reduce((total, e) => total + BigInt(e.file.recordCount), 0n));
    }
    const explicit = list.filter((e) => e.status !== 2 && e.sequenceNumber !== null).map((e) => e.sequenceNumber!);
    assert.equal(stats.minExplicitSequenceNumber, explicit.length === 0 ? undefined : explicit.reduce((least, n) => (n < least ? n : least)));
  }), { numRuns: 200 });
});

test('avsc reads every manifest list we write, value by value', async () => {
  await fc.assert(fc.asyncProperty(fc.array(manifestFile, { maxLength: 5 }), async (manifests) => {
    const file = await readWithAvsc(writeManifestList({ snapshotId: 2n ** 62n + 1n, parentSnapshotId: null, sequenceNumber: 0n, manifests }));
    assert.deepEqual(file.records, manifests.map((m) => ({
      manifest_path: m.path, manifest_length: BigInt(m.length), partition_spec_id: m.specId, content: m.content === 'data' ? 0 : 1, sequence_number: m.sequenceNumber, min_sequence_number: m.minSequenceNumber,
      added_snapshot_id: m.addedSnapshotId, added_files_count: m.addedFilesCount, existing_files_count: m.existingFilesCount, deleted_files_count: m.deletedFilesCount,
      added_rows_count: m.addedRowsCount, existing_rows_count: m.existingRowsCount, deleted_rows_count: m.deletedRowsCount,
      partitions: m.partitions?.map((s) => ({ contains_null: s.containsNull, contains_nan: s.containsNan ?? null, lower_bound: s.lowerBound ?? null, upper_bound: s.upperBound ?? null })) ?? null,
      key_metadata: m.keyMetadata ?? null,
    })));
  }), { numRuns: 200 });
});

const dataFile = (path: string, more: Partial<DataFile> = {}): DataFile => ({ content: 0, filePath: path, fileFormat: 'PARQUET', specId: 0, partition: [], recordCount: 1, fileSizeInBytes: 4, ...more });

test('the manifest header has the table schema, spec and content as text', async () => {
  const file = await readWithAvsc(writeManifest({ schema: SCHEMA, spec: SPEC, content: 'deletes', entries: [] }).bytes);
  assert.equal(file.codec, 'deflate');
  const { 'avro.schema': _, 'avro.codec': __, 'iceberg.schema': own, ...rest } = file.metadata;
  assert.deepEqual({ ...rest, schema: parseJson(rest.schema), 'partition-spec': parseJson(rest['partition-spec']) }, { schema: SCHEMA, 'schema-id': '7', 'partition-spec': SPEC.fields, 'partition-spec-id': '3', 'format-version': '2', content: 'deletes' });
  const struct = parseJson(own) as Schema;
  assert.deepEqual(struct.fields.map((field) => field.name), ['status', 'snapshot_id', 'sequence_number', 'file_sequence_number', 'data_file']);
});

test('the list header names snapshot, parent and sequence number, "null" without a parent', async () => {
  const header = async (parentSnapshotId: bigint | null): Promise<unknown> => {
    const { metadata } = await readWithAvsc(writeManifestList({ snapshotId: 9223372036854775807n, parentSnapshotId, sequenceNumber: 12n, manifests: [] }));
    return ['snapshot-id', 'parent-snapshot-id', 'sequence-number', 'format-version'].map((key) => metadata[key]);
  };
  assert.deepEqual(await header(null), ['9223372036854775807', 'null', '12', '2']);
  assert.deepEqual(await header(5n), ['9223372036854775807', '5', '12', '2']);
});

/** Lists all fields of a schema as `id name`, with `?` when optional; checks on the way that nothing lacks its id. */
function fieldList(schema: AvscRecord): string[] {
  const lines: string[] = [];
  const visit = (node: AvscSchema): void => {
    if (typeof node === 'string') return;
    if ('length' in node) {
      for (const part of node as readonly AvscSchema[]) visit(part);
      return;
    }
    const record = node as AvscRecord;
    if (record.type === 'array') {
      const entry = record.items as AvscRecord;
      if (record.logicalType === 'map') assert.match(entry.name, /^k\d+_v\d+$/);
      else lines.push(`${record['element-id'] as number} element`);
      visit(record.items);
    } else if (record.type === 'record') {
      for (const field of record.fields) {
        const optional = Array.isArray(field.type);
        assert.equal(typeof field['field-id'], 'number', field.name);
        if (optional) assert.deepEqual([(field.type as readonly AvscSchema[])[0], field.default], ['null', null], field.name);
        else assert.ok(!('default' in field), field.name);
        lines.push(`${field['field-id'] as number} ${field.name}${optional ? '?' : ''}`);
        visit(field.type);
      }
    }
  };
  visit(schema);
  return lines;
}

test('every field, element, key and value of the embedded schemas has its id; required fields are no unions', async () => {
  const spec: PartitionSpec = { 'spec-id': 0, fields: [{ 'source-id': 1, 'field-id': 1000, name: 'i', transform: 'identity' }] };
  const manifest = await readWithAvsc(writeManifest({ schema: SCHEMA, spec, content: 'data', entries: [] }).bytes);
  assert.equal(manifest.schema.name, 'manifest_entry');
  assert.deepEqual(fieldList(manifest.schema), [
    '0 status', '1 snapshot_id?', '3 sequence_number?', '4 file_sequence_number?', '2 data_file', '134 content', '100 file_path', '101 file_format', '102 partition', '1000 i?', '103 record_count', '104 file_size_in_bytes',
    '108 column_sizes?', '117 key', '118 value', '109 value_counts?', '119 key', '120 value', '110 null_value_counts?', '121 key', '122 value', '137 nan_value_counts?', '138 key', '139 value',
    '125 lower_bounds?', '126 key', '127 value', '128 upper_bounds?', '129 key', '130 value', '131 key_metadata?', '132 split_offsets?', '133 element', '135 equality_ids?', '136 element', '140 sort_order_id?', '143 referenced_data_file?',
  ]);
  const names = JSON.stringify(manifest.schema).match(/"name":"(r\d+|k\d+_v\d+)"/g);
  assert.deepEqual(names?.map((name) => name.slice(8, -1)), ['r2', 'r102', 'k117_v118', 'k119_v120', 'k121_v122', 'k138_v139', 'k126_v127', 'k129_v130']);

  const list = await readWithAvsc(writeManifestList({ snapshotId: 1n, parentSnapshotId: null, sequenceNumber: 1n, manifests: [] }));
  assert.equal(list.schema.name, 'manifest_file');
  assert.deepEqual(fieldList(list.schema), [
    '500 manifest_path', '501 manifest_length', '502 partition_spec_id', '517 content', '515 sequence_number', '516 min_sequence_number', '503 added_snapshot_id', '504 added_files_count', '505 existing_files_count', '506 deleted_files_count',
    '512 added_rows_count', '513 existing_rows_count', '514 deleted_rows_count', '507 partitions?', '508 element', '509 contains_null', '518 contains_nan?', '510 lower_bound?', '511 upper_bound?', '519 key_metadata?',
  ]);
});

test('partition fields have the Avro types of the specification, valid names, and no references to named types', async () => {
  const { schema } = await readWithAvsc(writeManifest({ schema: SCHEMA, spec: SPEC, content: 'data', entries: [] }).bytes);
  const file = schema.fields[4].type as AvscRecord;
  const partition = file.fields.find((field) => field.name === 'partition')!.type as AvscRecord;
  assert.equal(partition.name, 'r102');
  const uuid = { type: 'fixed', name: 'uuid_fixed', size: 16, logicalType: 'uuid' };
  const decimal = { type: 'fixed', name: 'decimal_20_2', size: 9, logicalType: 'decimal', precision: 20, scale: 2 };
  const timestamp = { type: 'long', logicalType: 'timestamp-micros', 'adjust-to-utc': true };
  const date = { type: 'int', logicalType: 'date' };
  assert.deepEqual(partition.fields.map((field) => (field.type as AvscSchema[])[1]), ['int', 'long', date, timestamp, date, decimal, 'string', uuid, { ...uuid, name: 'uuid_fixed_1007' }, 'boolean', 'double', 'bytes', { ...decimal, name: 'decimal_20_2_1012' }]);
  assert.deepEqual(partition.fields.map((field) => field.name), PARTITION_NAMES);
  assert.deepEqual(partition.fields.map((field) => field['iceberg-field-name']).filter((name) => name !== undefined), ['größe 1', '2u']);
});

test('a large manifest is written in several blocks and keeps its order', async () => {
  const list = Array.from({ length: 3000 }, (_, i) => addedEntry(dataFile(`s3://bucket/data/${String(i).padStart(60, '0')}.parquet`), 1n));
  const { bytes } = writeManifest({ schema: SCHEMA, spec: UNPARTITIONED, content: 'data', entries: list });
  const file = await readWithAvsc(bytes);
  assert.deepEqual(file.records.map((record) => (record.data_file as { file_path: string }).file_path), list.map((entry) => entry.file.filePath));
  assert.ok(bytes.length < 100_000, 'deflate was applied');
});

test('partition summaries hold what every reader needs to prune rightly', () => {
  const summaries = (transform: string, sourceId: number, values: PartitionValue[]): unknown => {
    const spec = { 'spec-id': 0, fields: [{ 'source-id': sourceId, 'field-id': 1000, name: 'p', transform }] };
    const list = values.map((value, i) => addedEntry(dataFile(`f${i}`, { partition: [value] }), 1n));
    return writeManifest({ schema: SCHEMA, spec, content: 'data', entries: list }).stats.partitions?.map((s) => [s.containsNull, s.containsNan, ...[s.lowerBound, s.upperBound].map((b) => b && Buffer.from(b).toString('hex'))]);
  };
  const none = [undefined, undefined];
  assert.deepEqual(summaries('identity', 1, [5, null, -1, 7]), [[true, false, 'ffffffff', '07000000']]);
  assert.deepEqual(summaries('identity', 2, [2, 2n ** 53n + 1n]), [[false, false, '0200000000000000', '0100000000002000']]);
  assert.deepEqual(summaries('identity', 6, ['\uffff', '\u{10000}', 'b']), [[false, false, '62', 'f0908080']]);
  assert.deepEqual(summaries('identity', 5, [-128n, 128n]), [[false, false, '80', '0080']]);
  assert.deepEqual(summaries('identity', 9, [Number.NaN, 0, -0]), [[false, true, '0000000000000080', '0000000000000000']]);
  assert.deepEqual(summaries('identity', 9, [Number.NaN, null]), [[true, true, ...none]]);
  assert.deepEqual(summaries('identity', 1, [null]), [[true, false, ...none]]);
  const [low, high] = ['7f', '80'].map((byte) => new Uint8Array(Buffer.from(byte.repeat(16), 'hex')));
  assert.deepEqual(summaries('identity', 7, [low, low]), [[false, false, '7f'.repeat(16), '7f'.repeat(16)]]);
  // No bounds mean "all null" to readers, and no two readers agree on the order: no summary at all.
  assert.equal(summaries('identity', 7, [low, high]), undefined);
  assert.deepEqual(writeManifest({ schema: SCHEMA, spec: UNPARTITIONED, content: 'data', entries: [] }).stats.partitions, []);
});

test('the least sequence number counts live entries only, and 0 is a number', () => {
  const existing = (path: string, number: bigint): ManifestEntry => ({ status: 0, snapshotId: 1n, sequenceNumber: number, fileSequenceNumber: number, file: dataFile(path) });
  const least = (list: ManifestEntry[], sequenceNumber: bigint): bigint => toManifestFile(writeManifest({ schema: SCHEMA, spec: UNPARTITIONED, content: 'data', entries: list }).stats, { path: 'm', sequenceNumber, addedSnapshotId: 9n }).minSequenceNumber;
  assert.equal(least([addedEntry(dataFile('a'), 1n)], 7n), 7n);
  assert.equal(least([addedEntry(dataFile('a'), 1n, 0n), addedEntry(dataFile('b'), 1n)], 7n), 0n);
  assert.equal(least([existing('a', 5n), deletedEntry(existing('b', 2n), 9n)], 7n), 5n);
  assert.equal(least([deletedEntry(existing('b', 2n), 9n)], 7n), 7n);
  const file = toManifestFile(writeManifest({ schema: SCHEMA, spec: UNPARTITIONED, content: 'data', entries: [existing('a', 5n)] }).stats, { path: 'm', sequenceNumber: 7n, addedSnapshotId: 9n });
  assert.deepEqual([file.path, file.sequenceNumber, file.addedSnapshotId, 'minExplicitSequenceNumber' in file], ['m', 7n, 9n, false]);
});

test('entries carried over keep what they inherited; deleted ones get the deleting snapshot', () => {
  const read: ManifestEntry = { status: 1, snapshotId: 4n, sequenceNumber: 3n, fileSequenceNumber: 4n, file: dataFile('a') };
  assert.deepEqual(existingEntry(read), { ...read, status: 0 });
  assert.deepEqual(deletedEntry(read, 8n), { ...read, status: 2, snapshotId: 8n });
  assert.throws(() => existingEntry(deletedEntry(read, 8n)), (error) => isWalbergError(error, 'INTERNAL'));
});

test('entries that would make a wrong manifest are refused', () => {
  const good = addedEntry(dataFile('a'), 1n);
  const bad: [string, ManifestEntry[], ('data' | 'deletes')?][] = [
    ['no snapshot id', [{ ...good, snapshotId: null }]],
    ['added with a file sequence number', [{ ...good, fileSequenceNumber: 1n }]],
    ['existing without a sequence number', [{ ...good, status: 0 }]],
    ['deleted without a sequence number', [{ ...good, status: 2 }]],
    ['live twice', [good, good]],
    ['another spec', [addedEntry(dataFile('a', { specId: 1 }), 1n)]],
    ['a partition value too many', [addedEntry(dataFile('a', { partition: [1] }), 1n)]],
    ['data among deletes', [good], 'deletes'],
    ['deletes among data', [addedEntry(dataFile('a', { content: 1 }), 1n)]],
    ['equality delete without ids', [addedEntry(dataFile('a', { content: 2 }), 1n)], 'deletes'],
    ['equality delete with no id', [addedEntry(dataFile('a', { content: 2, equalityIds: [] }), 1n)], 'deletes'],
    ['data with ids', [addedEntry(dataFile('a', { equalityIds: [1] }), 1n)]],
    ['an id beyond 64 bits', [addedEntry(dataFile('a'), 2n ** 63n)]],
    ['an inexact count', [addedEntry(dataFile('a', { columnSizes: new Map([[1, 2 ** 60]]) }), 1n)]],
  ];
  for (const [name, list, content = 'data'] of bad) {
    assert.throws(() => writeManifest({ schema: SCHEMA, spec: UNPARTITIONED, content, entries: list }), (error) => isWalbergError(error, 'INTERNAL'), name);
  }
  // The same path deleted and added again (a partition moved, a manifest rewritten) is no contradiction.
  writeManifest({ schema: SCHEMA, spec: UNPARTITIONED, content: 'data', entries: [good, { ...good, status: 2, sequenceNumber: 1n }] });
  const spec: PartitionSpec = { 'spec-id': 0, fields: [{ 'source-id': 1, 'field-id': 1000, name: 'i', transform: 'identity' }] };
  assert.throws(() => writeManifest({ schema: SCHEMA, spec, content: 'data', entries: [addedEntry(dataFile('a', { partition: ['x'] }), 1n)] }), (error) => isWalbergError(error, 'INTERNAL') && !/'x'/.test(error.message));
});
