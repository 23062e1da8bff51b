import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { SourceClient } from '../../src/postgres/client.js';
import { canonicalSelect, clickHouseExpression, clickHouseFingerprint, type Column, fingerprintSelect, type Kind, sourceColumns } from '../support/canonical.js';
import { differences } from '../support/compare-table.js';
import { openTestBed, type TestBed } from '../support/test-bed.js';

/** kind, type and values for Postgres, type and values for ClickHouse. */
const SAMPLES: readonly [Kind, string, readonly string[], string, readonly string[]][] = [
  ['boolean', 'bool', ['true', 'false', 'NULL'], 'Nullable(Bool)', ['true', 'false', 'NULL']],
  ['int', 'bigint', ['-9223372036854775808', '9007199254740993', '0', 'NULL'], 'Nullable(Int64)', ['-9223372036854775808', '9007199254740993', '0', 'NULL']],
  ['float', 'float8', ["'-0'", "'NaN'", "'-Infinity'", "'1e-310'", "'0.1'", 'NULL'], 'Nullable(Float64)', ['-0.0', 'nan', '-inf', '1e-310', '0.1', 'NULL']],
  ['float', 'float4', ["'0.1'", "'Infinity'", "'3.4028235e38'", 'NULL'], 'Nullable(Float32)', ['0.1', 'inf', '3.4028235e38', 'NULL']],
  [{ decimal: 2 }, 'numeric(10,2)', ['-0.05', '99999999.99', '0', '1.5', 'NULL'], 'Nullable(Decimal(10, 2))', ["'-0.05'", "'99999999.99'", "'0'", "'1.5'", 'NULL']],
  [{ decimal: 10 }, 'numeric(38,10)', ['-9999999999999999999999999999.9999999999', '0.0000000001', 'NULL'], 'Nullable(Decimal(38, 10))', ["'-9999999999999999999999999999.9999999999'", "'0.0000000001'", 'NULL']],
  ['date', 'date', ["'1969-12-31'", "'2024-02-29'", "'1900-01-01'", 'NULL'], 'Nullable(Date32)', ["'1969-12-31'", "'2024-02-29'", "'1900-01-01'", 'NULL']],
  ['timestamp', 'timestamp', ["'1969-12-31 23:59:59.999999'", "'2024-02-29 12:00:00.000001'", 'NULL'], 'Nullable(DateTime64(6))', ["'1969-12-31 23:59:59.999999'", "'2024-02-29 12:00:00.000001'", 'NULL']],
  ['timestamp', 'timestamptz', ["'2024-03-31 02:30:00.123456+02'", 'NULL'], "Nullable(DateTime64(6, 'UTC'))", ["'2024-03-31 00:30:00.123456'", 'NULL']],
  ['uuid', 'uuid', ["'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", 'NULL'], 'Nullable(UUID)', ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", 'NULL']],
  ['binary', 'bytea', ["'\\x00ff27'", "'\\x'", 'NULL'], 'Nullable(String)', ["unhex('00ff27')", "''", 'NULL']],
  ['string', 'text', ["'ä€🜁'", "''", "E'a\\nb:\\t'", 'NULL'], 'Nullable(String)', ["'ä€🜁'", "''", "'a\\nb:\\t'", 'NULL']],
  [{ list: 'int' }, 'int[]', ["'{1,NULL,-3}'", "'{}'"], 'Array(Nullable(Int32))', ['[1,NULL,-3]', '[]']],
  [{ list: 'string' }, 'text[]', [`'{"a,1:b",NULL,"",ä}'`], 'Array(Nullable(String))', ["['a,1:b',NULL,'','ä']"]],
  [{ list: { decimal: 2 } }, 'numeric(10,2)[]', ["'{1.5,NULL}'"], 'Array(Nullable(Decimal(10, 2)))', ["['1.5',NULL]"]],
  ['string', 'char(5)', ["'ab'", 'NULL'], 'Nullable(String)', ["'ab   '", 'NULL']],
];

describe('the comparison between a source and its table', () => {
  let bed: TestBed;
  let pg: SourceClient;
  before(async () => {
    bed = await openTestBed();
    pg = await bed.client();
  });
  after(async () => {
    await pg?.close();
    await bed?.close();
  });

  for (const [kind, sourceType, sourceValues, targetType, targetValues] of SAMPLES) {
    test(`${sourceType}: both sides write a value as the same text and the same fingerprint`, async () => {
      const column: Column = { name: 'x', kind };
      await pg.rows('DROP TABLE IF EXISTS sample');
      await pg.rows(`CREATE TABLE sample (i serial, x ${sourceType})`);
      await pg.rows(`INSERT INTO sample (x) VALUES ${sourceValues.map((v) => `(${v})`).join(', ')}`);
      assert.deepEqual((await sourceColumns(pg, 'sample')).columns[1], column);
      const values = `(SELECT number AS n, arrayElement([${targetValues.map((v) => `CAST(${v} AS ${targetType})`).join(', ')}], n + 1) AS x FROM numbers(${targetValues.length}))`;
      const target = await bed.clickhouse.query(`SELECT ${clickHouseExpression(column)} FROM ${values} ORDER BY n`);
      const source = await pg.rows(`${canonicalSelect('sample', [column])} ORDER BY i`);
      assert.deepEqual(target.map(([x]) => x), source.map((r) => Object.values(r)[0]));
      const [fingerprint] = await bed.clickhouse.query(`SELECT ${clickHouseFingerprint([column])} FROM ${values}`);
      const [expected] = await pg.rows(fingerprintSelect('sample', [column]));
      assert.deepEqual(fingerprint, Object.values(expected!));
    });
  }

  test('a fingerprint sees a changed value, a row that is there twice and a value in the wrong column', async () => {
    const columns: Column[] = [{ name: 'a', kind: 'string' }, { name: 'b', kind: 'string' }];
    const of = async (rows: string): Promise<string> => JSON.stringify(await pg.rows(fingerprintSelect(`(VALUES ${rows}) AS t(a, b)`, columns)));
    const all: string[] = [];
    for (const rows of ["('x', NULL), ('y', 'z')", "('x', NULL), ('y', 'w')", "('x', NULL), ('x', NULL), ('y', 'z')", "(NULL, 'x'), ('y', 'z')", "('x', ''), ('y', 'z')", "('x', NULL), ('yz', '')"]) all.push(await of(rows));
    assert.equal(new Set(all).size, all.length);
    assert.equal(await of("('y', 'z'), ('x', NULL)"), all[0]);
  });

  test('rows are told apart by key: missing, extra, different, twice', () => {
    const found = differences([['1', 'a'], ['2', 'b'], ['3', 'c'], ['4', 'd']], [['1', 'a'], ['2', 'x'], ['4', 'd'], ['4', 'd'], ['5', 'e']]);
    assert.deepEqual(found, { missing: { count: 1, keys: ['3'] }, extra: { count: 2, keys: ['4', '5'] }, different: { count: 1, keys: ['2'] } });
  });

  test('a query that fails does not spoil the next one', async () => {
    await assert.rejects(bed.clickhouse.query('SELECT nothing'), /Unknown expression/);
    assert.deepEqual(await bed.clickhouse.query('SELECT 2'), [[2]]);
  });
});
