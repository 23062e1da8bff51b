import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isWalbergError } from '../../src/errors/error.js';
import { encodePositionDeletes, FIELD_ID_DELETE_PATH, FIELD_ID_DELETE_POS, type PositionDelete } from '../../src/parquet/delete-files.js';
import { footerOf, physicalRows } from '../support/parquet-rows.js';

const encode = (entries: readonly PositionDelete[]): ReturnType<typeof encodePositionDeletes> => encodePositionDeletes(entries, { compression: { codec: 'zstd' }, tableName: 'public.t' });
const LONG = 's3://bucket/warehouse/db/table/data/00000-0-with-a-long-name.parquet';

describe('position delete files', () => {
  it('have the columns and key-values of the specification', () => {
    const footer = footerOf(encode([{ path: LONG, pos: 1 }]));
    assert.deepEqual(footer.schema.slice(1).map(({ name, field_id, repetition_type, type }) => [name, field_id, repetition_type, type]), [['file_path', 2147483546, 'REQUIRED', 'BYTE_ARRAY'], ['pos', 2147483545, 'REQUIRED', 'INT64']]);
    assert.deepEqual(footer.key_value_metadata, [{ key: 'delete-type', value: 'position' }]);
  });
  it('are sorted by the bytes of the path and the position as a number, without duplicates', async () => {
    const file = encode([{ path: 'b', pos: 10 }, { path: '😀', pos: 0 }, { path: 'b', pos: 9 }, { path: '～', pos: 2 ** 40 }, { path: 'a', pos: 5 }, { path: 'b', pos: 9 }]);
    assert.deepEqual(await physicalRows(file), [['a', 5n], ['b', 9n], ['b', 10n], ['～', 2n ** 40n], ['😀', 0n]]);
    assert.equal(file.recordCount, 5);
  });
  it('of one data file name it in full in both bounds', () => {
    const { metrics, referencedDataFile } = encode([{ path: LONG, pos: 7 }, { path: LONG, pos: 3 }]);
    assert.equal(referencedDataFile, LONG);
    for (const bounds of [metrics.lowerBounds, metrics.upperBounds]) assert.equal(Buffer.from(bounds?.get(FIELD_ID_DELETE_PATH) ?? []).toString(), LONG);
    assert.equal(Buffer.from(metrics.lowerBounds?.get(FIELD_ID_DELETE_POS) ?? []).readBigInt64LE(), 3n);
    assert.equal(Buffer.from(metrics.upperBounds?.get(FIELD_ID_DELETE_POS) ?? []).readBigInt64LE(), 7n);
  });
  it('of several data files have no bounds and counts', () => {
    const { metrics, referencedDataFile } = encode([{ path: 'a', pos: 1 }, { path: 'b', pos: 1 }]);
    assert.equal(referencedDataFile, undefined);
    assert.deepEqual(Object.keys(metrics), ['columnSizes']);
  });
  it('cannot be empty or hold what is no row number', () => {
    for (const entries of [[], [{ path: 'a', pos: -1 }], [{ path: 'a', pos: 1.5 }], [{ path: 'a', pos: NaN }]]) assert.throws(() => encode(entries), (error) => isWalbergError(error, 'INTERNAL'));
  });
});
