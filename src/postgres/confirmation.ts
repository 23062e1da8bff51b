/**
 * The position a stream may report. The server believes whatever a client sends and never goes back: one status beyond its
 * own WAL would make every later session silently empty. So what is reported never passes what this session received, and
 * never falls.
 */
export class Confirmation {
  /** Received position as two unsigned halves: kept for every message, so without BigInt. */
  #receivedHigh = 0;
  #receivedLow = 0;
  #requested = 0n;
  #reported = 0n;

  /** The stream has completely delivered everything before this position: end of a commit, or a keepalive. */
  noteReceived(high: number, low: number): void {
    if (high < this.#receivedHigh || (high === this.#receivedHigh && low <= this.#receivedLow)) return;
    this.#receivedHigh = high;
    this.#receivedLow = low;
  }

  get received(): bigint {
    return (BigInt(this.#receivedHigh) << 32n) | BigInt(this.#receivedLow);
  }

  /** Asks for `lsn` to be reported; lower positions than before are ignored. True when there is something new to report. */
  request(lsn: bigint): boolean {
    if (lsn > this.#requested) this.#requested = lsn;
    return this.reportable > this.#reported;
  }

  /** What the next status would report. A request beyond the received position takes effect when that has caught up. */
  get reportable(): bigint {
    const { received } = this;
    return this.#requested < received ? this.#requested : received;
  }

  get reported(): bigint {
    return this.#reported;
  }

  /** Takes the position for a status that is being sent. */
  report(): bigint {
    this.#reported = this.reportable;
    return this.#reported;
  }
}
