/** What holds changes in memory. */
export interface Holder {
  readonly bytes: number;
  /** Starts writing what is held, without waiting for a commit. */
  seal(): void;
}

/** Reading goes on when this part of the limit is free again. */
const RESUME_BELOW = 0.7;

/**
 * Keeps the bytes of all tables below a limit. Above it, the largest buffers are sealed, which turns them into files long
 * before their commit, and reading pauses until enough of them are written. It never pauses when nothing is being written:
 * then waiting would free nothing.
 */
export class MemoryGate {
  /** Bytes handed to the encoder and not at rest yet. */
  #pending = 0;
  #paused = false;

  constructor(private readonly options: {
    readonly maxBytes: number;
    readonly holders: () => Iterable<Holder>;
    readonly pause: () => void;
    readonly resume: () => void;
    readonly onChange: (bytes: number, paused: boolean) => void;
  }) {}

  get paused(): boolean {
    return this.#paused;
  }

  addPending(bytes: number): void {
    this.#pending += bytes;
    if (bytes < 0) this.check();
  }

  /** Looks at what is held and pauses or resumes. */
  check(): void {
    const { maxBytes, holders } = this.options;
    let held = 0;
    for (const holder of holders()) held += holder.bytes;
    if (held + this.#pending > maxBytes && held > maxBytes / 2) {
      // Half of the limit stays for what is being encoded.
      for (const holder of [...holders()].sort((a, b) => b.bytes - a.bytes)) {
        if (held <= maxBytes / 4) break;
        const before = holder.bytes;
        holder.seal();
        held -= before - holder.bytes;
      }
    }
    const bytes = held + this.#pending;
    if (!this.#paused && bytes > maxBytes && this.#pending > 0) {
      this.#paused = true;
      this.options.pause();
    } else if (this.#paused && (bytes < maxBytes * RESUME_BELOW || this.#pending === 0)) {
      this.#paused = false;
      this.options.resume();
    }
    this.options.onChange(bytes, this.#paused);
  }
}
