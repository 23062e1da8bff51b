import { asWalbergError } from '../errors/error.js';
import { encodeBound } from '../iceberg/spec/bounds.js';
import type { FileMetrics } from '../iceberg/spec/types.js';
import type { Column } from './column.js';
import { fileColumns } from './columns.js';
import type { EncodeColumn, EncodedFile, EncodeRequest } from './encode-types.js';
import { FooterBuilder } from './footer.js';
import { encodeRowGroup } from './row-group.js';
import { BATCH_ROWS, RowScanner } from './scan.js';

/**
 * A row group is closed at this many bytes of column values even when it has fewer rows than asked for: encoding takes about
 * four times as much WebAssembly memory.
 */
const ROW_GROUP_BYTES = 8 << 20;

/**
 * Encodes rows into one Parquet file on this thread; the arena is not changed. Row groups have `rowGroupRows` rows, fewer when
 * rows are wide. `compression.level` has no effect: the library always takes the codec's default.
 *
 * Errors: VALUE_INVALID with table and column for a value the column cannot hold, INTERNAL for malformed rows and for columns
 * whose codec does not fit their type.
 */
export function encodeFile(request: EncodeRequest): EncodedFile {
  const { columns, ordinals } = fileColumns(request);
  try {
    return encodeColumns(request, columns, ordinals);
  } finally {
    for (const column of columns) column.free();
  }
}

function encodeColumns(request: EncodeRequest, columns: readonly Column[], ordinals: readonly number[]): EncodedFile {
  const scanner = new RowScanner(request, ordinals);
  const footer = new FooterBuilder(request.columns);
  const flush = (): void => {
    try {
      footer.add(encodeRowGroup(request.columns, columns, request.compression.codec));
    } catch (error) {
      for (const column of columns) {
        const refused = column.refused();
        if (refused !== undefined) throw refused;
      }
      throw asWalbergError(error, 'INTERNAL', { table: request.tableName });
    }
    for (const column of columns) column.reset();
  };
  const total = request.rowOffsets.length;
  const limit = Math.max(request.rowGroupRows, 1);
  // Values take about as many bytes as their text, so this is what a row group will hold.
  const expected = Math.min(total, limit, Math.ceil((ROW_GROUP_BYTES * total) / Math.max(request.arena.length, 1)) + BATCH_ROWS);
  for (const column of columns) column.reserve(expected);
  let rows = 0;
  let done = 0;
  while (scanner.next(limit - rows)) {
    for (const column of columns) column.append(scanner);
    rows += scanner.rows;
    done += scanner.rows;
    if (rows === limit || done === total || columns.reduce((sum, column) => sum + column.byteSize(), 0) >= ROW_GROUP_BYTES) {
      flush();
      rows = 0;
    }
  }
  if (total === 0) flush();
  const file = footer.finish(request.keyValues);
  return {
    bytes: file.bytes,
    recordCount: total,
    metrics: fileMetrics(request.columns, columns, total, file.columnSizes),
    splitOffsets: file.splitOffsets,
    replacedValues: Object.fromEntries(columns.filter((column) => column.replaced > 0).map((column) => [column.place.name, column.replaced])),
  };
}

function fileMetrics(fields: readonly EncodeColumn[], columns: readonly Column[], rows: number, columnSizes: ReadonlyMap<number, number>): FileMetrics {
  const lowerBounds = new Map<number, Uint8Array>();
  const upperBounds = new Map<number, Uint8Array>();
  const leaves = fields.flatMap(({ fieldId, type }, i) => columns[i].metrics(fieldId, type, rows));
  for (const { fieldId, type, bounds } of leaves) {
    if (bounds === undefined) continue;
    // Copies: the columns' own buffers are reused, and results travel between threads.
    lowerBounds.set(fieldId, Uint8Array.from(encodeBound(type, bounds.lower)));
    if (bounds.upper !== undefined) upperBounds.set(fieldId, Uint8Array.from(encodeBound(type, bounds.upper)));
  }
  return {
    columnSizes,
    valueCounts: new Map(leaves.map(({ fieldId, values }) => [fieldId, values])),
    nullValueCounts: new Map(leaves.map(({ fieldId, nulls }) => [fieldId, nulls])),
    nanValueCounts: new Map(leaves.flatMap(({ fieldId, type, nans }) => (type === 'float' || type === 'double' ? [[fieldId, nans] as const] : []))),
    lowerBounds,
    upperBounds,
  };
}
