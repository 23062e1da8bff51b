import { WalbergError } from '../errors/error.js';
import type { ErrorCode } from '../errors/codes.js';

const CODES: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'STORAGE_FULL',
  EDQUOT: 'STORAGE_FULL',
  EFBIG: 'STORAGE_FULL',
  EACCES: 'STORAGE_AUTH',
  EPERM: 'STORAGE_AUTH',
  EROFS: 'STORAGE_AUTH',
  // A part of the path is a file: that does not get better by itself.
  ENOTDIR: 'STORAGE_REFUSED',
  ENAMETOOLONG: 'STORAGE_REFUSED',
};

/** The `errno` name of a failed system call (`ENOENT`, …), or undefined. */
export function errnoOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** True when the path, or a folder on the way to it, does not exist. */
export function isAbsent(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === 'ENOENT' || errno === 'ENOTDIR';
}

/** Translates a failed system call on a file. */
export function fileError(error: unknown, doing: 'read' | 'write' | 'remove' | 'list', location: string): WalbergError {
  if (error instanceof WalbergError) return error;
  const errno = errnoOf(error);
  if (doing === 'read' && isAbsent(error)) return new WalbergError('FILE_MISSING', `No such file: ${location}`, { context: { location }, cause: error });
  const code = CODES[errno ?? ''] ?? 'STORAGE_FAILED';
  return new WalbergError(code, `Could not ${doing} ${location}: ${errno ?? (error instanceof Error ? error.message : String(error))}`, { context: { location, errno }, cause: error, ...(code === 'STORAGE_AUTH' ? { hint: 'The account that Walberg runs under must be able to write there: check owner and mode of the folder, and that the file system is not mounted read-only.' } : {}) });
}
