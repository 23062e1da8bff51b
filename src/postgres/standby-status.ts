/** Milliseconds from 1970-01-01 to 2000-01-01. */
const POSTGRES_EPOCH_MS = 946_684_800_000;

export interface StandbyStatus {
  readonly writeLsn: bigint;
  readonly flushLsn: bigint;
  readonly replyRequested: boolean;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * A CopyData message with a standby status update (PostgreSQL manual, "Streaming Replication Protocol"). Apply equals flush.
 * Zero LSNs keep the connection alive and move nothing.
 */
export function standbyStatusFrame(status: StandbyStatus): Buffer {
  const frame = Buffer.alloc(39);
  frame.write('d', 0, 'latin1');
  frame.writeUInt32BE(38, 1);
  frame.write('r', 5, 'latin1');
  frame.writeBigUInt64BE(status.writeLsn, 6);
  frame.writeBigUInt64BE(status.flushLsn, 14);
  frame.writeBigUInt64BE(status.flushLsn, 22);
  frame.writeBigInt64BE(BigInt(status.nowMs - POSTGRES_EPOCH_MS) * 1000n, 30);
  frame.writeUInt8(status.replyRequested ? 1 : 0, 38);
  return frame;
}
