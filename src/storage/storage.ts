/**
 * The one port to bytes at rest. Locations are absolute URIs (`file:///…`, `s3://bucket/key`) without trailing slash.
 * Errors are WalbergErrors: STORAGE_* , FILE_MISSING, FILE_EXISTS.
 */
export interface Storage {
  /**
   * Writes a whole object, durably: when the promise resolves the bytes survive a crash (fsync on disk).
   * Large bodies use multipart on object stores. A failed write may leave garbage under that name, never a live object
   * with part of the bytes. `ifAbsent` fails with FILE_EXISTS when the object exists (link(2) / If-None-Match).
   */
  write(location: string, body: Uint8Array, options?: { ifAbsent?: boolean }): Promise<void>;
  /** Whole object. FILE_MISSING when absent. */
  read(location: string): Promise<Uint8Array>;
  /** Size in bytes, or undefined when absent. */
  size(location: string): Promise<number | undefined>;
  /** Removes the objects; absent ones are no error. */
  remove(locations: readonly string[]): Promise<void>;
  /** Every object below `prefix` (a location used as folder). */
  list(prefix: string): AsyncIterable<{ location: string; size: number; modifiedMs: number }>;
  close?(): Promise<void>;
}
