import { WalbergError } from '../../errors/error.js';
import { CONTENT_DATA, CONTENT_EQUALITY_DELETES, type DataFile } from '../spec/types.js';

/**
 * The change of one table that one commit makes: files added, and optionally everything removed that was there before.
 *
 * Files may belong to steps (`DataFile.sequenceStep`, 0-based). A delta with steps 0..k takes k+1 sequence numbers in ONE
 * snapshot: the equality deletes of a later step reach the rows of an earlier one, as if each step were a commit.
 */
export interface RowDelta {
  readonly dataFiles: readonly DataFile[];
  /** Equality and position deletes. Position deletes of older data files must carry `referencedDataFile`. */
  readonly deleteFiles: readonly DataFile[];
  /** First remove every live data and delete file of the branch, then add the files. */
  readonly truncate?: boolean;
  /** Further entries of the snapshot's summary; computed and `walberg.*` ones win. */
  readonly summary?: Readonly<Record<string, string>>;
  /** Table properties set in the same commit; the position's own win. */
  readonly properties?: Readonly<Record<string, string>>;
  readonly removeProperties?: readonly string[];
  /** Schema the files were written with; the current one when undefined. */
  readonly schemaId?: number;
  /**
   * Data sequence number of the data files (not the delete files), when they must lie beneath commits already made: every
   * equality delete above it applies to them. Excludes steps.
   */
  readonly dataSequenceNumber?: bigint;
}

/** Number of sequence numbers the delta takes: 1 without steps. */
export function stepCount(delta: RowDelta): number {
  let last = 0;
  for (const file of files(delta)) last = Math.max(last, file.sequenceStep ?? 0);
  return last + 1;
}

/** All files of the delta: data files, then delete files. */
export function* files(delta: RowDelta): Iterable<DataFile> {
  yield* delta.dataFiles;
  yield* delta.deleteFiles;
}

/** Refuses (INTERNAL) a delta that would make a table no reader can read or that contradicts itself. */
export function checkDelta(delta: RowDelta): void {
  const fail = (what: string): never => {
    throw new WalbergError('INTERNAL', `A commit was put together wrongly: ${what}`);
  };
  const paths = new Set<string>();
  for (const file of files(delta)) {
    if (paths.has(file.filePath)) fail(`${file.filePath} is in it twice`);
    paths.add(file.filePath);
    const step = file.sequenceStep ?? 0;
    if (!Number.isSafeInteger(step) || step < 0) fail(`${file.filePath} has step ${step}`);
  }
  for (const file of delta.dataFiles) if (file.content !== CONTENT_DATA) fail(`${file.filePath} is a delete file among the data files`);
  for (const file of delta.deleteFiles) {
    if (file.content === CONTENT_DATA) fail(`${file.filePath} is a data file among the delete files`);
    if (file.content === CONTENT_EQUALITY_DELETES && (file.equalityIds ?? []).length === 0) fail(`${file.filePath} has no equality ids`);
  }
  if (delta.dataSequenceNumber !== undefined && stepCount(delta) > 1) fail('steps and a fixed data sequence number exclude each other');
}
