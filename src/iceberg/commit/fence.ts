import { WalbergError } from '../../errors/error.js';
import type { LoadedTable } from '../catalog/catalog.js';
import { COMMIT_ID, type StoredPosition } from './position.js';
import { ancestors, refHead } from './history.js';

/** True when the commit is in the table: on the branch, or known from the properties it set (they outlive expiry). */
export function hasLanded(table: LoadedTable, commitId: string, ref: string): boolean {
  if (table.metadata.properties[COMMIT_ID] === commitId) return true;
  for (const snapshot of ancestors(table.metadata, refHead(table.metadata, ref))) if (snapshot.summary?.[COMMIT_ID] === commitId) return true;
  return false;
}

/** True when both were left by the same commit, or neither by any. A foreign commit leaves the position alone. */
export function samePosition(a: StoredPosition | undefined, b: StoredPosition | undefined): boolean {
  return a?.lsn === b?.lsn && a?.commitId === b?.commitId && a?.slot === b?.slot && a?.systemId === b?.systemId;
}

/**
 * The error for a table whose position is not the one this process knows.
 *
 * Who wrote it decides. Every attempt asserts the head it was built on, so a late request of a dead process can land only
 * while the table still stands as that process knew it: before this process's first commit. Then it is a leftover,
 * and reading the position again is right (POSITION_CHANGED). After this process has committed, whoever wrote another
 * position has seen that commit, so it lives and streams the same slot: one of the two must stop, and the other one has
 * the later position (COMMIT_FENCED). A position changed by hand, or by this process's own earlier session, fences nobody.
 */
export function positionError(table: string, known: StoredPosition | undefined, stored: StoredPosition | undefined, process: string, committed: boolean): WalbergError {
  const context = { table, knownLsn: known?.lsn, storedLsn: stored?.lsn, storedSlot: stored?.slot, storedProcess: stored?.process };
  const competitor = committed && stored?.process !== undefined && stored.process !== process;
  return competitor
    ? new WalbergError('COMMIT_FENCED', `Another Walberg process writes to ${table} after this one: it runs on slot ${stored.slot ?? '(unknown)'}`, { context })
    : new WalbergError('POSITION_CHANGED', `The position stored in ${table} is not the one this process left or read there`, { context });
}
