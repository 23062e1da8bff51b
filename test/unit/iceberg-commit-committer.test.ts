import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '../../src/errors/codes.js';
import { isWalbergError, WalbergError } from '../../src/errors/error.js';
import type { TableChange } from '../../src/iceberg/catalog/catalog.js';
import type { RowDelta } from '../../src/iceberg/commit/row-delta.js';
import { readManifestList } from '../../src/iceberg/manifest/index.js';
import { readPosition, TableCommitter, type CommitResult, type CommitterOptions } from '../../src/iceberg/commit/table-committer.js';
import { MemoryStorage } from '../../src/storage/memory.js';
import { FaultCatalog, type CatalogAction } from '../support/fault-catalog.js';
import { FaultStorage } from '../support/fault-storage.js';
import { Gate } from '../support/faults.js';
import { fileNamed, foreignCommit, headOf, liveFiles, liveNames, ORDERS, ORDERS_REQUEST } from '../support/live-files.js';
import { MemoryCatalog } from '../support/memory-catalog.js';

/** A table, faults in front of its catalog and storage, and committers as separate processes would have them. */
class Bed {
  readonly server = new MemoryCatalog();
  readonly disk = new MemoryStorage();
  readonly catalog = new FaultCatalog(this.server);
  readonly storage = new FaultStorage(this.disk);
  readonly retried: string[] = [];

  static async open(): Promise<Bed> {
    const bed = new Bed();
    await bed.server.createTable(ORDERS, ORDERS_REQUEST);
    return bed;
  }

  /** A process that starts now and reads the table. */
  async start(process: string, options: Partial<CommitterOptions> = {}): Promise<TableCommitter> {
    return new TableCommitter((await this.server.loadTable(ORDERS))!, {
      catalog: this.catalog, storage: this.storage, slot: 'orders_slot', systemId: '7', process, retries: 4, initialMs: 1, maxMs: 2,
      sleep: async () => {}, onRetry: (_attempt, error) => this.retried.push(error.code), ...options,
    });
  }

  onCommit(action: CatalogAction, nth = 1, times = 1): void {
    this.catalog.add({ on: 'commitTable', nth, times, action });
  }

  async names(): Promise<string[]> {
    return liveNames((await this.server.loadTable(ORDERS))!.metadata, this.disk);
  }

  async lsn(): Promise<bigint | undefined> {
    return readPosition((await this.server.loadTable(ORDERS))!)?.lsn;
  }

  async metadataFiles(): Promise<string[]> {
    const found: string[] = [];
    for await (const { location } of this.disk.list('memory://lake/shop.orders/metadata')) found.push(location);
    return found;
  }

  /** Metadata files that no snapshot needs. */
  async leftOvers(): Promise<string[]> {
    const { metadata } = (await this.server.loadTable(ORDERS))!;
    const lists = metadata.snapshots.map((snapshot) => snapshot['manifest-list']);
    const used = new Set<string>(lists);
    for (const list of lists) for (const { path } of readManifestList(await this.disk.read(list))) used.add(path);
    return (await this.metadataFiles()).filter((location) => !used.has(location));
  }
}

type Delta = RowDelta & { endLsn: bigint };

const insert = (name: string, endLsn: bigint, more: Partial<RowDelta> = {}): Delta => ({ dataFiles: [fileNamed(name)], deleteFiles: [], endLsn, ...more });

const code = (...codes: ErrorCode[]) => (error: unknown): boolean => isWalbergError(error, ...codes) || assert.fail(error as Error);

test('a commit leaves its position in summary and properties, and the next one goes on from it', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  assert.equal(committer.position, undefined);
  const first = await committer.commit(insert('a', 100n, { properties: { 'walberg.lsn': 'mine', k: 'v' } }));
  const second = await committer.commit(insert('b', 200n));
  assert.deepEqual([first.sequenceNumber, second.sequenceNumber, first.attempts, second.manifests], [1n, 2n, 1, 2]);
  assert.equal(committer.position, 200n);
  const { metadata } = committer.table;
  const { 'walberg.commit-id': commitId, ...properties } = metadata.properties;
  assert.match(commitId, /^[0-9a-f-]{36}$/);
  assert.deepEqual(properties, { k: 'v', 'walberg.lsn': '00000000000000C8', 'walberg.slot': 'orders_slot', 'walberg.system-id': '7', 'walberg.process': 'p1' });
  const { summary } = headOf(metadata)!;
  assert.deepEqual([summary['walberg.lsn'], summary['walberg.slot'], summary['walberg.system-id'], summary['walberg.process'], summary['walberg.commit-id'], summary['engine-name']], ['00000000000000C8', 'orders_slot', '7', 'p1', commitId, 'walberg']);
  assert.equal((await bed.start('p2')).position, 200n);
  assert.deepEqual(await bed.names(), ['a', 'b']);
});

test('a position without files is a commit, before the first snapshot too; it never goes back', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  await committer.commit({ dataFiles: [], deleteFiles: [], endLsn: 5n });
  assert.equal(await bed.lsn(), 5n);
  assert.notEqual(headOf(committer.table.metadata), undefined);
  await committer.commit({ dataFiles: [], deleteFiles: [], endLsn: 5n });
  await assert.rejects(committer.commit({ dataFiles: [], deleteFiles: [], endLsn: 4n }), code('INTERNAL'));
  assert.equal(await bed.lsn(), 5n);
});

test('a foreign commit in between is accepted: staged again with the same manifests, nothing left over', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  await committer.commit(insert('a', 1n));
  await foreignCommit(bed.server, bed.disk, { add: [fileNamed('compacted')], replace: ({ path }) => path.endsWith('/a.parquet'), sequence: 1n });
  const foreign = await bed.metadataFiles();
  const result = await committer.commit(insert('b', 2n, { deleteFiles: [fileNamed('e', 2)] }));
  assert.equal(result.attempts, 2);
  assert.deepEqual(bed.retried, ['COMMIT_CONFLICT']);
  assert.deepEqual((await liveFiles(committer.table.metadata, bed.disk)).map(({ path, sequence }) => `${path.slice(-9)} ${sequence}`).length, 3);
  assert.deepEqual(await bed.names(), ['b', 'compacted', 'e']);
  assert.equal((await bed.metadataFiles()).length, foreign.length + 3, 'two manifests and one list remain of two attempts');
});

test('refused attempts are repeated up to the limit, then everything this commit wrote is removed but the data', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  await bed.disk.write(fileNamed('a').filePath, new Uint8Array(1));
  bed.onCommit({ kind: 'conflict' }, 1, Infinity);
  await assert.rejects(committer.commit(insert('a', 1n)), code('COMMIT_CONFLICT'));
  assert.equal(bed.catalog.calls.filter(({ operation }) => operation === 'commitTable').length, 4);
  assert.deepEqual(await bed.metadataFiles(), []);
  assert.equal(await bed.disk.size(fileNamed('a').filePath), 1);
  bed.catalog.heal();
  await committer.commit(insert('a', 1n));
  assert.deepEqual(await bed.names(), ['a']);
});

test('every attempt of one commit has the same snapshot id and asserts uuid and ref', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  bed.onCommit({ kind: 'conflict' });
  bed.onCommit({ kind: 'unknown-not-applied' }, 2);
  await committer.commit(insert('a', 1n));
  const changes = bed.catalog.calls.flatMap(({ change }) => change ?? []);
  assert.equal(changes.length, 3);
  const ids = changes.map((change: TableChange) => change.updates.flatMap((update) => (update.action === 'add-snapshot' ? [update.snapshot['snapshot-id']] : [])));
  assert.deepEqual(ids[1], ids[0]);
  assert.deepEqual(ids[2], ids[0]);
  for (const { requirements } of changes) assert.deepEqual(requirements.map(({ type }) => type), ['assert-table-uuid', 'assert-ref-snapshot-id']);
});

test('unknown and applied: found by its commit id, not repeated, nothing removed', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  bed.onCommit({ kind: 'unknown-applied' });
  const result = await committer.commit(insert('a', 1n));
  assert.equal(result.attempts, 1);
  assert.equal(result.sequenceNumber, 1n);
  assert.equal(bed.catalog.calls.filter(({ operation }) => operation === 'commitTable').length, 1);
  await committer.commit(insert('b', 2n));
  assert.deepEqual(await bed.names(), ['a', 'b']);
});

test('unknown, applied, and covered by foreign commits that expired it: still found', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  bed.onCommit({ kind: 'unknown-applied' });
  bed.catalog.add({ on: 'loadTable', action: { kind: 'run', run: async () => {
    const ours = headOf((await bed.server.loadTable(ORDERS))!.metadata)!['snapshot-id'];
    const table = await foreignCommit(bed.server, bed.disk, { add: [fileNamed('f')] });
    await bed.server.commitTable(table, { requirements: [], updates: [{ action: 'remove-snapshots', 'snapshot-ids': [ours] }] });
  } } });
  const result = await committer.commit(insert('a', 1n));
  assert.equal(result.attempts, 1);
  assert.deepEqual(await bed.names(), ['a', 'f']);
});

test('unknown and not applied: repeated with the same files', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  bed.onCommit({ kind: 'unknown-not-applied' }, 1, 2);
  assert.equal((await committer.commit(insert('a', 1n))).attempts, 3);
  assert.deepEqual(await bed.names(), ['a']);
});

test('unknown, and it arrives after the repetition: refused by the server, applied once', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  const gate = new Gate();
  bed.onCommit({ kind: 'unknown-applied-later', gate });
  await committer.commit(insert('a', 1n));
  gate.release();
  const [late] = await Promise.all(bed.catalog.late);
  assert.equal(late.status, 'rejected');
  await committer.commit(insert('b', 2n));
  assert.deepEqual(await bed.names(), ['a', 'b']);
});

test('unknown, and it arrives before the repetition: the repetition is refused, the commit is found', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  const gate = new Gate();
  bed.onCommit({ kind: 'unknown-applied-later', gate });
  bed.onCommit({ kind: 'run', run: async () => {
    gate.release();
    const [late] = await Promise.all(bed.catalog.late);
    assert.equal(late.status, 'fulfilled');
  } }, 2);
  const result = await committer.commit(insert('a', 1n));
  assert.equal(result.attempts, 2);
  assert.deepEqual(bed.retried, ['COMMIT_UNKNOWN', 'COMMIT_CONFLICT']);
  await committer.commit(insert('b', 2n));
  assert.deepEqual(await bed.names(), ['a', 'b']);
  assert.equal((await liveFiles(committer.table.metadata, bed.disk)).length, 2);
});

test('an open outcome waits for the catalog however long it is away; a closed one does not', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  bed.onCommit({ kind: 'unknown-applied' });
  bed.catalog.add({ on: 'loadTable', times: 50, action: { kind: 'fail', code: 'CATALOG_UNREACHABLE' } });
  await committer.commit(insert('a', 1n));
  assert.equal(bed.retried.length, 51);
  assert.deepEqual(await bed.names(), ['a']);
  bed.onCommit({ kind: 'conflict' });
  bed.catalog.add({ on: 'loadTable', times: 50, action: { kind: 'fail', code: 'CATALOG_UNREACHABLE' } });
  await assert.rejects(committer.commit(insert('b', 2n)), code('CATALOG_UNREACHABLE'));
});

test('attempts run out with an open outcome: unknown, and no file is removed', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  bed.onCommit({ kind: 'conflict' });
  bed.onCommit({ kind: 'unknown-not-applied' }, 2);
  bed.onCommit({ kind: 'conflict' }, 3, 2);
  await assert.rejects(committer.commit(insert('a', 1n)), code('COMMIT_UNKNOWN'));
  assert.equal((await bed.metadataFiles()).length, 5, 'one manifest, four lists');
  assert.ok(bed.storage.calls.every(({ operation }) => operation !== 'remove'));
});

test('attempts run out after the head has moved: the open outcome is closed, the request can no longer land', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1', { retries: 2 });
  const gate = new Gate();
  bed.onCommit({ kind: 'unknown-applied-later', gate });
  bed.catalog.add({ on: 'loadTable', action: { kind: 'run', run: async () => void (await foreignCommit(bed.server, bed.disk, { add: [fileNamed('f')] })) } });
  bed.onCommit({ kind: 'conflict' }, 2);
  await assert.rejects(committer.commit(insert('a', 1n)), code('COMMIT_CONFLICT'));
  gate.release();
  assert.deepEqual((await Promise.all(bed.catalog.late)).map(({ status }) => status), ['rejected']);
  assert.ok(bed.storage.calls.every(({ operation }) => operation !== 'remove'), 'files of an outcome that was open stay all the same');
});

test('the signal ends waiting for an open outcome, as unknown', async () => {
  const bed = await Bed.open();
  const abort = new AbortController();
  const committer = await bed.start('p1', { signal: abort.signal, sleep: undefined, initialMs: 3_600_000, maxMs: 3_600_000, onRetry: () => abort.abort() });
  bed.onCommit({ kind: 'unknown-applied' });
  await assert.rejects(committer.commit(insert('a', 1n)), code('COMMIT_UNKNOWN'));
  assert.deepEqual(await bed.names(), ['a']);
  await assert.rejects(committer.commit(insert('b', 2n)), code('SHUTDOWN_DEADLINE'));
});

test('"conflict" as the answer to a request that was applied: found, nothing of it removed', async () => {
  for (const attempts of [1, 4]) {
    const bed = await Bed.open();
    const committer = await bed.start('p1', { retries: attempts });
    bed.onCommit({ kind: 'fail-after', code: 'COMMIT_CONFLICT' }, attempts);
    bed.onCommit({ kind: 'conflict' }, 1, attempts - 1);
    await committer.commit(insert('a', 1n));
    assert.deepEqual(await bed.names(), ['a']);
    assert.equal(committer.position, 1n);
  }
});

test('"malformed" counts as conflict when the table has moved, else it is the answer', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  bed.onCommit({ kind: 'run', run: async () => {
    await foreignCommit(bed.server, bed.disk, { add: [fileNamed('f')] });
    throw new WalbergError('CATALOG_REQUEST', 'Cannot add snapshot with sequence number 1 older than last sequence number 1');
  } });
  await committer.commit(insert('a', 1n));
  assert.deepEqual(await bed.names(), ['a', 'f']);
  bed.onCommit({ kind: 'fail', code: 'CATALOG_REQUEST' });
  await assert.rejects(committer.commit(insert('b', 2n)), code('CATALOG_REQUEST'));
  assert.deepEqual(await bed.leftOvers(), []);
});

test('what cannot be repeated is not', async () => {
  for (const refusal of ['CATALOG_AUTH', 'STORAGE_AUTH', 'INTERNAL'] as const) {
    const bed = await Bed.open();
    const committer = await bed.start('p1');
    bed.onCommit({ kind: 'fail', code: refusal });
    await assert.rejects(committer.commit(insert('a', 1n)), code(refusal));
    assert.deepEqual(bed.retried, []);
    assert.deepEqual(await bed.metadataFiles(), []);
  }
});

test('a failure of a kind nobody knows is an open outcome', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  let thrown = false;
  bed.server.onApplied = () => {
    if (thrown) return;
    thrown = true;
    throw new TypeError('after the fact');
  };
  assert.equal((await committer.commit(insert('a', 1n))).attempts, 1);
  assert.deepEqual(bed.retried, ['COMMIT_UNKNOWN']);
  assert.deepEqual(await bed.names(), ['a']);
});

test('a full disk: the commit waits and goes on; when it stays full the table is as before', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  bed.storage.add({ on: 'write', nth: 2, times: 2, action: { kind: 'fail', code: 'STORAGE_FULL' } });
  assert.equal((await committer.commit(insert('a', 1n))).attempts, 3);
  bed.storage.add({ on: 'write', nth: 2, times: Infinity, action: { kind: 'fail', code: 'STORAGE_FULL' } });
  await assert.rejects(committer.commit(insert('b', 2n)), code('STORAGE_FULL'));
  bed.storage.heal();
  assert.equal(committer.position, 1n);
  assert.deepEqual(await bed.leftOvers(), []);
  await committer.commit(insert('b', 2n));
  assert.deepEqual(await bed.names(), ['a', 'b']);
});

test('a late request of the process before: its position is not the one read at the start, so start over', async () => {
  const bed = await Bed.open();
  const gate = new Gate();
  const first = await bed.start('p1');
  await first.commit(insert('a', 1n));
  bed.onCommit({ kind: 'unknown-applied-later', gate }, 1);
  const abort = new AbortController();
  const dying = await bed.start('p1', { signal: abort.signal, onRetry: () => abort.abort() });
  await assert.rejects(dying.commit(insert('b', 2n)), code('COMMIT_UNKNOWN'));

  const second = await bed.start('p2');
  assert.equal(second.position, 1n);
  gate.release();
  await Promise.all(bed.catalog.late);
  await assert.rejects(second.commit(insert('b-again', 2n)), code('POSITION_CHANGED'));
  assert.deepEqual(await bed.names(), ['a', 'b']);
  const restarted = await bed.start('p2');
  assert.equal(restarted.position, 2n);
  await restarted.commit(insert('c', 3n));
  assert.deepEqual(await bed.names(), ['a', 'b', 'c']);
});

test('a late request arrives after the successor has committed: refused', async () => {
  const bed = await Bed.open();
  const gate = new Gate();
  bed.onCommit({ kind: 'unknown-applied-later', gate });
  const abort = new AbortController();
  const dying = await bed.start('p1', { signal: abort.signal, onRetry: () => abort.abort() });
  await assert.rejects(dying.commit(insert('a', 1n)), code('COMMIT_UNKNOWN'));
  const second = await bed.start('p2');
  await second.commit(insert('a-again', 1n));
  gate.release();
  assert.deepEqual((await Promise.all(bed.catalog.late)).map(({ status }) => status), ['rejected']);
  assert.deepEqual(await bed.names(), ['a-again']);
});

test('a process that has committed and finds a position of another is fenced off', async () => {
  const bed = await Bed.open();
  const old = await bed.start('old');
  await old.commit(insert('a', 1n));
  const taker = await bed.start('new');
  await taker.commit(insert('b', 2n));
  const before = await bed.metadataFiles();
  await assert.rejects(old.commit(insert('b-too', 2n)), code('COMMIT_FENCED'));
  assert.deepEqual(await bed.names(), ['a', 'b']);
  assert.deepEqual(await bed.metadataFiles(), before);
});

test('its commit landed and another process wrote on top before it looked: fenced, and nothing is removed', async () => {
  const bed = await Bed.open();
  const old = await bed.start('old');
  bed.onCommit({ kind: 'unknown-applied' });
  bed.catalog.add({ on: 'loadTable', action: { kind: 'run', run: async () => {
    const other = new TableCommitter((await bed.server.loadTable(ORDERS))!, { catalog: bed.server, storage: bed.disk, slot: 'orders_slot', systemId: '7', process: 'new', retries: 1, initialMs: 1, maxMs: 1 });
    await other.commit(insert('b', 2n));
  } } });
  await assert.rejects(old.commit(insert('a', 1n)), code('COMMIT_FENCED'));
  assert.deepEqual(await bed.names(), ['a', 'b']);
  assert.deepEqual(await bed.leftOvers(), []);
});

test('the reply of the catalog already shows another process on top: fenced, and nothing is removed', async () => {
  const bed = await Bed.open();
  const old = await bed.start('old', { catalog: {
    name: 'eager', ensureNamespace: async () => {}, createTable: () => assert.fail(), loadTable: (identifier) => bed.server.loadTable(identifier),
    commitTable: async (base, change) => {
      await bed.server.commitTable(base, change);
      await (await bed.start('new')).commit(insert('b', 2n));
      return (await bed.server.loadTable(ORDERS))!;
    },
  } });
  await assert.rejects(old.commit(insert('a', 1n)), code('COMMIT_FENCED'));
  assert.deepEqual(await bed.names(), ['a', 'b']);
});

test('a position changed by hand fences nobody', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  await committer.commit(insert('a', 5n));
  const table = await bed.server.commitTable(committer.table, { requirements: [], updates: [{ action: 'set-properties', updates: { 'walberg.lsn': '0000000000000003' } }] });
  assert.throws(() => committer.adopt(table), code('POSITION_CHANGED'));
  assert.equal((await bed.start('p2')).position, 3n);
});

test('a table that was dropped, or dropped and made again, is not written', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  await committer.commit(insert('a', 1n));
  bed.server.drop(ORDERS);
  await assert.rejects(committer.commit(insert('b', 2n)), code('TABLE_REPLACED'));
  await bed.server.createTable(ORDERS, ORDERS_REQUEST);
  await assert.rejects(committer.commit(insert('b', 2n)), code('TABLE_REPLACED'));
  assert.deepEqual(await bed.names(), []);
});

test('a schema change made elsewhere is taken over, and files keep the schema they name', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  const schema = { type: 'struct' as const, fields: [...ORDERS_REQUEST.schema.fields, { id: 3, name: 'more', required: false, type: 'int' }] };
  committer.adopt(await bed.server.commitTable(committer.table, { requirements: [], updates: [{ action: 'add-schema', schema }, { action: 'set-current-schema', 'schema-id': -1 }] }));
  await committer.commit(insert('a', 1n, { schemaId: 0 }));
  assert.equal(headOf(committer.table.metadata)!['schema-id'], 0);
  await committer.commit(insert('b', 2n));
  assert.equal(headOf(committer.table.metadata)!['schema-id'], 1);
});

test('position deletes into a file that somebody rewrote meanwhile are refused; into one that is still there not', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  await committer.commit(insert('a', 1n, { dataFiles: [fileNamed('a'), fileNamed('b')] }));
  const deleteIn = (name: string, endLsn: bigint): Delta => ({ dataFiles: [], deleteFiles: [fileNamed(`p-${name}-${endLsn}`, 1, { referencedDataFile: fileNamed(name).filePath })], endLsn });
  await foreignCommit(bed.server, bed.disk, { add: [fileNamed('compacted')], replace: ({ path }) => path.endsWith('/a.parquet') });
  await assert.rejects(committer.commit(deleteIn('a', 2n)), code('COMMIT_CONFLICT'));
  assert.deepEqual(bed.retried, ['COMMIT_CONFLICT'], 'no attempt after the one that found it');
  assert.deepEqual(await bed.leftOvers(), []);
  await foreignCommit(bed.server, bed.disk);
  await committer.commit(deleteIn('b', 3n));
  assert.deepEqual(await bed.names(), ['b', 'compacted', 'p-b-3']);
});

test('truncate takes what others added meanwhile too, and rewrites each manifest once', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  await committer.commit(insert('a', 1n, { deleteFiles: [fileNamed('e', 2)] }));
  bed.onCommit({ kind: 'run', run: async () => void (await foreignCommit(bed.server, bed.disk, { add: [fileNamed('f')] })) });
  const written = bed.storage.calls.length;
  await committer.commit(insert('n', 2n, { truncate: true }));
  assert.deepEqual(await bed.names(), ['n']);
  const writes = bed.storage.calls.slice(written).filter(({ operation }) => operation === 'write');
  assert.equal(writes.length, 6, 'own manifest, two emptied, list; then the foreign one emptied, list');
  assert.deepEqual(await bed.leftOvers(), [], 'the list of the refused attempt was removed');
});

test('one commit at a time', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  const both: PromiseSettledResult<CommitResult>[] = await Promise.allSettled([committer.commit(insert('a', 1n)), committer.commit(insert('b', 2n))]);
  assert.deepEqual(both.map(({ status }) => status), ['fulfilled', 'rejected']);
  assert.deepEqual(await bed.names(), ['a']);
});

test('a table of another format version is not written', async () => {
  const bed = await Bed.open();
  const committer = await bed.start('p1');
  const newer = { ...committer.table, metadata: { ...committer.table.metadata, 'format-version': 3 } };
  assert.throws(() => committer.adopt(newer), code('FORMAT_UNSUPPORTED'));
  assert.throws(() => new TableCommitter(newer, { catalog: bed.server, storage: bed.disk, slot: 's', systemId: '7', process: 'p', retries: 1, initialMs: 1, maxMs: 1 }), code('FORMAT_UNSUPPORTED'));
});
