import { LENGTH_NULL, LENGTH_UNCHANGED_TOAST, type OldTupleKind, type Relation, type ReplicationHandler, type TupleView } from '../../src/pgoutput/messages.js';
import { UNCHANGED, type TupleValue } from './pgoutput-bytes.js';

/** A tuple as plain values, copied out of the reused view. */
export function values(view: TupleView): TupleValue[] {
  return Array.from({ length: view.columnCount }, (_, i) => {
    const length = view.lengths[i];
    if (length === LENGTH_NULL) return null;
    if (length === LENGTH_UNCHANGED_TOAST) return UNCHANGED;
    return Buffer.from(view.buffer.buffer, view.buffer.byteOffset + view.offsets[i], length).toString('utf8');
  });
}

/** Keeps every call as an array, for comparison with what was expected. */
export class RecordingHandler implements ReplicationHandler {
  readonly events: unknown[][] = [];
  /** Called after each event; tests wait with it. */
  onEvent: (event: unknown[]) => void = () => {};

  #push(...event: unknown[]): void { this.events.push(event); this.onEvent(event); }
  begin(finalLsn: bigint, commitTimeMicros: bigint, xid: number): void { this.#push('begin', finalLsn, commitTimeMicros, xid); }
  commit(commitLsn: bigint, endLsn: bigint, commitTimeMicros: bigint): void { this.#push('commit', commitLsn, endLsn, commitTimeMicros); }
  origin(lsn: bigint, name: string): void { this.#push('origin', lsn, name); }
  relation(relation: Relation): void { this.#push('relation', relation); }
  type(oid: number, schema: string, name: string): void { this.#push('type', oid, schema, name); }
  insert(oid: number, row: TupleView): void { this.#push('insert', oid, values(row)); }
  update(oid: number, kind: OldTupleKind, old: TupleView | undefined, row: TupleView): void { this.#push('update', oid, kind, old === undefined ? undefined : values(old), values(row)); }
  delete(oid: number, kind: 'key' | 'full', old: TupleView): void { this.#push('delete', oid, kind, values(old)); }
  truncate(oids: readonly number[], cascade: boolean, restartIdentity: boolean): void { this.#push('truncate', [...oids], cascade, restartIdentity); }
  message(transactional: boolean, lsn: bigint, prefix: string, content: Uint8Array): void { this.#push('message', transactional, lsn, prefix, Buffer.from(content).toString('hex')); }
  keepalive(endLsn: bigint, serverTimeMicros: bigint): void { this.#push('keepalive', endLsn, serverTimeMicros); }
}
