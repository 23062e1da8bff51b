import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import { BATCH_ROWS, RowScanner, SLOT_NULL, SLOT_UNCHANGED } from '../../src/parquet/scan.js';
import { UNCHANGED } from '../support/pgoutput-bytes.js';
import { copyRequest, type Row, tupleRequest } from '../support/parquet-rows.js';

const TEXTS = (columns: number): { type: string; codec: { kind: 'string' } }[] => Array.from({ length: columns }, () => ({ type: 'string', codec: { kind: 'string' } }));

/** All values of the wanted ordinals as latin1 text, row by row. */
function scanned(scanner: RowScanner, slots: number, limit = Infinity): unknown[][] {
  const rows: unknown[][] = [];
  while (scanner.next(limit)) {
    assert.equal(scanner.first, rows.length);
    for (let row = 0; row < scanner.rows; row++) {
      rows.push(Array.from({ length: slots }, (_, slot) => {
        const length = scanner.lengths[slot * BATCH_ROWS + row];
        const at = scanner.offsets[slot * BATCH_ROWS + row];
        if (length === SLOT_NULL) return null;
        if (length === SLOT_UNCHANGED) return UNCHANGED;
        return at >= 0 ? scanner.arena.toString('latin1', at, at + length) : scanner.side.toString('latin1', ~at, ~at + length);
      }));
    }
  }
  return rows;
}
const copy = (text: string, ordinals: readonly number[], columns: number): unknown[][] => {
  const bytes = Buffer.from(text, 'latin1');
  const rowOffsets = [0];
  for (let i = 0; i < bytes.length - 1; i++) if (bytes[i] === 0x0a && bytes[i - 1] !== 0x5c) rowOffsets.push(i + 1);
  const request = { ...copyRequest(TEXTS(columns), []), arena: Uint8Array.from(bytes), rowOffsets: Int32Array.from(rowOffsets) };
  return scanned(new RowScanner(request, ordinals), ordinals.length);
};
const broken = (error: unknown): boolean => isWalbergError(error, 'INTERNAL') && error.context.table === 'public.t';

describe('tuples', () => {
  it('finds the wanted columns in any order', () => {
    const rows: Row[] = [['a', null, 'ccc', UNCHANGED], ['', 'b', null, 'd']];
    assert.deepEqual(scanned(new RowScanner(tupleRequest(TEXTS(4), rows), [3, 0, 1]), 3), [[UNCHANGED, 'a', null], ['d', '', 'b']]);
  });
  it('reads rows in the order of the offsets, not of the arena', () => {
    const request = tupleRequest(TEXTS(1), [['a'], ['b'], ['c']]);
    assert.deepEqual(scanned(new RowScanner({ ...request, rowOffsets: request.rowOffsets.slice().reverse() }, [0]), 1), [['c'], ['b'], ['a']]);
    assert.deepEqual(scanned(new RowScanner({ ...request, rowOffsets: Int32Array.of(request.rowOffsets[1], request.rowOffsets[1]) }, [0]), 1), [['b'], ['b']]);
  });
  it('ends a batch at the row limit and when values are large', () => {
    const rows = Array.from({ length: BATCH_ROWS + 10 }, (_, i) => [String(i)]);
    assert.deepEqual(scanned(new RowScanner(tupleRequest(TEXTS(1), rows), [0]), 1), rows);
    assert.deepEqual(scanned(new RowScanner(tupleRequest(TEXTS(1), rows), [0]), 1, 7), rows);
    const scanner = new RowScanner(tupleRequest(TEXTS(1), Array.from({ length: 6 }, () => ['x'.repeat(1 << 21)])), [0]);
    const batches = [];
    while (scanner.next(100)) batches.push(scanner.rows);
    assert.deepEqual(batches, [2, 2, 2]);
  });
  it('refuses rows that are not whole', () => {
    const request = tupleRequest(TEXTS(2), [['abc', 'def']]);
    const scan = (arena: Uint8Array): unknown => scanned(new RowScanner({ ...request, arena }, [0, 1]), 2);
    assert.throws(() => scan(request.arena.slice(0, -1)), broken);
    assert.throws(() => scan(Uint8Array.from(request.arena).fill(3, 1, 2)), broken);
    assert.throws(() => scan(Uint8Array.from(request.arena).fill(0x62, 2, 3)), broken);
    assert.throws(() => new RowScanner(request, [2]), broken);
  });
});

describe('COPY text', () => {
  it('resolves every escape the manual names', () => {
    assert.deepEqual(copy('\\\\x00\t\\b\\f\\n\\r\\t\\v\t\\101\\7\\x41\\xaz\\q\n', [0, 1, 2], 3), [['\\x00', '\b\f\n\r\t\v', 'A\x07A\nzq']]);
  });
  it('tells NULL from the empty string and from text that looks like NULL', () => {
    assert.deepEqual(copy('\\N\t\t\\\\N\ta\\N\t\\N\n', [0, 1, 2, 3, 4], 5), [[null, '', '\\N', 'aN', null]]);
  });
  it('skips columns nobody wants, escapes or not', () => {
    assert.deepEqual(copy('a\\tb\tc\t\\N\n1\t2\t3\n', [2], 3), [[null], ['3']]);
  });
  it('leaves the arena as it was', () => {
    const request = copyRequest(TEXTS(2), [['a\tb', 'c\\d']]);
    const before = request.arena.slice();
    assert.deepEqual(scanned(new RowScanner(request, [0, 1]), 2), [['a\tb', 'c\\d']]);
    assert.deepEqual(request.arena, before);
  });
  it('gives the values of the tuples for any bytes', () => {
    const value = fc.option(fc.uint8Array({ maxLength: 40 }).map((bytes) => Uint8Array.from(bytes, (byte) => byte || 1)), { nil: null });
    fc.assert(fc.property(fc.array(fc.tuple(value, value, value), { maxLength: 30 }), (rows) => {
      const ordinals = [2, 0, 1];
      assert.deepEqual(scanned(new RowScanner(copyRequest(TEXTS(3), rows), ordinals), 3), scanned(new RowScanner(tupleRequest(TEXTS(3), rows), ordinals), 3));
    }));
  });
  it('refuses rows that are not whole', () => {
    for (const text of ['a\n', 'a\tb\tc\n', 'a\tb', 'a\tb\\']) assert.throws(() => copy(text, [0, 1], 2), broken, text);
  });
});
