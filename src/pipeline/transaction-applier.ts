import { WalbergError } from '../errors/error.js';
import type { PipelineEvents } from '../observe/events.js';
import type { OldTupleKind, Relation, ReplicationHandler, TupleView } from '../pgoutput/messages.js';
import { formatLsn } from '../postgres/lsn.js';
import { relationDifference } from '../schema/relation-match.js';
import type { StreamPosition } from './stream-position.js';
import type { TableFlusher } from './table-flusher.js';
import type { OpenTransaction } from './table-writer.js';

interface AppliedTable {
  readonly flusher: TableFlusher;
  /** Transactions that end at or before it are in the table. */
  readonly position: bigint;
  inserts: number;
  updates: number;
  deletes: number;
  truncates: number;
}

export interface TransactionApplierOptions {
  /** By OID of the source table. */
  readonly tables: ReadonlyMap<number, { readonly flusher: TableFlusher; readonly position: bigint }>;
  readonly position: StreamPosition;
  readonly events: PipelineEvents;
  /** Called now and then inside a transaction, and after each one. */
  readonly onRows: () => void;
  /** A transaction is whole, or the server told its position. */
  readonly onBoundary: () => void;
}

/** Rows between two looks at the memory. */
const ROWS_PER_CHECK = 512;
/** Rows between two announcements inside one transaction. */
const ROWS_PER_EVENT = 10_000;

/** Takes the messages of the stream, transaction by transaction, and gives each change to its table. */
export class TransactionApplier implements ReplicationHandler {
  readonly #tables = new Map<number, AppliedTable>();
  #transaction: OpenTransaction | undefined;
  #touched: AppliedTable[] = [];
  #lastOid = -1;
  #lastTable: AppliedTable | undefined;
  #rowsUntilCheck = ROWS_PER_CHECK;
  #rowsUntilEvent = ROWS_PER_EVENT;

  constructor(private readonly options: TransactionApplierOptions) {
    for (const [oid, table] of options.tables) this.#tables.set(oid, { ...table, inserts: 0, updates: 0, deletes: 0, truncates: 0 });
  }

  get inTransaction(): boolean {
    return this.#transaction !== undefined;
  }

  begin(finalLsn: bigint, commitTimeMicros: bigint, xid: number): void {
    this.#transaction = { commitLsn: finalLsn, commitTimeMicros, xid };
    this.#lastOid = -1;
  }

  commit(_commitLsn: bigint, endLsn: bigint, commitTimeMicros: bigint): void {
    const commitTimeMs = Number(commitTimeMicros / 1000n);
    for (const table of this.#touched) table.flusher.writer.endTransaction(endLsn, commitTimeMs);
    const touched = this.#touched;
    if (touched.length > 0) {
      this.#announce();
      this.#touched = [];
      this.options.events.transactionAccepted({ endLsn, commitTimeMs });
    }
    this.#transaction = undefined;
    this.options.position.advance(endLsn);
    for (const table of touched) table.flusher.atBoundary();
    this.options.onBoundary();
  }

  relation(relation: Relation): void {
    this.#lastOid = -1;
    const table = this.#tables.get(relation.oid);
    if (table === undefined) return;
    const difference = relationDifference(table.flusher.writer.target.plan, relation);
    if (difference === undefined || this.#isDone(table)) return;
    throw new WalbergError('SCHEMA_CHANGED', `Table ${relation.schema}.${relation.name} is not what it was when Walberg started: ${difference}`, {
      context: { table: `${relation.schema}.${relation.name}`, position: formatLsn(this.options.position.lsn) },
      hint: 'Restart Walberg; if the difference remains, change the Iceberg table accordingly or load it anew into another table.',
    });
  }

  insert(oid: number, row: TupleView): void {
    const table = this.#table(oid);
    if (table === undefined) return;
    table.inserts++;
    table.flusher.writer.insert(row);
    this.#afterRow(table);
  }

  update(oid: number, kind: OldTupleKind, old: TupleView | undefined, row: TupleView): void {
    const table = this.#table(oid);
    if (table === undefined) return;
    table.updates++;
    table.flusher.writer.update(kind, old, row);
    this.#afterRow(table);
  }

  delete(oid: number, kind: 'key' | 'full', old: TupleView): void {
    const table = this.#table(oid);
    if (table === undefined) return;
    table.deletes++;
    table.flusher.writer.delete(kind, old);
    this.#afterRow(table);
  }

  truncate(oids: readonly number[]): void {
    for (const oid of oids) {
      const table = this.#table(oid);
      if (table === undefined) continue;
      table.truncates++;
      table.flusher.writer.truncate();
      this.#afterRow(table);
    }
  }

  keepalive(endLsn: bigint): void {
    if (this.#transaction !== undefined) return;
    this.options.position.advance(endLsn);
    this.options.onBoundary();
  }

  /** The table of a change, ready to take it; undefined when it is not captured or has the transaction already. */
  #table(oid: number): AppliedTable | undefined {
    if (oid === this.#lastOid) return this.#lastTable;
    this.#lastOid = oid;
    this.#lastTable = this.#resolve(oid);
    return this.#lastTable;
  }

  #resolve(oid: number): AppliedTable | undefined {
    const table = this.#tables.get(oid);
    const transaction = this.#transaction;
    if (transaction === undefined) throw new WalbergError('PROTOCOL', 'A change arrived outside of a transaction');
    if (table === undefined || this.#isDone(table)) return undefined;
    const { flusher } = table;
    if (!flusher.writer.inTransaction) {
      flusher.outstandingFrom(this.options.position.lsn);
      flusher.writer.beginTransaction(transaction);
      this.#touched.push(table);
    }
    return table;
  }

  /** A commit record that begins before the position ends at or before it: positions are ends of records. */
  #isDone(table: AppliedTable): boolean {
    return this.#transaction !== undefined && this.#transaction.commitLsn < table.position;
  }

  #afterRow(table: AppliedTable): void {
    table.flusher.writer.sealIfFull();
    if (--this.#rowsUntilCheck <= 0) {
      this.#rowsUntilCheck = ROWS_PER_CHECK;
      this.options.onRows();
    }
    if (--this.#rowsUntilEvent <= 0) {
      this.#rowsUntilEvent = ROWS_PER_EVENT;
      this.#announce();
    }
  }

  #announce(): void {
    for (const table of this.#touched) {
      const { inserts, updates, deletes, truncates } = table;
      if (inserts + updates + deletes + truncates === 0) continue;
      this.options.events.rowsAccepted(table.flusher.writer.target.name, { inserts, updates, deletes, truncates });
      table.inserts = table.updates = table.deletes = table.truncates = 0;
    }
  }
}
