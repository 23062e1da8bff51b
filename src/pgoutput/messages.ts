/**
 * The contract between the replication stream and the rest: messages out, `confirm(lsn)` back.
 * Layouts: PostgreSQL manual, "Logical Replication Message Formats".
 */

/** Replica identity as sent in Relation messages: default, nothing, full, index. */
export type ReplicaIdentity = 'd' | 'n' | 'f' | 'i';

export interface RelationColumn {
  readonly name: string;
  /** Type OID, unsigned. */
  readonly typeOid: number;
  /** Type modifier, -1 when none. */
  readonly typmod: number;
  /** Part of the replica identity. Under FULL every column has it, so this is not the primary key. */
  readonly identity: boolean;
}

export interface Relation {
  /** OID of the table, unsigned. The relation cache is keyed by it, never by name. */
  readonly oid: number;
  readonly schema: string;
  readonly name: string;
  readonly replicaIdentity: ReplicaIdentity;
  readonly columns: readonly RelationColumn[];
}

/** Length markers in `TupleView.lengths`. */
export const LENGTH_NULL = -1;
export const LENGTH_UNCHANGED_TOAST = -2;

/**
 * A decoded view of one TupleData, reused from message to message: valid only during the handler call.
 * Value `i` is `buffer[offsets[i] .. offsets[i] + lengths[i])` in text format; `lengths[i]` is LENGTH_NULL or
 * LENGTH_UNCHANGED_TOAST when there is no value.
 */
export interface TupleView {
  readonly buffer: Uint8Array;
  readonly columnCount: number;
  readonly offsets: Int32Array;
  readonly lengths: Int32Array;
  /** The whole TupleData as it came, `buffer[start .. end)`; both 0 when the row did not come from pgoutput. */
  readonly start: number;
  readonly end: number;
}

/** `key` = replica identity columns only ('K' message), `full` = the whole old row ('O', REPLICA IDENTITY FULL). */
export type OldTupleKind = 'none' | 'key' | 'full';

/** Called synchronously, in stream order. LSNs are unsigned 64-bit; times are microseconds since 1970-01-01 UTC. */
export interface PgOutputHandler {
  begin(finalLsn: bigint, commitTimeMicros: bigint, xid: number): void;
  /** `endLsn` is the position to confirm once the transaction is durable. */
  commit(commitLsn: bigint, endLsn: bigint, commitTimeMicros: bigint): void;
  origin?(originLsn: bigint, name: string): void;
  relation(relation: Relation): void;
  type?(oid: number, schema: string, name: string): void;
  insert(relationOid: number, row: TupleView): void;
  /** `old` is undefined when kind is 'none'. In a 'key' tuple the non-key columns are null markers, not NULL values. */
  update(relationOid: number, kind: OldTupleKind, old: TupleView | undefined, row: TupleView): void;
  delete(relationOid: number, kind: 'key' | 'full', old: TupleView): void;
  truncate(relationOids: readonly number[], cascade: boolean, restartIdentity: boolean): void;
  message?(transactional: boolean, lsn: bigint, prefix: string, content: Uint8Array): void;
}

/** What the replication stream adds to pgoutput. */
export interface ReplicationHandler extends PgOutputHandler {
  /** The server has sent everything up to `endLsn`. */
  keepalive(endLsn: bigint, serverTimeMicros: bigint): void;
}
