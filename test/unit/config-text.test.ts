import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { expand, ExpressionError } from '../../src/config/expand.js';
import { JavaRegexError, replacePattern, translateJavaRegex, translateJavaReplacement, wholeMatch } from '../../src/config/java-regex.js';
import { duration, int, size } from '../../src/config/property.js';
import { findProperty, isPattern, PROPERTIES } from '../../src/config/properties.js';
import { nearestProperty } from '../../src/config/suggest.js';
import { parseValue } from '../../src/config/values.js';

const lookup = (values: Record<string, string>) => (name: string): string | undefined => values[name];

test('expansion: names, defaults, nesting, escapes', () => {
  const values = lookup({ A: '1', B: '${A}2', NAME: 'A', EMPTY: '', 'a.b': 'dotted' });
  for (const [text, expected] of [
    ['plain', 'plain'], ['x${A}y', 'x1y'], ['${B}', '12'], ['${NONE:d}', 'd'], ['${NONE:${A}}', '1'], ['${${NAME}}', '1'], ['${NONE:${NONE:x}}', 'x'], ['${EMPTY:d}', 'd'],
    ['${NONE:}', ''], ['${URL:http://h:1/p}', 'http://h:1/p'], ['$$', '$'], ['$${A}', '${A}'], ['$$$${A}', '$${A}'], ['$$${A}', '$1'], ['$1', '$1'], ['end$', 'end$'], ['${a.b}', 'dotted'], ['}{', '}{'],
  ]) assert.equal(expand(text, values), expected, text);
});

test('expansion: unknown names, circles and missing braces are errors', () => {
  const values = lookup({ A: '${B}', B: '${C}', C: '${A}', SELF: '${SELF:x}' });
  assert.throws(() => expand('${NONE}', values), (e) => e instanceof ExpressionError && e.message.includes('NONE'));
  assert.throws(() => expand('${A}', values), (e) => e instanceof ExpressionError && e.message.includes('A → B → C → A'));
  assert.throws(() => expand('${SELF}', values), ExpressionError);
  assert.throws(() => expand('a${b', values), ExpressionError);
});

test('expansion of text without $ changes nothing, and doubling every $ protects any text', () => {
  fc.assert(fc.property(fc.string(), (text) => {
    assert.equal(expand(text.replaceAll('$', '$$$$'), () => undefined), text);
  }));
});

test('durations and sizes take units', () => {
  const ms = (text: string): unknown => parseValue(duration(), text);
  assert.deepEqual(['0', '1500', '10s', '1.5s', '2 m', '1h', '250ms'].map(ms), [0, 1500, 10_000, 1500, 120_000, 3_600_000, 250].map((value) => ({ value })));
  const bytes = (text: string): unknown => parseValue(size(), text);
  assert.deepEqual(['64MiB', '64MB', '64m', '1.5 GiB', '100', '1kB'].map(bytes), [67_108_864, 64_000_000, 67_108_864, 1_610_612_736, 100, 1000].map((value) => ({ value })));
  for (const bad of ['-1', '1x', 's', '', '1e3', 'NaN', '99999999999999999999']) {
    assert.ok('expected' in parseValue(duration(), bad), bad);
    assert.ok('expected' in parseValue(size(), bad), bad);
  }
});

test('ranges are part of what is expected', () => {
  assert.deepEqual(parseValue(int(1, 65535), '0'), { expected: 'a whole number, from 1 to 65535' });
  assert.deepEqual(parseValue(int(1), 'x'), { expected: 'a whole number, at least 1' });
  assert.deepEqual(parseValue(int(), '-5'), { value: -5 });
});

test('Java patterns: what JavaScript has under another name', () => {
  for (const [pattern, yes, no] of [
    ['\\Qa.b\\E+', 'a.bbb', 'axb'], ['\\p{Alpha}+', 'Ab', 'a1'], ['[\\p{Digit}_]+', '1_2', 'a'], ['\\P{Digit}', 'a', '1'], ['\\Aab\\z', 'ab', 'abc'], ['(?i)AB', 'ab', 'b'],
    ['(?<x>a)\\k<x>', 'aa', 'ab'], ['[]a]+', ']a', 'b'], ['[^]a]', 'b', ']'], ['a{2}', 'aa', 'a'], ['a{1,}?b', 'aab', 'b'], ['(?!x)y', 'y', 'x'], ['\\Q-x', '-x', 'x'],
  ]) {
    assert.ok(wholeMatch(pattern).test(yes), `${pattern} ${yes}`);
    assert.ok(!wholeMatch(pattern).test(no), `${pattern} ${no}`);
  }
});

test('Java patterns: what JavaScript has not is an error, not another meaning', () => {
  for (const pattern of ['a*+', 'a++', 'a?+', 'a{2}+', '(?>a)', '[a&&b]', '[a[b]]', '(?x)a', '(?i:a)', '\\p{L}', '\\G', '\\R', 'a\\']) {
    assert.throws(() => translateJavaRegex(pattern), JavaRegexError, pattern);
  }
});

test('quoted text matches itself and nothing else', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme-ascii' }).filter((s) => !s.includes('\\E')), fc.string({ unit: 'grapheme-ascii' }), (text, other) => {
    assert.ok(wholeMatch(`\\Q${text}\\E`).test(text));
    assert.equal(wholeMatch(`\\Q${text}\\E`).test(other), other.toLowerCase() === text.toLowerCase());
  }));
});

test('Java replacements', () => {
  for (const [pattern, replacement, text, expected] of [
    ['^dbz\\.(.*)$', 'x_$1', 'dbz.public.t', 'x_public.t'], ['(?<s>[a-z]+)\\.(?<t>[a-z]+)', '${t}.${s}', 'a.b', 'b.a'], ['a', '\\$1', 'a', '$1'], ['(a)', '$12', 'a', 'a2'], ['a', '[$0]', 'aa', '[a][a]'],
    ['(a)', '$1$1', 'ab', 'aab'], ['b', '&', 'ab', 'a&'], ['', '', 'ab', 'ab'], ['(.*)_[0-9]+', '$1', 'orders_12', 'orders'],
  ]) {
    const compiled = replacePattern(pattern);
    assert.equal(text.replace(compiled, translateJavaReplacement(replacement, compiled)), expected, pattern);
  }
  for (const bad of ['$2', '$', '$x', '${x}', '\\']) assert.throws(() => translateJavaReplacement(bad, replacePattern('(a)')), JavaRegexError, bad);
});

test('the nearest name: slips, wrong places, names cut short, and nothing for what is only alike', () => {
  for (const [key, name] of [
    ['debezium.sink.iceberg.table_namespace', 'debezium.sink.iceberg.table-namespace'], ['debezium.source.databse.hostname', 'debezium.source.database.hostname'],
    ['walberg.comit.interval.ms', 'walberg.commit.interval.ms'], ['debezium.sourc.slot.name', 'debezium.source.slot.name'], ['debzium.source.slot.name', 'debezium.source.slot.name'],
    ['debezium.source.table.whitelst', 'debezium.source.table.include.list'], ['debezium.table.include.list', 'debezium.source.table.include.list'],
    ['debezium.source.upsert-keep-deletes', 'debezium.sink.iceberg.upsert-keep-deletes'], ['debezium.sink.iceberg.slot.name', 'debezium.source.slot.name'],
    ['debezium.source.table.include', 'debezium.source.table.include.list'], ['debezium.sink.iceberg.urn', 'debezium.sink.iceberg.uri'],
    ['debezium.transforms.unwrap.add.field', 'debezium.transforms.unwrap.add.fields'], ['debezium.source.poll.intervall.ms', 'debezium.source.poll.interval.ms'],
  ]) assert.equal(nearestProperty(key)?.name, name, key);
  for (const key of ['something.else.entirely', 'region', 'debezium.source', 'debezium.sink.iceberg.user', 'debezium.sink.iceberg.path', 'debezium.sink.iceberg.lock-impl', 'debezium.sink.iceberg.s3.retry.num-retries',
    'debezium.sink.iceberg.client.credentials-provider', 'debezium.sink.iceberg.s3.acl', 'debezium.sink.iceberg.rest.signing-name', 'debezium.sink.kafka.type', 'debezium.source.port']) assert.equal(nearestProperty(key), undefined, key);
});

test('every name with an effect is found again after a slip of one character', () => {
  const names = PROPERTIES.filter((p) => p.status.kind !== 'accepted' && p.aliasOf === undefined && !isPattern(p) && p.name.startsWith('debezium.') && p.name.length > 24).map((p) => p.name);
  fc.assert(fc.property(fc.constantFrom(...names), fc.nat(), (name, seed) => {
    const at = name.length - 1 - (seed % 4);
    const key = name.slice(0, at) + name.slice(at + 1);
    if (findProperty(key) === undefined) assert.ok(nearestProperty(key) !== undefined, key);
  }));
});
