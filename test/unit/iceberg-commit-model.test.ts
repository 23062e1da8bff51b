import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import type { TableChange } from '../../src/iceberg/catalog/catalog.js';
import { readPosition, TableCommitter } from '../../src/iceberg/commit/table-committer.js';
import type { RowDelta } from '../../src/iceberg/commit/row-delta.js';
import type { DataFile } from '../../src/iceberg/spec/types.js';
import { MemoryStorage } from '../../src/storage/memory.js';
import { FaultCatalog } from '../support/fault-catalog.js';
import { FaultStorage } from '../support/fault-storage.js';
import { Gate } from '../support/faults.js';
import { fileNamed, foreignCommit, headOf, liveFiles, ORDERS, ORDERS_REQUEST, shortName, totalsOf } from '../support/live-files.js';
import { MemoryCatalog } from '../support/memory-catalog.js';

/**
 * A source of numbered transactions, each one data file (and some a delete file or a truncate), is committed by processes that
 * are killed, through faults and other writers' commits. A naive list of what is live, moved forward only when the server
 * applies a change, must equal what a reader finds, and each transaction must be in exactly once.
 */

const FAULTS = ['conflict', 'unknown-applied', 'unknown-not-applied', 'late', 'late-kill', 'foreign', 'unavailable', 'full', 'false-conflict', 'load-away'] as const;
type Fault = (typeof FAULTS)[number];

type Step =
  | { readonly kind: 'commit'; readonly transactions: number; readonly stepped: boolean; readonly faults: readonly Fault[] }
  | { readonly kind: 'foreign'; readonly what: 'append' | 'compact' | 'expire' | 'property' }
  | { readonly kind: 'kill' }
  | { readonly kind: 'arrive' };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('commit' as const), transactions: fc.nat(3), stepped: fc.boolean(), faults: fc.array(fc.constantFrom(...FAULTS), { maxLength: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('foreign' as const), what: fc.constantFrom('append' as const, 'compact' as const, 'expire' as const, 'property' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('arrive' as const) }) },
);

const truncates = (transaction: number): boolean => transaction % 11 === 0;
const deletes = (transaction: number): boolean => transaction % 3 === 0;

interface Row {
  readonly file: DataFile;
  readonly sequence: bigint;
}

class World {
  readonly server = new MemoryCatalog();
  readonly disk = new MemoryStorage();
  readonly catalog = new FaultCatalog(this.server);
  readonly storage = new FaultStorage(this.disk);
  readonly deltas = new Map<string, RowDelta>();
  /** Path to file and sequence number, by naive replay. */
  live = new Map<string, Row>();
  /** Applied by the test itself, so that the replay leaves it alone. */
  foreign = false;
  gates: Gate[] = [];
  processes = 0;
  names = 0;
  committer!: TableCommitter;
  kill = new AbortController();

  async open(): Promise<void> {
    // Merging at three manifests, so that the schedules reach it.
    await this.server.createTable(ORDERS, { ...ORDERS_REQUEST, properties: { 'commit.manifest.min-count-to-merge': '3' } });
    this.server.onApplied = (change) => this.replay(change);
    await this.start(true);
  }

  async start(newProcess: boolean): Promise<void> {
    if (newProcess) this.processes += 1;
    this.kill = new AbortController();
    this.committer = new TableCommitter((await this.server.loadTable(ORDERS))!, {
      catalog: this.catalog, storage: this.storage, slot: 's', systemId: '1', process: `p${this.processes}`, retries: 3, initialMs: 1, maxMs: 1, sleep: async () => {}, signal: this.kill.signal,
    });
  }

  replay(change: TableChange): void {
    if (this.foreign) return;
    const added = change.updates.find((update) => update.action === 'add-snapshot');
    assert.ok(added?.action === 'add-snapshot');
    const delta = this.deltas.get(added.snapshot.summary['test.delta'])!;
    if (delta.truncate === true) this.live.clear();
    const files = [...delta.dataFiles, ...delta.deleteFiles];
    const steps = 1 + Math.max(0, ...files.map((file) => file.sequenceStep ?? 0));
    for (const file of files) {
      assert.ok(!this.live.has(file.filePath), `${file.filePath} applied twice`);
      this.live.set(file.filePath, { file, sequence: BigInt(added.snapshot['sequence-number']) - BigInt(steps - 1 - (file.sequenceStep ?? 0)) });
    }
  }

  delta(transactions: number, stepped: boolean): RowDelta & { endLsn: bigint } {
    const from = Number(this.committer.position ?? 0n);
    const id = `d${++this.names}`;
    let [dataFiles, deleteFiles, truncate]: [DataFile[], DataFile[], boolean] = [[], [], false];
    for (let transaction = from + 1, step = 0; transaction <= from + transactions; transaction++, step++) {
      if (truncates(transaction)) [dataFiles, deleteFiles, truncate, step] = [[], [], true, 0];
      const more = stepped && step > 0 ? { sequenceStep: step } : {};
      dataFiles.push(fileNamed(`t${transaction}-${id}`, 0, more));
      if (deletes(transaction)) deleteFiles.push(fileNamed(`e${transaction}-${id}`, 2, more));
    }
    const delta = { dataFiles, deleteFiles, truncate, summary: { 'test.delta': id }, endLsn: BigInt(from + transactions) };
    this.deltas.set(id, delta);
    return delta;
  }

  async doForeign(what: 'append' | 'compact' | 'expire' | 'property'): Promise<void> {
    this.foreign = true;
    const table = (await this.server.loadTable(ORDERS))!;
    if (what === 'append') {
      const file = fileNamed(`f${++this.names}`);
      const after = await foreignCommit(this.server, this.disk, { add: [file] });
      this.live.set(file.filePath, { file, sequence: BigInt(after.metadata['last-sequence-number']) });
    } else if (what === 'compact') {
      // Merges two data files into one that keeps their newest sequence number; its name tells the transactions in it.
      const two = [...this.live.values()].filter(({ file }) => file.content === 0).slice(0, 2);
      if (two.length === 2) {
        const paths = new Set(two.map(({ file }) => file.filePath));
        const file = fileNamed(`c${++this.names}+${two.map((row) => shortName(row.file.filePath)).join('+')}`);
        const sequence = two[0].sequence > two[1].sequence ? two[0].sequence : two[1].sequence;
        await foreignCommit(this.server, this.disk, { add: [file], replace: ({ path }) => paths.has(path), sequence });
        for (const path of paths) this.live.delete(path);
        this.live.set(file.filePath, { file, sequence });
      }
    } else if (what === 'expire') {
      const head = headOf(table.metadata)?.['snapshot-id'];
      await this.server.commitTable(table, { requirements: [], updates: [{ action: 'remove-snapshots', 'snapshot-ids': table.metadata.snapshots.map((s) => s['snapshot-id']).filter((id) => id !== head) }] });
    } else {
      await this.server.commitTable(table, { requirements: [], updates: [{ action: 'set-properties', updates: { owner: `o${++this.names}` } }] });
    }
    this.foreign = false;
  }

  async arrive(): Promise<void> {
    for (const gate of this.gates) gate.release();
    this.gates = [];
    await Promise.all(this.catalog.late);
  }

  script(faults: readonly Fault[]): void {
    faults.forEach((fault, index) => {
      const nth = index + 1;
      const on = 'commitTable' as const;
      if (fault === 'late' || fault === 'late-kill') {
        const gate = new Gate();
        this.gates.push(gate);
        this.catalog.add({ on, nth, action: { kind: 'unknown-applied-later', gate } });
        if (fault === 'late-kill') this.catalog.add({ on: 'loadTable', action: { kind: 'run', run: async () => this.kill.abort() } });
      } else if (fault === 'foreign') this.catalog.add({ on, nth, action: { kind: 'run', run: () => this.doForeign('append') } });
      else if (fault === 'unavailable') this.catalog.add({ on, nth, action: { kind: 'unavailable' } });
      else if (fault === 'false-conflict') this.catalog.add({ on, nth, action: { kind: 'fail-after', code: 'COMMIT_CONFLICT' } });
      else if (fault === 'full') this.storage.add({ on: 'write', nth: 2 * nth, action: { kind: 'fail', code: 'STORAGE_FULL' } });
      else if (fault === 'load-away') this.catalog.add({ on: 'loadTable', times: 2, action: { kind: 'fail', code: 'CATALOG_UNREACHABLE' } });
      else this.catalog.add({ on, nth, action: { kind: fault } });
    });
  }

  async check(): Promise<void> {
    const table = (await this.server.loadTable(ORDERS))!;
    const live = await liveFiles(table.metadata, this.disk);
    const seen = (rows: readonly (readonly [string, bigint])[]): string[] => rows.map(([path, sequence]) => `${shortName(path)} @${sequence}`).sort();
    assert.deepEqual(seen(live.map(({ path, sequence }) => [path, sequence])), seen([...this.live].map(([path, { sequence }]) => [path, sequence])));
    const summary = headOf(table.metadata)?.summary;
    if (summary !== undefined) assert.deepEqual(Object.fromEntries(Object.entries(summary).filter(([name]) => name.startsWith('total-'))), totalsOf(live));
    // Exactly once: everything up to the position since the last truncate.
    const position = Number(readPosition(table)?.lsn ?? 0n);
    const expected: number[] = [];
    for (let transaction = 1; transaction <= position; transaction++) {
      if (truncates(transaction)) expected.length = 0;
      expected.push(transaction);
    }
    const found = live.filter(({ content }) => content === 0).flatMap(({ path }) => [...shortName(path).matchAll(/(?<=^|\+)t(\d+)-/g)].map((match) => Number(match[1]))).sort((a, b) => a - b);
    assert.deepEqual(found, expected);
    // Old states stay readable: nothing that a snapshot needs was removed.
    for (const snapshot of table.metadata.snapshots) await liveFiles({ ...table.metadata, refs: { main: { type: 'branch', 'snapshot-id': snapshot['snapshot-id'] } } }, this.disk);
  }
}

async function play(steps: readonly Step[]): Promise<World> {
  const world = new World();
  await world.open();
  for (const step of steps) {
    if (step.kind === 'foreign') await world.doForeign(step.what);
    else if (step.kind === 'kill') await world.start(true);
    else if (step.kind === 'arrive') await world.arrive();
    else {
      world.script(step.faults);
      try {
        await world.committer.commit(world.delta(step.transactions, step.stepped));
      } catch (error) {
        // One process at a time lives here, so none may be told that another one took over.
        if (!isWalbergError(error, 'COMMIT_CONFLICT', 'COMMIT_UNKNOWN', 'POSITION_CHANGED', 'CATALOG_UNAVAILABLE', 'CATALOG_UNREACHABLE', 'STORAGE_FULL', 'SHUTDOWN_DEADLINE')) throw error;
        await world.start(world.kill.signal.aborted);
      }
      world.catalog.heal();
      world.storage.heal();
    }
    await world.check();
  }
  // At the end everything arrives and the process goes on.
  await world.arrive();
  await world.check();
  await world.start(true);
  await world.committer.commit(world.delta(2, false));
  await world.check();
  return world;
}

test('any schedule of commits, kills, faults, late requests and other writers keeps every transaction exactly once', async () => {
  await fc.assert(fc.asyncProperty(fc.array(STEP, { minLength: 1, maxLength: 14 }), async (steps) => void (await play(steps))), { numRuns: Number(process.env.WALBERG_TEST_RUNS ?? 150) });
});

test('the schedules do reach late arrivals, restarts and truncates', async () => {
  const world = await play([
    { kind: 'commit', transactions: 3, stepped: true, faults: ['late-kill'] },
    { kind: 'arrive' },
    { kind: 'commit', transactions: 2, stepped: false, faults: [] },
    { kind: 'commit', transactions: 3, stepped: false, faults: ['foreign', 'unknown-not-applied'] },
    { kind: 'foreign', what: 'compact' },
    { kind: 'commit', transactions: 3, stepped: true, faults: ['full', 'unknown-applied'] },
    { kind: 'commit', transactions: 3, stepped: true, faults: [] },
  ]);
  const { metadata } = (await world.server.loadTable(ORDERS))!;
  assert.ok(metadata.snapshots.some(({ summary }) => summary['deleted-data-files'] !== undefined));
  assert.ok(world.catalog.late.length === 1 && world.processes === 3);
});
