import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RelationColumn } from '../../src/pgoutput/messages.js';
import { relationDifference } from '../../src/schema/relation-match.js';
import { planTable } from '../../src/schema/table-plan.js';
import { EXACT_TYPES, everyColumn, relationOf, sinkConfig, sourceColumn, sourceTable } from '../support/source-table.js';

const SOURCE = sourceTable([sourceColumn('id', 'bigint'), sourceColumn('price', 'numeric(10,2)', { typeOid: 16500, typmod: -1, typeName: 'public.price' }), sourceColumn('note', 'text')], ['id']);
const PLAN = planTable(SOURCE, sinkConfig(), EXACT_TYPES, everyColumn);
const RELATION = relationOf(SOURCE);
const withColumns = (columns: readonly RelationColumn[]) => ({ ...RELATION, columns });
const [ID, PRICE, NOTE] = RELATION.columns;

test('the relation of the described table is no difference, for every identity', () => {
  for (const replicaIdentity of ['d', 'f', 'n', 'i'] as const) {
    const source = { ...SOURCE, replicaIdentity, identityIndexColumns: replicaIdentity === 'i' ? ['id'] : [] };
    for (const upsert of [true, false]) assert.equal(relationDifference(planTable(source, sinkConfig({ upsert }), EXACT_TYPES, everyColumn), relationOf(source)), undefined);
  }
});

test('rows go by OID: another name of the table is no difference', () => {
  assert.equal(relationDifference(PLAN, { ...RELATION, name: 'renamed', schema: 'other' }), undefined);
});

test('changes of columns are named', () => {
  const extra: RelationColumn = { name: 'extra', typeOid: 25, typmod: -1, identity: false };
  const cases: readonly [readonly RelationColumn[], RegExp][] = [
    [[ID, PRICE, NOTE, extra], /^Column extra of table public\.t is new\.$/],
    [[ID, PRICE], /^Column note of table public\.t is no longer sent\.$/],
    [[ID, NOTE], /^Column price of table public\.t is no longer sent\.$/],
    [[ID, extra, PRICE, NOTE], /^Column extra of table public\.t is new\.$/],
    [[ID, { ...PRICE, name: 'cost' }, NOTE], /^Column price of table public\.t is now named cost\.$/],
    [[ID, NOTE, PRICE], /^Column price of table public\.t has moved\.$/],
    [[ID, { ...PRICE, typeOid: 1700 }, NOTE], /^Column price of table public\.t has changed its type: it was public\.price \(OID 16500\) and is now OID 1700\.$/],
    [[ID, PRICE, { ...NOTE, typmod: 24 }], /^Column note of table public\.t has changed its type modifier: it was text \(-1\) and is now 24\.$/],
  ];
  for (const [columns, message] of cases) assert.match(relationDifference(PLAN, withColumns(columns)) ?? '', message);
});

test('the type of a column that is not captured does not matter, its place does', () => {
  const plan = planTable(SOURCE, sinkConfig(), EXACT_TYPES, (c) => c !== 'price');
  assert.equal(relationDifference(plan, withColumns([ID, { ...PRICE, typeOid: 25, typmod: 8 }, NOTE])), undefined);
  assert.match(relationDifference(plan, withColumns([ID, NOTE])) ?? '', /price/);
});

test('a changed replica identity is a difference in every mode', () => {
  for (const upsert of [true, false]) {
    const plan = planTable(SOURCE, sinkConfig({ upsert }), EXACT_TYPES, everyColumn);
    assert.equal(relationDifference(plan, relationOf({ ...SOURCE, replicaIdentity: 'f' })), 'The replica identity of table public.t was DEFAULT and is now FULL.');
  }
});

test('a changed key is a difference where rows are matched by it', () => {
  const dropped = withColumns(RELATION.columns.map((c) => ({ ...c, identity: false })));
  assert.match(relationDifference(PLAN, dropped) ?? '', /^Column id of table public\.t no longer identifies/);
  const wider = withColumns([ID, { ...PRICE, identity: true }, NOTE]);
  assert.match(relationDifference(PLAN, wider) ?? '', /^Column price of table public\.t is now part of/);
  const append = planTable(SOURCE, sinkConfig({ upsert: false }), EXACT_TYPES, everyColumn);
  assert.equal(relationDifference(append, dropped), undefined);
});
