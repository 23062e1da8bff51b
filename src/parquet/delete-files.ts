import { WalbergError } from '../errors/error.js';
import type { EncodedFile, EncodeRequest } from './encode-types.js';

/** One deleted row: the data file it is in and its 0-based position there. */
export interface PositionDelete {
  readonly path: string;
  readonly pos: number;
}

/** Encodes a position delete file (Iceberg specification, "Position Delete Files"). */
export function encodePositionDeletes(entries: readonly PositionDelete[], compression: EncodeRequest['compression']): EncodedFile {
  throw new WalbergError('INTERNAL', `position deletes (${entries.length}, ${compression.codec}) are not there yet`);
}
