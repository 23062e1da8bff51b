import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '../../src/errors/codes.js';
import { isWalbergError } from '../../src/errors/error.js';
import type { CreateTableRequest, TableRequirement, TableUpdate } from '../../src/iceberg/catalog/catalog.js';
import { applyUpdates, checkRequirements, newTableMetadata } from '../../src/iceberg/catalog/metadata-builder.js';
import { parseJson, printJson } from '../../src/iceberg/spec/json.js';
import type { Long, Schema, Snapshot, TableMetadata } from '../../src/iceberg/spec/types.js';

const NOW = 1_700_000_000_000;

const NESTED: CreateTableRequest = {
  schema: {
    type: 'struct',
    'schema-id': 9,
    'identifier-field-ids': [70],
    fields: [
      { id: 70, name: 'id', required: true, type: 'long' },
      { id: 3, name: 'tags', required: false, type: { type: 'list', 'element-id': 12, element: { type: 'struct', fields: [{ id: 13, name: 'k', required: true, type: 'string' }] }, 'element-required': true } },
      { id: 4, name: 'extra', required: false, type: { type: 'map', 'key-id': 20, key: 'string', 'value-id': 21, value: 'decimal(9, 2)', 'value-required': false } },
      { id: 5, name: 'at', required: false, type: { type: 'struct', fields: [{ id: 30, name: 'x', required: false, type: 'int' }, { id: 31, name: 'y', required: false, type: 'int' }] } },
    ],
  },
  partitionSpec: { 'spec-id': 5, fields: [{ 'source-id': 70, 'field-id': 1007, name: 'id_bucket', transform: 'bucket[4]' }] },
  sortOrder: { 'order-id': 3, fields: [{ transform: 'identity', 'source-id': 70, direction: 'asc', 'null-order': 'nulls-first' }] },
  properties: { 'format-version': '2', owner: 'me' },
};

const SIMPLE: CreateTableRequest = { schema: { type: 'struct', fields: [{ id: 1, name: 'id', required: true, type: 'long' }, { id: 2, name: 'v', required: false, type: 'int' }] }, properties: {} };

const simple = (): TableMetadata => newTableMetadata(SIMPLE, 's3://lake/t', { nowMs: NOW, uuid: 'u-1' });

const snapshot = (id: Long, sequence: Long, more: Partial<Snapshot> = {}): Snapshot => ({ 'snapshot-id': id, 'sequence-number': sequence, 'timestamp-ms': NOW + Number(sequence), 'manifest-list': `s3://lake/t/metadata/${id}.avro`, summary: { operation: 'append' }, 'schema-id': 0, ...more });

const add = (id: Long, sequence: Long, more?: Partial<Snapshot>): TableUpdate => ({ action: 'add-snapshot', snapshot: snapshot(id, sequence, more) });

const main = (id: Long): TableUpdate => ({ action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': id });

const code = (expected: ErrorCode) => (error: unknown): boolean => isWalbergError(error, expected) || assert.fail(error as Error);

test('a new table: ids assigned anew, breadth before depth, and all that refers to them', () => {
  const metadata = newTableMetadata(NESTED, 's3://lake/t', { nowMs: NOW, uuid: 'u-1' });
  assert.deepEqual(metadata, {
    'format-version': 2, 'table-uuid': 'u-1', location: 's3://lake/t', 'last-sequence-number': 0, 'last-updated-ms': NOW, 'last-column-id': 10, 'current-schema-id': 0,
    schemas: [{
      type: 'struct', 'schema-id': 0, 'identifier-field-ids': [1],
      fields: [
        { id: 1, name: 'id', required: true, type: 'long' },
        { id: 2, name: 'tags', required: false, type: { type: 'list', 'element-id': 5, element: { type: 'struct', fields: [{ id: 6, name: 'k', required: true, type: 'string' }] }, 'element-required': true } },
        { id: 3, name: 'extra', required: false, type: { type: 'map', 'key-id': 7, key: 'string', 'value-id': 8, value: 'decimal(9, 2)', 'value-required': false } },
        { id: 4, name: 'at', required: false, type: { type: 'struct', fields: [{ id: 9, name: 'x', required: false, type: 'int' }, { id: 10, name: 'y', required: false, type: 'int' }] } },
      ],
    }],
    'default-spec-id': 0, 'partition-specs': [{ 'spec-id': 0, fields: [{ 'source-id': 1, 'field-id': 1000, name: 'id_bucket', transform: 'bucket[4]' }] }], 'last-partition-id': 1000,
    'default-sort-order-id': 1, 'sort-orders': [{ 'order-id': 1, fields: [{ transform: 'identity', 'source-id': 1, direction: 'asc', 'null-order': 'nulls-first' }] }],
    properties: { owner: 'me' }, 'current-snapshot-id': -1, refs: {}, snapshots: [], statistics: [], 'partition-statistics': [], 'snapshot-log': [], 'metadata-log': [],
  });
});

test('a new table without partitions or order', () => {
  const metadata = simple();
  assert.deepEqual([metadata['last-partition-id'], metadata['default-sort-order-id'], metadata['sort-orders'], metadata['partition-specs']], [999, 0, [{ 'order-id': 0, fields: [] }], [{ 'spec-id': 0, fields: [] }]]);
  assert.match(newTableMetadata(SIMPLE, 's3://lake/t')['table-uuid'], /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
});

test('a new table that makes no sense is refused', () => {
  assert.throws(() => newTableMetadata({ ...SIMPLE, properties: { 'format-version': '3' } }, 's3://l/t'), code('FORMAT_UNSUPPORTED'));
  assert.throws(() => newTableMetadata({ ...SIMPLE, partitionSpec: { 'spec-id': 0, fields: [{ 'source-id': 8, 'field-id': 1000, name: 'x', transform: 'identity' }] } }, 's3://l/t'), code('CATALOG_REQUEST'));
  assert.throws(() => newTableMetadata({ ...SIMPLE, schema: { ...SIMPLE.schema, 'identifier-field-ids': [8] } }, 's3://l/t'), code('CATALOG_REQUEST'));
});

test('requirements: each holds on the table it describes and fails on another', () => {
  const big = 9007199254740993n;
  const metadata = applyUpdates(simple(), [add(big, 1), main(big)], NOW);
  const holding: TableRequirement[] = [
    { type: 'assert-table-uuid', uuid: 'U-1' }, { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': big }, { type: 'assert-ref-snapshot-id', ref: 'load', 'snapshot-id': null },
    { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': 2 }, { type: 'assert-current-schema-id', 'current-schema-id': 0 }, { type: 'assert-last-assigned-partition-id', 'last-assigned-partition-id': 999 },
    { type: 'assert-default-spec-id', 'default-spec-id': 0 }, { type: 'assert-default-sort-order-id', 'default-sort-order-id': 0 },
  ];
  checkRequirements(metadata, holding);
  const failing: TableRequirement[] = [
    { type: 'assert-create' }, { type: 'assert-table-uuid', uuid: 'u-2' }, { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': big + 1n }, { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': 9007199254740992 },
    { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }, { type: 'assert-ref-snapshot-id', ref: 'load', 'snapshot-id': 1 }, { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': 1 },
    { type: 'assert-current-schema-id', 'current-schema-id': 1 }, { type: 'assert-last-assigned-partition-id', 'last-assigned-partition-id': 1000 }, { type: 'assert-default-spec-id', 'default-spec-id': 1 },
    { type: 'assert-default-sort-order-id', 'default-sort-order-id': 1 },
  ];
  for (const requirement of failing) assert.throws(() => checkRequirements(metadata, [requirement]), code('COMMIT_CONFLICT'), requirement.type);
  checkRequirements(undefined, [{ type: 'assert-create' }]);
  for (const requirement of holding) assert.throws(() => checkRequirements(undefined, [requirement]), code('COMMIT_CONFLICT'), requirement.type);
});

test('snapshots: sequence number, head, log; exact 64-bit ids survive the JSON', () => {
  const ids = [9007199254740993n, 9223372036854775807n] as const;
  let metadata = applyUpdates(simple(), [add(ids[0], 1), main(ids[0])], NOW + 1, 's3://lake/t/metadata/v1.metadata.json');
  metadata = applyUpdates(metadata, [add(ids[1], 7, { 'parent-snapshot-id': ids[0] }), main(ids[1])], NOW + 9, 's3://lake/t/metadata/v2.metadata.json');
  const read = parseJson(printJson(metadata)) as TableMetadata;
  assert.deepEqual(read, metadata);
  assert.deepEqual([read['last-sequence-number'], read['current-snapshot-id'], read.refs.main, read['last-updated-ms']], [7, ids[1], { type: 'branch', 'snapshot-id': ids[1] }, NOW + 9]);
  assert.deepEqual(read['snapshot-log'], [{ 'snapshot-id': ids[0], 'timestamp-ms': NOW + 1 }, { 'snapshot-id': ids[1], 'timestamp-ms': NOW + 7 }]);
  assert.deepEqual(read['metadata-log'], [{ 'metadata-file': 's3://lake/t/metadata/v1.metadata.json', 'timestamp-ms': NOW }, { 'metadata-file': 's3://lake/t/metadata/v2.metadata.json', 'timestamp-ms': NOW + 1 }]);
  assert.throws(() => applyUpdates(metadata, [add(5n, 7)], NOW), code('COMMIT_CONFLICT'));
  assert.throws(() => applyUpdates(metadata, [add(ids[0], 8)], NOW), code('CATALOG_REQUEST'));
  assert.throws(() => applyUpdates(metadata, [main(5n)], NOW), code('CATALOG_REQUEST'));
});

test('times never go back, whatever the clocks say', () => {
  let metadata = applyUpdates(simple(), [add(1, 1, { 'timestamp-ms': NOW + 500_000 }), main(1)], NOW - 10);
  metadata = applyUpdates(metadata, [{ action: 'remove-snapshot-ref', 'ref-name': 'load' }, add(2, 2, { 'timestamp-ms': NOW }), main(2)], NOW - 20);
  assert.equal(metadata['last-updated-ms'], NOW + 500_000);
  assert.deepEqual(metadata['snapshot-log'].map((entry) => entry['timestamp-ms']), [NOW + 500_000, NOW + 500_000]);
});

test('a branch does not touch main; main moved to an older snapshot is logged at the time of the move', () => {
  let metadata = applyUpdates(simple(), [add(1, 1), main(1), add(2, 2), { action: 'set-snapshot-ref', 'ref-name': 'load', type: 'branch', 'snapshot-id': 2, 'max-ref-age-ms': 5 }], NOW);
  assert.deepEqual([metadata['current-snapshot-id'], metadata['snapshot-log'].length, metadata.refs.load], [1, 1, { type: 'branch', 'snapshot-id': 2, 'max-ref-age-ms': 5 }]);
  metadata = applyUpdates(metadata, [main(2), { action: 'remove-snapshot-ref', 'ref-name': 'load' }], NOW + 50);
  assert.deepEqual([metadata['current-snapshot-id'], Object.keys(metadata.refs), metadata['snapshot-log'].at(-1)], [2, ['main'], { 'snapshot-id': 2, 'timestamp-ms': NOW + 50 }]);
  metadata = applyUpdates(metadata, [main(2)], NOW + 60);
  assert.equal(metadata['snapshot-log'].length, 2, 'a move to where it stands is none');
  metadata = applyUpdates(metadata, [{ action: 'remove-snapshot-ref', 'ref-name': 'main' }], NOW + 70);
  assert.deepEqual([metadata['current-snapshot-id'], metadata.refs, metadata['snapshot-log']], [-1, {}, []]);
});

test('a snapshot that was main only within one change is not in the log', () => {
  const metadata = applyUpdates(simple(), [add(1, 1), main(1), add(2, 2), main(2)], NOW);
  assert.deepEqual(metadata['snapshot-log'].map((entry) => entry['snapshot-id']), [2]);
});

test('expiry removes refs and statistics of the gone and the log before a hole', () => {
  let metadata = applyUpdates(simple(), [1, 2, 3, 4].flatMap((n) => [add(n, n)]), NOW);
  for (const n of [1, 2, 3, 4]) metadata = applyUpdates(metadata, [main(n)], NOW + n);
  metadata = { ...metadata, statistics: [{ 'snapshot-id': 2 }, { 'snapshot-id': 4 }], 'partition-statistics': [{ 'snapshot-id': 2 }] };
  metadata = applyUpdates(metadata, [{ action: 'set-snapshot-ref', 'ref-name': 'old', type: 'tag', 'snapshot-id': 2 }, { action: 'remove-snapshots', 'snapshot-ids': [2n] }], NOW + 9);
  assert.deepEqual(metadata.snapshots.map((s) => s['snapshot-id']), [1, 3, 4]);
  assert.deepEqual(metadata['snapshot-log'].map((entry) => entry['snapshot-id']), [3, 4]);
  assert.deepEqual([Object.keys(metadata.refs), metadata.statistics, metadata['partition-statistics']], [['main'], [{ 'snapshot-id': 4 }], []]);
  assert.equal(applyUpdates(metadata, [{ action: 'remove-snapshots', 'snapshot-ids': [99] }], NOW + 10).snapshots.length, 3);
});

test('schemas: a new one gets the next id, one that exists is used again, -1 is the one added last', () => {
  const wider: Schema = { type: 'struct', 'schema-id': 0, fields: [...SIMPLE.schema.fields, { id: 3, name: 'w', required: false, type: 'string' }] };
  let metadata = applyUpdates(simple(), [{ action: 'add-schema', schema: wider }, { action: 'set-current-schema', 'schema-id': -1 }], NOW);
  assert.deepEqual([metadata['current-schema-id'], metadata['last-column-id'], metadata.schemas.map((s) => s['schema-id'])], [1, 3, [0, 1]]);
  metadata = applyUpdates(metadata, [{ action: 'add-schema', schema: { ...SIMPLE.schema, 'schema-id': 5, 'identifier-field-ids': [] } }, { action: 'set-current-schema', 'schema-id': -1 }], NOW);
  assert.deepEqual([metadata['current-schema-id'], metadata['last-column-id'], metadata.schemas.length], [0, 3, 2]);
  metadata = applyUpdates(metadata, [{ action: 'add-schema', schema: { ...SIMPLE.schema, 'identifier-field-ids': [1] } }, { action: 'set-current-schema', 'schema-id': 2 }], NOW);
  assert.equal(metadata['current-schema-id'], 2);
  assert.throws(() => applyUpdates(metadata, [{ action: 'set-current-schema', 'schema-id': -1 }], NOW), code('CATALOG_REQUEST'));
  assert.throws(() => applyUpdates(metadata, [{ action: 'set-current-schema', 'schema-id': 9 }], NOW), code('CATALOG_REQUEST'));
  assert.throws(() => applyUpdates(metadata, [{ action: 'add-schema', schema: wider, 'last-column-id': 2 }], NOW), code('CATALOG_REQUEST'));
});

test('specs and orders: the same one is used again', () => {
  const spec = { 'spec-id': 0, fields: [{ 'source-id': 1, 'field-id': 1000, name: 'b', transform: 'bucket[4]' }] };
  const order = { 'order-id': 0, fields: [{ transform: 'identity', 'source-id': 1, direction: 'asc' as const, 'null-order': 'nulls-first' as const }] };
  const both: TableUpdate[] = [{ action: 'add-spec', spec }, { action: 'set-default-spec', 'spec-id': -1 }, { action: 'add-sort-order', 'sort-order': order }, { action: 'set-default-sort-order', 'sort-order-id': -1 }];
  const metadata = applyUpdates(applyUpdates(simple(), both, NOW), both, NOW);
  assert.deepEqual([metadata['default-spec-id'], metadata['partition-specs'].length, metadata['last-partition-id'], metadata['default-sort-order-id'], metadata['sort-orders'].length], [1, 2, 1000, 1, 2]);
  const back = applyUpdates(metadata, [{ action: 'add-spec', spec: { 'spec-id': 7, fields: [] } }, { action: 'set-default-spec', 'spec-id': -1 }, { action: 'add-sort-order', 'sort-order': { 'order-id': 7, fields: [] } }, { action: 'set-default-sort-order', 'sort-order-id': -1 }], NOW);
  assert.deepEqual([back['default-spec-id'], back['last-partition-id'], back['default-sort-order-id']], [0, 1000, 0]);
});

test('properties, location, uuid, version', () => {
  const metadata = applyUpdates(simple(), [
    { action: 'set-properties', updates: { a: '1', b: '2' } }, { action: 'remove-properties', removals: ['a', 'z'] }, { action: 'set-location', location: 's3://lake/u/' }, { action: 'assign-uuid', uuid: 'u-2' }, { action: 'upgrade-format-version', 'format-version': 2 },
  ], NOW);
  assert.deepEqual([metadata.properties, metadata.location, metadata['table-uuid']], [{ b: '2' }, 's3://lake/u', 'u-2']);
  assert.throws(() => applyUpdates(metadata, [{ action: 'upgrade-format-version', 'format-version': 3 }], NOW), code('FORMAT_UNSUPPORTED'));
  assert.throws(() => applyUpdates(metadata, [{ action: 'upgrade-format-version', 'format-version': 1 }], NOW), code('CATALOG_REQUEST'));
  assert.throws(() => applyUpdates({ ...metadata, 'format-version': 3 }, [], NOW), code('FORMAT_UNSUPPORTED'));
  assert.throws(() => applyUpdates(metadata, [{ action: 'unheard-of' } as unknown as TableUpdate], NOW), code('CATALOG_REQUEST'));
});

test('the metadata log is capped, and what is not known is carried over', () => {
  let metadata: TableMetadata = { ...simple(), 'encryption-keys': [{ id: 1 }] } as TableMetadata;
  for (let n = 1; n <= 103; n++) metadata = applyUpdates(metadata, [], NOW + n, `v${n}`);
  assert.equal(metadata['metadata-log'].length, 100);
  assert.equal(metadata['metadata-log'][0]['metadata-file'], 'v4');
  metadata = applyUpdates(metadata, [{ action: 'set-properties', updates: { 'write.metadata.previous-versions-max': '0' } }], NOW + 200, 'v104');
  assert.deepEqual(metadata['metadata-log'], [{ 'metadata-file': 'v104', 'timestamp-ms': NOW + 103 }]);
  assert.deepEqual((metadata as { 'encryption-keys'?: unknown })['encryption-keys'], [{ id: 1 }]);
});

test('the metadata that was given is not changed', () => {
  const before = simple();
  const copy = structuredClone(before);
  applyUpdates(before, [add(1, 1), main(1), { action: 'set-properties', updates: { a: '1' } }, { action: 'add-spec', spec: { 'spec-id': 0, fields: [{ 'source-id': 1, 'field-id': 1000, name: 'b', transform: 'identity' }] } }], NOW + 5, 'v1');
  assert.deepEqual(before, copy);
});
