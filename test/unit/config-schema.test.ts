import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig, type LoadResult } from '../../src/config/load.js';
import { findProperty, isPattern, PROPERTIES } from '../../src/config/properties.js';
import { environmentNames } from '../../src/config/sources.js';
import { parseValue } from '../../src/config/values.js';
import type { Property } from '../../src/config/property.js';

const REQUIRED = {
  'debezium.source.database.hostname': 'db',
  'debezium.source.database.user': 'u',
  'debezium.source.database.dbname': 'd',
  'debezium.source.topic.prefix': 'dbz',
  'debezium.sink.iceberg.type': 'rest',
  'debezium.sink.iceberg.uri': 'http://catalog:8181',
};

const load = (overrides: Record<string, string>): LoadResult => loadConfig({ overrides: { ...REQUIRED, ...overrides } });

/** A key as a user would write it. */
const concrete = (p: Property): string => p.name.replaceAll(/<[^>]+>/g, 'something');

test('the required properties are enough', () => {
  const result = load({});
  assert.deepEqual(result.problems, []);
  assert.ok(result.config);
});

test('names are unique, also in the environment', () => {
  const seen = new Map<string, string>();
  for (const p of PROPERTIES) {
    const variable = environmentNames(p.name)[2];
    assert.equal(seen.get(variable), undefined, `${p.name} and ${seen.get(variable)}`);
    seen.set(variable, p.name);
  }
});

test('every declaration is found under its own name', () => {
  for (const p of PROPERTIES) assert.equal(findProperty(concrete(p))?.property.name, p.name);
});

test('every declaration is complete: doc, sentences, existing targets of other names', () => {
  for (const p of PROPERTIES) {
    assert.match(p.doc, /\.$/, p.name);
    if (p.status.kind === 'refused') assert.match(p.status.instead, /^[A-Z].*\.$/, p.name);
    if (p.status.kind !== 'supported') assert.match(p.status.why, /^\S.*[^.]$/, p.name);
    if (p.aliasOf !== undefined) assert.ok(PROPERTIES.some((q) => q.name === p.aliasOf && q.status.kind === 'supported'), p.name);
    for (const reason of Object.values(p.refusedValues ?? {})) assert.match(reason, /^[^;]+; .*[^.]$/, p.name);
  }
});

test('every default can be read as its own type, and every default of a refused property is harmless', () => {
  for (const p of PROPERTIES) {
    if (p.default === undefined) continue;
    assert.ok('value' in parseValue(p.type, p.default), `${p.name}=${p.default}`);
    if (p.status.kind === 'refused') assert.ok(p.status.harmless.includes(p.default), p.name);
  }
});

for (const p of PROPERTIES.filter((q) => q.status.kind === 'accepted')) {
  test(`accepted without effect: ${p.name}`, () => {
    const key = concrete(p);
    const value = p.type.kind === 'enum' ? p.type.values[0] : p.type.kind === 'any' ? 'xyz' : '1';
    const result = load({ [key]: value });
    assert.deepEqual(result.problems, []);
    assert.deepEqual(result.notes.filter((n) => n.key === key).map((n) => n.kind), ['no-effect']);
    assert.deepEqual(result.config, load({}).config, 'it changes nothing');
  });
}

for (const p of PROPERTIES.filter((q) => q.status.kind === 'refused')) {
  test(`refused: ${p.name}`, () => {
    if (p.status.kind !== 'refused') return;
    const key = concrete(p);
    const result = load({ [key]: 'xyz' });
    assert.equal(result.config, undefined);
    assert.deepEqual(result.problems.map((q) => [q.code, q.key, q.remedy]), [['CONFIG_REFUSED', key, p.status.instead]]);
    for (const harmless of p.status.harmless) {
      assert.deepEqual(load({ [key]: harmless }).problems, []);
      assert.deepEqual(load({ [key]: harmless.toUpperCase() }).problems, []);
    }
  });
}

for (const p of PROPERTIES.filter((q) => q.refusedValues !== undefined)) {
  test(`refused values: ${p.name}`, () => {
    for (const value of Object.keys(p.refusedValues!)) {
      const overrides: Record<string, string> = { [p.name]: value };
      const problems = load(overrides).problems.filter((q) => q.key === p.name);
      assert.deepEqual(problems.map((q) => [q.code, q.value]), [['CONFIG_REFUSED', value]], `${p.name}=${value}`);
      assert.match(problems[0].remedy, /^[A-Z].*\.$/);
    }
  });
}

for (const p of PROPERTIES.filter((q) => ['int', 'duration', 'size', 'boolean', 'enum', 'regex', 'regex-list'].includes(q.type.kind) && q.status.kind === 'supported' && q.aliasOf === undefined)) {
  test(`a bad value is a problem: ${p.name}`, () => {
    const problems = load({ [concrete(p)]: '(((' }).problems.filter((q) => q.key === p.name);
    assert.deepEqual(problems.map((q) => [q.code, q.value]), [['CONFIG_INVALID', '(((']]);
    assert.match(problems[0].remedy, /^Expected: /);
  });
}

test('every default that differs is told when it is not set and matters, and not when it is set', () => {
  const upsert = { 'debezium.sink.iceberg.upsert': 'true' };
  for (const p of PROPERTIES.filter((q) => q.differs !== undefined && !isPattern(q))) {
    const told = (overrides: Record<string, string>): boolean => load(overrides).notes.some((n) => n.kind === 'default' && n.key === p.name);
    assert.ok(told(upsert), `${p.name} is told`);
    const value = p.default ?? (p.type.kind === 'int' ? '9000' : 't');
    assert.ok(!told({ ...upsert, [p.name]: value }), `${p.name} is not told`);
  }
});

test('defaults that matter only to mirrored tables are not told for appended ones', () => {
  const keys = load({}).notes.filter((n) => n.kind === 'default').map((n) => n.key);
  assert.ok(!keys.includes('debezium.source.skipped.operations'));
  assert.ok(!keys.includes('debezium.transforms.unwrap.add.fields'));
  assert.ok(keys.includes('debezium.source.decimal.handling.mode'));
});
