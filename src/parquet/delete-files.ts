import type { DataFile } from '../iceberg/spec/types.js';
import { WalbergError } from '../errors/error.js';
import { encodeFile } from './encode-file.js';
import type { EncodeColumn, EncodedFile, EncodeRequest } from './encode-types.js';

/** Reserved field ids of position delete files (Iceberg specification, "Reserved Field IDs"). */
export const FIELD_ID_DELETE_PATH = 2147483546;
export const FIELD_ID_DELETE_POS = 2147483545;

const COLUMNS: readonly EncodeColumn[] = [
  { fieldId: FIELD_ID_DELETE_PATH, name: 'file_path', type: 'string', required: true, source: { from: 'tuple', ordinal: 0, codec: { kind: 'string' } } },
  { fieldId: FIELD_ID_DELETE_POS, name: 'pos', type: 'long', required: true, source: { from: 'tuple', ordinal: 1, codec: { kind: 'long' } } },
];

/** One deleted row: the data file it is in, as the manifest names it, and its 0-based position there. */
export interface PositionDelete {
  readonly path: string;
  readonly pos: number;
}

export interface PositionDeleteFile extends EncodedFile {
  /** The data file when all deletes are of one; to be set in the manifest entry. */
  readonly referencedDataFile: DataFile['referencedDataFile'];
}

/**
 * Encodes a position delete file (Iceberg specification, "Position Delete Files"): sorted by path (UTF-8 bytes) and position,
 * duplicates dropped. When all deletes are of one data file both path bounds are that path in full length, by which readers tell
 * which file is meant; with several data files there are neither bounds nor counts of the columns, as Java writers do it.
 *
 * Throws INTERNAL for no entries and for a position that is no row number.
 */
export function encodePositionDeletes(entries: readonly PositionDelete[], options: { readonly compression: EncodeRequest['compression']; readonly tableName: string; readonly keyValues?: EncodeRequest['keyValues'] }): PositionDeleteFile {
  if (entries.length === 0) throw new WalbergError('INTERNAL', `a position delete file of ${options.tableName} would be empty`);
  const byPath = new Map<string, Set<number>>();
  for (const { path, pos } of entries) {
    if (!Number.isSafeInteger(pos) || pos < 0) throw new WalbergError('INTERNAL', `a position delete of ${options.tableName} has no row number`);
    const positions = byPath.get(path);
    if (positions === undefined) byPath.set(path, new Set([pos]));
    else positions.add(pos);
  }
  const paths = [...byPath].map(([path, positions]) => ({ path: Buffer.from(path, 'utf8'), positions: Float64Array.from(positions).sort() })).sort((a, b) => Buffer.compare(a.path, b.path));

  const rows = paths.reduce((sum, { positions }) => sum + positions.length, 0);
  // Per row: column count, two kinds and lengths, the path and up to 16 digits.
  const arena = Buffer.allocUnsafe(paths.reduce((sum, { path, positions }) => sum + positions.length * (path.length + 28), 0));
  const rowOffsets = new Int32Array(rows);
  let row = 0;
  let at = 0;
  const value = (bytes: Buffer): void => {
    arena[at] = 0x74;
    arena.writeInt32BE(bytes.length, at + 1);
    at += 5 + bytes.copy(arena, at + 5);
  };
  for (const { path, positions } of paths) {
    for (const pos of positions) {
      rowOffsets[row++] = at;
      at = arena.writeInt16BE(2, at);
      value(path);
      value(Buffer.from(String(pos), 'latin1'));
    }
  }
  const file = encodeFile({
    columns: COLUMNS, format: 'tuple', sourceColumnNames: ['file_path', 'pos'], arena, rowOffsets, keyValues: { 'delete-type': 'position', ...options.keyValues },
    compression: options.compression, rowGroupRows: 1_000_000, tableName: options.tableName,
  });
  if (paths.length > 1) return { ...file, metrics: { columnSizes: file.metrics.columnSizes }, referencedDataFile: undefined };
  const bound = (bounds: ReadonlyMap<number, Uint8Array> | undefined): ReadonlyMap<number, Uint8Array> => new Map([...(bounds ?? []), [FIELD_ID_DELETE_PATH, Uint8Array.from(paths[0].path)]]);
  return { ...file, metrics: { ...file.metrics, lowerBounds: bound(file.metrics.lowerBounds), upperBounds: bound(file.metrics.upperBounds) }, referencedDataFile: entries[0].path };
}
