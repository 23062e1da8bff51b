import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { RowBytes, TableDigest } from '../../src/demo/row-digest.js';

type Row = readonly (string | null)[];
const rowArbitrary = fc.array(fc.option(fc.string({ unit: 'grapheme', maxLength: 6 }), { nil: null }), { minLength: 1, maxLength: 4 });

function fill(into: RowBytes, row: Row, encoded = false): RowBytes {
  into.clear();
  for (const value of row) {
    if (value === null) into.addNull();
    else if (encoded) into.addBytes(Buffer.from(`<${value}>`), 1, 1 + Buffer.byteLength(value));
    else into.addText(value);
  }
  return into;
}

function digest(rows: readonly Row[]): TableDigest {
  const [row, table] = [new RowBytes(), new TableDigest()];
  for (const values of rows) table.add(fill(row, values));
  return table;
}

describe('digest of a table', () => {
  it('has the same bytes for the same values and others for others, where one ends and the next begins included', () => {
    fc.assert(fc.property(rowArbitrary, rowArbitrary, (a, b) => {
      const same = JSON.stringify(a) === JSON.stringify(b);
      assert.equal(fill(new RowBytes(), a).toKey() === fill(new RowBytes(), b).toKey(), same);
    }), { examples: [[['ab', ''], ['a', 'b']], [[null], ['']], [['a', null], ['a', '']]] });
  });

  it('takes encoded text as it takes text', () => {
    fc.assert(fc.property(rowArbitrary, (row) => { assert.equal(fill(new RowBytes(), row).toKey(), fill(new RowBytes(), row, true).toKey()); }));
  });

  it('grows for long values and keeps what was there', () => {
    const row = fill(new RowBytes(), ['x', 'é'.repeat(40_000), 'y']);
    assert.equal(row.bytes.length, 3 * 4 + 1 + 80_000 + 1);
    assert.equal(row.bytes.toString('utf8', 4, 5), 'x');
    assert.equal(row.bytes.toString('utf8', row.bytes.length - 1), 'y');
  });

  it('does not depend on the order of rows', () => {
    fc.assert(fc.property(fc.array(rowArbitrary, { maxLength: 8 }), fc.infiniteStream(fc.nat()), (rows, random) => {
      const shuffled = rows.map((row) => ({ row, at: random.next().value as number })).sort((a, b) => a.at - b.at).map(({ row }) => row);
      assert.ok(digest(rows).equals(digest(shuffled)));
    }));
  });

  it('notices a row that is there twice, is missing or has another value', () => {
    const rows: Row[] = [['1', 'a'], ['2', null], ['3', 'c']];
    const all = digest(rows);
    assert.equal(all.rows, 3);
    assert.ok(!all.equals(digest([...rows, rows[0]])));
    assert.ok(!all.equals(digest(rows.slice(1))));
    assert.ok(!all.equals(digest([['1', 'a'], ['2', ''], ['3', 'c']])));
    assert.ok(!all.equals(digest([rows[0], rows[0], rows[2]])));
  });
});
