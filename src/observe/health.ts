import { isWalbergError } from '../errors/error.js';
import type { PipelineListener } from './events.js';
import type { SourceLag } from './source-lag.js';

/** One check, in the form of MicroProfile Health (Quarkus serves it so too). */
export interface HealthCheck {
  readonly name: string;
  readonly status: 'UP' | 'DOWN';
  readonly data?: Readonly<Record<string, string | number | boolean>>;
}

export interface HealthReport {
  readonly status: 'UP' | 'DOWN';
  readonly checks: readonly HealthCheck[];
}

export type HealthKind = 'live' | 'ready' | 'started' | 'all';

export interface HealthLimits {
  /** A change may wait this long without any progress of a commit before `ready` is down. */
  readonly notReadyAfterMs: number;
  /** A change may wait this long without any event at all before `live` is down, so that the process is started again. */
  readonly notLiveAfterMs: number;
}

export const HEALTH_LIMITS: HealthLimits = { notReadyAfterMs: 120_000, notLiveAfterMs: 600_000 };

/**
 * What the probes answer.
 *
 * `live` is down only when a restart could help: changes wait and nothing has been announced for long. A source or catalog
 * that is away is retried and announced, so it never makes `live` down. `ready` is up while the slot is streamed and commits
 * progress.
 */
export class Health {
  readonly listener: PipelineListener;
  readonly #lag: SourceLag;
  readonly #limits: HealthLimits;
  readonly #now: () => number;
  #state: 'starting' | 'streaming' | 'waiting' | 'stopped' = 'starting';
  #everStreamed = false;
  #errorCode: string | undefined;
  #lastEventMs: number;
  #lastProgressMs: number;

  constructor({ lag, limits = HEALTH_LIMITS, now = Date.now }: { lag: SourceLag; limits?: HealthLimits; now?: () => number }) {
    this.#lag = lag;
    this.#limits = limits;
    this.#now = now;
    this.#lastEventMs = this.#lastProgressMs = now();
    this.listener = this.#listen();
  }

  report(kind: HealthKind): HealthReport {
    const checks = { live: [this.#live()], ready: [this.#streaming(), this.#commits()], started: [this.#started()], all: [this.#live(), this.#streaming(), this.#commits()] }[kind];
    return { status: checks.every((c) => c.status === 'UP') ? 'UP' : 'DOWN', checks };
  }

  #live(): HealthCheck {
    const stuck = this.#waitsLongerThan(this.#limits.notLiveAfterMs, this.#lastEventMs);
    return { name: 'process', status: stuck ? 'DOWN' : 'UP', data: { uptimeSeconds: Math.round(process.uptime()) } };
  }

  #streaming(): HealthCheck {
    const data: Record<string, string> = { state: this.#state, ...(this.#errorCode === undefined ? {} : { lastError: this.#errorCode }) };
    return { name: 'streaming', status: this.#state === 'streaming' ? 'UP' : 'DOWN', data };
  }

  #commits(): HealthCheck {
    const stuck = this.#waitsLongerThan(this.#limits.notReadyAfterMs, this.#lastProgressMs);
    return { name: 'commits', status: stuck ? 'DOWN' : 'UP', data: { lagSeconds: Math.round(this.#lag.ms / 1000), lagBytes: this.#lag.bytes.toString() } };
  }

  #started(): HealthCheck {
    return { name: 'started', status: this.#everStreamed ? 'UP' : 'DOWN' };
  }

  /** A change waits, and has waited since before `since` + limit. */
  #waitsLongerThan(limitMs: number, sinceMs: number): boolean {
    const waiting = this.#lag.waitingSinceMs;
    return waiting !== undefined && this.#now() - Math.max(waiting, sinceMs) > limitMs;
  }

  #listen(): PipelineListener {
    const alive = (): void => {
      this.#lastEventMs = this.#now();
    };
    const progress = (): void => {
      this.#lastEventMs = this.#lastProgressMs = this.#now();
    };
    return {
      sessionStarted: () => {
        progress();
        this.#state = 'streaming';
        this.#everStreamed = true;
        this.#errorCode = undefined;
      },
      sessionEnded: ({ error, retryInMs }) => {
        alive();
        this.#state = retryInMs === undefined ? 'stopped' : 'waiting';
        this.#errorCode = error === undefined ? undefined : isWalbergError(error) ? error.code : 'INTERNAL';
      },
      loadStarted: progress,
      loadProgress: progress,
      loadFinished: progress,
      commitStarted: progress,
      commitFinished: progress,
      confirmed: alive,
      commitRetried: alive,
      rowsAccepted: alive,
      warning: alive,
    };
  }
}
