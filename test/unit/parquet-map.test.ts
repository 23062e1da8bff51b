import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import type { IcebergType } from '../../src/iceberg/spec/types.js';
import { encodeFile } from '../../src/parquet/encode-file.js';
import type { Codec } from '../../src/schema/codec.js';
import { copyRequest, footerOf, physicalColumn, physicalRows, type Row, tupleRequest } from '../support/parquet-rows.js';

const MAP: IcebergType = { type: 'map', 'key-id': 5, key: 'string', 'value-id': 6, value: 'string', 'value-required': false };
const HSTORE: Codec = { kind: 'hstore' };
type Pairs = readonly (readonly [key: string, value: string | null])[];

const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;
/** The text hstore_out gives. */
const hstoreText = (pairs: Pairs): string => pairs.map(([key, value]) => `${quoted(key)}=>${value === null ? 'NULL' : quoted(value)}`).join(', ');

const text = fc.oneof(fc.constantFrom('', 'NULL', '"', '\\', '=>', ', ', '"=>"', '\n', '\u0001', '😀'), fc.string({ unit: 'binary', maxLength: 10 }).map((value) => value.replaceAll('\0', '')));
const pairs = fc.uniqueArray(fc.tuple(text, fc.option(text, { nil: null })), { maxLength: 8, selector: ([key]) => key });
const rows = fc.array(fc.option(pairs, { nil: null }), { maxLength: 15 });

// An object would lose keys such as __proto__, so pairs are compared in order.
const read = (value: unknown): Pairs | null => (value === null ? null : Object.entries(value as Record<string, string | null>));
const sorted = (value: Pairs | null): Pairs | null => value && [...value].sort(([a], [b]) => (a < b ? -1 : 1));

describe('hstore', () => {
  it('becomes a map as another decoder reads it, from COPY and from the stream', async () => {
    await fc.assert(fc.asyncProperty(rows.map((all) => all.map((one) => one && one.filter(([key]) => key !== '__proto__'))), async (values) => {
      const input = values.map((one): Row => [one && hstoreText(one)]);
      const columns = [{ type: MAP, codec: HSTORE }];
      const [streamed, loaded] = [encodeFile(tupleRequest(columns, input, { rowGroupRows: 4 })), encodeFile(copyRequest(columns, input, { rowGroupRows: 4 }))];
      assert.deepEqual((await physicalColumn(streamed)).map((value) => sorted(read(value))), values.map(sorted));
      assert.ok(Buffer.compare(streamed.bytes, loaded.bytes) === 0);
    }), { numRuns: 150 });
  });
  it('becomes a JSON object with the same pairs', async () => {
    await fc.assert(fc.asyncProperty(rows, async (values) => {
      const found = await physicalColumn(encodeFile(tupleRequest([{ type: 'string', codec: HSTORE }], values.map((one) => [one && hstoreText(one)]))));
      const inverse = (json: unknown): unknown => (json === null ? null : JSON.parse(json as string));
      assert.deepEqual(found.map(inverse), values.map((one) => one && (JSON.parse(`{${one.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`) as unknown)));
    }), { numRuns: 150 });
    assert.deepEqual(await physicalColumn(encodeFile(tupleRequest([{ type: 'string', codec: HSTORE }], [['"a"=>"1\t\u0001", "b\\""=>NULL'], ['']]))), ['{"a":"1\\t\\u0001","b\\"":null}', '{}']);
  });
  it('has the levels, names, ids and counts of a map in the file', async () => {
    const file = encodeFile(tupleRequest([{ type: MAP, codec: HSTORE }], [['"a"=>"1", "b"=>NULL'], [''], [null]]));
    const { schema, row_groups: [group] } = footerOf(file);
    assert.deepEqual(schema.slice(1).map(({ name, field_id, repetition_type, converted_type }) => [name, field_id, repetition_type, converted_type]), [
      ['c0', 1, 'OPTIONAL', 'MAP'], ['key_value', undefined, 'REPEATED', undefined], ['key', 5, 'REQUIRED', 'UTF8'], ['value', 6, 'OPTIONAL', 'UTF8'],
    ]);
    assert.deepEqual(group.columns.map(({ meta_data }) => meta_data!.path_in_schema), [['c0', 'key_value', 'key'], ['c0', 'key_value', 'value']]);
    assert.deepEqual([file.metrics.valueCounts, file.metrics.nullValueCounts], [new Map([[5, 4], [6, 4]]), new Map([[5, 2], [6, 3]])]);
    assert.deepEqual(group.columns.map(({ meta_data }) => [Number(meta_data!.num_values), Number(meta_data!.statistics?.null_count)]), [[4, 2], [4, 3]]);
    assert.deepEqual([file.metrics.lowerBounds, [...file.metrics.columnSizes!.keys()]], [new Map(), [5, 6]]);
    assert.deepEqual(await physicalRows(file), [[{ a: '1', b: null }], [{}], [null]]);
  });
  it('malformed text is refused', () => {
    for (const type of [MAP, 'string']) {
      for (const value of ['x', '"a"', '"a"=>', '"a"=>"b', '"a"=>nil', '"a"=>"1""b"=>"2"', '"a"=>"1", ', '"a"=>NULLx']) {
        assert.throws(() => encodeFile(tupleRequest([{ type, codec: HSTORE }], [[value]])), (error) => isWalbergError(error, 'VALUE_INVALID') && error.context.column === 'c0', value);
      }
    }
  });
});

describe('intervals in ISO 8601', () => {
  const iso = (texts: readonly string[]): Promise<unknown[]> => physicalColumn(encodeFile(tupleRequest([{ type: 'string', codec: { kind: 'iso-string', of: 'interval' } }], texts.map((value) => [value]))));

  it('name every part, with the sign of each', async () => {
    assert.deepEqual(await iso(['1 year 2 mons 3 days 04:05:06.78', '-1 years -2 mons +3 days -04:05:06.000001', '00:00:00', '1 mon', '-00:00:00.5', '2 days', '-178000000 years', '100:00:00', 'infinity', '-infinity']), [
      'P1Y2M3DT4H5M6.78S', 'P-1Y-2M3DT-4H-5M-6.000001S', 'P0Y0M0DT0H0M0S', 'P0Y1M0DT0H0M0S', 'P0Y0M0DT0H0M-0.5S', 'P0Y0M2DT0H0M0S', 'P-178000000Y0M0DT0H0M0S', 'P0Y0M0DT100H0M0S', 'infinity', '-infinity',
    ]);
  });
  it('text that is no interval is refused', async () => {
    for (const value of ['', 'P1Y', '1 yearx', '1 day 2 mons', '04:05']) await assert.rejects(async () => iso([value]), (error) => isWalbergError(error, 'VALUE_INVALID'), value);
  });
});
