import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import { CopyRowReader } from '../../src/postgres/copy-rows.js';
import { values } from '../support/recording-handler.js';

/** COPY text format as the manual describes it, character by character. */
const ESCAPES: Record<string, string> = { '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v', '\\': '\\\\' };
const encode = (rows: readonly (readonly (string | null)[])[]): Buffer =>
  Buffer.from(rows.map((r) => r.map((v) => (v === null ? '\\N' : [...v].map((c) => ESCAPES[c] ?? c).join(''))).join('\t') + '\n').join(''), 'utf8');
const decode = (chunk: Buffer, columns: number): unknown[] => {
  const rows: unknown[] = [];
  const count = new CopyRowReader(columns).read(chunk, (row) => { rows.push(values(row)); });
  assert.equal(count, rows.length);
  return rows;
};

const value = fc.oneof(fc.constant(null), fc.string({ unit: fc.constantFrom('\b', '\f', '\n', '\r', '\t', '\v', '\\', 'N', 'n', '.', 'a', 'é', '😀', '\u{feff}') }), fc.constantFrom('', '\\N', '\\.', 'N', '\\', '\\\\N'));

test('rows come back as they were written', () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 6 }).chain((n) => fc.array(fc.array(value, { minLength: n, maxLength: n }), { minLength: 1, maxLength: 10 })), (rows) => {
    assert.deepEqual(decode(encode(rows), rows[0].length), rows);
  }), { numRuns: 500 });
});

test('NULL, empty string and the text \\N are three things', () => {
  assert.deepEqual(decode(Buffer.from('\\N\t\t\\\\N\n'), 3), [[null, '', '\\N']]);
});

test('a table without columns', () => {
  assert.deepEqual(decode(Buffer.from('\n\n'), 0), [[], []]);
});

test('rows that do not fit are refused', () => {
  for (const [text, columns] of [['a\tb\n', 1], ['a\n', 2], ['a', 1], ['a\\', 1], ['\\Nx\n', 1], ['x\n', 0]] as const) {
    assert.throws(() => decode(Buffer.from(text), columns), (e: unknown) => isWalbergError(e, 'PROTOCOL'), JSON.stringify(text));
  }
});
