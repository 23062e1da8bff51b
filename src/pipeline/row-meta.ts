import type { OpenRow } from '../buffer/open-rows.js';
import type { SealedRows } from '../buffer/segment.js';
import { TransactionList } from '../buffer/transactions.js';
import type { RowMeta } from '../parquet/encode-types.js';
import type { TableTarget } from './table-target.js';

/** What metadata columns need of sealed rows; undefined when the table has no such columns. */
export function metaOf(target: TableTarget, rows: Pick<SealedRows, 'ops' | 'transactions'>, transactions: TransactionList): RowMeta | undefined {
  if (!target.columns.some((c) => c.source.from === 'meta')) return undefined;
  const { source } = target.plan;
  return {
    ops: rows.ops,
    transactions: rows.transactions,
    // Copies: the encoder runs elsewhere, and the list goes on growing here.
    commitTimesMicros: transactions.commitTimesMicros.slice(0, transactions.count),
    endLsns: transactions.commitLsns.slice(0, transactions.count),
    xids: transactions.xids.slice(0, transactions.count),
    table: source.name,
    schema: source.schema,
    database: target.database,
    processedMicros: BigInt(Date.now()) * 1000n,
  };
}

/** The same for rows that were held back. */
export function metaOfOpenRows(target: TableTarget, rows: readonly OpenRow[]): RowMeta | undefined {
  const transactions = new TransactionList();
  const indexes = Uint32Array.from(rows, (r) => transactions.add(r.commitTimeMicros, r.commitLsn, r.xid));
  return metaOf(target, { ops: Uint8Array.from(rows, (r) => r.op), transactions: indexes }, transactions);
}
