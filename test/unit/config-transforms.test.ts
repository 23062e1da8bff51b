import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SinkConfig } from '../../src/config/config.js';
import { loadConfig } from '../../src/config/load.js';

const REQUIRED = {
  'debezium.source.database.hostname': 'db', 'debezium.source.database.user': 'u', 'debezium.source.database.dbname': 'd', 'debezium.source.topic.prefix': 'dbz',
  'debezium.sink.iceberg.type': 'hadoop', 'debezium.sink.iceberg.warehouse': '/w',
};
const UNWRAP = 'io.debezium.transforms.ExtractNewRecordState';
const MIRROR = { 'debezium.sink.iceberg.upsert': 'true', 'debezium.sink.iceberg.upsert-keep-deletes': 'false' };

const load = (overrides: Record<string, string>) => loadConfig({ overrides: { ...REQUIRED, ...overrides } });

function columns(overrides: Record<string, string>): string[] | undefined {
  const { config, problems } = load(overrides);
  assert.deepEqual(problems, []);
  return (config!.sink as SinkConfig).metaFields?.map((f) => `${f.field}=${f.column}`);
}

test('without add.fields the mode decides', () => {
  assert.equal(columns({}), undefined);
  assert.equal(columns(MIRROR), undefined);
  assert.equal(columns({ 'debezium.transforms': 'unwrap', 'debezium.transforms.unwrap.type': UNWRAP, 'debezium.transforms.unwrap.drop.tombstones': 'true' }), undefined);
});

test('add.fields in Debezium’s syntax', () => {
  const fields = 'op,table,source.ts_ms,source.ts_ns,db,ts_ms,lsn,source.lsn:POSITION,txId';
  const expected = ['op=__op', 'table=__table', 'source.ts_ms=__source_ts_ms', 'source.ts_ns=__source_ts_ns', 'db=__db', 'ts_ms=__ts_ms', 'lsn=__lsn', 'lsn=__POSITION', 'txId=__txId'];
  assert.deepEqual(columns({ 'debezium.transforms.unwrap.add.fields': fields }), [...expected, 'deleted=__deleted']);
  assert.deepEqual(columns({ 'debezium.transforms.unwrap.add.fields': fields, ...MIRROR }), expected, 'no __deleted where rows are removed');
  assert.deepEqual(columns({ 'debezium.transforms.unwrap.add.fields': 'op', 'debezium.transforms.unwrap.add.fields.prefix': 'meta_' }), ['op=meta_op', 'deleted=__deleted']);
});

test('a rewriting delete handling asks for __deleted', () => {
  assert.deepEqual(columns({ 'debezium.transforms.unwrap.delete.tombstone.handling.mode': 'rewrite', ...MIRROR }), ['deleted=__deleted']);
  assert.deepEqual(columns({ 'debezium.transforms.unwrap.delete.handling.mode': 'rewrite', 'debezium.transforms.unwrap.add.fields': 'op', ...MIRROR }), ['op=__op', 'deleted=__deleted']);
  assert.equal(columns({ 'debezium.transforms.unwrap.delete.tombstone.handling.mode': 'rewrite-with-tombstone' }), undefined);
});

test('the transform counts under any name', () => {
  assert.deepEqual(columns({ 'debezium.transforms': 'flat', 'debezium.transforms.flat.type': UNWRAP, 'debezium.transforms.flat.add.fields': 'op' }), ['op=__op', 'deleted=__deleted']);
});

test('unknown and repeated fields are refused', () => {
  for (const fields of ['transaction.id', 'nope', 'op,op', 'op,table:op']) {
    assert.deepEqual(load({ 'debezium.transforms.unwrap.add.fields': fields }).problems.map((p) => [p.code, p.key]), [['CONFIG_REFUSED', 'debezium.transforms.unwrap.add.fields']], fields);
  }
});

test('other transforms, missing types and a chain without flattening are refused with a way out', () => {
  const refusal = (overrides: Record<string, string>): (readonly [string | undefined, string])[] => load(overrides).problems.map((p) => [p.key, p.remedy] as const);
  for (const [type, hint] of [
    ['io.debezium.transforms.outbox.EventRouter', /aggregatetype/], ['org.apache.kafka.connect.transforms.RegexRouter', /destination-regexp/], ['org.apache.kafka.connect.transforms.ReplaceField$Value', /column\.exclude\.list/],
    ['io.debezium.transforms.Filter', /row filter/], ['com.example.Mine', /when reading/],
  ] as const) {
    const [[key, remedy], ...rest] = refusal({ 'debezium.transforms': 'unwrap,other', 'debezium.transforms.other.type': type, 'debezium.transforms.other.some.option': 'x' });
    assert.deepEqual(rest, []);
    assert.equal(key, 'debezium.transforms.other.type');
    assert.match(remedy, hint);
  }
  assert.deepEqual(refusal({ 'debezium.transforms': 'unwrap,ghost' }).map(([key]) => key), ['debezium.transforms']);
  assert.match(load({ 'debezium.transforms': ',' }).problems[0].message, /flattening/);
  assert.deepEqual(load({ 'debezium.transforms.other.type': 'com.example.Mine' }).problems, [], 'not in the chain');
});
