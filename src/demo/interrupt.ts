import { constants } from 'node:os';

/** npm passes Ctrl-C on to a process that got it from the terminal already: both count as one. */
const SAME_KEYPRESS_MS = 1000;
/** What shells report for a process that a signal ended. */
const SIGNAL_EXIT = 128;

/**
 * Turns SIGINT and SIGTERM into an AbortSignal until it is closed. A second one, when it is no echo of the first, ends the
 * process at once; the server then notices that this process is gone and removes itself.
 */
export class Interrupt {
  readonly #controller = new AbortController();
  #received: { readonly exitCode: number; readonly atMs: number } | undefined;
  readonly #onSignal = (name: NodeJS.Signals): void => {
    const now = performance.now();
    if (this.#received === undefined) {
      this.#received = { exitCode: SIGNAL_EXIT + constants.signals[name], atMs: now };
      this.#controller.abort();
    } else if (now - this.#received.atMs > SAME_KEYPRESS_MS) process.exit(this.#received.exitCode);
  };

  constructor() {
    process.on('SIGINT', this.#onSignal).on('SIGTERM', this.#onSignal);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** 130 after SIGINT, 143 after SIGTERM, undefined before. */
  get exitCode(): number | undefined {
    return this.#received?.exitCode;
  }

  /** Signals have their usual effect again. */
  close(): void {
    process.off('SIGINT', this.#onSignal).off('SIGTERM', this.#onSignal);
  }
}
