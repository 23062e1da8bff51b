import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import { newSnapshotId, newUuid } from '../../src/iceberg/spec/ids.js';
import { parseJson, printJson } from '../../src/iceberg/spec/json.js';

test('integers keep every digit; small ones are numbers, large ones bigints', () => {
  const text = '{"current-snapshot-id":9223372036854775807,"parent":-9223372036854775808,"safe":9007199254740991,"above":9007199254740993,"none":-1,"ratio":0.5,"exp":1e3}';
  const value = parseJson(text) as Record<string, unknown>;
  assert.deepEqual(value, { 'current-snapshot-id': 9223372036854775807n, parent: -9223372036854775808n, safe: 9007199254740991, above: 9007199254740993n, none: -1, ratio: 0.5, exp: 1000 });
  assert.equal(printJson(value), text.replace('1e3', '1000'));
});

test('table metadata with ids above 2^53 survives a round trip byte for byte', () => {
  const metadata = '{"format-version":2,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"s3://b/ä","last-sequence-number":9007199254740997,'
    + '"current-snapshot-id":3051729675574597004,"snapshots":[{"snapshot-id":3051729675574597004,"timestamp-ms":1515100955770,"summary":{"operation":"append","walberg.lsn":"0/16B3748"}}],'
    + '"refs":{"main":{"snapshot-id":3051729675574597004,"type":"branch"}},"properties":{},"snapshot-log":[],"statistics":[]}';
  assert.equal(printJson(parseJson(metadata)), metadata);
});

test('undefined members are dropped, null ones kept', () => {
  assert.equal(printJson({ a: undefined, b: null, c: [1n, undefined], d: { e: undefined } }), '{"b":null,"c":[1,null],"d":{}}');
  assert.throws(() => printJson(undefined), (error) => isWalbergError(error, 'INTERNAL'));
});

test('what is printed is read back the same', () => {
  const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value));
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, long, fc.string({ unit: 'binary' }), fc.boolean(), fc.constant(null), fc.double({ noNaN: true, noDefaultInfinity: true }).map((v) => (Object.is(v, -0) ? 0 : v)).filter((v) => !Number.isInteger(v) || Number.isSafeInteger(v)),
      fc.array(tie('tree'), { maxLength: 4 }), fc.dictionary(fc.string().filter((key) => key !== '__proto__'), tie('tree'), { maxKeys: 4, noNullPrototype: true })),
  }));
  fc.assert(fc.property(tree, fc.constantFrom(undefined, 2), (value, space) => assert.deepEqual(parseJson(printJson(value, space)), value)));
});

test('a damaged document is FILE_MALFORMED, names the document and quotes nothing of it', () => {
  for (const text of ['', '{', '{"a":1,}', '{"password":"geheim', '{"a":geheim}', '[1 2]', '{"geheim":1,"geheim":2}']) {
    assert.throws(() => parseJson(text, 'table metadata s3://b/v1.metadata.json'), (error) => {
      assert.ok(isWalbergError(error, 'FILE_MALFORMED'));
      assert.match(error.message, /table metadata s3:\/\/b\/v1\.metadata\.json/);
      assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /geheim/);
      return true;
    });
  }
});

test('snapshot ids are positive 63-bit integers: high half XOR low half, never 0', () => {
  const fixed = (high: bigint, low: bigint) => (size: number): Uint8Array => {
    const buffer = Buffer.alloc(size);
    buffer.writeBigUInt64BE(high);
    buffer.writeBigUInt64BE(low, 8);
    return buffer;
  };
  assert.equal(newSnapshotId(fixed(2n ** 64n - 1n, 0n)), 2n ** 63n - 1n);
  assert.equal(newSnapshotId(fixed(0xf0f0n, 0x0ff0n)), 0xff00n);
  const draws = [fixed(5n, 5n), fixed(2n ** 63n, 0n), fixed(1n, 0n)];
  assert.equal(newSnapshotId((size) => draws.shift()!(size)), 1n);
  const ids = new Set(Array.from({ length: 1000 }, () => newSnapshotId()));
  assert.equal(ids.size, 1000);
  assert.ok([...ids].every((id) => id > 0n && id < 2n ** 63n));
  assert.ok([...ids].some((id) => id > 2n ** 53n));
  assert.match(newUuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
