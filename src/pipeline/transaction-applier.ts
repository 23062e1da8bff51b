import { TupleMapper } from '../buffer/tuple-mapper.js';
import { WalbergError } from '../errors/error.js';
import type { PipelineEvents } from '../observe/events.js';
import type { OldTupleKind, Relation, ReplicationHandler, TupleView } from '../pgoutput/messages.js';
import { formatLsn } from '../postgres/lsn.js';
import { snapshotSees, type TransactionSnapshot } from '../postgres/transaction-snapshot.js';
import { mapRelation } from '../schema/relation-map.js';
import { columnDifference, identityDifference } from '../schema/relation-match.js';
import type { StreamPosition } from './stream-position.js';
import type { TableFlusher } from './table-flusher.js';
import type { OpenTransaction } from './table-writer.js';

interface AppliedTable {
  readonly flusher: TableFlusher;
  /** Transactions that end at or before it are in the table. */
  readonly position: bigint;
  /** Shape of the rows that come now; undefined once it is known to be the plan's or older. */
  relation: Relation | undefined;
  /** Brings rows of an older shape into the plan's. */
  mapper: TupleMapper | undefined;
  inserts: number;
  updates: number;
  deletes: number;
  truncates: number;
}

export interface TransactionApplierOptions {
  /** By OID of the source table. */
  readonly tables: ReadonlyMap<number, { readonly flusher: TableFlusher; readonly position: bigint }>;
  readonly position: StreamPosition;
  /** Transactions that ended before the plans were made. */
  readonly described: TransactionSnapshot;
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
    for (const [oid, table] of options.tables) this.#tables.set(oid, { ...table, relation: undefined, mapper: undefined, inserts: 0, updates: 0, deletes: 0, truncates: 0 });
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
    table.relation = relation;
    table.mapper = undefined;
  }

  insert(oid: number, row: TupleView): void {
    const table = this.#table(oid);
    if (table === undefined) return;
    table.inserts++;
    table.flusher.writer.insert(table.mapper?.row(row) ?? row);
    this.#afterRow(table);
  }

  update(oid: number, kind: OldTupleKind, old: TupleView | undefined, row: TupleView): void {
    const table = this.#table(oid);
    if (table === undefined) return;
    table.updates++;
    const { mapper } = table;
    if (mapper === undefined) table.flusher.writer.update(kind, old, row);
    else table.flusher.writer.update(kind, old && mapper.old(old), mapper.row(row));
    this.#afterRow(table);
  }

  delete(oid: number, kind: 'key' | 'full', old: TupleView): void {
    const table = this.#table(oid);
    if (table === undefined) return;
    table.deletes++;
    table.flusher.writer.delete(kind, table.mapper?.old(old) ?? old);
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
    if (table.relation !== undefined) this.#admit(table, table.relation, transaction);
    const { flusher } = table;
    if (!flusher.writer.inTransaction) {
      flusher.outstandingFrom(this.options.position.lsn);
      flusher.writer.beginTransaction(transaction);
      this.#touched.push(table);
    }
    return table;
  }

  /**
   * Compares the shape of rows that are to be applied with the plan's. A transaction that had ended when the plan was made can
   * only have an older one, whose rows are rewritten; in a later one it is newer, and the plan has to be made again.
   */
  #admit(table: AppliedTable, relation: Relation, transaction: OpenTransaction): void {
    const { plan, known } = table.flusher.writer.target;
    const difference = columnDifference(plan, relation);
    const name = `${relation.schema}.${relation.name}`;
    const context = { table: name, position: formatLsn(this.options.position.lsn) };
    if (difference !== undefined && !snapshotSees(this.options.described, transaction.xid)) {
      throw new WalbergError('TABLE_ALTERED', `Table ${name} was altered: ${difference}`, { context });
    }
    const { ordinals, problem } = difference === undefined ? { ordinals: undefined, problem: identityDifference(plan, relation) } : mapRelation(plan, relation, known);
    if (problem !== undefined) {
      throw new WalbergError('SCHEMA_CHANGED', `Changes of table ${name} were made when it was not what it is now: ${problem}`, {
        context, hint: 'Restart Walberg; if the difference remains, drop or rename the Iceberg table, so that the table is loaded anew, or change the source back.',
      });
    }
    table.mapper = ordinals && new TupleMapper(ordinals);
    table.relation = undefined;
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
