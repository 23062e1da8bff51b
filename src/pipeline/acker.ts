/** Anything that holds back the confirmation: changes accepted and not durable yet. */
export interface Outstanding {
  /** Everything of this table that ends at or before it is durable; undefined = nothing is outstanding. */
  readonly durableLsn: bigint | undefined;
}

/**
 * Decides what may be confirmed to the slot: the smallest position that is durable in every table. Tables with nothing
 * outstanding do not hold it back, so on a quiet publication it follows the stream's own position.
 */
export class Acker {
  #confirmed = 0n;

  constructor(private readonly tables: () => Iterable<Outstanding>, private readonly confirm: (lsn: bigint) => void) {}

  get confirmed(): bigint {
    return this.#confirmed;
  }

  /** `streamLsn`: all transactions up to here have been received as a whole. */
  update(streamLsn: bigint): void {
    let lsn = streamLsn;
    for (const { durableLsn } of this.tables()) if (durableLsn !== undefined && durableLsn < lsn) lsn = durableLsn;
    if (lsn <= this.#confirmed) return;
    this.#confirmed = lsn;
    this.confirm(lsn);
  }
}
