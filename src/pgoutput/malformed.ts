import { WalbergError } from '../errors/error.js';

/** A message that does not follow the manual. The caller adds the message tag and the LSN; bytes of rows are never quoted. */
export function malformed(detail: string, cause?: unknown): WalbergError {
  return new WalbergError('PROTOCOL', `Malformed replication message: ${detail}`, { cause });
}
