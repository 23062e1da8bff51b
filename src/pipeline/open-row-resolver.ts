import { keyValues, lacking, patchRows } from '../buffer/open-rows.js';
import type { DataFile } from '../iceberg/spec/types.js';
import type { SourceClient } from '../postgres/client.js';
import { readBack } from '../postgres/read-back.js';
import { snapshotSees, type TransactionSnapshot } from '../postgres/transaction-snapshot.js';
import type { ChangeGroup } from './change-group.js';
import type { PartWriter } from './part-writer.js';
import { metaOfOpenRows } from './row-meta.js';
import type { TableTarget } from './table-target.js';

/** Rows read and written at a time: what they hold may be large. */
const READ_KEYS = 1000;
/** A transaction that was streamed becomes visible a moment later; with synchronous replication it can take longer. */
const VISIBLE_POLL_MS = 10;

/** Files of rows completed with values read from the source, to be used only if nothing happened to those rows up to `readLsn`. */
export interface ReadRows {
  readonly files: DataFile[];
  readonly readLsn: bigint;
}

/** One session for reading values back; sources that send whole rows never open it. */
export interface ReadBackSession {
  /** Runs one at a time. */
  exclusively<T>(work: (client: SourceClient) => Promise<T>): Promise<T>;
}

/**
 * Completes the rows of a group that lack values, by reading them from the source by key. What is read is newer than the
 * group: each read must have seen every transaction of the group, and is worth nothing before the stream has passed it.
 */
export class OpenRowResolver {
  /** Transactions of the group that a snapshot is known to see. */
  #visible = 0;

  constructor(private readonly target: TableTarget, private readonly writer: PartWriter, private readonly session: ReadBackSession, private readonly signal: AbortSignal) {}

  /** Reads and writes all open rows of the group. */
  async read(group: ChangeGroup): Promise<ReadRows> {
    const files: DataFile[] = [];
    let readLsn = 0n;
    const open = [...group.open];
    for (let from = 0; from < open.length; from += READ_KEYS) {
      const slice = open.slice(from, from + READ_KEYS);
      const { source, keyNames, toastableOrdinals } = this.target.plan;
      const found = await this.session.exclusively(async (client) => {
        for (;;) {
          this.signal.throwIfAborted();
          const result = await readBack(client, { table: source, keyColumns: keyNames, keys: slice.map(([key]) => keyValues(key)), columns: toastableOrdinals.map((i) => source.columns[i].name), signal: this.signal });
          if (this.#sees(result.snapshot, group)) return result;
          await new Promise((resolve) => setTimeout(resolve, VISIBLE_POLL_MS));
        }
      });
      if (found.insertLsn > readLsn) readLsn = found.insertLsn;
      // A row that is gone is left out: a change that took it away lies before `readLsn`, and then nothing of this is used.
      const rows = slice.flatMap(([, row], i) => {
        const values = found.rows[i];
        if (values === undefined && lacking(row).length > 0) return [];
        return [{ row, values: new Map(toastableOrdinals.map((ordinal, c) => [ordinal, values?.[c] ?? null])) }];
      });
      if (rows.length === 0) continue;
      const patched = patchRows(rows);
      files.push(await this.writer.writeData(this.target, { format: 'tuple', ...patched, meta: metaOfOpenRows(this.target, rows.map((r) => r.row)) }));
    }
    return { files, readLsn };
  }

  #sees(snapshot: TransactionSnapshot, group: ChangeGroup): boolean {
    const { xids, count } = group.transactions;
    while (this.#visible < count && snapshotSees(snapshot, xids[this.#visible])) this.#visible++;
    return this.#visible === count;
  }
}
