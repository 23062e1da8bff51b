import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isWalbergError } from '../../src/errors/error.js';
import { encodeFile } from '../../src/parquet/encode-file.js';
import { type EncodeColumn, OP_CREATE, OP_DELETE, OP_READ, OP_TRUNCATE, OP_UPDATE, type RowMeta } from '../../src/parquet/encode-types.js';
import type { MetaField } from '../../src/schema/codec.js';
import { UNCHANGED } from '../support/pgoutput-bytes.js';
import { footerOf, physicalRows, type Row, tupleRequest } from '../support/parquet-rows.js';

const META: RowMeta = {
  ops: Uint8Array.of(OP_READ, OP_CREATE, OP_UPDATE, OP_DELETE, OP_TRUNCATE),
  transactions: Uint32Array.of(0, 1, 1, 0, 2),
  commitTimesMicros: BigInt64Array.of(1_700_000_000_123_456n, -1n, 0n),
  endLsns: BigUint64Array.of(0x16_b374d848n, 1n, 2n ** 63n - 1n),
  xids: Uint32Array.of(4_294_967_295, 7, 8),
  table: 'orders', schema: 'sales', database: 'shop 😀',
  processedMicros: 1_800_000_000_999_999n,
};
const ROWS: Row[] = [['1', 'a', 'b'], ['2', UNCHANGED, 'b'], ['3', UNCHANGED, UNCHANGED], ['4', null, null], ['5', 'a', UNCHANGED]];

const column = (field: MetaField, type: string, i: number): EncodeColumn => ({ fieldId: 100 + i, name: `__${field}`, type, required: false, source: { from: 'meta', field } });
function write(fields: readonly (readonly [MetaField, string])[], rowGroupRows = 2): ReturnType<typeof encodeFile> {
  return encodeFile(tupleRequest([], ROWS, { columns: fields.map(([field, type], i) => column(field, type, i)), sourceColumnNames: ['id', 'body', 'note'], meta: META, rowGroupRows }));
}
const read = async (field: MetaField, type: string): Promise<unknown[]> => (await physicalRows(write([[field, type]]))).map(([value]) => value);

describe('metadata columns', () => {
  it('op, deleted, table, schema and db', async () => {
    const rows = await physicalRows(write([['op', 'string'], ['deleted', 'string'], ['table', 'string'], ['schema', 'string'], ['db', 'string']]));
    assert.deepEqual(rows, ['r', 'c', 'u', 'd', 't'].map((op) => [op, String(op === 'd'), 'orders', 'sales', 'shop 😀']));
  });
  it('commit times in the unit of their name, before 1970 too', async () => {
    assert.deepEqual(await read('source.ts_ms', 'long'), [1_700_000_000_123n, -1n, -1n, 1_700_000_000_123n, 0n]);
    assert.deepEqual(await read('source.ts_us', 'long'), [1_700_000_000_123_456n, -1n, -1n, 1_700_000_000_123_456n, 0n]);
    assert.deepEqual(await read('source.ts_ns', 'long'), [1_700_000_000_123_456_000n, -1000n, -1000n, 1_700_000_000_123_456_000n, 0n]);
    assert.deepEqual(await read('source.ts_ms', 'timestamptz'), [1_700_000_000_123_000n, -1000n, -1000n, 1_700_000_000_123_000n, 0n]);
    assert.deepEqual(await read('source.ts_ns', 'timestamptz'), [1_700_000_000_123_456n, -1n, -1n, 1_700_000_000_123_456n, 0n]);
  });
  it('processing times', async () => {
    assert.deepEqual(await read('ts_ms', 'long'), ROWS.map(() => 1_800_000_000_999n));
    assert.deepEqual(await read('ts_us', 'timestamptz'), ROWS.map(() => 1_800_000_000_999_999n));
    assert.deepEqual(await read('ts_ns', 'long'), ROWS.map(() => 1_800_000_000_999_999_000n));
  });
  it('lsn and transaction id', async () => {
    assert.deepEqual(await read('lsn', 'long'), [0x16_b374d848n, 1n, 1n, 0x16_b374d848n, 2n ** 63n - 1n]);
    assert.deepEqual(await read('txId', 'long'), [4_294_967_295n, 7n, 7n, 4_294_967_295n, 8n]);
  });
  it('names of the columns that were left out', async () => {
    assert.deepEqual(await read('unchanged', 'string'), [null, 'body', 'body,note', null, 'note']);
  });
  it('count and bound like other columns', () => {
    const { metrics } = write([['unchanged', 'string'], ['lsn', 'long']]);
    assert.deepEqual(metrics.nullValueCounts, new Map([[100, 2], [101, 0]]));
    assert.equal(Buffer.from(metrics.lowerBounds?.get(100) ?? []).toString(), 'body');
    assert.equal(Buffer.from(metrics.upperBounds?.get(101) ?? []).readBigInt64LE(), 2n ** 63n - 1n);
  });
  it('stand beside columns of the tuple', async () => {
    const columns: EncodeColumn[] = [column('op', 'string', 0), { fieldId: 1, name: 'id', type: 'int', required: true, source: { from: 'tuple', ordinal: 0, codec: { kind: 'int' } } }, column('unchanged', 'string', 1)];
    const file = encodeFile(tupleRequest([], ROWS, { columns, sourceColumnNames: ['id', 'body', 'note'], meta: META }));
    assert.deepEqual(await physicalRows(file), [['r', 1, null], ['c', 2, 'body'], ['u', 3, 'body,note'], ['d', 4, null], ['t', 5, 'note']]);
    assert.deepEqual(footerOf(file).schema.slice(1).map(({ field_id }) => field_id), [100, 1, 101]);
  });
  it('need row metadata and a type they can have', () => {
    assert.throws(() => encodeFile(tupleRequest([], ROWS, { columns: [column('op', 'string', 0)], sourceColumnNames: ['id', 'body', 'note'] })), (error) => isWalbergError(error, 'INTERNAL'));
    for (const [field, type] of [['op', 'long'], ['lsn', 'string'], ['ts_ms', 'string'], ['unchanged', 'boolean']] as const) assert.throws(() => write([[field, type]]), (error) => isWalbergError(error, 'INTERNAL'), field);
  });
});
