import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import type { LoadedTable } from '../../src/iceberg/catalog/catalog.js';
import { formatPosition, parsePosition, readPosition } from '../../src/iceberg/commit/position.js';
import { prepareRowDelta } from '../../src/iceberg/commit/prepare.js';
import type { RowDelta } from '../../src/iceberg/commit/row-delta.js';
import { stageRowDelta, type StageOptions } from '../../src/iceberg/commit/stage.js';
import { STATUS_ADDED, STATUS_DELETED } from '../../src/iceberg/manifest/index.js';
import { MemoryStorage } from '../../src/storage/memory.js';
import { entriesOf, fileNamed, foreignCommit, headOf, liveFiles, liveNames, manifestsOf, ORDERS, ORDERS_REQUEST, totalsOf } from '../support/live-files.js';
import { MemoryCatalog } from '../support/memory-catalog.js';

const OPTIONS: StageOptions = { ref: 'main', summary: {}, properties: {}, nowMs: 1_700_000_000_000 };

interface Bed {
  readonly catalog: MemoryCatalog;
  readonly storage: MemoryStorage;
  commit(delta: Partial<RowDelta>, options?: Partial<StageOptions>): Promise<LoadedTable>;
}

async function bed(request = ORDERS_REQUEST): Promise<Bed> {
  const catalog = new MemoryCatalog();
  const storage = new MemoryStorage();
  await catalog.createTable(ORDERS, request);
  return {
    catalog,
    storage,
    async commit(delta, options) {
      const table = (await catalog.loadTable(ORDERS))!;
      const prepared = await prepareRowDelta({ dataFiles: [], deleteFiles: [], ...delta }, table, storage);
      const staged = await stageRowDelta(prepared, table, storage, { ...OPTIONS, ...options });
      return catalog.commitTable(table, staged.change);
    },
  };
}

const summaryOf = (table: LoadedTable): Readonly<Record<string, string>> => headOf(table.metadata)!.summary;

test('positions are text in LSN order', () => {
  assert.equal(formatPosition(0x16_b374_d848n), '00000016B374D848');
  fc.assert(fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (a, b) => {
    assert.equal(parsePosition(formatPosition(a)), a);
    assert.equal(formatPosition(a) < formatPosition(b), a < b);
  }));
  for (const text of ['', '42', '0/16B374D8', '00000016b374d848', '000000016B374D848']) assert.throws(() => parsePosition(text), (error) => isWalbergError(error, 'TABLE_INCOMPATIBLE'), text);
});

test('a first commit: no parent, absent main asserted, entries inherit their numbers', async () => {
  const { commit, storage, catalog } = await bed();
  const changes: unknown[] = [];
  catalog.onApplied = (change) => changes.push(change.requirements);
  const table = await commit({ dataFiles: [fileNamed('a'), fileNamed('b')], deleteFiles: [fileNamed('e', 2)] });
  const head = headOf(table.metadata)!;
  assert.equal(head['parent-snapshot-id'], undefined);
  assert.equal(head['sequence-number'], 1n);
  assert.equal(head['schema-id'], 0);
  assert.deepEqual(changes, [[{ type: 'assert-table-uuid', uuid: table.metadata['table-uuid'] }, { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }]]);
  const live = await liveFiles(table.metadata, storage);
  assert.deepEqual(live.map(({ sequence, fileSequence, snapshotId }) => [sequence, fileSequence, snapshotId]), live.map(() => [1n, 1n, head['snapshot-id']]));
  const manifests = await manifestsOf(table.metadata, storage);
  assert.deepEqual(manifests.map((m) => [m.content, m.sequenceNumber, m.minSequenceNumber, m.addedFilesCount, m.addedSnapshotId]), [['data', 1n, 1n, 2, head['snapshot-id']], ['deletes', 1n, 1n, 1, head['snapshot-id']]]);
});

test('steps take one sequence number each, inside one snapshot', async () => {
  const { commit, storage } = await bed();
  await commit({ dataFiles: [fileNamed('old')] });
  const table = await commit({
    dataFiles: [fileNamed('d0', 0, { sequenceStep: 0 }), fileNamed('d1', 0, { sequenceStep: 1 }), fileNamed('d2', 0, { sequenceStep: 2 })],
    deleteFiles: [fileNamed('e0', 2), fileNamed('e2', 2, { sequenceStep: 2 })],
  });
  const head = headOf(table.metadata)!;
  assert.equal(head['sequence-number'], 4n);
  assert.equal(table.metadata.snapshots.length, 2);
  const live = await liveFiles(table.metadata, storage);
  assert.deepEqual(live.map(({ sequence, fileSequence }) => [sequence, fileSequence]), [[2n, 4n], [3n, 4n], [4n, 4n], [2n, 4n], [4n, 4n], [1n, 1n]]);
  assert.deepEqual((await manifestsOf(table.metadata, storage)).map((m) => [m.content, m.sequenceNumber, m.minSequenceNumber]), [['data', 4n, 2n], ['deletes', 4n, 2n], ['data', 1n, 1n]]);
});

test('steps are counted again when the base has moved, manifests without steps are not', async () => {
  const { catalog, storage } = await bed();
  const before = (await catalog.loadTable(ORDERS))!;
  const stepped: RowDelta = { dataFiles: [fileNamed('d0'), fileNamed('d1', 0, { sequenceStep: 1 })], deleteFiles: [fileNamed('e1', 2, { sequenceStep: 1 })] };
  const prepared = await prepareRowDelta(stepped, before, storage);
  const [data, deletes] = prepared.manifests;
  await stageRowDelta(prepared, before, storage, OPTIONS);
  assert.deepEqual(prepared.manifests, [data, deletes], 'same base: nothing is written again');
  await foreignCommit(catalog, storage, { add: [fileNamed('foreign')] });
  const after = (await catalog.loadTable(ORDERS))!;
  const staged = await stageRowDelta(prepared, after, storage, OPTIONS);
  assert.notEqual(prepared.manifests[0].path, data.path);
  assert.equal(prepared.manifests[1], deletes);
  const table = await catalog.commitTable(after, staged.change);
  assert.deepEqual((await liveFiles(table.metadata, storage)).map(({ sequence }) => sequence), [2n, 3n, 3n, 1n]);
});

test('a fixed data sequence number lies beneath and leaves deletes alone', async () => {
  const { commit, storage } = await bed();
  await commit({ dataFiles: [fileNamed('a')] });
  await commit({ deleteFiles: [fileNamed('b', 2)] });
  const table = await commit({ dataFiles: [fileNamed('c')], deleteFiles: [fileNamed('d', 2)], dataSequenceNumber: 0n });
  assert.deepEqual((await liveFiles(table.metadata, storage)).map(({ sequence, fileSequence }) => [sequence, fileSequence]), [[1n, 1n], [2n, 2n], [0n, 3n], [3n, 3n]]);
  assert.deepEqual((await manifestsOf(table.metadata, storage)).map((m) => m.minSequenceNumber), [0n, 3n, 2n, 1n]);
});

test('the operation names what happened to rows', async () => {
  const { commit } = await bed();
  const operation = async (delta: Partial<RowDelta>): Promise<string> => summaryOf(await commit(delta)).operation;
  assert.equal(await operation({}), 'append');
  assert.equal(await operation({ dataFiles: [fileNamed('a')] }), 'append');
  assert.equal(await operation({ dataFiles: [fileNamed('b')], deleteFiles: [fileNamed('c', 2)] }), 'overwrite');
  assert.equal(await operation({ deleteFiles: [fileNamed('d', 1, { referencedDataFile: fileNamed('a').filePath })] }), 'delete');
  assert.equal(await operation({ truncate: true, dataFiles: [fileNamed('e')] }), 'overwrite');
  assert.equal(await operation({ truncate: true }), 'delete');
});

test('the summary counts what was added and carries totals forward; users cannot pretend counts', async () => {
  const { commit } = await bed();
  const a = fileNamed('a');
  const first = summaryOf(await commit({ dataFiles: [a], summary: { 'app.run': '7', 'total-records': '1000000', operation: 'replace' } }));
  assert.deepEqual(first, {
    'app.run': '7', operation: 'append', 'added-data-files': '1', 'added-records': String(a.recordCount), 'added-files-size': String(a.fileSizeInBytes), 'changed-partition-count': '1',
    ...totalsOf([{ file: a }]),
  });
  const e = fileNamed('e', 2);
  const p = fileNamed('p', 1, { referencedDataFile: a.filePath });
  const second = summaryOf(await commit({ deleteFiles: [e, p] }));
  assert.deepEqual(second, {
    operation: 'delete', 'added-delete-files': '2', 'added-equality-delete-files': '1', 'added-position-delete-files': '1',
    'added-equality-deletes': String(e.recordCount), 'added-position-deletes': String(p.recordCount), 'added-files-size': String(e.fileSizeInBytes + p.fileSizeInBytes), 'changed-partition-count': '1',
    ...totalsOf([{ file: a }, { file: e }, { file: p }]),
  });
});

test('totals the parent does not have are left out, until a truncate makes them known', async () => {
  const { commit, catalog, storage } = await bed();
  await foreignCommit(catalog, storage, { add: [fileNamed('f')], summary: { 'total-records': 'many', 'total-data-files': '' } });
  const summary = summaryOf(await commit({ dataFiles: [fileNamed('a')] }));
  assert.equal(summary['total-records'], undefined);
  assert.equal(summary['total-data-files'], undefined);
  assert.equal(summary['total-files-size'], String(fileNamed('f').fileSizeInBytes + fileNamed('a').fileSizeInBytes));
  const truncated = summaryOf(await commit({ truncate: true, dataFiles: [fileNamed('b')] }));
  assert.deepEqual(Object.fromEntries(Object.entries(truncated).filter(([name]) => name.startsWith('total-'))), totalsOf([{ file: fileNamed('b') }]));
});

test('truncate: data and delete files before it are gone, stamped with its snapshot, the files of the commit stay', async () => {
  const { commit, storage } = await bed();
  const before = await commit({ dataFiles: [fileNamed('a'), fileNamed('b')] });
  await commit({ dataFiles: [fileNamed('c')], deleteFiles: [fileNamed('e', 2)] });
  const table = await commit({ truncate: true, dataFiles: [fileNamed('n')] });
  const head = headOf(table.metadata)!;
  assert.deepEqual(await liveNames(table.metadata, storage), ['n']);
  const deleted = (await entriesOf(table.metadata, storage)).flatMap(({ entries }) => entries).filter(({ status }) => status === STATUS_DELETED);
  assert.deepEqual(deleted.map(({ snapshotId, sequenceNumber, fileSequenceNumber }) => [snapshotId, sequenceNumber, fileSequenceNumber]).sort((x, y) => Number(x[1]! - y[1]!)), [[1n, 1n], [1n, 1n], [2n, 2n], [2n, 2n]].map(([s, f]) => [head['snapshot-id'], s, f]));
  assert.equal(head.summary['deleted-data-files'], '3');
  assert.equal(head.summary['removed-equality-delete-files'], '1');
  assert.equal(head.summary['total-delete-files'], '0');
  // Time travel is untouched.
  assert.deepEqual((await liveFiles(before.metadata, storage)).length, 2);
  // Manifests without live files are dropped by the next commit.
  const after = await commit({ dataFiles: [fileNamed('o')] });
  const rest = (await entriesOf(after.metadata, storage)).flatMap(({ entries }) => entries);
  assert.ok(rest.length === 2 && rest.every(({ status }) => status === STATUS_ADDED));
});

test('a commit without files makes a snapshot with the parent\'s files, also on an empty table', async () => {
  const { commit, storage } = await bed();
  const empty = await commit({ properties: { p: '1' } });
  assert.deepEqual(await liveNames(empty.metadata, storage), []);
  assert.deepEqual(Object.fromEntries(Object.entries(headOf(empty.metadata)!.summary).filter(([name]) => name.startsWith('total-'))), totalsOf([]));
  await commit({ dataFiles: [fileNamed('a')] });
  const table = await commit({ removeProperties: ['p', 'absent'] });
  assert.deepEqual(await liveNames(table.metadata, storage), ['a']);
  assert.equal(table.metadata.properties.p, undefined);
  assert.equal(table.metadata['snapshot-log'].length, 3);
});

test('a branch: both heads are asserted, main stays, settings of the branch stay', async () => {
  const { commit, catalog, storage } = await bed();
  const main = await commit({ dataFiles: [fileNamed('a')] });
  let requirements: readonly unknown[] = [];
  catalog.onApplied = (change) => { requirements = change.requirements.slice(1); };
  const begun = await commit({}, { ref: 'load', assertRefs: ['other'] });
  assert.deepEqual(requirements, [
    { type: 'assert-ref-snapshot-id', ref: 'load', 'snapshot-id': null },
    { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': headOf(main.metadata)!['snapshot-id'] },
    { type: 'assert-ref-snapshot-id', ref: 'other', 'snapshot-id': null },
  ]);
  const first = begun.metadata.refs.load;
  await catalog.commitTable(begun, { requirements: [], updates: [{ action: 'set-snapshot-ref', 'ref-name': 'load', ...first, 'max-ref-age-ms': 9 }] });
  const table = await commit({ dataFiles: [fileNamed('b')] }, { ref: 'load' });
  assert.equal(table.metadata.refs.load['max-ref-age-ms'], 9);
  assert.deepEqual((await liveFiles(table.metadata, storage, 'load')).map(({ path }) => path), [fileNamed('b').filePath]);
  assert.deepEqual(await liveNames(table.metadata, storage), ['a']);
});

test('partitions are counted, and each spec and content gets its own manifest', async () => {
  const { commit, catalog, storage } = await bed({ ...ORDERS_REQUEST, partitionSpec: { 'spec-id': 0, fields: [{ 'source-id': 2, 'field-id': 1000, name: 'note', transform: 'identity' }] } });
  const created = (await catalog.loadTable(ORDERS))!;
  await catalog.commitTable(created, { requirements: [], updates: [{ action: 'add-spec', spec: { 'spec-id': 1, fields: [] } }] });
  const at = (name: string, note: string | null, content: 0 | 2 = 0): ReturnType<typeof fileNamed> => fileNamed(name, content, { partition: [note] });
  const table = await commit({ dataFiles: [at('a', 'x'), at('b', 'y'), at('c', 'x'), at('d', null)], deleteFiles: [at('e', 'x', 2), fileNamed('g', 2, { specId: 1 })] });
  assert.equal(summaryOf(table)['changed-partition-count'], '4');
  assert.deepEqual((await manifestsOf(table.metadata, storage)).map(({ content, specId }) => `${content} ${specId}`).sort(), ['data 0', 'deletes 0', 'deletes 1']);
  const truncated = await commit({ truncate: true });
  assert.deepEqual(await liveNames(truncated.metadata, storage), []);
  assert.equal(summaryOf(truncated)['changed-partition-count'], '4');
});

test('a delta that contradicts itself is refused', async () => {
  const { commit } = await bed();
  const wrong: Partial<RowDelta>[] = [
    { dataFiles: [fileNamed('a'), fileNamed('a')] },
    { dataFiles: [fileNamed('a', 2)] },
    { deleteFiles: [fileNamed('a')] },
    { deleteFiles: [fileNamed('a', 2, { equalityIds: [] })] },
    { dataFiles: [fileNamed('a', 0, { sequenceStep: 1 })], dataSequenceNumber: 1n },
    { dataFiles: [fileNamed('a', 0, { sequenceStep: -1 })] },
    { dataFiles: [fileNamed('a', 0, { specId: 7 })] },
    { dataFiles: [fileNamed('a')], schemaId: 7 },
  ];
  for (const delta of wrong) await assert.rejects(commit(delta), (error) => isWalbergError(error, 'INTERNAL'));
});

test('the position is found in the properties, or else in the newest snapshot of ours', async () => {
  const { commit, catalog, storage } = await bed();
  const read = async (): Promise<bigint | undefined> => readPosition((await catalog.loadTable(ORDERS))!)?.lsn;
  assert.equal(await read(), undefined);
  const position = (lsn: bigint): Record<string, string> => ({ 'walberg.lsn': formatPosition(lsn), 'walberg.slot': 's' });
  await commit({}, { summary: position(7n), properties: position(7n) });
  const table = await commit({}, { summary: position(9n), properties: position(9n) });
  await foreignCommit(catalog, storage);
  assert.deepEqual(readPosition((await catalog.loadTable(ORDERS))!), { lsn: 9n, slot: 's', systemId: undefined, commitId: undefined, process: undefined });
  await catalog.commitTable(table, { requirements: [], updates: [{ action: 'remove-properties', removals: ['walberg.lsn', 'walberg.slot'] }] });
  assert.equal(await read(), 9n);
});

const merging = (properties: Record<string, string>): Promise<Bed> => bed({ ...ORDERS_REQUEST, properties });

test('small manifests are merged per content once there are enough; files keep numbers and snapshots', async () => {
  const { commit, storage } = await merging({ 'commit.manifest.min-count-to-merge': '3' });
  const before = new Map<string, unknown>();
  const counts: string[] = [];
  for (let n = 1; n <= 9; n++) {
    const table = await commit({ dataFiles: [fileNamed(`d${n}`)], deleteFiles: n % 2 === 0 ? [fileNamed(`e${n}`, 2)] : [] });
    for (const { path, sequence, fileSequence, snapshotId } of await liveFiles(table.metadata, storage)) {
      const now = [sequence, fileSequence, snapshotId];
      assert.deepEqual(now, before.get(path) ?? now, path);
      before.set(path, now);
    }
    const manifests = await manifestsOf(table.metadata, storage);
    counts.push(['data', 'deletes'].map((content) => manifests.filter((manifest) => manifest.content === content).length).join('+'));
  }
  assert.equal(before.size, 13);
  assert.deepEqual(counts, ['1+0', '2+1', '3+1', '2+2', '3+2', '2+3', '3+1', '2+2', '3+2']);
});

test('a merged manifest: existing entries only, true counts and least number; what was deleted before is dropped', async () => {
  const { commit, catalog, storage } = await merging({ 'commit.manifest.min-count-to-merge': '3' });
  await commit({ dataFiles: [fileNamed('a'), fileNamed('b')] });
  await foreignCommit(catalog, storage, { replace: ({ path }) => path.endsWith('/a.parquet') });
  await commit({ dataFiles: [fileNamed('c')] });
  await commit({ dataFiles: [fileNamed('d')], dataSequenceNumber: 0n });
  const table = await commit({ dataFiles: [fileNamed('f')] });
  const [, merged] = await entriesOf(table.metadata, storage);
  assert.deepEqual(merged.entries.map(({ status, file, sequenceNumber }) => [status, file.filePath.at(-9), sequenceNumber]), [[0, 'd', 0n], [0, 'c', 3n], [0, 'b', 1n]]);
  const { manifest } = merged;
  assert.deepEqual([manifest.addedFilesCount, manifest.existingFilesCount, manifest.deletedFilesCount, manifest.minSequenceNumber, manifest.sequenceNumber, manifest.addedSnapshotId], [0, 3, 0, 0n, 5n, headOf(table.metadata)!['snapshot-id']]);
});

test('merging stops at the target size, and can be turned off', async () => {
  const count = async (properties: Record<string, string>): Promise<number> => {
    const { commit, storage } = await merging({ 'commit.manifest.min-count-to-merge': '2', ...properties });
    for (let n = 1; n <= 6; n++) await commit({ dataFiles: [fileNamed(`d${n}`)] });
    return (await manifestsOf((await commit({})).metadata, storage)).length;
  };
  assert.equal(await count({}), 1);
  assert.equal(await count({ 'commit.manifest.target-size-bytes': '1' }), 6);
  assert.equal(await count({ 'commit.manifest-merge.enabled': 'false' }), 6);
});

test('another attempt uses the merged manifest again, unless the base gives it more to merge', async () => {
  const { commit, catalog, storage } = await merging({ 'commit.manifest.min-count-to-merge': '2' });
  for (const name of ['a', 'b']) await commit({ dataFiles: [fileNamed(name)] });
  const table = (await catalog.loadTable(ORDERS))!;
  const prepared = await prepareRowDelta({ dataFiles: [], deleteFiles: [] }, table, storage);
  const first = await stageRowDelta(prepared, table, storage, OPTIONS);
  const second = await stageRowDelta(prepared, table, storage, OPTIONS);
  assert.deepEqual([second.manifests, first.manifests.length], [first.manifests, 1]);
  const moved = await foreignCommit(catalog, storage, { add: [fileNamed('f')] });
  const third = await stageRowDelta(prepared, moved, storage, OPTIONS);
  assert.deepEqual(await liveNames((await catalog.commitTable(moved, third.change)).metadata, storage), ['a', 'b', 'f']);
});
