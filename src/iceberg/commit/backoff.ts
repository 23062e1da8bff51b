import { setTimeout as delay } from 'node:timers/promises';

export interface BackoffOptions {
  /** First pause in milliseconds; it doubles up to `maxMs`. */
  readonly initialMs: number;
  readonly maxMs: number;
  readonly signal?: AbortSignal;
  readonly sleep?: (ms: number) => Promise<void>;
}

/**
 * Pauses between attempts: each half fixed, half random, so that writers that collided once do not collide again.
 * A pause ends early, without an error, when the signal aborts.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  #next: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#next = options.initialMs;
  }

  async pause(): Promise<void> {
    const { maxMs, signal, sleep } = this.#options;
    const ms = Math.min(this.#next, maxMs) * (0.5 + Math.random() / 2);
    this.#next = Math.min(this.#next * 2, maxMs);
    if (sleep !== undefined) return sleep(ms);
    await delay(ms, undefined, { signal }).catch((error: unknown) => {
      if (signal?.aborted !== true) throw error;
    });
  }
}
