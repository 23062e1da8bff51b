import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { lacking } from '../../src/buffer/open-rows.js';
import { MirrorSegment } from '../../src/buffer/mirror-segment.js';
import type { SealedSegment, Segment } from '../../src/buffer/segment.js';
import { TransactionStage } from '../../src/buffer/transaction-stage.js';
import { viewOf } from '../../src/buffer/tuples.js';
import { ChangeGroup } from '../../src/pipeline/change-group.js';
import type { TupleView } from '../../src/pgoutput/messages.js';
import { tuple, UNCHANGED, type TupleValue } from '../support/pgoutput-bytes.js';
import { completed, openKey, ShadowTable, type ShadowRow } from '../support/shadow-table.js';

/** Columns: key part 1 (text), payload, key part 2 (text), two values that may be stored out of line. */
const KEY = [2, 0];
const TOASTABLE = [3, 4];
/** Few keys, so that they meet. */
const NAMES = ['', 'ä', 'k'.repeat(60)];

const view = (values: readonly TupleValue[]): TupleView => {
  const bytes = tuple(values);
  // Behind some other bytes, as in a stream.
  const shifted = Buffer.concat([Buffer.from('xyz'), bytes]);
  return viewOf(shifted, 3, shifted.length);
};
const keyOf = (row: ShadowRow): string => JSON.stringify(KEY.map((k) => row[k]));

type Identity = 'default' | 'full';
let values = 0;
const toastValue = fc.constantFrom(undefined, undefined, 'new', null);
const operation = fc.record({
  kind: fc.constantFrom('insert', 'insert', 'update', 'update', 'update', 'rekey', 'rekey', 'delete', 'seal', 'commit', 'truncate'),
  a: fc.nat(),
  b: fc.nat(),
  payload: fc.option(fc.string({ maxLength: 5 }), { nil: null }),
  /** New values for the two, undefined = unchanged. */
  toast: fc.tuple(toastValue, toastValue),
  /** The read of open rows happens this many operations later than the cut. */
  lag: fc.nat(8),
});

/** No two values are equal, so that a wrong one shows. */
const fresh = (): string => `value ${values++}`;

/** The source, changed row by row, and the stream's events about it. */
class Source {
  readonly rows = new Map<string, string[] | (string | null)[]>();

  pick(n: number): (string | null)[] | undefined {
    const all = [...this.rows.values()];
    return all.length === 0 ? undefined : all[n % all.length];
  }
}

function newSegment(): MirrorSegment {
  return new MirrorSegment({ tableName: 't', keyOrdinals: KEY, toastable: TOASTABLE, keepDeletes: false, deleteOnInsert: false }, 64);
}

/** The table writer's bookkeeping without files: what is sealed stays in memory. */
class Collector {
  segment = newSegment();
  group = new ChangeGroup();
  sealed = new Map<unknown, SealedSegment>();
  watched = new Map<string, readonly number[]>();

  begin(): number {
    return this.group.transactions.add(0n, 0n, 0);
  }

  seal(): void {
    if (this.segment.isEmpty) return;
    this.group.note(this.segment, this.watched);
    const segment: Segment = this.segment;
    const sealed = segment.seal(this.group.transactions);
    this.segment = newSegment();
    this.group.addPart(segment, sealed, Promise.resolve([]));
    this.sealed.set(this.group.parts.at(-1), sealed);
  }

  take(): ChangeGroup {
    this.seal();
    const taken = this.group;
    this.group = new ChangeGroup();
    this.watched = new Map([...taken.open].map(([k, r]) => [k, lacking(r)]));
    return taken;
  }

  broke(): boolean {
    return this.group.broken.size > 0 || [...this.watched].some(([key, ordinals]) => !this.segment.keeps(key, ordinals));
  }

  truncate(): void {
    this.segment = newSegment();
    this.group.parts = [];
    this.group.open = new Map();
    this.group.truncate = true;
    for (const key of this.watched.keys()) { this.group.touched.add(key); this.group.broken.add(key); }
  }
}

function play(operations: readonly (typeof operation extends fc.Arbitrary<infer T> ? T : never)[], identity: Identity): void {
  const source = new Source();
  const table = new ShadowTable(keyOf);
  const collector = new Collector();
  const old = (row: (string | null)[]): { kind: 'key' | 'full'; view: TupleView } =>
    identity === 'full' ? { kind: 'full', view: view(row) } : { kind: 'key', view: view(row.map((v, i) => (KEY.includes(i) ? v : null))) };
  let waiting: { group: ChangeGroup; readAt: number; values?: Map<string, ShadowRow>; checkAt: number; expected: string[] } | undefined;

  const content = (): string[] => [...source.rows.values()].map((r) => JSON.stringify(r)).sort();
  const commit = (group: ChangeGroup, values: Map<string, ShadowRow>, expected: string[]): void => {
    const rows = [...group.open].flatMap(([key, row]) => {
      const found = values.get(openKey(key));
      return found === undefined && lacking(row).length > 0 ? [] : [completed(row, found ?? [])];
    });
    table.commit(group.parts.map((p) => collector.sealed.get(p)!), rows, group.truncate);
    assert.deepEqual(table.content(), expected);
  };
  const finish = (step: number): void => {
    if (waiting === undefined) return;
    if (waiting.values === undefined && step >= waiting.readAt) {
      // A read shows the newest state, whatever the stream has delivered by then.
      waiting.values = new Map([...waiting.group.open.keys()].flatMap((k) => { const r = source.rows.get(openKey(k)); return r === undefined ? [] : [[openKey(k), [...r]] as [string, ShadowRow]]; }));
      waiting.checkAt = step;
    }
    if (waiting.values === undefined) return;
    if (!collector.broke()) {
      commit(waiting.group, waiting.values, waiting.expected);
      waiting = undefined;
      collector.watched = new Map();
      return;
    }
    const { group } = waiting;
    group.absorb(collector.take());
    collector.watched = new Map([...group.open].map(([k, r]) => [k, lacking(r)]));
    waiting = { group, readAt: step, checkAt: step, expected: content() };
    if (group.open.size === 0) {
      commit(group, new Map(), waiting.expected);
      waiting = undefined;
    }
  };
  const cut = (step: number, lag: number): void => {
    if (waiting !== undefined || collector.group.isEmpty) return;
    const group = collector.take();
    waiting = { group, readAt: step + lag, checkAt: step, expected: content() };
    if (group.open.size === 0) waiting.readAt = step;
    finish(step);
  };

  operations.forEach((op, step) => {
    const { segment } = collector;
    const target = source.pick(op.a);
    if (op.kind === 'seal') collector.seal();
    else if (op.kind === 'commit') cut(step, op.lag);
    else if (op.kind === 'truncate') {
      if (op.a % 4 === 0) {
        collector.begin();
        source.rows.clear();
        collector.truncate();
      }
    } else if (op.kind === 'insert') {
      const row = [NAMES[op.a % NAMES.length], op.payload, 'b', ...op.toast.map((v) => (v === null ? null : fresh()))];
      if (source.rows.has(keyOf(row))) return;
      source.rows.set(keyOf(row), row);
      segment.insert(view(row), collector.begin());
    } else if (target !== undefined && op.kind === 'delete') {
      source.rows.delete(keyOf(target));
      const o = old(target);
      segment.delete(o.kind, o.view, collector.begin());
    } else if (target !== undefined) {
      const row = [...target];
      row[1] = op.payload;
      op.toast.forEach((v, i) => { if (v !== undefined) row[3 + i] = v === null ? null : fresh(); });
      if (op.kind === 'rekey') { row[0] = NAMES[op.b % NAMES.length]; }
      const moved = keyOf(row) !== keyOf(target);
      if (moved && source.rows.has(keyOf(row))) return;
      source.rows.delete(keyOf(target));
      source.rows.set(keyOf(row), row);
      const sent: TupleValue[] = [...row];
      op.toast.forEach((v, i) => { if (v === undefined && row[3 + i] !== null) sent[3 + i] = UNCHANGED; });
      const o = moved || identity === 'full' ? old(target) : undefined;
      segment.update(o?.kind ?? 'none', o?.view, view(sent), collector.begin());
    }
    finish(step);
  });
  // Everything settles: nothing changes any more.
  for (let i = 0; i < 3; i++) {
    finish(Number.MAX_SAFE_INTEGER);
    cut(Number.MAX_SAFE_INTEGER, 0);
  }
  assert.equal(waiting, undefined);
  assert.deepEqual(table.content(), content());
}

describe('changes collapsed by key', () => {
  for (const identity of ['default', 'full'] as const) {
    it(`equal replaying them one by one, at every commit (replica identity ${identity})`, () => {
      fc.assert(fc.property(fc.array(operation, { minLength: 10, maxLength: 60, size: 'max' }), (operations) => play(operations, identity)), { numRuns: 4000 });
    });
  }

  it('keep one row and one delete per key, and nothing of a row born and gone', () => {
    const segment = newSegment();
    const group = new ChangeGroup();
    const t = group.transactions.add(0n, 0n, 1);
    segment.insert(view(['1', 'p', 'a', null, null]), t);
    segment.update('none', undefined, view(['1', 'q', 'a', null, null]), t);
    segment.insert(view(['2', 'p', 'a', null, null]), t);
    segment.delete('key', view(['2', null, 'a', null, null]), t);
    segment.update('none', undefined, view(['3', 'p', 'a', null, null]), t);
    segment.update('none', undefined, view(['3', 'q', 'a', null, null]), t);
    const sealed = segment.seal(group.transactions);
    assert.equal(sealed.rows?.rowOffsets.length, 2);
    assert.equal(sealed.deletes?.rowOffsets.length, 1);
  });
});

describe('a transaction staged by whole rows', () => {
  it('survives keys that pass through each other', () => {
    fc.assert(fc.property(fc.array(fc.tuple(fc.nat(4), fc.nat(4), fc.boolean()), { maxLength: 12 }), (swaps) => {
      // Rows 0..4 in one transaction; every event moves a row to any key, equal keys allowed on the way.
      const rows = [0, 1, 2, 3, 4].map((n) => [String(n), `row ${n}`, 'k', null, null] as (string | null)[]);
      const before = new ShadowTable(keyOf);
      const group = new ChangeGroup();
      const stage = new TransactionStage(TOASTABLE);
      const first = newSegment();
      for (const row of rows) first.insert(view(row), group.transactions.add(0n, 0n, 1));
      before.commit([first.seal(group.transactions)], [], false);
      const segment = newSegment();
      const t = group.transactions.add(0n, 0n, 2);
      for (const [which, to, gone] of swaps) {
        const row = rows[which % rows.length];
        if (row === undefined) continue;
        if (gone && rows.length > 2) {
          stage.delete('full', view(row));
          rows.splice(which % rows.length, 1);
          continue;
        }
        const moved = [String(to), ...row.slice(1)];
        stage.update('full', view(row), view(moved));
        rows[which % rows.length] = moved;
      }
      // The constraint is checked at commit.
      rows.forEach((row, i) => {
        const final = [`final ${i}`, ...row.slice(1)];
        stage.update('full', view(row), view(final));
        rows[i] = final;
      });
      stage.apply(segment, t);
      before.commit([segment.seal(group.transactions)], [], false);
      assert.deepEqual(before.content(), rows.map((r) => JSON.stringify(r)).sort());
    }), { numRuns: 1000 });
  });
});
