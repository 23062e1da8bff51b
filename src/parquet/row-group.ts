import { RecordBatch, RecordBatchStreamWriter, Schema, Struct, makeData } from 'apache-arrow';
import { Compression, EnabledStatistics, Table, wasmMemory, writeParquet, type WriterProperties, WriterPropertiesBuilder } from 'parquet-wasm';
import { arrowField } from './columns.js';
import type { Column } from './column.js';
import type { EncodeColumn, EncodeRequest } from './encode-types.js';
import { release } from './release.js';

const CODECS = { zstd: Compression.ZSTD, snappy: Compression.SNAPPY, gzip: Compression.GZIP, none: Compression.UNCOMPRESSED } as const;

/**
 * A dictionary larger than this is given up for plain values. The library's 1 MiB would, at our row group size, keep a dictionary
 * of nearly all values of columns that hardly repeat: a third more bytes in the benchmark, and a third more time.
 */
const DICTIONARY_BYTES = 64 << 10;

/** Encodes the columns' present rows as a Parquet file of one row group (of none when there are no rows). Leaves nothing allocated in WebAssembly memory. */
export function encodeRowGroup(fileColumns: readonly EncodeColumn[], columns: readonly Column[], codec: EncodeRequest['compression']['codec']): Uint8Array {
  const rows = columns[0]?.rows ?? 0;
  const schema = new Schema(fileColumns.map((column, i) => arrowField(column, columns[i])));
  const batch = new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: rows, nullCount: 0, children: columns.map((column) => column.data()) }));
  const ipc = RecordBatchStreamWriter.writeAll([batch]).toUint8Array(true);
  const table = Table.fromIPCStream(ipc);
  release(ipc.buffer);
  // writeParquet consumes the table and the properties, whether it succeeds or throws, so there is nothing left to free.
  return writeParquet(table, writerProperties(codec, rows));
}

function writerProperties(codec: EncodeRequest['compression']['codec'], rows: number): WriterProperties {
  return new WriterPropertiesBuilder().setCompression(CODECS[codec]).setStatisticsEnabled(EnabledStatistics.Chunk).setDictionaryPageSizeLimit(DICTIONARY_BYTES).setMaxRowGroupSize(Math.max(rows, 1)).build();
}

/** Bytes of WebAssembly memory of this thread, which only ever grows. */
export function wasmBytes(): number {
  return (wasmMemory() as { readonly buffer: ArrayBufferLike }).buffer.byteLength;
}
