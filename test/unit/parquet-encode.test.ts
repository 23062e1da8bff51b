import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import { encodeFile } from '../../src/parquet/encode-file.js';
import type { Codec, SpecialPolicy } from '../../src/schema/codec.js';
import { UNCHANGED, type TupleValue } from '../support/pgoutput-bytes.js';
import { bigEndian, codecOf, copyRequest, fileColumns, footerOf, physicalColumn, physicalRows, type Row, type TestColumn, tupleRequest } from '../support/parquet-rows.js';

const one = (type: string, special?: SpecialPolicy): TestColumn[] => [{ type, codec: codecOf(type, special) }];
const rowsOf = (values: readonly TupleValue[]): Row[] => values.map((value) => [value]);
/** Writes one column and reads it back. */
const roundTrip = async (type: string, values: readonly TupleValue[], special?: SpecialPolicy): Promise<unknown[]> => physicalColumn(encodeFile(tupleRequest(one(type, special), rowsOf(values))));
const hex = (value: unknown): string => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value));
const MICROS_9999 = 253402300799999999n;
const MICROS_0001 = -62135596800000000n;

describe('values as another decoder reads them', () => {
  it('boolean, int and long at their limits, with NULL and unchanged values as null', async () => {
    assert.deepEqual(await roundTrip('boolean', ['t', null, 'f', UNCHANGED, 't']), [true, null, false, null, true]);
    assert.deepEqual(await roundTrip('int', ['-2147483648', '0', null, '2147483647']), [-2147483648, 0, null, 2147483647]);
    assert.deepEqual(await roundTrip('long', ['-9223372036854775808', '9223372036854775807', '9007199254740993', '-1', null]), [-(2n ** 63n), 2n ** 63n - 1n, 9007199254740993n, -1n, null]);
  });
  it('float and double with NaN, infinities, -0 and subnormals', async () => {
    const doubles = ['NaN', 'Infinity', '-Infinity', '-0', '0', '5e-324', '1.7976931348623157e+308', '0.1'];
    assert.deepEqual(await roundTrip('double', doubles), doubles.map(Number));
    assert.deepEqual(await roundTrip('float', ['NaN', '-0', '1e-45', '3.4028235e+38', '0.1']), [NaN, -0, Math.fround(1e-45), Math.fround(3.4028235e38), Math.fround(0.1)]);
  });
  it('decimals in all three physical forms', async () => {
    for (const [type, scale, texts] of [
      ['decimal(9, 2)', 2, ['9999999.99', '-9999999.99', '0.01', '-0.01', '0']],
      ['decimal(18, 4)', 4, ['99999999999999.9999', '-99999999999999.9999', '1']],
      ['decimal(20, 0)', 0, ['18446744073709551615', '-99999999999999999999', '-128', '128', '255']],
      ['decimal(38, 0)', 0, ['9'.repeat(38), `-${'9'.repeat(38)}`, '170141183460469231731', '0']],
      ['decimal(38, 38)', 38, [`0.${'9'.repeat(38)}`, `-0.${'0'.repeat(37)}1`, '0.5']],
    ] as const) {
      const read = await roundTrip(type, texts);
      const expected = texts.map((text) => {
        const [whole, fraction = ''] = text.replace('-', '').split('.');
        return BigInt(whole + fraction.padEnd(scale, '0')) * (text.startsWith('-') ? -1n : 1n);
      });
      assert.deepEqual(read.map(bigEndian), expected, type);
    }
  });
  it('strings: empty is not NULL, characters of four bytes, controls, a megabyte', async () => {
    const texts = ['', null, '😀𝄞', 'tab\tline\nback\\slash\b', ' padded ', '\u{10ffff}', '\ufeffmark', 'x'.repeat(1 << 20)];
    assert.deepEqual(await roundTrip('string', texts), texts);
  });
  it('binary: empty, every byte, a megabyte; fixed', async () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString('hex');
    const values = ['', all, 'AABB', '5a'.repeat(1 << 20)];
    assert.deepEqual((await roundTrip('binary', [null, ...values.map((value) => `\\x${value}`)])).map(hex), ['null', ...values.map((value) => value.toLowerCase())]);
    assert.deepEqual((await roundTrip('fixed[4]', ['\\x00ff00ff', null])).map(hex), ['00ff00ff', 'null']);
  });
  it('uuid', async () => {
    const uuids = ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'];
    assert.deepEqual((await roundTrip('uuid', uuids)).map(hex), uuids.map((uuid) => uuid.replaceAll('-', '')));
  });
  it('dates, times and timestamps from year 1 to 9999 and beyond', async () => {
    assert.deepEqual(await roundTrip('date', ['0001-01-01', '9999-12-31', '1970-01-01', '0044-03-15 BC', '5874897-12-31']), [-719162, 2932896, 0, -735160, 2145042905]);
    assert.deepEqual(await roundTrip('time', ['00:00:00', '23:59:59.999999', '12:34:56.7']), [0n, 86399999999n, 45296700000n]);
    for (const [type, zone] of [['timestamp', ''], ['timestamptz', '+00']]) {
      const texts = ['1970-01-01 00:00:00', '9999-12-31 23:59:59.999999', '0001-01-01 00:00:00', '1969-12-31 23:59:59.999999', '294247-01-10 04:00:54.775807'];
      assert.deepEqual(await roundTrip(type, texts.map((text) => text + zone)), [0n, MICROS_9999, MICROS_0001, -1n, 2n ** 63n - 1n]);
      assert.deepEqual(await roundTrip(type, [`0001-12-31 23:59:59${zone} BC`]), [MICROS_0001 - 1_000_000n]);
    }
    assert.deepEqual(await roundTrip('timestamptz', ['1970-01-01 05:30:15+05:30:15', '1970-01-01 00:00:00-00:30']), [0n, 1_800_000_000n]);
  });
  it('promoted columns: int text in a long column, float text in a double column, integers in decimals', async () => {
    const write = (type: string, codec: Codec, texts: string[]): Promise<unknown[]> => physicalColumn(encodeFile(tupleRequest([{ type, codec }], rowsOf(texts))));
    assert.deepEqual(await write('long', { kind: 'int' }, ['-5', '2147483647']), [-5n, 2147483647n]);
    assert.deepEqual(await write('double', { kind: 'float' }, ['0.1']), [Math.fround(0.1)]);
    assert.deepEqual(await write('double', { kind: 'numeric-double' }, ['123456789012345678901234567890.5', 'NaN']), [Number('123456789012345678901234567890.5'), NaN]);
    assert.deepEqual((await write('decimal(20, 0)', { kind: 'long' }, ['7'])).map(bigEndian), [7n]);
    assert.deepEqual(await write('string', { kind: 'uuid' }, ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']), ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']);
  });
  it('bytes and times as text', async () => {
    const write = (codec: Codec, texts: string[]): Promise<unknown[]> => physicalColumn(encodeFile(tupleRequest([{ type: 'string', codec }], rowsOf(texts))));
    const bytes = ['\\x', '\\xfb', '\\xfbff00', '\\xfbfffe01'];
    assert.deepEqual(await write({ kind: 'bytes-text', form: 'base64' }, bytes), ['', '+w==', '+/8A', '+//+AQ==']);
    assert.deepEqual(await write({ kind: 'bytes-text', form: 'base64-url-safe' }, bytes), ['', '-w==', '-_8A', '-__-AQ==']);
    assert.deepEqual(await write({ kind: 'bytes-text', form: 'hex' }, bytes), ['', 'fb', 'fbff00', 'fbfffe01']);
    assert.deepEqual(await write({ kind: 'iso-string', of: 'date' }, ['2023-11-21', '0044-03-15 BC', '0001-01-01 BC', '12345-01-01', '-infinity']), ['2023-11-21Z', '-0043-03-15Z', '0000-01-01Z', '+12345-01-01Z', '-infinity']);
    assert.deepEqual(await write({ kind: 'iso-string', of: 'time' }, ['10:15:30.5', '24:00:00']), ['10:15:30.5Z', '24:00:00Z']);
    assert.deepEqual(await write({ kind: 'iso-string', of: 'timestamp' }, ['2023-11-21 10:15:30.123456', '0044-03-15 10:00:00 BC', 'infinity']), ['2023-11-21T10:15:30.123456Z', '-0043-03-15T10:00:00Z', 'infinity']);
    assert.deepEqual(await write({ kind: 'iso-string', of: 'timestamptz' }, ['2023-11-21 10:15:30+00', '2023-11-21 10:15:30.5-05', '0044-03-15 10:00:00+05:30:15 BC']), ['2023-11-21T10:15:30Z', '2023-11-21T10:15:30.5-05:00', '-0043-03-15T10:00:00+05:30:15']);
  });
});

describe('values the type cannot hold', () => {
  const cases: readonly (readonly [type: string, texts: readonly string[], clamped: readonly unknown[]])[] = [
    ['date', ['infinity', '-infinity'], [2932896, -719162]],
    ['time', ['24:00:00'], [86399999999n]],
    ['timestamp', ['infinity', '-infinity', '294276-12-31 23:59:59.999999'], [MICROS_9999, MICROS_0001, MICROS_9999]],
    ['timestamptz', ['infinity', '-infinity', '294276-12-31 23:59:59.999999+00'], [MICROS_9999, MICROS_0001, MICROS_9999]],
    ['decimal(5, 2)', ['Infinity', '-Infinity', '1000', 'NaN'], [99999, -99999, 99999, null]],
  ];
  for (const [type, texts, clamped] of cases) {
    it(`${type}: fails, becomes null or the nearest value`, async () => {
      for (const text of texts) {
        assert.throws(() => encodeFile(tupleRequest(one(type), rowsOf([text]))), (error) =>
          isWalbergError(error, 'VALUE_INVALID') && error.context.table === 'public.t' && error.context.column === 'c0' && error.message.includes('c0') && !(/\d/.test(text) && error.message.includes(text)));
      }
      const nulled = encodeFile(tupleRequest(one(type, 'null'), rowsOf(texts)));
      assert.deepEqual(await physicalColumn(nulled), texts.map(() => null));
      assert.deepEqual(nulled.replacedValues, { c0: texts.length });
      assert.equal(nulled.metrics.nullValueCounts?.get(1), texts.length);
      const file = encodeFile(tupleRequest(one(type, 'clamp'), rowsOf(texts)));
      assert.deepEqual(await physicalColumn(file), clamped);
      assert.deepEqual(file.replacedValues, { c0: texts.length });
    });
  }
  it('text that is not of the type fails whatever the policy, and is not shown', () => {
    for (const [type, text] of [['int', 'secret'], ['long', '1.5'], ['boolean', 'yes'], ['date', '01/02/2024'], ['uuid', 'secret'], ['binary', 'secret'], ['double', 'secret'], ['decimal(9, 2)', '1.234'], ['decimal(9, 2)', 'secret'], ['fixed[2]', '\\x00']]) {
      assert.throws(() => encodeFile(tupleRequest(one(type, 'clamp'), rowsOf([text]))), (error) => isWalbergError(error, 'VALUE_INVALID') && !error.message.includes(text), `${type} ${text}`);
    }
  });
  it('text that is not UTF-8 names its column', () => {
    const text: TestColumn = { type: 'string', codec: { kind: 'string' } };
    for (const bytes of [[0x61, 0xff], [0xed, 0xa0, 0x80], [0xf0, 0x9f]]) {
      assert.throws(() => encodeFile(tupleRequest([text, text], [['fine', null], ['😀', Uint8Array.from(bytes)]])), (error) => isWalbergError(error, 'VALUE_INVALID') && error.context.column === 'c1');
    }
  });
  it('NULL in a required column fails, also one a policy made', () => {
    const required = (type: string, special?: SpecialPolicy): TestColumn[] => [{ ...one(type, special)[0], required: true }];
    for (const request of [tupleRequest(required('int'), [[null]]), tupleRequest(required('string'), [[UNCHANGED]]), tupleRequest(required('date', 'null'), [['infinity']])]) {
      assert.throws(() => encodeFile(request), (error) => isWalbergError(error, 'VALUE_INVALID'));
    }
  });
  it('a codec that cannot make the type is a defect', () => {
    assert.throws(() => encodeFile(tupleRequest([{ type: 'int', codec: { kind: 'string' } }], [])), (error) => isWalbergError(error, 'INTERNAL'));
  });
});

const ALL_TYPES = ['boolean', 'int', 'long', 'float', 'double', 'decimal(9, 2)', 'decimal(18, 0)', 'decimal(38, 10)', 'string', 'binary', 'uuid', 'fixed[3]', 'date', 'time', 'timestamp', 'timestamptz'];

describe('the file', () => {
  const columns: TestColumn[] = ALL_TYPES.map((type, i) => ({ type, codec: codecOf(type), required: i % 2 === 0 }));
  const row = ['t', '1', '2', '0.5', '0.25', '1.50', '7', '0.1', 'text', '\\x01', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\\x010203', '2024-01-01', '12:00:00', '2024-01-01 12:00:00', '2024-01-01 12:00:00+00'];

  it('has a field id and the types of the specification on every column', () => {
    const footer = footerOf(encodeFile(tupleRequest(columns, [row])));
    const shape = footer.schema.slice(1).map(({ type, type_length, converted_type, logical_type, repetition_type, field_id, name }) => {
      const logical = logical_type === undefined ? '' : `${logical_type.type}${'isAdjustedToUTC' in logical_type ? ` ${logical_type.unit} ${logical_type.isAdjustedToUTC ? 'UTC' : 'local'}` : ''}`;
      return [field_id, name, repetition_type, `${type}${type_length === undefined ? '' : `(${type_length})`}`, logical, converted_type ?? ''].join('|');
    });
    assert.deepEqual(shape, [
      '1|c0|REQUIRED|BOOLEAN||', '2|c1|OPTIONAL|INT32||', '3|c2|REQUIRED|INT64||', '4|c3|OPTIONAL|FLOAT||', '5|c4|REQUIRED|DOUBLE||',
      '6|c5|OPTIONAL|INT32|DECIMAL|DECIMAL', '7|c6|REQUIRED|INT64|DECIMAL|DECIMAL', '8|c7|OPTIONAL|FIXED_LEN_BYTE_ARRAY(16)|DECIMAL|DECIMAL',
      '9|c8|REQUIRED|BYTE_ARRAY|STRING|UTF8', '10|c9|OPTIONAL|BYTE_ARRAY||', '11|c10|REQUIRED|FIXED_LEN_BYTE_ARRAY(16)|UUID|', '12|c11|OPTIONAL|FIXED_LEN_BYTE_ARRAY(3)||',
      '13|c12|REQUIRED|INT32|DATE|DATE', '14|c13|OPTIONAL|INT64|TIME MICROS local|', '15|c14|REQUIRED|INT64|TIMESTAMP MICROS local|', '16|c15|OPTIONAL|INT64|TIMESTAMP MICROS UTC|TIMESTAMP_MICROS',
    ]);
    assert.deepEqual(footer.schema.slice(6, 9).map(({ precision, scale }) => [precision, scale]), [[9, 2], [18, 0], [38, 10]]);
  });
  it('uses the fewest bytes for decimals of more than 18 digits', () => {
    for (const [precision, width] of [[19, 9], [20, 9], [21, 9], [22, 10], [30, 13], [36, 16], [38, 16]]) {
      assert.equal(footerOf(encodeFile(tupleRequest(one(`decimal(${precision}, 0)`), [['1']]))).schema[1].type_length, width, `P ${precision}`);
    }
  });
  it('has statistics, but none of uuids, and no page index', () => {
    for (const group of footerOf(encodeFile(tupleRequest(columns, [row, row], { rowGroupRows: 1 }))).row_groups) {
      group.columns.forEach((chunk, i) => {
        assert.equal(chunk.meta_data?.statistics === undefined, ALL_TYPES[i] === 'uuid', ALL_TYPES[i]);
        assert.equal(chunk.column_index_offset ?? chunk.offset_index_offset, undefined);
      });
    }
  });
  it('keeps the order of the columns, which need not be that of the tuple', async () => {
    const base = fileColumns([{ type: 'string', codec: { kind: 'string' } }, { type: 'string', codec: { kind: 'string' } }, { type: 'string', codec: { kind: 'string' } }]);
    const file = encodeFile(tupleRequest([], [['a', 'b', 'c']], { columns: [base[2], base[0], { ...base[2], fieldId: 99, name: 'again' }], sourceColumnNames: ['c0', 'c1', 'c2'] }));
    assert.deepEqual(await physicalRows(file), [['c', 'a', 'c']]);
    assert.deepEqual(footerOf(file).schema.slice(1).map(({ field_id, name }) => [field_id, name]), [[3, 'c2'], [1, 'c0'], [99, 'again']]);
    assert.deepEqual([...(file.metrics.columnSizes?.keys() ?? [])], [3, 1, 99]);
  });
  it('carries its key-values and nothing else', () => {
    const keyValues = { 'iceberg.schema': '{"type":"struct","ü":"😀"}', 'delete-type': 'equality' };
    assert.deepEqual(Object.fromEntries((footerOf(encodeFile(tupleRequest(columns, [row], { keyValues }))).key_value_metadata ?? []).map(({ key, value }) => [key, value])), keyValues);
    assert.equal(footerOf(encodeFile(tupleRequest(columns, [row]))).key_value_metadata, undefined);
  });
  it('takes column names with dots, quotes and any letter', async () => {
    for (const name of ['a.b', 'list.element', '"q"', 'größe 😀', 'c0']) {
      const file = encodeFile(tupleRequest([], [['5']], { columns: [{ ...fileColumns(one('int'))[0], name }], sourceColumnNames: [name] }));
      assert.equal(footerOf(file).schema[1].name, name);
      assert.equal(footerOf(file).schema[1].field_id, 1);
    }
  });
  it('is valid without rows', async () => {
    const file = encodeFile(tupleRequest(columns, []));
    assert.equal(file.recordCount, 0);
    assert.deepEqual(file.splitOffsets, []);
    assert.deepEqual(await physicalRows(file), []);
    assert.equal(footerOf(file).schema.length, ALL_TYPES.length + 1);
    assert.equal(file.metrics.lowerBounds?.size, 0);
  });
  for (const codec of ['zstd', 'snappy', 'gzip', 'none'] as const) {
    it(`is readable in ${codec}`, async () => {
      const file = encodeFile(tupleRequest(one('string'), rowsOf(['a', 'b', null]), { compression: { codec } }));
      assert.equal(footerOf(file).row_groups[0].columns[0].meta_data?.codec, codec === 'none' ? 'UNCOMPRESSED' : codec.toUpperCase());
      assert.deepEqual(await physicalColumn(file), ['a', 'b', null]);
    });
  }
});

describe('row groups', () => {
  const columns: TestColumn[] = [{ type: 'long', codec: { kind: 'long' } }, { type: 'string', codec: { kind: 'string' } }, { type: 'boolean', codec: { kind: 'boolean' } }, { type: 'decimal(20, 2)', codec: codecOf('decimal(20, 2)') }];
  const rows: Row[] = Array.from({ length: 10_007 }, (_, i) => [String(i), i % 7 === 0 ? null : `value ${i % 100}`, i % 5 === 0 ? null : i % 2 === 0 ? 't' : 'f', i % 11 === 0 ? null : `${i}.25`]);
  const expected = rows.map((row, i) => [BigInt(i), row[1], row[2] === null ? null : row[2] === 't', row[3] === null ? null : BigInt(i * 100 + 25)]);
  const read = async (file: Parameters<typeof physicalRows>[0]): Promise<unknown[][]> => (await physicalRows(file)).map(([a, b, c, d]) => [a, b, c, d === null ? null : bigEndian(d)]);

  for (const rowGroupRows of [1000, 4096, 10_007, 20_000]) {
    it(`of ${rowGroupRows} rows, with their offsets, lose and mix nothing`, async () => {
      const file = encodeFile(tupleRequest(columns, rows, { rowGroupRows }));
      const footer = footerOf(file);
      assert.deepEqual(footer.row_groups.map((group) => Number(group.num_rows)), [...Array<number>(Math.floor(rows.length / rowGroupRows)).fill(rowGroupRows), rows.length % rowGroupRows].filter((n) => n > 0));
      assert.equal(Number(footer.num_rows), rows.length);
      assert.deepEqual(footer.row_groups.map((group) => Math.min(...group.columns.map(({ meta_data }) => Number(meta_data?.dictionary_page_offset ?? meta_data?.data_page_offset)))), [...file.splitOffsets]);
      assert.deepEqual(columns.map((_, i) => file.metrics.columnSizes?.get(i + 1)), columns.map((_, i) => footer.row_groups.reduce((sum, group) => sum + Number(group.columns[i].meta_data?.total_compressed_size), 0)));
      assert.deepEqual(await read(file), expected);
    });
  }
  it('close early when rows are wide', async () => {
    const wide = Array.from({ length: 30 }, (_, i) => [String.fromCharCode(97 + (i % 26)).repeat(1 << 20)]);
    const file = encodeFile(tupleRequest(one('string'), wide));
    assert.ok(file.splitOffsets.length >= 3 && file.splitOffsets.length <= 5, `${file.splitOffsets.length} row groups`);
    assert.deepEqual(await physicalColumn(file), wide.map(([text]) => text));
  });
});

describe('both formats', () => {
  const columns = ALL_TYPES.map((type) => ({ type, codec: codecOf(type) }));
  const digits = (max: bigint): fc.Arbitrary<string> => fc.bigInt({ min: -max, max }).map(String);
  const stamp = fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true }).map((at) => at.toISOString().replace('T', ' ').replace('Z', ''));
  const text = fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\0', ''));
  const bytes = (length?: number): fc.Arbitrary<string> => fc.uint8Array(length === undefined ? { maxLength: 40 } : { minLength: length, maxLength: length }).map((value) => `\\x${Buffer.from(value).toString('hex')}`);
  const values: fc.Arbitrary<string>[] = [
    fc.constantFrom('t', 'f'), fc.integer().map(String), digits(2n ** 63n - 1n), fc.float().map(String), fc.double().map(String), digits(9_999_999n), digits(10n ** 18n - 1n), digits(10n ** 28n - 1n),
    text, bytes(), fc.uuid(), bytes(3), stamp.map((at) => at.slice(0, 10)), stamp.map((at) => at.slice(11)), stamp, stamp.map((at) => `${at}+00`),
  ];
  const anyRow = fc.tuple(...values.map((value) => fc.option(value, { nil: null, freq: 6 })));

  it('give the same bytes for the same rows', () => {
    fc.assert(fc.property(fc.array(anyRow, { maxLength: 40 }), fc.constantFrom(7, 1000), (rows, rowGroupRows) => {
      const tuples = encodeFile(tupleRequest(columns, rows, { rowGroupRows }));
      const lines = encodeFile(copyRequest(columns, rows, { rowGroupRows }));
      assert.deepEqual(lines, tuples);
    }), { numRuns: 60 });
  });
  it('read back as the reference says', async () => {
    const reference: ((text: string) => unknown)[] = [
      (v) => v === 't', Number, BigInt, (v) => Math.fround(Number(v)), Number, (v) => BigInt(v) * 100n, BigInt, (v) => BigInt(v) * 10n ** 10n, (v) => v, (v) => v.slice(2), (v) => v.replaceAll('-', ''), (v) => v.slice(2),
      (v) => Date.parse(`${v}T00:00:00Z`) / 86_400_000, (v) => BigInt(Date.parse(`1970-01-01T${v}Z`)) * 1000n, (v) => BigInt(Date.parse(`${v.replace(' ', 'T')}Z`)) * 1000n, (v) => BigInt(Date.parse(v.replace(' ', 'T').replace('+00', 'Z'))) * 1000n,
    ];
    await fc.assert(fc.asyncProperty(fc.array(anyRow, { maxLength: 40 }), async (rows) => {
      const read = await physicalRows(encodeFile(tupleRequest(columns, rows)));
      assert.deepEqual(read.map((row) => row.map((value, i) => (value === null ? null : ALL_TYPES[i].startsWith('decimal') ? bigEndian(value) : value instanceof Uint8Array ? hex(value) : value))),
        rows.map((row) => row.map((value, i) => (value === null ? null : reference[i](value)))));
    }), { numRuns: 60 });
  });
});
