import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Readable } from 'node:stream';
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { isWalbergError } from '../../src/errors/error.js';
import { PgOutputDecoder } from '../../src/pgoutput/decoder.js';
import { FrameReader } from '../../src/postgres/frame-reader.js';
import * as wire from '../support/pgoutput-bytes.js';
import { RecordingHandler } from '../support/recording-handler.js';

/** The parser of `pg`, which shares no code with ours. */
interface ParsedMessage { name: string; chunk?: Buffer }
const { parse } = createRequire(import.meta.url)('pg-protocol') as { parse(stream: NodeJS.ReadableStream, callback: (message: ParsedMessage) => void): Promise<void> };

/** `sizes` are chunk lengths, used again and again until the bytes are spent. Each chunk is a copy, and is spoilt afterwards. */
function* chunks(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes.length === 0 ? bytes.length : Math.max(1, sizes[i % sizes.length]);
    yield Buffer.from(bytes.subarray(at, at + size));
    at += size;
  }
}

function throughFrames(bytes: Buffer, sizes: readonly number[]): unknown[][] {
  const handler = new RecordingHandler();
  const decoder = new PgOutputDecoder();
  const out: unknown[][] = [];
  handler.onEvent = (event) => out.push(event);
  const reader = new FrameReader({
    copyData: (buffer, start, end) => decoder.decode(buffer, start + 25, end, handler),
    other: (frame) => out.push(['other', frame.toString('hex')]),
  });
  for (const chunk of chunks(bytes, sizes)) {
    reader.push(chunk);
    chunk.fill(0xee);
  }
  return out;
}

const row = fc.array(fc.oneof(fc.constant(null), fc.constant(wire.UNCHANGED), fc.string({ maxLength: 40 }), fc.integer({ min: 0, max: 9000 }).map((n) => 'x'.repeat(n))), { maxLength: 6 });
const payload = fc.oneof(
  row.map((r) => wire.insert(7, r)),
  fc.tuple(row, row).map(([r, old]) => wire.update(7, r, { kind: 'full', row: old })),
  fc.constant(wire.commit({ commitLsn: 1n, endLsn: 2n, commitTimeMicros: 3n })),
);
const messages = fc.array(fc.oneof(
  { weight: 6, arbitrary: payload.map((p) => wire.copyData(wire.xlogData({ startLsn: 5n }, p))) },
  { weight: 1, arbitrary: fc.constantFrom('N', 'S', 'C').chain((t) => fc.uint8Array({ maxLength: 12 }).map((b) => wire.frame(t, b))) },
), { minLength: 1, maxLength: 30 }).map((m) => Buffer.concat(m));
const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 20_000 })), { minLength: 1, maxLength: 8 });

test('any split of the byte stream gives the same result', () => {
  fc.assert(fc.property(messages, sizes, (bytes, split) => {
    assert.deepEqual(throughFrames(bytes, split), throughFrames(bytes, []));
  }), { numRuns: 300 });
});

test('CopyData is cut out exactly as the parser of pg does it', async () => {
  await fc.assert(fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 20 }), sizes, async (contents, split) => {
    const bytes = Buffer.concat(contents.map((c) => wire.copyData(c)));
    const ours: string[] = [];
    const reader = new FrameReader({ copyData: (b, s, e) => { ours.push(b.toString('hex', s, e)); }, other: () => assert.fail('no other message') });
    for (const chunk of chunks(bytes, split)) reader.push(chunk);
    const theirs: string[] = [];
    await parse(Readable.from(chunks(bytes, split), { objectMode: false }), (message) => { theirs.push(message.chunk?.toString('hex') ?? message.name); });
    assert.deepEqual(ours, theirs);
    assert.deepEqual(ours, contents.map((c) => Buffer.from(c).toString('hex')));
  }), { numRuns: 100 });
});

test('an impossible length is refused', () => {
  for (const length of [0, 3, 0x40000001, 0xffffffff]) {
    const header = Buffer.from([0x64, 0, 0, 0, 0]);
    header.writeUInt32BE(length, 1);
    const reader = new FrameReader({ copyData: () => {}, other: () => {} });
    assert.throws(() => reader.push(header), (e: unknown) => isWalbergError(e, 'PROTOCOL'));
    const split = new FrameReader({ copyData: () => {}, other: () => {} });
    split.push(header.subarray(0, 2));
    assert.throws(() => split.push(header.subarray(2)), (e: unknown) => isWalbergError(e, 'PROTOCOL'));
  }
});
