import { Arena } from '../buffer/arena.js';
import { withRoom } from '../buffer/growing.js';

const NEWLINE = 0x0a;

/** Rows of COPY text format with where each begins. */
export interface CopiedRows {
  readonly arena: Uint8Array;
  readonly rowOffsets: Int32Array;
}

/** Collects chunks of whole COPY rows until they make a file. In text format a newline inside a value is escaped. */
export class CopyCollector {
  #arena: Arena;
  #offsets = new Int32Array(4096);
  #rows = 0;

  constructor(private readonly limitBytes: number) {
    this.#arena = new Arena(65_536);
  }

  get isFull(): boolean {
    return this.#arena.length >= this.limitBytes;
  }

  /** Adds whole rows and returns how many. */
  add(chunk: Buffer): number {
    const base = this.#arena.append(chunk, 0, chunk.length);
    const before = this.#rows;
    for (let start = 0; start < chunk.length;) {
      this.#offsets = withRoom(this.#offsets, this.#rows);
      this.#offsets[this.#rows++] = base + start;
      const end = chunk.indexOf(NEWLINE, start);
      start = end < 0 ? chunk.length : end + 1;
    }
    return this.#rows - before;
  }

  take(): CopiedRows | undefined {
    if (this.#rows === 0) return undefined;
    const taken = { arena: this.#arena.bytes, rowOffsets: this.#offsets.slice(0, this.#rows) };
    this.#arena = new Arena(Math.min(this.limitBytes + 65_536, this.#arena.bytes.length));
    this.#rows = 0;
    return taken;
  }
}
