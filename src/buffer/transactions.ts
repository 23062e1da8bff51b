import { withRoom } from './growing.js';

/** What is known of the transactions whose rows are held, by index. */
export class TransactionList {
  commitTimesMicros = new BigInt64Array(64);
  /** Position of the commit record. */
  commitLsns = new BigUint64Array(64);
  xids = new Uint32Array(64);
  count = 0;

  /** Adds one and returns its index. Times in microseconds since 1970 UTC. */
  add(commitTimeMicros: bigint, commitLsn: bigint, xid: number): number {
    const index = this.count++;
    this.commitTimesMicros = withRoom(this.commitTimesMicros, index);
    this.commitLsns = withRoom(this.commitLsns, index);
    this.xids = withRoom(this.xids, index);
    this.commitTimesMicros[index] = commitTimeMicros;
    this.commitLsns[index] = commitLsn;
    this.xids[index] = xid;
    return index;
  }
}
