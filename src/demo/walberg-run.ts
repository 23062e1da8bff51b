import { closeSync, openSync, writeSync } from 'node:fs';
import type { WalbergConfig } from '../config/config.js';
import { WalbergError } from '../errors/error.js';
import type { PipelineListener } from '../observe/events.js';
import { logListener } from '../observe/log-listener.js';
import { createLogger } from '../observe/logging.js';
import { runPipeline } from '../pipeline/conductor.js';

/**
 * Walberg in this process. Every wait on it ends at once when the pipeline fails or `signal` is aborted. In a demo nothing
 * should fail, so the first error ends it, also one that would be waited out in service (a full disk, a server that is gone).
 */
export class WalbergRun {
  readonly #stop = new AbortController();
  readonly #pipeline: Promise<void>;
  readonly #over: Promise<never>;
  #end!: (reason: unknown) => void;
  #isLoaded = false;
  #confirmed = 0n;
  #onChange: (() => void) | undefined;
  #failure: unknown;

  /** Starts it; the log goes to `logFile`. */
  constructor(config: WalbergConfig, listeners: readonly PipelineListener[], logFile: string, signal: AbortSignal) {
    this.#over = new Promise((_, reject) => { this.#end = reject; });
    this.#over.catch(() => {});
    const file = openSync(logFile, 'a');
    const logger = createLogger(config.observe, Object.assign({ write: (line: string) => { writeSync(file, line); } }, { isTTY: false }));
    signal.addEventListener('abort', () => { this.#end(signal.reason); this.#stop.abort(); }, { once: true });
    const own: PipelineListener = {
      sessionStarted: () => { this.#isLoaded = true; this.#onChange?.(); },
      confirmed: (lsn) => { this.#confirmed = lsn; this.#onChange?.(); },
      sessionEnded: ({ error }) => { if (error !== undefined) this.#fail(error); },
    };
    this.#pipeline = runPipeline({ config, listeners: [...listeners, logListener(logger), own], stop: this.#stop.signal })
      .then(() => this.#fail(new WalbergError('INTERNAL', 'The pipeline ended by itself.')), (error: unknown) => this.#fail(error))
      .finally(() => closeSync(file));
  }

  /** All tables hold what the source held when Walberg started, and changes are followed. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Resolves when all tables are loaded. */
  async loaded(): Promise<void> {
    await this.#until(() => this.#isLoaded);
  }

  /** Resolves when everything up to a WAL position is in committed snapshots. */
  async reached(lsn: bigint): Promise<void> {
    await this.#until(() => this.#confirmed >= lsn);
  }

  /** Rejects when the pipeline fails or the demo is stopped, else settles like `work`. */
  async during<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#over]);
  }

  /** Ends it cleanly. Never rejects: what went wrong is told by the waits. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#pipeline;
  }

  async #until(done: () => boolean): Promise<void> {
    const reached = new Promise<void>((resolve) => {
      this.#onChange = () => { if (done()) resolve(); };
      this.#onChange();
    });
    await this.during(reached);
    this.#onChange = undefined;
  }

  #fail(error: unknown): void {
    if (this.#stop.signal.aborted || this.#failure !== undefined) return;
    this.#failure = error;
    this.#end(error);
    this.#stop.abort();
  }
}
