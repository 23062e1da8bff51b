import { WalbergError } from '../errors/error.js';
import type { EncodedFile, EncodeRequest } from './encode-types.js';

/** Encodes rows into one Parquet file on this thread. */
export function encodeFile(request: EncodeRequest): EncodedFile {
  throw new WalbergError('INTERNAL', `encoding of ${request.tableName} is not there yet`);
}
