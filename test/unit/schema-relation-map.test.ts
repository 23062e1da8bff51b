import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TupleMapper } from '../../src/buffer/tuple-mapper.js';
import { Arena } from '../../src/buffer/arena.js';
import { LENGTH_NULL, LENGTH_UNCHANGED_TOAST, type TupleView } from '../../src/pgoutput/messages.js';
import { TupleBuffer } from '../../src/pgoutput/tuple.js';
import { knownColumns } from '../../src/schema/known-columns.js';
import { mapRelation } from '../../src/schema/relation-map.js';
import type { SourceColumn, SourceTable } from '../../src/schema/source-table.js';
import { planTable } from '../../src/schema/table-plan.js';
import { EXACT_TYPES, everyColumn, relationOf, sinkConfig, sourceColumn, sourceTable } from '../support/source-table.js';

const col = (name: string, attnum: number, type = 'text'): SourceColumn => sourceColumn(name, type, { attnum });
function table(columns: readonly SourceColumn[], key = 'id'): SourceTable {
  return { ...sourceTable(columns, [key]), columns: columns.map((c) => ({ ...c, notNull: c.name === key })) };
}
/** The relation of `was`, read by the plan of `now`; `was` is remembered unless told otherwise. */
function map(was: SourceTable, now: SourceTable, remembered: SourceTable = was) {
  const result = mapRelation(planTable(now, sinkConfig(), EXACT_TYPES, everyColumn), relationOf(was), knownColumns(now, knownColumns(remembered, undefined)));
  return result.problem ?? [...result.ordinals!];
}
const WAS = table([col('id', 1, 'integer'), col('a', 2), col('b', 3)]);

test('columns that were added are NULL, those that are gone are left out, names are followed', () => {
  assert.deepEqual(map(WAS, WAS), [0, 1, 2]);
  assert.deepEqual(map(WAS, table([...WAS.columns, col('c', 4)])), [0, 1, 2, -1]);
  assert.deepEqual(map(WAS, table([WAS.columns[0], WAS.columns[2]])), [0, 2]);
  assert.deepEqual(map(WAS, table([WAS.columns[0], WAS.columns[2], col('c', 4)])), [0, 2, -1]);
  assert.deepEqual(map(WAS, table([col('key', 1, 'integer'), col('x', 2), col('b', 3)], 'key')), [0, 1, 2]);
  assert.deepEqual(map(WAS, table([col('id', 1, 'bigint'), col('a', 2), col('b', 3)])), [0, 1, 2]);
});

test('what is not certain is a problem', () => {
  assert.match(String(map(WAS, table([col('id', 1, 'integer'), col('b', 2), col('a', 3)]))), /in another place/);
  assert.match(String(map(WAS, table([col('id', 1, 'integer'), col('a', 2, 'integer'), col('b', 3)]))), /had type OID 25/);
  const unseen = table([col('id', 1, 'integer'), col('z', 2), col('b', 3)]);
  assert.match(String(map(unseen, WAS, table([WAS.columns[0]]))), /column z; whether it is column a now/);
  assert.match(String(map(WAS, { ...WAS, replicaIdentity: 'f' })), /replica identity/);
  assert.match(String(map(WAS, { ...table([...WAS.columns]), primaryKey: ['id', 'a'] })), /no longer identifies/);
});

/** Tuples as text; null and undefined stand for NULL and for unchanged. */
type Values = readonly (string | null | undefined)[];
function tuple(values: Values): TupleBuffer {
  const arena = new Arena(16);
  arena.int16(values.length);
  for (const value of values) {
    if (value === null) arena.byte(0x6e);
    else if (value === undefined) arena.byte(0x75);
    else {
      const bytes = Buffer.from(value);
      arena.byte(0x74);
      arena.int32(bytes.length);
      arena.append(bytes, 0, bytes.length);
    }
  }
  const view = new TupleBuffer();
  view.read(arena.bytes, 0, arena.length);
  return view;
}
function values(view: TupleView): Values {
  return Array.from({ length: view.columnCount }, (_, i) => (view.lengths[i] === LENGTH_NULL ? null : view.lengths[i] === LENGTH_UNCHANGED_TOAST ? undefined : Buffer.from(view.buffer.subarray(view.offsets[i], view.offsets[i] + view.lengths[i])).toString()));
}

test('property: a row of any older shape arrives by attribute number, beside its old row', () => {
  const value = fc.option(fc.option(fc.string({ maxLength: 80 }), { nil: undefined }), { nil: null });
  /** Per attribute: dropped before now, added after then, renamed in between. */
  const attributes = fc.array(fc.record({ state: fc.constantFrom('kept', 'dropped', 'added', 'renamed'), row: value, old: value }), { maxLength: 12 });
  fc.assert(fc.property(attributes, (list) => {
    const was = list.flatMap((a, i) => (a.state === 'added' ? [] : [{ ...a, column: col(`c${i}`, i + 2) }]));
    const now = list.flatMap((a, i) => (a.state === 'dropped' ? [] : [{ ...a, column: col(a.state === 'renamed' ? `r${i}` : `c${i}`, i + 2) }]));
    const [then, today] = [was, now].map((columns) => table([col('id', 1, 'integer'), ...columns.map((c) => c.column)]));
    const { ordinals } = mapRelation(planTable(today, sinkConfig(), EXACT_TYPES, everyColumn), relationOf(then), knownColumns(today, knownColumns(then, undefined)));
    assert.ok(ordinals);
    const mapper = new TupleMapper(ordinals);
    const old = mapper.old(tuple(['1', ...was.map((c) => c.old)]));
    const row = mapper.row(tuple(['2', ...was.map((c) => c.row)]));
    assert.deepEqual(values(row), ['2', ...now.map((c) => (c.state === 'added' ? null : c.row))]);
    assert.deepEqual(values(old), ['1', ...now.map((c) => (c.state === 'added' ? null : c.old))]);
  }));
});
