import { WalbergError } from '../../../errors/error.js';

/** A file that is not what it should be. `what` names the file, `problem` completes the sentence. */
export function malformed(what: string, problem: string, cause?: unknown): WalbergError {
  return new WalbergError('FILE_MALFORMED', `The ${what} cannot be read: ${problem}.`, { cause });
}
