import type { DataFile } from '../spec/types.js';

/** What a manifest lists: data files, or delete files (never both). */
export type ManifestContent = 'data' | 'deletes';

/** Entry status, manifest entry field 0 (spec "Manifests"). */
export const STATUS_EXISTING = 0;
export const STATUS_ADDED = 1;
export const STATUS_DELETED = 2;
export type EntryStatus = 0 | 1 | 2;

/**
 * One file of a manifest with its place in the table's history.
 *
 * To write: ADDED carries the adding snapshot's id, no file sequence number, and a data sequence number only when it must
 * differ from the commit's own (null is inherited, so a manifest can be reused when a commit is retried). EXISTING and
 * DELETED carry explicit numbers; DELETED carries the deleting snapshot's id.
 * As read: inherited values are filled in.
 */
export interface ManifestEntry {
  readonly status: EntryStatus;
  readonly snapshotId: bigint | null;
  /** Data sequence number: decides which deletes apply. */
  readonly sequenceNumber: bigint | null;
  /** Sequence number of the snapshot that added the file; null only for EXISTING entries of writers older than the field. */
  readonly fileSequenceNumber: bigint | null;
  readonly file: DataFile;
}

/** Summary of one partition field over a manifest, bounds in single-value binary form (spec "Manifest Lists", field_summary). */
export interface FieldSummary {
  readonly containsNull: boolean;
  readonly containsNan?: boolean;
  readonly lowerBound?: Uint8Array;
  readonly upperBound?: Uint8Array;
}

/** One manifest as recorded in a manifest list (spec "Manifest Lists", manifest_file). */
export interface ManifestFile {
  readonly path: string;
  /** Length in bytes, exact. */
  readonly length: number;
  readonly specId: number;
  readonly content: ManifestContent;
  readonly sequenceNumber: bigint;
  /** Least data sequence number of the live entries; 0 is a value, not "unset". */
  readonly minSequenceNumber: bigint;
  readonly addedSnapshotId: bigint;
  readonly addedFilesCount: number;
  readonly existingFilesCount: number;
  readonly deletedFilesCount: number;
  readonly addedRowsCount: bigint;
  readonly existingRowsCount: bigint;
  readonly deletedRowsCount: bigint;
  /** One summary per field of the partition spec, or undefined when nothing is known (then nothing may be pruned by it). */
  readonly partitions?: readonly FieldSummary[];
  readonly keyMetadata?: Uint8Array;
}

/** What `writeManifest` knows of the manifest it has written; see `toManifestFile`. */
export type ManifestStats = Omit<ManifestFile, 'path' | 'sequenceNumber' | 'addedSnapshotId' | 'minSequenceNumber'> & {
  /** Least explicit data sequence number of the live entries; undefined when all of them inherit. */
  readonly minExplicitSequenceNumber?: bigint;
};
