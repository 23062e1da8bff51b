import { CONTENT_DATA, CONTENT_EQUALITY_DELETES, type DataFile, type Snapshot } from '../spec/types.js';

/** Sums over files, in the units of snapshot summaries. */
interface Sums {
  dataFiles: number;
  records: bigint;
  bytes: bigint;
  equalityDeleteFiles: number;
  equalityDeletes: bigint;
  positionDeleteFiles: number;
  positionDeletes: bigint;
}

/** What a snapshot adds and removes, counted for its summary (Java: `SnapshotSummary`). */
export class SummaryBuilder {
  readonly #added = emptySums();
  readonly #removed = emptySums();
  readonly #partitions = new Set<string>();
  #addsDeletes = false;
  #addsData = false;
  #removes = false;

  added(file: DataFile): void {
    count(this.#added, file);
    if (file.content === CONTENT_DATA) this.#addsData = true;
    else this.#addsDeletes = true;
    this.#partitions.add(partitionKey(file));
  }

  removed(file: DataFile): void {
    count(this.#removed, file);
    this.#removes = true;
    this.#partitions.add(partitionKey(file));
  }

  /** By what happened to rows, as Java's row delta decides: other writers pick the snapshots they must check by this word. */
  operation(): 'append' | 'delete' | 'overwrite' {
    if (!this.#addsDeletes && !this.#removes) return 'append';
    return this.#addsData ? 'overwrite' : 'delete';
  }

  /**
   * The summary over `parent`'s. Totals are the parent's plus what was added less what was removed; a total the parent
   * does not have (and that is not known otherwise) is left out, because engines answer count(*) from it.
   * `complete` says that everything before was removed, so that the totals are known whatever the parent says.
   */
  build(parent: Snapshot | undefined, complete: boolean, user: Readonly<Record<string, string>>): Record<string, string> {
    const [a, r] = [this.#added, this.#removed];
    const computed: Record<string, string> = {};
    const set = (name: string, value: number | bigint): void => {
      if (BigInt(value) > 0n) computed[name] = value.toString();
    };
    set('added-data-files', a.dataFiles);
    set('deleted-data-files', r.dataFiles);
    set('added-delete-files', a.equalityDeleteFiles + a.positionDeleteFiles);
    set('removed-delete-files', r.equalityDeleteFiles + r.positionDeleteFiles);
    set('added-equality-delete-files', a.equalityDeleteFiles);
    set('removed-equality-delete-files', r.equalityDeleteFiles);
    set('added-position-delete-files', a.positionDeleteFiles);
    set('removed-position-delete-files', r.positionDeleteFiles);
    set('added-records', a.records);
    set('deleted-records', r.records);
    set('added-files-size', a.bytes);
    set('removed-files-size', r.bytes);
    set('added-equality-deletes', a.equalityDeletes);
    set('removed-equality-deletes', r.equalityDeletes);
    set('added-position-deletes', a.positionDeletes);
    set('removed-position-deletes', r.positionDeletes);
    computed['changed-partition-count'] = this.#partitions.size.toString();

    const total = (name: string, plus: number | bigint, minus: number | bigint): void => {
      const before = complete || parent === undefined ? 0n : totalOf(parent, name);
      if (before === undefined) return;
      const after = complete ? BigInt(plus) : before + BigInt(plus) - BigInt(minus);
      if (after >= 0n) computed[name] = after.toString();
    };
    total('total-records', a.records, r.records);
    total('total-files-size', a.bytes, r.bytes);
    total('total-data-files', a.dataFiles, r.dataFiles);
    total('total-delete-files', a.equalityDeleteFiles + a.positionDeleteFiles, r.equalityDeleteFiles + r.positionDeleteFiles);
    total('total-position-deletes', a.positionDeletes, r.positionDeletes);
    total('total-equality-deletes', a.equalityDeletes, r.equalityDeletes);
    return { ...withoutComputed(user), operation: this.operation(), ...computed };
  }
}

/** Names that are computed here: a user's value under one of them would be read as a count. */
const COMPUTED = /^(?:operation|changed-partition-count|(?:added|deleted|removed|total)-.*)$/;

function withoutComputed(user: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(user).filter(([name]) => !COMPUTED.test(name)));
}

function emptySums(): Sums {
  return { dataFiles: 0, records: 0n, bytes: 0n, equalityDeleteFiles: 0, equalityDeletes: 0n, positionDeleteFiles: 0, positionDeletes: 0n };
}

function count(sums: Sums, file: DataFile): void {
  sums.bytes += BigInt(file.fileSizeInBytes);
  if (file.content === CONTENT_DATA) {
    sums.dataFiles += 1;
    sums.records += BigInt(file.recordCount);
  } else if (file.content === CONTENT_EQUALITY_DELETES) {
    sums.equalityDeleteFiles += 1;
    sums.equalityDeletes += BigInt(file.recordCount);
  } else {
    sums.positionDeleteFiles += 1;
    sums.positionDeletes += BigInt(file.recordCount);
  }
}

function totalOf(parent: Snapshot, name: string): bigint | undefined {
  const text = parent.summary?.[name];
  return text !== undefined && /^\d+$/.test(text) ? BigInt(text) : undefined;
}

function partitionKey(file: DataFile): string {
  const values = file.partition.map((value) => `${typeof value}:${value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)}`);
  return JSON.stringify([file.specId, values]);
}
