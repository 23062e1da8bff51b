import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { makeTable, tableToIPC } from 'apache-arrow';
import { Table, writeParquet } from 'parquet-wasm';
import { isWalbergError } from '../../src/errors/error.js';
import { FooterBuilder } from '../../src/parquet/footer.js';
import { BINARY, BOOLEAN_FALSE, BOOLEAN_TRUE, BYTE, DOUBLE, I16, I32, I64, LIST, readThrift, STRUCT, ThriftStruct, type ThriftField, type ThriftValue, writeThrift } from '../../src/parquet/thrift.js';

const footerBytes = (file: Uint8Array): Uint8Array => {
  const length = new DataView(file.buffer, file.byteOffset).getUint32(file.length - 8, true);
  return file.subarray(file.length - 8 - length, file.length - 8);
};
const ofLibrary = (): Uint8Array => writeParquet(Table.fromIPCStream(tableToIPC(makeTable({ a: Int32Array.from({ length: 300 }, (_, i) => i), b: Float64Array.from({ length: 300 }, (_, i) => i / 3) }), 'stream')));

const scalar = fc.oneof(
  fc.record({ type: fc.constantFrom(I16, I32, I64), value: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) }),
  fc.record({ type: fc.constant(BINARY), value: fc.uint8Array({ maxLength: 200 }) }),
  fc.record({ type: fc.constant(DOUBLE), value: fc.uint8Array({ minLength: 8, maxLength: 8 }) }),
  fc.record({ type: fc.constant(BYTE), value: fc.nat(255) }),
);
type Typed = { readonly type: number; readonly value: ThriftValue };
const structs = (depth: number): fc.Arbitrary<Typed> => {
  const value: fc.Arbitrary<Typed> = depth === 0 ? scalar : fc.oneof(
    { weight: 3, arbitrary: scalar },
    fc.boolean().map((on) => ({ type: on ? BOOLEAN_TRUE : BOOLEAN_FALSE, value: on })),
    structs(depth - 1),
    fc.array(structs(depth - 1), { maxLength: 20 }).map((items) => ({ type: LIST, value: { elementType: STRUCT, items: items.map((item) => item.value) } })),
    fc.array(fc.boolean(), { maxLength: 20 }).map((items) => ({ type: LIST, value: { elementType: BOOLEAN_FALSE, items } })),
  );
  return fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 300 }), value), { maxLength: 6, selector: ([id]) => id }).map((fields) => ({
    type: STRUCT,
    value: new ThriftStruct(fields.sort(([a], [b]) => a - b).map(([id, field]): ThriftField => ({ id, ...field }))),
  }));
};

describe('Thrift', () => {
  it('writes what it reads', () => {
    fc.assert(fc.property(structs(3), ({ value }) => {
      assert.ok(value instanceof ThriftStruct);
      assert.deepEqual(readThrift(writeThrift(value)), value);
    }), { numRuns: 300 });
  });
  it('leaves a footer of the library as it is, byte for byte', () => {
    const bytes = footerBytes(ofLibrary());
    assert.ok(bytes.length > 100);
    assert.deepEqual(writeThrift(readThrift(bytes)), Uint8Array.from(bytes));
  });
  it('refuses data that is cut off', () => {
    const bytes = footerBytes(ofLibrary());
    for (let length = 0; length < bytes.length; length += 7) assert.throws(() => readThrift(bytes.subarray(0, length)), RangeError);
  });
});

describe('footer', () => {
  it('refuses a file whose columns are not the expected ones', () => {
    const internal = (error: unknown): boolean => isWalbergError(error, 'INTERNAL');
    assert.throws(() => new FooterBuilder([{ fieldId: 1, type: 'int' }]).add(ofLibrary()), internal);
    const builder = new FooterBuilder([{ fieldId: 1, type: 'int' }, { fieldId: 2, type: 'double' }]);
    builder.add(ofLibrary());
    assert.throws(() => builder.finish({}), internal);
    assert.throws(() => new FooterBuilder([]).finish({}), internal);
  });
});
