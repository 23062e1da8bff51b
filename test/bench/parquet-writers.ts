/**
 * From the bytes Postgres sends to the bytes of a Parquet file: parquetjs-lite's row by row writer against the column encoder, on
 * the same 500,000 rows of 10 columns, one thread. Run: node dist/test/bench/parquet-writers.js [rows]
 *
 * parquetjs-lite gets objects made from the same tuples, as its interface wants them. It writes no field ids and no zstd, so its
 * file could not be used in an Iceberg table; it is here as the well-known baseline.
 */
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { encodeFile } from '../../src/parquet/encode-file.js';
import type { EncodeColumn, EncodeRequest } from '../../src/parquet/encode-types.js';
import type { Codec } from '../../src/schema/codec.js';

interface ParquetJs {
  ParquetSchema: new (fields: Readonly<Record<string, object>>) => object;
  ParquetWriter: { openStream(schema: object, stream: Writable, options: object): Promise<{ appendRow(row: object): Promise<void>; close(): Promise<void> }> };
}
const parquetjs = createRequire(import.meta.url)('parquetjs-lite') as ParquetJs;

const COLUMNS: readonly { readonly name: string; readonly type: string; readonly codec: Codec; readonly baseline: object; readonly parse: (text: string) => unknown }[] = [
  { name: 'id', type: 'long', codec: { kind: 'long' }, baseline: { type: 'INT64' }, parse: Number },
  { name: 'customer', type: 'int', codec: { kind: 'int' }, baseline: { type: 'INT32' }, parse: Number },
  { name: 'paid', type: 'boolean', codec: { kind: 'boolean' }, baseline: { type: 'BOOLEAN' }, parse: (text) => text === 't' },
  { name: 'price', type: 'decimal(12, 2)', codec: { kind: 'decimal', precision: 12, scale: 2, special: 'fail' }, baseline: { type: 'DOUBLE' }, parse: Number },
  { name: 'weight', type: 'double', codec: { kind: 'double' }, baseline: { type: 'DOUBLE' }, parse: Number },
  { name: 'name', type: 'string', codec: { kind: 'string' }, baseline: { type: 'UTF8' }, parse: String },
  { name: 'status', type: 'string', codec: { kind: 'string' }, baseline: { type: 'UTF8' }, parse: String },
  { name: 'day', type: 'date', codec: { kind: 'date', special: 'fail' }, baseline: { type: 'DATE' }, parse: (text) => new Date(text) },
  { name: 'created', type: 'timestamptz', codec: { kind: 'timestamptz', special: 'fail' }, baseline: { type: 'TIMESTAMP_MICROS' }, parse: (text) => new Date(text.replace('+00', 'Z')) },
  { name: 'note', type: 'string', codec: { kind: 'string' }, baseline: { type: 'UTF8', optional: true }, parse: String },
];

const two = (n: number): string => String(n).padStart(2, '0');

function rowTexts(i: number): (string | null)[] {
  const mixed = Math.imul(i, 2654435761) >>> 0;
  return [
    String(4_000_000_000 + i), String(mixed % 50_000), i % 3 === 0 ? 't' : 'f', `${mixed % 9000}.${two(i % 100)}`, String((mixed % 100_000) / 7),
    `customer name ${mixed % 200_000}`, ['new', 'paid', 'shipped', 'returned'][i % 4], `2024-${two((i % 12) + 1)}-${two((i % 28) + 1)}`,
    `2024-05-${two((i % 28) + 1)} ${two(i % 24)}:${two(i % 60)}:${two(mixed % 60)}.${String(mixed % 1_000_000).padStart(6, '0')}+00`, i % 5 === 0 ? null : `order ${i} left the warehouse`,
  ];
}

function tuples(rows: number): { arena: Uint8Array; rowOffsets: Int32Array } {
  const arena = Buffer.alloc(rows * 260);
  const rowOffsets = new Int32Array(rows);
  let pos = 0;
  for (let i = 0; i < rows; i++) {
    rowOffsets[i] = pos;
    pos = arena.writeInt16BE(COLUMNS.length, pos);
    for (const text of rowTexts(i)) {
      if (text === null) {
        arena[pos++] = 0x6e;
      } else {
        arena[pos++] = 0x74;
        const length = arena.write(text, pos + 4);
        arena.writeInt32BE(length, pos);
        pos += 4 + length;
      }
    }
  }
  return { arena: arena.subarray(0, pos), rowOffsets };
}

async function baseline(arena: Uint8Array, rowOffsets: Int32Array): Promise<number> {
  const buffer = Buffer.from(arena.buffer, arena.byteOffset, arena.length);
  let bytes = 0;
  const sink = new Writable({ write(chunk: Buffer, _encoding, done): void { bytes += chunk.length; done(); } });
  const schema = new parquetjs.ParquetSchema(Object.fromEntries(COLUMNS.map((column) => [column.name, { compression: 'SNAPPY', ...column.baseline }])));
  const writer = await parquetjs.ParquetWriter.openStream(schema, sink, { rowGroupSize: 65536 });
  for (const offset of rowOffsets) {
    const row: Record<string, unknown> = {};
    let pos = offset + 2;
    for (const column of COLUMNS) {
      if (buffer[pos++] !== 0x74) continue;
      const length = buffer.readInt32BE(pos);
      row[column.name] = column.parse(buffer.toString('utf8', pos + 4, pos + 4 + length));
      pos += 4 + length;
    }
    await writer.appendRow(row);
  }
  await writer.close();
  return bytes;
}

const rows = Number(process.argv[2] ?? 500_000);
const { arena, rowOffsets } = tuples(rows);
const columns: EncodeColumn[] = COLUMNS.map(({ name, type, codec }, ordinal) => ({ fieldId: ordinal + 1, name, type, required: name === 'id', source: { from: 'tuple', ordinal, codec } }));
const request: EncodeRequest = {
  columns, format: 'tuple', sourceColumnNames: COLUMNS.map(({ name }) => name), arena, rowOffsets, keyValues: {}, compression: { codec: 'zstd' }, rowGroupRows: 1_000_000, tableName: 'bench.orders',
};

/** Best of `runs` in seconds of clock and of processor time, and the size of the file. */
async function measure(runs: number, encode: () => number | Promise<number>): Promise<{ seconds: number; processor: number; bytes: number }> {
  let seconds = Infinity;
  let processor = Infinity;
  let bytes = 0;
  for (let run = 0; run < runs; run++) {
    const start = process.hrtime.bigint();
    const before = process.cpuUsage();
    bytes = await encode();
    const { user, system } = process.cpuUsage(before);
    processor = Math.min(processor, (user + system) / 1e6);
    seconds = Math.min(seconds, Number(process.hrtime.bigint() - start) / 1e9);
  }
  return { seconds, processor, bytes };
}

const results = [
  { writer: 'parquetjs-lite appendRow, snappy', ...(await measure(1, () => baseline(arena, rowOffsets))) },
  { writer: 'walberg, snappy', ...(await measure(3, () => encodeFile({ ...request, compression: { codec: 'snappy' } }).bytes.length)) },
  { writer: 'walberg, zstd', ...(await measure(3, () => encodeFile(request).bytes.length)) },
];
console.log(`${rows} rows of ${COLUMNS.length} columns, ${(arena.length / 1e6).toFixed(1)} MB of tuples`);
console.table(Object.fromEntries(results.map(({ writer, seconds, processor, bytes }) => [writer, {
  'rows/s': Math.round(rows / seconds), 'µs a row': Number(((seconds / rows) * 1e6).toFixed(2)), 'CPU µs a row': Number(((processor / rows) * 1e6).toFixed(2)), 'file MB': Number((bytes / 1e6).toFixed(1)), 'CPU ratio': Number((results[0].processor / processor).toFixed(1)),
}])));
