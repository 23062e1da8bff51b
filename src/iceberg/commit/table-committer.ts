import type { ErrorCode } from '../../errors/codes.js';
import { asWalbergError, WalbergError } from '../../errors/error.js';
import type { Storage } from '../../storage/storage.js';
import type { Catalog, LoadedTable } from '../catalog/catalog.js';
import { Backoff } from './backoff.js';
import { hasLanded, positionError, samePosition } from './fence.js';
import { refId, snapshotById } from './history.js';
import { COMMIT_ID, formatPosition, LSN, MODE, PROCESS, readPosition, SLOT, SOURCE_OID, SYSTEM_ID, type StoredPosition } from './position.js';
import { prepareRowDelta, type PreparedRowDelta } from './prepare.js';
import type { RowDelta } from './row-delta.js';
import { checkReferencedFiles, stageRowDelta, type StagedCommit } from './stage.js';

export { readPosition } from './position.js';

export interface CommitterOptions {
  readonly catalog: Catalog;
  readonly storage: Storage;
  /** Name of the replication slot. */
  readonly slot: string;
  /** System identifier of the Postgres cluster. */
  readonly systemId: string;
  /** OID of the source table; absent when the table has none. */
  readonly sourceOid?: number;
  /** How rows are written; absent when nothing depends on it. */
  readonly mode?: string;
  /** Further table properties that every commit sets. */
  readonly properties?: Readonly<Record<string, string>>;
  /** Random id of this process. */
  readonly process: string;
  /** Attempts of one commit, at least 1. Reading the table after an unknown outcome is not counted: it goes on until it works. */
  readonly retries: number;
  /** Pauses between attempts, milliseconds. */
  readonly initialMs: number;
  readonly maxMs: number;
  /** Branch that is written; `main` when undefined. */
  readonly branch?: string;
  /** Refs asserted besides the branch and `main`. */
  readonly assertRefs?: readonly string[];
  /** Announces that attempt `attempt` failed and that the table is read again. */
  onRetry?(attempt: number, error: WalbergError): void;
  /** Ends waiting. A commit that is still unclear then fails with COMMIT_UNKNOWN. */
  readonly signal?: AbortSignal;
  sleep?(ms: number): Promise<void>;
  now?(): number;
}

export interface CommitResult {
  readonly snapshotId: bigint;
  readonly sequenceNumber: bigint;
  readonly attempts: number;
  readonly durationMs: number;
  /** Manifests in the snapshot's manifest list. */
  readonly manifests: number;
}

/**
 * Answers after which the table itself decides. "Conflict" may be the answer to a client's own repetition of a request that
 * had been applied, and some servers call a stale attempt malformed.
 */
const OPEN_TO_DOUBT: ReadonlySet<string> = new Set<ErrorCode>(['COMMIT_UNKNOWN', 'COMMIT_CONFLICT', 'CATALOG_REQUEST']);

/** What one `commit` call knows across its attempts. */
interface Run {
  readonly delta: RowDelta & { readonly endLsn: bigint };
  readonly started: number;
  readonly backoff: Backoff;
  attempt: number;
  prepared?: PreparedRowDelta;
  staged?: StagedCommit;
  /** An attempt's outcome is open: it may have landed, or may still land. */
  unknown: boolean;
  /** No file may be removed: an outcome is or was open, the commit has landed, or nobody has looked whether it has. */
  keepFiles: boolean;
}

/**
 * Commits row deltas to one table, each with the source position it reaches, so that rows and position cannot differ.
 *
 * Every attempt asserts the refs it was built on. An attempt that was refused is staged again on the reloaded table; one
 * whose outcome is unknown is looked up by its commit id and, when absent, repeated with the same files: should the old
 * request land first, the repetition is refused and the commit is then found; should it land later, it is refused itself.
 * Commits of other tools in between are accepted as long as they leave the position alone.
 */
export class TableCommitter {
  readonly #options: CommitterOptions;
  readonly #ref: string;
  readonly #name: string;
  #table: LoadedTable;
  #known: StoredPosition | undefined;
  #committed = false;
  #busy = false;

  /** `table`: as just loaded; its position counts as the one this process knows. FORMAT_UNSUPPORTED unless format version 2. */
  constructor(table: LoadedTable, options: CommitterOptions) {
    checkFormat(table);
    this.#options = options;
    this.#ref = options.branch ?? 'main';
    this.#name = [...table.identifier.namespace, table.identifier.name].join('.');
    this.#table = table;
    this.#known = readPosition(table, this.#ref);
  }

  /** The table after the last commit (or as given, or as read during a retry). */
  get table(): LoadedTable {
    return this.#table;
  }

  /** End LSN of the last transaction in the table, as committed by this process or found by it; undefined for none. */
  get position(): bigint | undefined {
    return this.#known?.lsn;
  }

  /**
   * Takes over a newer state of the table, as returned by a commit made elsewhere in this process (a schema change).
   * Errors as for a reload: TABLE_REPLACED, POSITION_CHANGED, COMMIT_FENCED.
   */
  adopt(table: LoadedTable): void {
    this.#verify(table);
    this.#table = table;
  }

  /** Reads the table again and takes it over. Errors as for `adopt`, and the catalog's. */
  async reload(): Promise<LoadedTable> {
    this.adopt(await this.#load());
    return this.#table;
  }

  /**
   * Commits `delta` and the position `endLsn` in one snapshot. One call at a time.
   *
   * Errors: COMMIT_FENCED, POSITION_CHANGED, TABLE_REPLACED (see there); COMMIT_CONFLICT when attempts ran out or a file
   * that position deletes point into is gone; COMMIT_UNKNOWN when attempts ran out or the signal came with the outcome
   * open; other refusals as the catalog or storage named them. Data and delete files are never removed here.
   */
  async commit(delta: RowDelta & { readonly endLsn: bigint }): Promise<CommitResult> {
    if (this.#busy) throw new WalbergError('INTERNAL', `Two commits of ${this.#name} at the same time`);
    if (this.#known !== undefined && delta.endLsn < this.#known.lsn) {
      throw new WalbergError('INTERNAL', `A commit would move the position of ${this.#name} back`, { context: { from: this.#known.lsn, to: delta.endLsn } });
    }
    this.#busy = true;
    const run: Run = { delta, started: performance.now(), backoff: new Backoff(this.#options), attempt: 0, unknown: false, keepFiles: false };
    try {
      return await this.#run(run);
    } catch (error) {
      if (run.prepared !== undefined && !run.keepFiles) await this.#removeExcept(run.prepared, undefined);
      throw error;
    } finally {
      this.#busy = false;
    }
  }

  async #run(run: Run): Promise<CommitResult> {
    let moved = false;
    for (;;) {
      run.attempt += 1;
      if (moved) await this.#checkReferences(run);
      const failure = await this.#attempt(run);
      if (!(failure instanceof WalbergError)) return failure;
      const last = run.attempt >= this.#options.retries;
      if (this.#aborted() || !(OPEN_TO_DOUBT.has(failure.code) || (failure.policy === 'retry' && (run.unknown || !last)))) throw this.#verdict(run, failure);
      this.#options.onRetry?.(run.attempt, failure);
      const before = this.#table;
      const landed = await this.#lookAgain(run, failure);
      if (landed !== undefined) return landed;
      const same = sameState(before, this.#table, this.#ref);
      moved ||= !same;
      // An attempt lands only on the head it asserts. The head has moved and the commit is not there: it never will be.
      if (refId(before.metadata, this.#ref) !== refId(this.#table.metadata, this.#ref)) run.unknown = false;
      if (last || this.#aborted() || (failure.code === 'CATALOG_REQUEST' && same)) throw this.#verdict(run, failure);
    }
  }

  /** One attempt on the table as known. Its failure is returned, not thrown, while another attempt may make sense. */
  async #attempt(run: Run): Promise<CommitResult | WalbergError> {
    const base = this.#table;
    let table: LoadedTable;
    try {
      if (this.#aborted()) throw new WalbergError('SHUTDOWN_DEADLINE', `The commit of ${this.#name} was not begun any more`);
      run.staged = await this.#stage(run, base);
    } catch (error) {
      return asWalbergError(error, 'INTERNAL', { table: this.#name });
    }
    try {
      table = await this.#options.catalog.commitTable(base, run.staged.change);
    } catch (error) {
      // A failure that nobody has classified says nothing about what the server did.
      const failure = asWalbergError(error, 'COMMIT_UNKNOWN', { table: this.#name });
      if (failure.code === 'COMMIT_UNKNOWN') run.unknown = run.keepFiles = true;
      return failure;
    }
    return this.#finish(run, table, run.staged);
  }

  /** Repeating cannot help when rows to delete have moved to other files: that ends the commit. */
  async #checkReferences(run: Run): Promise<void> {
    if (run.prepared === undefined) return;
    try {
      await checkReferencedFiles(run.prepared, this.#table, this.#options.storage, this.#ref);
    } catch (error) {
      throw this.#verdict(run, asWalbergError(error, 'INTERNAL', { table: this.#name }));
    }
  }

  async #stage(run: Run, base: LoadedTable): Promise<StagedCommit> {
    const { storage, process, slot, systemId, sourceOid, mode } = this.#options;
    run.prepared ??= await prepareRowDelta(run.delta, base, storage);
    const position = { [LSN]: formatPosition(run.delta.endLsn), [SLOT]: slot, [SYSTEM_ID]: systemId, ...(sourceOid === undefined ? {} : { [SOURCE_OID]: String(sourceOid) }), ...(mode === undefined ? {} : { [MODE]: mode }), [COMMIT_ID]: run.prepared.commitId, [PROCESS]: process };
    return stageRowDelta(run.prepared, base, storage, {
      ref: this.#ref,
      assertRefs: this.#options.assertRefs,
      summary: { 'engine-name': 'walberg', ...position },
      properties: { ...this.#options.properties, ...position },
      nowMs: this.#options.now?.() ?? Date.now(),
    });
  }

  /** Pauses, reads the table again and verifies it. The commit's result if it has landed after all. */
  async #lookAgain(run: Run, failure: WalbergError): Promise<CommitResult | undefined> {
    for (;;) {
      await run.backoff.pause();
      if (this.#aborted()) {
        run.keepFiles = true;
        throw this.#verdict(run, failure);
      }
      let table: LoadedTable;
      try {
        table = await this.#load();
      } catch (error) {
        const problem = asWalbergError(error, 'INTERNAL', { table: this.#name });
        // Only an open outcome is worth waiting for without end; otherwise waiting counts as attempts.
        if (problem.policy === 'retry' && (run.unknown || (run.attempt += 1) <= this.#options.retries)) {
          this.#options.onRetry?.(run.attempt, problem);
          continue;
        }
        run.keepFiles = true;
        throw problem;
      }
      this.#checkIdentity(table);
      if (run.prepared !== undefined && run.staged !== undefined && hasLanded(table, run.prepared.commitId, this.#ref)) return this.#finish(run, table, undefined);
      this.adopt(table);
      return undefined;
    }
  }

  /**
   * The commit is in `table`, by the attempt `landed`, or by one that is not known. COMMIT_FENCED when another process has
   * already written on top of it.
   */
  async #finish(run: Run, table: LoadedTable, landed: StagedCommit | undefined): Promise<CommitResult> {
    const { slot, systemId, process } = this.#options;
    const prepared = run.prepared!;
    const staged = run.staged!;
    if (landed !== undefined && !run.keepFiles && run.attempt > 1) await this.#removeExcept(prepared, landed);
    run.keepFiles = true;
    this.#committed = true;
    this.#known = { lsn: run.delta.endLsn, slot, systemId, process, commitId: prepared.commitId };
    this.adopt(table);
    const found = snapshotById(table.metadata, prepared.snapshotId);
    return {
      snapshotId: prepared.snapshotId,
      sequenceNumber: found === undefined ? staged.sequenceNumber : BigInt(found['sequence-number']),
      attempts: run.attempt,
      durationMs: performance.now() - run.started,
      manifests: staged.manifests.length,
    };
  }

  /** Removes, best effort, the metadata files this commit has written and `landed` does not need. */
  async #removeExcept(prepared: PreparedRowDelta, landed: StagedCommit | undefined): Promise<void> {
    const kept = new Set(landed === undefined ? [] : [landed.manifestList, ...landed.manifests]);
    await this.#options.storage.remove([...prepared.written].filter((location) => !kept.has(location))).catch(() => undefined);
  }

  #verdict(run: Run, failure: WalbergError): WalbergError {
    if (!run.unknown || failure.code === 'COMMIT_UNKNOWN' || failure.policy === 'stop') return failure;
    return new WalbergError('COMMIT_UNKNOWN', `Whether the commit of ${this.#name} was applied could not be determined`, { context: { table: this.#name, attempts: run.attempt }, cause: failure });
  }

  async #load(): Promise<LoadedTable> {
    const table = await this.#options.catalog.loadTable(this.#table.identifier);
    if (table === undefined) throw new WalbergError('TABLE_REPLACED', `The table ${this.#name} does not exist any more`, { context: { table: this.#name } });
    return table;
  }

  #checkIdentity(table: LoadedTable): void {
    if (table.metadata['table-uuid'] !== this.#table.metadata['table-uuid']) {
      throw new WalbergError('TABLE_REPLACED', `The table ${this.#name} was dropped and made again`, { context: { table: this.#name, uuid: table.metadata['table-uuid'] } });
    }
    checkFormat(table);
  }

  #verify(table: LoadedTable): void {
    this.#checkIdentity(table);
    const stored = readPosition(table, this.#ref);
    if (!samePosition(stored, this.#known)) throw positionError(this.#name, this.#known, stored, this.#options.process, this.#committed);
  }

  #aborted(): boolean {
    return this.#options.signal?.aborted === true;
  }
}

function checkFormat(table: LoadedTable): void {
  const version = table.metadata['format-version'];
  if (version !== 2) {
    throw new WalbergError('FORMAT_UNSUPPORTED', `The table ${table.identifier.name} has format version ${version}, only 2 is written`, { context: { version } });
  }
}

/** True when nothing was committed between the two states, as far as a commit's requirements and numbers go. */
function sameState(a: LoadedTable, b: LoadedTable, ref: string): boolean {
  return a === b || (refId(a.metadata, ref) === refId(b.metadata, ref) && BigInt(a.metadata['last-sequence-number']) === BigInt(b.metadata['last-sequence-number']));
}
