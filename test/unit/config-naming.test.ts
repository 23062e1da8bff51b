import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { targetTableName } from '../../src/config/naming.js';

const REQUIRED = {
  'debezium.source.database.hostname': 'db', 'debezium.source.database.user': 'u', 'debezium.source.database.dbname': 'd', 'debezium.source.topic.prefix': 'dbz',
  'debezium.sink.iceberg.type': 'hadoop', 'debezium.sink.iceberg.warehouse': '/w',
};

function name(overrides: Record<string, string>, schema = 'public', table = 't'): string {
  const prefixed = Object.fromEntries(Object.entries(overrides).map(([key, value]) => [key.includes('.') ? key : `debezium.sink.iceberg.${key}`, value]));
  const { config, problems } = loadConfig({ overrides: { ...REQUIRED, ...prefixed } });
  assert.deepEqual(problems, []);
  return targetTableName(config!, schema, table);
}

test('prefix, topic prefix, schema and table, with underscores', () => {
  assert.equal(name({}), 'dbz_public_t');
  assert.equal(name({ 'table-prefix': 'cdc_' }), 'cdc_dbz_public_t');
  assert.equal(name({ 'debezium.source.topic.prefix': 'a.b' }), 'a_b_public_t');
  assert.equal(name({}, 'my schema', 'order-lines'), 'dbz_my_schema_order-lines');
  assert.equal(name({}, 'public', 'größe.x'), 'dbz_public_gr__e_x');
  assert.equal(name({}, 'public', '😀'), 'dbz_public__');
});

test('the regular expression sees dots and replaces every match', () => {
  assert.equal(name({ 'destination-regexp': '^dbz\\.public\\.', 'destination-regexp-replace': '' }), 't');
  assert.equal(name({ 'destination-regexp': '\\.', 'destination-regexp-replace': '__' }), 'dbz__public__t');
  assert.equal(name({ 'destination-regexp': 'orders_[0-9]+$', 'destination-regexp-replace': 'orders', 'table-prefix': 'p_' }, 'public', 'orders_17'), 'p_dbz_public_orders');
  assert.equal(name({ 'destination-regexp': '(?<s>[^.]+)\\.(?<t>[^.]+)$', 'destination-regexp-replace': '$${t}.$${s}' }), 'dbz_t_public');
  assert.equal(name({ 'destination-regexp': 'PUBLIC', 'destination-regexp-replace': 'x' }), 'dbz_public_t', 'case counts');
});

test('case is changed last and with the prefix', () => {
  assert.equal(name({ 'table-prefix': 'Cdc_', 'destination-uppercase-table-names': 'true' }, 'public', 'MyTable'), 'CDC_DBZ_PUBLIC_MYTABLE');
  assert.equal(name({ 'table-prefix': 'Cdc_', 'destination-lowercase-table-names': 'true' }, 'public', 'MyTable'), 'cdc_dbz_public_mytable');
  assert.equal(name({ 'table-prefix': 'Cdc_' }, 'public', 'MyTable'), 'Cdc_dbz_public_MyTable');
});
