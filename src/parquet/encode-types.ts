import type { FileMetrics, IcebergType } from '../iceberg/spec/types.js';
import type { Codec, MetaField } from '../schema/codec.js';

/** Where a file column takes its values from. */
export type ColumnSource =
  /** Position of the column in the source tuple. */
  | { readonly from: 'tuple'; readonly ordinal: number; readonly codec: Codec }
  /** A metadata field of the change. */
  | { readonly from: 'meta'; readonly field: MetaField };

/** One column of the file to write. The Iceberg type decides the Parquet type (spec Appendix A, "Parquet"). */
export interface EncodeColumn {
  readonly fieldId: number;
  readonly name: string;
  readonly type: IcebergType;
  readonly required: boolean;
  readonly source: ColumnSource;
}

/** Operation of a row, as in Debezium's `__op`. */
export const OP_READ = 0;
export const OP_CREATE = 1;
export const OP_UPDATE = 2;
export const OP_DELETE = 3;
export const OP_TRUNCATE = 4;
export const OP_LETTERS = ['r', 'c', 'u', 'd', 't'] as const;

/** Per-row and per-transaction values behind metadata columns; only needed when the file has any. */
export interface RowMeta {
  /** OP_* per row. */
  readonly ops: Uint8Array;
  /** Index into the transaction arrays per row. */
  readonly transactions: Uint32Array;
  /** Per transaction: commit time in microseconds since 1970 UTC, end LSN, xid. */
  readonly commitTimesMicros: BigInt64Array;
  readonly endLsns: BigUint64Array;
  readonly xids: Uint32Array;
  readonly table: string;
  readonly schema: string;
  readonly database: string;
  /** When the batch was processed, microseconds since 1970 UTC. */
  readonly processedMicros: bigint;
}

/**
 * Rows to encode into one Parquet file.
 *
 * `format` 'tuple': row i starts at `arena[rowOffsets[i]]` with pgoutput TupleData: Int16 column count, then per column a
 * kind byte ('n' null, 'u' unchanged, 't' text) and for 't' an Int32 length and the bytes (all big-endian).
 * `format` 'copy': row i is a line of COPY TO STDOUT text format (tab separated, backslash escapes, `\N` null), starting at
 * `rowOffsets[i]` and ending with a newline.
 * A 'u' column is written as null and reported through the 'unchanged' meta field; callers resolve it before in mirror mode.
 */
export interface EncodeRequest {
  readonly columns: readonly EncodeColumn[];
  readonly format: 'tuple' | 'copy';
  readonly sourceColumnNames: readonly string[];
  readonly arena: Uint8Array;
  readonly rowOffsets: Int32Array;
  readonly meta?: RowMeta;
  /** File key-value metadata, e.g. `iceberg.schema`, `delete-type`, `delete-field-ids`. */
  readonly keyValues: Readonly<Record<string, string>>;
  readonly compression: { readonly codec: 'zstd' | 'snappy' | 'gzip' | 'none'; readonly level?: number };
  readonly rowGroupRows: number;
  /** For error messages only. */
  readonly tableName: string;
}

export interface EncodedFile {
  readonly bytes: Uint8Array;
  readonly recordCount: number;
  readonly metrics: FileMetrics;
  /** Row-group start offsets, ascending. */
  readonly splitOffsets: readonly number[];
  /** Values replaced under a SpecialPolicy, by column name; absent columns had none. */
  readonly replacedValues: Readonly<Record<string, number>>;
}

/** Encodes off the main thread; `arena` is transferred (detached) when it owns its whole ArrayBuffer. */
export interface Encoder {
  encode(request: EncodeRequest): Promise<EncodedFile>;
  close(): Promise<void>;
}
