import { isAbsolute, resolve } from 'node:path';
import { WalbergError } from '../errors/error.js';

/**
 * The path a `file:` location or plain absolute path names, without trailing slash.
 *
 * Nothing is percent-decoded: Iceberg's Java file IO and the other engines take what follows the scheme as the path's
 * own characters, so `file:///a%20b` is a folder called `a%20b`.
 */
export function filePath(location: string): string {
  const path = location.replace(/^file:(?:\/\/(?:localhost(?=\/))?)?/i, '');
  if (!isAbsolute(path) || path.includes('\0')) {
    throw new WalbergError('CONFIG_INVALID', `Not an absolute file location: ${location}`, { hint: 'Write file:///absolute/path or /absolute/path.' });
  }
  return resolve(path);
}

/** True for locations that FileStorage serves. */
export function isFileLocation(location: string): boolean {
  return location.startsWith('/') || /^file:/i.test(location);
}
