import { WalbergError } from '../errors/error.js';
import { malformed } from './malformed.js';
import type { PgOutputHandler, RelationColumn, ReplicaIdentity } from './messages.js';
import { TupleBuffer, byteName } from './tuple.js';

const TAG_BEGIN = 0x42; // B
const TAG_COMMIT = 0x43; // C
const TAG_ORIGIN = 0x4f; // O
const TAG_RELATION = 0x52; // R
const TAG_TYPE = 0x59; // Y
const TAG_INSERT = 0x49; // I
const TAG_UPDATE = 0x55; // U
const TAG_DELETE = 0x44; // D
const TAG_TRUNCATE = 0x54; // T
const TAG_MESSAGE = 0x4d; // M

const TUPLE_NEW = 0x4e; // N
const TUPLE_KEY = 0x4b; // K
const TUPLE_OLD = 0x4f; // O

/** Messages of protocol versions 2 to 4. They are only sent when asked for, so their arrival is an error by itself. */
const UNREQUESTED: ReadonlyMap<number, string> = new Map([
  [0x53, 'Stream Start (S)'],
  [0x45, 'Stream Stop (E)'],
  [0x63, 'Stream Commit (c)'],
  [0x41, 'Stream Abort (A)'],
  [0x62, 'Begin Prepare (b)'],
  [0x50, 'Prepare (P)'],
  [0x4b, 'Commit Prepared (K)'],
  [0x72, 'Rollback Prepared (r)'],
  [0x70, 'Stream Prepare (p)'],
]);

/** Microseconds from 1970-01-01 to 2000-01-01, the epoch of Postgres timestamps. */
const POSTGRES_EPOCH_MICROS = 946_684_800_000_000n;

const REPLICA_IDENTITIES = 'dnfi';

/**
 * Decodes pgoutput payloads of protocol version 1 in text format (PostgreSQL manual, "Logical Replication Message
 * Formats"). Synchronous; tuples are handed over as views that are reused for the next message, so a row costs no
 * allocation. Anything the manual does not allow is a PROTOCOL error; errors thrown by the handler pass unchanged.
 */
export class PgOutputDecoder {
  readonly #old = new TupleBuffer();
  readonly #new = new TupleBuffer();
  /** Ignoring the byte order mark would cut a leading U+FEFF off a name. */
  readonly #text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** Where the last #string ended. */
  #next = 0;

  /** Decodes the one message in `buffer[start .. end)` and calls `handler` once. */
  decode(buffer: Uint8Array, start: number, end: number, handler: PgOutputHandler): void {
    if (start < 0 || end > buffer.length || start >= end) throw malformed('the message is empty');
    const tag = buffer[start];
    const pos = start + 1;
    switch (tag) {
      case TAG_INSERT: return this.#insert(buffer, pos, end, handler);
      case TAG_UPDATE: return this.#update(buffer, pos, end, handler);
      case TAG_DELETE: return this.#delete(buffer, pos, end, handler);
      case TAG_BEGIN: return this.#begin(buffer, pos, end, handler);
      case TAG_COMMIT: return this.#commit(buffer, pos, end, handler);
      case TAG_RELATION: return this.#relation(buffer, pos, end, handler);
      case TAG_TYPE: return this.#type(buffer, pos, end, handler);
      case TAG_TRUNCATE: return this.#truncate(buffer, pos, end, handler);
      case TAG_ORIGIN: return this.#origin(buffer, pos, end, handler);
      case TAG_MESSAGE: return this.#message(buffer, pos, end, handler);
      default: throw unknownTag(tag);
    }
  }

  #insert(buffer: Uint8Array, pos: number, end: number, handler: PgOutputHandler): void {
    if (pos + 5 > end) throw malformed('Insert is cut off');
    const oid = uint32(buffer, pos);
    if (buffer[pos + 4] !== TUPLE_NEW) throw malformed(`Insert has a ${byteName(buffer[pos + 4])} tuple`);
    expectEnd(this.#new.read(buffer, pos + 5, end), end, 'Insert');
    handler.insert(oid, this.#new);
  }

  #update(buffer: Uint8Array, pos: number, end: number, handler: PgOutputHandler): void {
    if (pos + 5 > end) throw malformed('Update is cut off');
    const oid = uint32(buffer, pos);
    const first = buffer[pos + 4];
    pos += 5;
    if (first === TUPLE_NEW) {
      expectEnd(this.#new.read(buffer, pos, end), end, 'Update');
      return handler.update(oid, 'none', undefined, this.#new);
    }
    if (first !== TUPLE_KEY && first !== TUPLE_OLD) throw malformed(`Update has a ${byteName(first)} tuple`);
    pos = this.#old.read(buffer, pos, end);
    if (pos >= end || buffer[pos] !== TUPLE_NEW) throw malformed('Update has no new tuple');
    expectEnd(this.#new.read(buffer, pos + 1, end), end, 'Update');
    handler.update(oid, first === TUPLE_KEY ? 'key' : 'full', this.#old, this.#new);
  }

  #delete(buffer: Uint8Array, pos: number, end: number, handler: PgOutputHandler): void {
    if (pos + 5 > end) throw malformed('Delete is cut off');
    const oid = uint32(buffer, pos);
    const kind = buffer[pos + 4];
    if (kind !== TUPLE_KEY && kind !== TUPLE_OLD) throw malformed(`Delete has a ${byteName(kind)} tuple`);
    expectEnd(this.#old.read(buffer, pos + 5, end), end, 'Delete');
    handler.delete(oid, kind === TUPLE_KEY ? 'key' : 'full', this.#old);
  }

  #begin(buffer: Uint8Array, pos: number, end: number, handler: PgOutputHandler): void {
    expectEnd(pos + 20, end, 'Begin');
    handler.begin(uint64(buffer, pos), timestamp(buffer, pos + 8), uint32(buffer, pos + 16));
  }

  #commit(buffer: Uint8Array, pos: number, end: number, handler: PgOutputHandler): void {
    expectEnd(pos + 25, end, 'Commit');
    handler.commit(uint64(buffer, pos + 1), uint64(buffer, pos + 9), timestamp(buffer, pos + 17));
  }

  #origin(buffer: Uint8Array, pos: number, end: number, handler: PgOutputHandler): void {
    if (pos + 8 > end) throw malformed('Origin is cut off');
    const lsn = uint64(buffer, pos);
    const name = this.#string(buffer, pos + 8, end);
    expectEnd(this.#next, end, 'Origin');
    handler.origin?.(lsn, name);
  }

  #relation(buffer: Uint8Array, pos: number, end: number, handler: PgOutputHandler): void {
    if (pos + 4 > end) throw malformed('Relation is cut off');
    const oid = uint32(buffer, pos);
    const namespace = this.#string(buffer, pos + 4, end);
    const name = this.#string(buffer, this.#next, end);
    pos = this.#next;
    if (pos + 3 > end) throw malformed('Relation is cut off');
    const replicaIdentity = String.fromCharCode(buffer[pos]);
    if (!REPLICA_IDENTITIES.includes(replicaIdentity)) throw malformed(`Relation has the replica identity ${byteName(buffer[pos])}`);
    const count = (buffer[pos + 1] << 8) | buffer[pos + 2];
    pos += 3;
    const columns: RelationColumn[] = [];
    for (let i = 0; i < count; i++) {
      if (pos >= end) throw malformed(`Relation lacks column ${i} of ${count}`);
      const flags = buffer[pos];
      const columnName = this.#string(buffer, pos + 1, end);
      pos = this.#next;
      if (pos + 8 > end) throw malformed(`Relation column ${i} is cut off`);
      columns.push({ name: columnName, typeOid: uint32(buffer, pos), typmod: uint32(buffer, pos + 4) | 0, identity: (flags & 1) === 1 });
      pos += 8;
    }
    expectEnd(pos, end, 'Relation');
    // The server sends an empty name for its own schema.
    handler.relation({ oid, schema: namespace === '' ? 'pg_catalog' : namespace, name, replicaIdentity: replicaIdentity as ReplicaIdentity, columns });
  }

  #type(buffer: Uint8Array, pos: number, end: number, handler: PgOutputHandler): void {
    if (pos + 4 > end) throw malformed('Type is cut off');
    const oid = uint32(buffer, pos);
    const namespace = this.#string(buffer, pos + 4, end);
    const name = this.#string(buffer, this.#next, end);
    expectEnd(this.#next, end, 'Type');
    handler.type?.(oid, namespace === '' ? 'pg_catalog' : namespace, name);
  }

  #truncate(buffer: Uint8Array, pos: number, end: number, handler: PgOutputHandler): void {
    if (pos + 5 > end) throw malformed('Truncate is cut off');
    const count = uint32(buffer, pos);
    const flags = buffer[pos + 4];
    pos += 5;
    if (count !== (end - pos) / 4) throw malformed(`Truncate names ${count} relations in ${end - pos} bytes`);
    const oids: number[] = [];
    for (; pos < end; pos += 4) oids.push(uint32(buffer, pos));
    handler.truncate(oids, (flags & 1) !== 0, (flags & 2) !== 0);
  }

  #message(buffer: Uint8Array, pos: number, end: number, handler: PgOutputHandler): void {
    if (pos + 9 > end) throw malformed('Message is cut off');
    const transactional = (buffer[pos] & 1) !== 0;
    const lsn = uint64(buffer, pos + 1);
    const prefix = this.#string(buffer, pos + 9, end);
    pos = this.#next;
    if (pos + 4 > end) throw malformed('Message is cut off');
    const length = uint32(buffer, pos);
    expectEnd(pos + 4 + length, end, 'Message');
    // Copied: these are rare, and unlike tuples a caller is likely to keep them.
    handler.message?.(transactional, lsn, prefix, Uint8Array.prototype.slice.call(buffer, pos + 4, end));
  }

  /** A NUL-terminated string; its end is left in #next. */
  #string(buffer: Uint8Array, pos: number, end: number): string {
    const stop = buffer.indexOf(0, pos);
    if (stop < 0 || stop >= end) throw malformed('a name has no end');
    this.#next = stop + 1;
    try {
      return this.#text.decode(buffer.subarray(pos, stop));
    } catch (cause) {
      throw malformed('a name is not UTF-8', cause);
    }
  }
}

/** LSN, unsigned. */
function uint64(buffer: Uint8Array, pos: number): bigint {
  return (BigInt(uint32(buffer, pos)) << 32n) | BigInt(uint32(buffer, pos + 4));
}

/** Microseconds since 1970 from signed microseconds since 2000. */
function timestamp(buffer: Uint8Array, pos: number): bigint {
  return BigInt.asIntN(64, uint64(buffer, pos)) + POSTGRES_EPOCH_MICROS;
}

/** OIDs and transaction ids are unsigned: half of them lie above 2^31 in a long-lived database. */
function uint32(buffer: Uint8Array, pos: number): number {
  return ((buffer[pos] << 24) | (buffer[pos + 1] << 16) | (buffer[pos + 2] << 8) | buffer[pos + 3]) >>> 0;
}

/** A length that does not add up means that everything read before may be wrong too. */
function expectEnd(pos: number, end: number, message: string): void {
  if (pos !== end) throw malformed(pos > end ? `${message} is cut off` : `${message} has ${end - pos} bytes too many`);
}

function unknownTag(tag: number): WalbergError {
  const name = UNREQUESTED.get(tag);
  return name === undefined
    ? malformed(`unknown message ${byteName(tag)}`)
    : new WalbergError('PROTOCOL', `The server sent ${name}, which belongs to streamed or two-phase transactions and was not asked for`, {
      context: { tag: String.fromCharCode(tag) },
      hint: 'Two-phase decoding was probably switched on for this slot by another client and cannot be switched off again: use a new slot.name.',
    });
}
