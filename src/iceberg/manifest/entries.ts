import { WalbergError } from '../../errors/error.js';
import type { DataFile } from '../spec/types.js';
import { STATUS_ADDED, STATUS_DELETED, STATUS_EXISTING, type ManifestEntry } from './types.js';

/** A file added by a snapshot. `sequenceNumber` only when it must differ from the commit's own, which is inherited otherwise. */
export function addedEntry(file: DataFile, snapshotId: bigint, sequenceNumber: bigint | null = null): ManifestEntry {
  return { status: STATUS_ADDED, snapshotId, sequenceNumber, fileSequenceNumber: null, file };
}

/** A live entry as read, carried over into a rewritten manifest: all that was inherited is now explicit. */
export function existingEntry(entry: ManifestEntry): ManifestEntry {
  requireLive(entry);
  return { ...entry, status: STATUS_EXISTING };
}

/** A live entry as read, removed by a snapshot; goes into the manifest that replaces the one where the file was live. */
export function deletedEntry(entry: ManifestEntry, deletingSnapshotId: bigint): ManifestEntry {
  requireLive(entry);
  return { ...entry, status: STATUS_DELETED, snapshotId: deletingSnapshotId };
}

/** True for a file that is part of the table: added or existing. */
export function isLive(entry: ManifestEntry): boolean {
  return entry.status !== STATUS_DELETED;
}

function requireLive(entry: ManifestEntry): void {
  if (!isLive(entry)) throw new WalbergError('INTERNAL', `The entry of ${entry.file.filePath} is already deleted and cannot be carried over.`, { context: { path: entry.file.filePath } });
}
