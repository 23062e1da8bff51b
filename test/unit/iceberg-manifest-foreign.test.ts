import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openContainer } from '../../src/iceberg/manifest/avro/container.js';
import { existingEntry, isLive, readManifest, readManifestList, toManifestFile, writeManifest, type ManifestEntry, type ManifestFile } from '../../src/iceberg/manifest/index.js';
import { parseJson } from '../../src/iceberg/spec/json.js';
import { uuidBytes } from '../../src/iceberg/spec/bounds.js';
import type { PartitionSpec, Schema } from '../../src/iceberg/spec/types.js';
import { fixture } from '../support/fixtures.js';

const bytesOf = (name: string): Uint8Array => readFileSync(fixture('manifests', name));
const list = (writer: string): ManifestFile => {
  const manifests = readManifestList(bytesOf(`${writer}-list.avro`));
  assert.equal(manifests.length, 1);
  return manifests[0];
};

const SNAPSHOT = 2n ** 62n + 3n;
const UUID = uuidBytes('f79c3e09-677c-4bbd-a479-3f349cb785e7');
const NAME = new TextEncoder().encode('é😀');
const same = (bound: Uint8Array): object => ({ containsNull: true, containsNan: false, lowerBound: bound, upperBound: bound });
const one = Uint8Array.of(1, 0, 0, 0);
const sizes = new Map([[1, 5], [2, 2 ** 40]]);
const file = { content: 0, fileFormat: 'PARQUET', specId: 3, partition: [2n ** 62n + 1n, 'é😀', UUID, -1234n], recordCount: 3, fileSizeInBytes: 100, splitOffsets: [4, 50], sortOrderId: 0 } as const;

test('a manifest list and a manifest written by Java are read', () => {
  const manifest = list('java-1.12.0');
  assert.deepEqual(manifest, {
    path: '/tmp/warehouse/orders/metadata/java-m.avro', length: bytesOf('java-1.12.0-manifest.avro').length, specId: 3, content: 'data', sequenceNumber: 8n, minSequenceNumber: 0n, addedSnapshotId: SNAPSHOT,
    addedFilesCount: 1, existingFilesCount: 1, deletedFilesCount: 1, addedRowsCount: 3n, existingRowsCount: 7n, deletedRowsCount: 3n,
    partitions: [same(Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0x40)), same(NAME), same(UUID), same(Uint8Array.of(0xfb, 0x2e))],
  });
  const first = { ...file, filePath: 's3://b/java.parquet', columnSizes: sizes, valueCounts: sizes, nullValueCounts: sizes, nanValueCounts: sizes, lowerBounds: new Map([[1, one]]), upperBounds: new Map([[1, one]]) };
  assert.deepEqual(readManifest(bytesOf('java-1.12.0-manifest.avro'), manifest), [
    { status: 1, snapshotId: SNAPSHOT, sequenceNumber: 8n, fileSequenceNumber: 8n, file: first },
    { status: 0, snapshotId: 5n, sequenceNumber: 0n, fileSequenceNumber: 6n, file: { content: 0, fileFormat: 'PARQUET', specId: 3, partition: [null, null, null, null], recordCount: 7, fileSizeInBytes: 100, sortOrderId: 0, filePath: 's3://b/java2.parquet' } },
    { status: 2, snapshotId: SNAPSHOT, sequenceNumber: 4n, fileSequenceNumber: 6n, file: first },
  ]);
});

test('a manifest list and a manifest written by PyIceberg are read', () => {
  const manifest = list('pyiceberg-0.12.0');
  assert.deepEqual({ ...manifest, partitions: manifest.partitions?.length }, {
    path: 'file:///tmp/warehouse/orders/metadata/py-m.avro', length: bytesOf('pyiceberg-0.12.0-manifest.avro').length, specId: 3, content: 'data', sequenceNumber: 8n, minSequenceNumber: 0n, addedSnapshotId: SNAPSHOT,
    addedFilesCount: 1, existingFilesCount: 1, deletedFilesCount: 0, addedRowsCount: 3n, existingRowsCount: 3n, deletedRowsCount: 0n, partitions: 4,
  });
  const metrics = { columnSizes: sizes, valueCounts: new Map([[1, 3]]), nullValueCounts: new Map([[1, 0]]), nanValueCounts: new Map(), lowerBounds: new Map([[1, one]]), upperBounds: new Map([[1, Uint8Array.of(9, 0, 0, 0)]]) };
  assert.deepEqual(readManifest(bytesOf('pyiceberg-0.12.0-manifest.avro'), manifest), [
    { status: 1, snapshotId: SNAPSHOT, sequenceNumber: 8n, fileSequenceNumber: 8n, file: { ...file, ...metrics, filePath: 's3://b/py.parquet' } },
    { status: 0, snapshotId: 5n, sequenceNumber: 0n, fileSequenceNumber: 6n, file: { ...file, ...metrics, filePath: 's3://b/py2.parquet', partition: [7n, null, null, null] } },
  ]);
});

test('a manifest of another writer, rewritten by us, holds the same live files with the same numbers', () => {
  for (const writer of ['java-1.12.0', 'pyiceberg-0.12.0']) {
    const manifest = list(writer);
    const bytes = bytesOf(`${writer}-manifest.avro`);
    const header = openContainer(bytes, writer).metadata;
    const spec = { 'spec-id': 3, fields: parseJson(header.get('partition-spec')!) } as PartitionSpec;
    const live = readManifest(bytes, manifest).filter(isLive);
    const carried = live.map(existingEntry);
    const rewritten = writeManifest({ schema: parseJson(header.get('schema')!) as Schema, spec, content: 'data', entries: carried });
    const record = toManifestFile(rewritten.stats, { path: 'm', sequenceNumber: 99n, addedSnapshotId: 100n });
    assert.equal(record.minSequenceNumber, 0n);
    assert.deepEqual([record.addedFilesCount, record.existingFilesCount, record.deletedFilesCount], [0, live.length, 0]);
    assert.deepEqual(readManifest(rewritten.bytes, record), live.map((entry): ManifestEntry => ({ ...entry, status: 0 })));
  }
});
