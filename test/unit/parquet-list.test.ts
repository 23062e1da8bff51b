import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import { type ElementSink, MANY_DIMENSIONS, NO_ARRAY, ONE_DIMENSION, parseArray } from '../../src/parquet/array-text.js';
import { encodeFile } from '../../src/parquet/encode-file.js';
import type { EncodedFile } from '../../src/parquet/encode-types.js';
import { arrayText, parseArrayText } from '../support/array-text.js';
import { UNCHANGED } from '../support/pgoutput-bytes.js';
import { bigEndian, codecOf, copyRequest, footerOf, listColumn, physicalColumn, physicalRows, type Row, tupleRequest } from '../support/parquet-rows.js';

/** What the parser gives, and how it ends. */
function parsed(text: string, delimiter = ','): { outcome: number; elements: (string | null)[] } {
  // Something before and behind, which must not be read.
  const bytes = Buffer.from(`{9,${text},9}`);
  const elements: (string | null)[] = [];
  const sink: ElementSink = {
    element: (from, at, length) => elements.push(from.toString('utf8', at, at + length)),
    escapedElement: (from, at, length) => elements.push(from.toString('utf8', at, at + length).replace(/\\([^])/g, '$1')),
    nullElement: () => elements.push(null),
  };
  return { outcome: parseArray(bytes, 3, bytes.length - 6, delimiter.charCodeAt(0), sink), elements };
}

const element = fc.oneof(fc.constantFrom('', 'NULL', 'null', 'Null', '{', '}', '"', '\\', '\\"', ',', ';', ' ', '[1:2]=', 'a,b', '\n', '😀'), fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replaceAll('\0', '')));
const array = fc.array(fc.option(element, { nil: null }), { maxLength: 12 });

describe('the text of arrays', () => {
  it('gives the elements it was made of, whatever they hold, and as another parser reads it', () => {
    fc.assert(fc.property(array, fc.constantFrom(',', ';'), fc.integer({ min: -3, max: 3 }), (elements, delimiter, first) => {
      const text = arrayText(elements, { delimiter, first });
      assert.deepEqual(parsed(text, delimiter), { outcome: ONE_DIMENSION, elements });
      assert.deepEqual(parseArrayText(text, delimiter), elements);
    }), { numRuns: 2000 });
  });
  it('any text is read or refused as by another parser', () => {
    const noise = fc.array(fc.constantFrom('{', '}', '"', '\\', ',', 'NULL', 'a', '[1:2]=', ' '), { maxLength: 10 }).map((parts) => parts.join(''));
    fc.assert(fc.property(fc.oneof(noise, noise.map((text) => `{${text}}`)), (text) => {
      const { outcome, elements } = parsed(text);
      const other = parseArrayText(text);
      assert.equal(outcome === ONE_DIMENSION, other !== undefined, text);
      if (other !== undefined) assert.deepEqual(elements, other);
    }), { numRuns: 5000 });
  });
  it('several dimensions are told before any element is given', () => {
    for (const text of ['{{1,2},{3,4}}', '[1:2][3:4]={{1,2},{3,4}}', '{{{1}}}']) assert.deepEqual(parsed(text), { outcome: MANY_DIMENSIONS, elements: [] });
    for (const text of ['', '{', '}', '{1', '{1,}', '{,}', '1,2', '{"a', '{"a\\"}', '[1:2]', '{1}x', '{a"b"}', '{1}}']) assert.equal(parsed(text).outcome, NO_ARRAY, text);
  });
});

const hex = (value: unknown): string => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value));

describe('lists as another decoder reads them', () => {
  const read = async (type: string, arrays: readonly (string | null)[]): Promise<unknown[]> => physicalColumn(encodeFile(tupleRequest([listColumn(type, 2)], arrays.map((text) => [text]))));

  it('every element type, with NULL elements, empty arrays, NULL and unchanged values', async () => {
    assert.deepEqual(await read('int', ['{1,NULL,-3}', '{}', null, '[0:1]={5,6}', '{NULL}']), [[1, null, -3], [], null, [5, 6], [null]]);
    assert.deepEqual(await physicalColumn(encodeFile(tupleRequest([listColumn('int', 2)], [[UNCHANGED], ['{1}']]))), [null, [1]]);
    assert.deepEqual(await read('long', ['{9223372036854775807,-9223372036854775808}']), [[2n ** 63n - 1n, -(2n ** 63n)]]);
    assert.deepEqual(await read('boolean', ['{t,f,NULL,t}', '{f}']), [[true, false, null, true], [false]]);
    assert.deepEqual(await read('float', ['{NaN,-0,0.1}']), [[NaN, -0, Math.fround(0.1)]]);
    assert.deepEqual(await read('double', ['{Infinity,5e-324}']), [[Infinity, 5e-324]]);
    assert.deepEqual(await read('string', ['{"a,b","\\"q\\"",NULL,"null","","😀\\\\",plain}', '{}']), [['a,b', '"q"', null, 'null', '', '😀\\', 'plain'], []]);
    assert.deepEqual((await read('binary', ['{"\\\\x00ff","\\\\x",NULL}'])).map((list) => (list as unknown[]).map(hex)), [['00ff', '', 'null']]);
    assert.deepEqual((await read('uuid', ['{00112233-4455-6677-8899-aabbccddeeff,NULL}'])).map((list) => (list as unknown[]).map(hex)), [['00112233445566778899aabbccddeeff', 'null']]);
    assert.deepEqual((await read('decimal(38, 2)', ['{1.50,-0.01}'])).map((list) => (list as unknown[]).map(bigEndian)), [[150n, -1n]]);
    assert.deepEqual(await read('date', ['{1970-01-02,"0044-03-15 BC"}']), [[1, -735160]]);
    assert.deepEqual(await read('time', ['{00:00:00.000001}']), [[1n]]);
    assert.deepEqual(await read('timestamp', ['{"1970-01-01 00:00:01"}']), [[1_000_000n]]);
    assert.deepEqual(await read('timestamptz', ['{"1970-01-01 00:00:00-00:30",NULL}']), [[1_800_000_000n, null]]);
  });
  it('another delimiter', async () => {
    assert.deepEqual(await physicalColumn(encodeFile(tupleRequest([listColumn('string', 2, 'fail', ';')], [['{(1,1),(0,0);(2,2),(0,0);NULL}']]))), [['(1,1),(0,0)', '(2,2),(0,0)', null]]);
  });
  it('elements of text types that are written in another form', async () => {
    const column = { ...listColumn('string', 2), codec: { kind: 'list', element: { kind: 'iso-string', of: 'timestamptz' }, delimiter: ',', special: 'fail' } } as const;
    assert.deepEqual(await physicalColumn(encodeFile(tupleRequest([column], [['{"2024-01-01 00:00:00+00",NULL}']]))), [['2024-01-01T00:00:00Z', null]]);
  });
  it('arrays longer than a batch, beside other columns, over many row groups', async () => {
    const rows: Row[] = Array.from({ length: 300 }, (_, i) => [String(i), arrayText(Array.from({ length: (i * 37) % 100 }, (_, n) => (n % 7 === 3 ? null : `${i}:${n}\\`))), i % 5 === 0 ? null : `text ${i}`]);
    rows.push(['300', arrayText(Array.from({ length: 20_000 }, (_, n) => String(n))), 'last']);
    const columns = [{ type: 'int', codec: codecOf('int') }, listColumn('string', 10), { type: 'string', codec: codecOf('string') }];
    for (const request of [tupleRequest, copyRequest]) {
      const file = encodeFile(request(columns, rows, { rowGroupRows: 50 }));
      assert.deepEqual(await physicalRows(file), rows.map(([id, text, last]) => [Number(id), parseArrayText(text as string), last]));
      assert.equal(file.splitOffsets.length, 7);
    }
  });
  it('values are the same from COPY and from the stream, whatever the elements hold', async () => {
    await fc.assert(fc.asyncProperty(fc.array(fc.tuple(fc.option(array, { nil: null }), fc.option(fc.array(fc.option(fc.integer(), { nil: null }), { maxLength: 5 }), { nil: null })), { maxLength: 15 }), async (values) => {
      const rows = values.map(([texts, numbers]): Row => [texts === null ? null : arrayText(texts), numbers === null ? null : arrayText(numbers.map((n) => (n === null ? null : String(n))))]);
      const columns = [listColumn('string', 3), listColumn('int', 4)];
      const [streamed, loaded] = [encodeFile(tupleRequest(columns, rows, { rowGroupRows: 4 })), encodeFile(copyRequest(columns, rows, { rowGroupRows: 4 }))];
      assert.deepEqual(await physicalRows(streamed), values);
      assert.ok(Buffer.compare(streamed.bytes, loaded.bytes) === 0);
      assert.deepEqual(streamed.metrics, loaded.metrics);
    }), { numRuns: 150 });
  });
});

describe('the footer of files with lists', () => {
  const columns = [{ type: 'int', codec: codecOf('int') }, listColumn('uuid', 7), listColumn('timestamp', 8)];
  const file = encodeFile(tupleRequest(columns, [['1', '{00112233-4455-6677-8899-aabbccddeeff}', '{"1970-01-01 00:00:01"}'], ['2', '{}', null]], { rowGroupRows: 1 }));

  it('has three levels with ids on list and element, and the annotations of the element type', () => {
    const { schema } = footerOf(file);
    assert.deepEqual(schema.slice(1).map(({ name, field_id, repetition_type }) => [name, field_id, repetition_type]), [
      ['c0', 1, 'OPTIONAL'], ['c1', 2, 'OPTIONAL'], ['list', undefined, 'REPEATED'], ['element', 7, 'OPTIONAL'], ['c2', 3, 'OPTIONAL'], ['list', undefined, 'REPEATED'], ['element', 8, 'OPTIONAL'],
    ]);
    assert.deepEqual([schema[2].logical_type?.type, schema[2].converted_type, schema[4].logical_type?.type], ['LIST', 'LIST', 'UUID']);
    assert.deepEqual([schema[7].converted_type, schema[7].logical_type], [undefined, { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MICROS' }]);
  });
  it('names the path of the elements and leaves out the statistics of uuids', () => {
    const chunks = footerOf(file).row_groups.flatMap((group) => group.columns.map(({ meta_data }) => meta_data!));
    assert.deepEqual(chunks.slice(0, 3).map(({ path_in_schema }) => path_in_schema), [['c0'], ['c1', 'list', 'element'], ['c2', 'list', 'element']]);
    assert.deepEqual(chunks.map(({ statistics }) => statistics === undefined), [false, true, false, false, true, false]);
  });
});

describe('metrics of lists', () => {
  const metricsOf = (file: EncodedFile): unknown[] => [file.metrics.valueCounts, file.metrics.nullValueCounts, file.metrics.nanValueCounts, file.metrics.lowerBounds, file.metrics.upperBounds];

  it('are counts of the element as Parquet counts them, without bounds', () => {
    const file = encodeFile(tupleRequest([listColumn('double', 5)], [['{1,NaN,NULL}'], ['{}'], [null], ['{2}']], { rowGroupRows: 2 }));
    assert.deepEqual(metricsOf(file), [new Map([[5, 6]]), new Map([[5, 3]]), new Map([[5, 1]]), new Map(), new Map()]);
    const chunks = footerOf(file).row_groups.map((group) => group.columns[0].meta_data!);
    assert.equal(chunks.reduce((sum, { num_values }) => sum + Number(num_values), 0), 6);
    assert.equal(chunks.reduce((sum, { statistics }) => sum + Number(statistics?.null_count), 0), 3);
    assert.deepEqual([...file.metrics.columnSizes!.keys()], [5]);
  });
});

describe('what a list cannot hold', () => {
  it('arrays of several dimensions stop, or become NULL and are counted', async () => {
    const rows: Row[] = [['{1}'], ['{{1,2},{3,4}}'], ['[1:1][-2:-1]={{5,6}}'], ['{2}']];
    assert.throws(() => encodeFile(tupleRequest([listColumn('int', 2)], rows)), (error) => isWalbergError(error, 'VALUE_INVALID') && error.context.column === 'c0' && /more than one dimension/.test(error.message) && error.hint.includes('walberg.special-values'));
    for (const special of ['null', 'clamp'] as const) {
      const file = encodeFile(tupleRequest([listColumn('int', 2, special)], rows));
      assert.deepEqual([await physicalColumn(file), file.replacedValues], [[[1], null, null, [2]], { c0: 2 }]);
    }
    assert.throws(() => encodeFile(tupleRequest([{ ...listColumn('int', 2, 'null'), required: true }], rows)), (error) => isWalbergError(error, 'VALUE_INVALID'));
  });
  it('elements go by the policy too', async () => {
    const rows: Row[] = [['{infinity,2024-01-01}'], ['{{2024-01-01}}']];
    const file = encodeFile(tupleRequest([listColumn('date', 2, 'null')], rows));
    assert.deepEqual([await physicalColumn(file), file.replacedValues], [[[null, 19723], null], { c0: 2 }]);
    assert.throws(() => encodeFile(tupleRequest([listColumn('date', 2)], rows)), (error) => isWalbergError(error, 'VALUE_INVALID'));
  });
  it('malformed text and bytes that are no UTF-8 are refused, and no value is told', () => {
    for (const value of ['{1', 'secret', '{secret}']) {
      assert.throws(() => encodeFile(tupleRequest([listColumn('int', 2)], [[value]])), (error) => isWalbergError(error, 'VALUE_INVALID') && !error.message.includes('secret'));
    }
    assert.throws(() => encodeFile(tupleRequest([listColumn('string', 2)], [[Buffer.from('{"a\xff"}', 'latin1')]])), (error) => isWalbergError(error, 'VALUE_INVALID') && error.message.includes('UTF-8'));
  });
});
