interface Waiter {
  readonly lsn: bigint;
  resolve(): void;
  reject(error: unknown): void;
}

/** How often the server is asked for its position while somebody waits for it. */
const ASK_MS = 20;

/** Up to where the stream has delivered whole transactions, and who waits for it to go further. */
export class StreamPosition {
  #lsn: bigint;
  #waiters: Waiter[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** `ask` makes the server send its position when it has nothing else to send. */
  constructor(start: bigint, private readonly ask: () => void) {
    this.#lsn = start;
  }

  get lsn(): bigint {
    return this.#lsn;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiters.length;
  }

  /** Everything that ends at or before `lsn` has been delivered, and no transaction is open. */
  advance(lsn: bigint): void {
    if (lsn <= this.#lsn) return;
    this.#lsn = lsn;
    if (this.#waiters.length === 0) return;
    const reached = this.#waiters.filter((w) => w.lsn <= lsn);
    this.#waiters = this.#waiters.filter((w) => w.lsn > lsn);
    if (this.#waiters.length === 0) this.#stopAsking();
    for (const waiter of reached) waiter.resolve();
  }

  /** Resolves when the stream has passed `lsn`; rejects when it ends before. */
  reached(lsn: bigint): Promise<void> {
    if (lsn <= this.#lsn) return Promise.resolve();
    this.ask();
    this.#timer ??= setInterval(() => this.ask(), ASK_MS);
    return new Promise((resolve, reject) => { this.#waiters.push({ lsn, resolve, reject }); });
  }

  /** The stream is over. */
  end(error: unknown): void {
    this.#stopAsking();
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }

  #stopAsking(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
