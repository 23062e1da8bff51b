/**
 * Builds replication messages byte by byte, for synthetic streams. Written from the manual and apart from the decoder,
 * so that a mistake in one is not repeated in the other: DataView and Buffer here, manual shifts there.
 */
const POSTGRES_EPOCH_MICROS = 946_684_800_000_000n;

/** The marker of an unchanged TOAST value in a tuple. */
export const UNCHANGED = Symbol('unchanged');
export type TupleValue = string | Uint8Array | null | typeof UNCHANGED;

export interface RelationSpec {
  oid: number;
  schema: string;
  name: string;
  replicaIdentity?: 'd' | 'n' | 'f' | 'i';
  columns: readonly { name: string; typeOid: number; typmod?: number; identity?: boolean }[];
}

const bytes = (...values: number[]): Buffer => Buffer.from(values);
const char = (c: string): Buffer => Buffer.from(c, 'latin1');
const cstring = (s: string): Buffer => Buffer.concat([Buffer.from(s, 'utf8'), bytes(0)]);
const u16 = (n: number): Buffer => { const b = Buffer.alloc(2); b.writeUInt16BE(n); return b; };
const u32 = (n: number): Buffer => { const b = Buffer.alloc(4); b.writeUInt32BE(n); return b; };
const i32 = (n: number): Buffer => { const b = Buffer.alloc(4); b.writeInt32BE(n); return b; };
const u64 = (n: bigint): Buffer => { const b = Buffer.alloc(8); b.writeBigUInt64BE(n); return b; };
const time = (micros1970: bigint): Buffer => { const b = Buffer.alloc(8); b.writeBigInt64BE(micros1970 - POSTGRES_EPOCH_MICROS); return b; };

export function tuple(values: readonly TupleValue[]): Buffer {
  return Buffer.concat([u16(values.length), ...values.map((v) => {
    if (v === null) return char('n');
    if (v === UNCHANGED) return char('u');
    const content = typeof v === 'string' ? Buffer.from(v, 'utf8') : Buffer.from(v);
    return Buffer.concat([char('t'), u32(content.length), content]);
  })]);
}

export const begin = (m: { finalLsn: bigint; commitTimeMicros: bigint; xid: number }): Buffer =>
  Buffer.concat([char('B'), u64(m.finalLsn), time(m.commitTimeMicros), u32(m.xid)]);

export const commit = (m: { commitLsn: bigint; endLsn: bigint; commitTimeMicros: bigint }): Buffer =>
  Buffer.concat([char('C'), bytes(0), u64(m.commitLsn), u64(m.endLsn), time(m.commitTimeMicros)]);

export const origin = (lsn: bigint, name: string): Buffer => Buffer.concat([char('O'), u64(lsn), cstring(name)]);

export const relation = (m: RelationSpec): Buffer => Buffer.concat([
  char('R'), u32(m.oid), cstring(m.schema), cstring(m.name), char(m.replicaIdentity ?? 'd'), u16(m.columns.length),
  ...m.columns.map((c) => Buffer.concat([bytes(c.identity === true ? 1 : 0), cstring(c.name), u32(c.typeOid), i32(c.typmod ?? -1)])),
]);

export const type = (oid: number, schema: string, name: string): Buffer => Buffer.concat([char('Y'), u32(oid), cstring(schema), cstring(name)]);

export const insert = (oid: number, row: readonly TupleValue[]): Buffer => Buffer.concat([char('I'), u32(oid), char('N'), tuple(row)]);

export const update = (oid: number, row: readonly TupleValue[], old?: { kind: 'key' | 'full'; row: readonly TupleValue[] }): Buffer =>
  Buffer.concat([char('U'), u32(oid), ...(old === undefined ? [] : [char(old.kind === 'key' ? 'K' : 'O'), tuple(old.row)]), char('N'), tuple(row)]);

export const del = (oid: number, kind: 'key' | 'full', row: readonly TupleValue[]): Buffer =>
  Buffer.concat([char('D'), u32(oid), char(kind === 'key' ? 'K' : 'O'), tuple(row)]);

export const truncate = (oids: readonly number[], options: { cascade?: boolean; restartIdentity?: boolean } = {}): Buffer =>
  Buffer.concat([char('T'), u32(oids.length), bytes((options.cascade === true ? 1 : 0) | (options.restartIdentity === true ? 2 : 0)), ...oids.map(u32)]);

export const message = (m: { transactional: boolean; lsn: bigint; prefix: string; content: Uint8Array }): Buffer =>
  Buffer.concat([char('M'), bytes(m.transactional ? 1 : 0), u64(m.lsn), cstring(m.prefix), u32(m.content.length), Buffer.from(m.content)]);

/** XLogData: what a CopyData message carries around one pgoutput payload. */
export const xlogData = (m: { startLsn: bigint; endLsn?: bigint; timeMicros?: bigint }, payload: Uint8Array): Buffer =>
  Buffer.concat([char('w'), u64(m.startLsn), u64(m.endLsn ?? m.startLsn), time(m.timeMicros ?? POSTGRES_EPOCH_MICROS), payload]);

/** Primary keepalive message. */
export const keepalive = (m: { endLsn: bigint; timeMicros?: bigint; replyRequested?: boolean }): Buffer =>
  Buffer.concat([char('k'), u64(m.endLsn), time(m.timeMicros ?? POSTGRES_EPOCH_MICROS), bytes(m.replyRequested === true ? 1 : 0)]);

/** A message of the frontend/backend protocol: type byte, length that counts itself, content. */
export const frame = (type: string, content: Uint8Array): Buffer => Buffer.concat([char(type), u32(content.length + 4), content]);

export const copyData = (content: Uint8Array): Buffer => frame('d', content);
