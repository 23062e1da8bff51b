import { spawn } from 'node:child_process';
import type { Health } from './health.js';

/** Sends assignments (READY=1, STATUS=…) to the service manager; resolves when they were sent or could not be. */
export type Notify = (...assignments: readonly string[]) => Promise<void>;

/** How long a stop waits for the last notification. */
const LAST_WORD_MS = 1000;

/**
 * Notifies through systemd-notify(1), since Node has no datagram Unix sockets. The unit needs NotifyAccess=all, because the
 * message comes from a child process. Failures are ignored: the service manager then acts by its own timeouts.
 */
export function systemdNotify(env: NodeJS.ProcessEnv): Notify | undefined {
  if (env.NOTIFY_SOCKET === undefined || env.NOTIFY_SOCKET === '') return undefined;
  return (...assignments) => new Promise((resolve) => {
    const child = spawn('systemd-notify', [...assignments], { stdio: 'ignore', env: { PATH: env.PATH, NOTIFY_SOCKET: env.NOTIFY_SOCKET } });
    child.on('error', () => resolve());
    child.on('exit', () => resolve());
    child.unref();
  });
}

/** Watchdog period the service manager asks for (sd_watchdog_enabled(3)); undefined when it does not, or asks another process. */
export function watchdogMs(env: NodeJS.ProcessEnv, pid: number = process.pid): number | undefined {
  const microseconds = Number(env.WATCHDOG_USEC);
  if (!Number.isFinite(microseconds) || microseconds <= 0) return undefined;
  if (env.WATCHDOG_PID !== undefined && Number(env.WATCHDOG_PID) !== pid) return undefined;
  return microseconds / 1000;
}

/**
 * Tells systemd that the service is up, what it does, that it stops, and, as long as the event loop turns and the process is
 * live, that it need not be killed.
 */
export class SystemdService {
  readonly #notify: Notify | undefined;
  readonly #health: Health;
  readonly #watchdogMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Notifications go one after the other, so that an older status cannot overtake a newer one. */
  #sent: Promise<void> = Promise.resolve();

  constructor({ notify, watchdogMs: period, health }: { notify: Notify | undefined; watchdogMs: number | undefined; health: Health }) {
    this.#notify = notify;
    this.#watchdogMs = period;
    this.#health = health;
  }

  /** The service is up: its configuration is good and its port is open. Sources that are away are waited for. */
  ready(status: string): void {
    if (this.#notify === undefined) return;
    this.#send('READY=1', `STATUS=${status}`);
    if (this.#watchdogMs === undefined) return;
    // Half the period, as sd_watchdog_enabled(3) advises. A stuck event loop fires no timers, so it sends nothing.
    this.#timer = setInterval(() => this.beat(), this.#watchdogMs / 2);
    this.#timer.unref();
  }

  status(text: string): void {
    this.#send(`STATUS=${text}`);
  }

  /** One sign of life, if there is one to give. */
  beat(): void {
    if (this.#health.report('live').status === 'UP') this.#send('WATCHDOG=1');
  }

  stopping(): void {
    this.#send('STOPPING=1');
  }

  /** Ends the signs of life and waits for what is being sent. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    let giveUp: NodeJS.Timeout | undefined;
    await Promise.race([this.#sent, new Promise<void>((resolve) => { giveUp = setTimeout(resolve, LAST_WORD_MS); })]);
    clearTimeout(giveUp);
  }

  #send(...assignments: readonly string[]): void {
    const notify = this.#notify;
    if (notify !== undefined) this.#sent = this.#sent.then(() => notify(...assignments));
  }
}
