import type { ConnectionConfig } from '../../src/config/config.js';
import type { SourceClient } from '../../src/postgres/client.js';
import { currentLsn } from '../../src/postgres/source-status.js';
import { ReplicationStream, type ReplicationStreamOptions } from '../../src/postgres/replication-stream.js';
import { RecordingHandler } from './recording-handler.js';

/** A running stream with everything it delivered, for tests that wait for positions instead of time. */
export class StreamSession {
  readonly handler = new RecordingHandler();
  readonly stream: ReplicationStream;
  /** Settles with the stream; a rejection is kept here and not reported as unhandled. */
  readonly result: Promise<unknown>;
  #failed: unknown;

  constructor(connection: ConnectionConfig, options: Partial<ReplicationStreamOptions> & { slotName: string }, startLsn = 0n) {
    this.stream = new ReplicationStream(connection, { publicationNames: ['walberg'], serverVersionNum: 0, statusIntervalMs: 500, walSenderTimeoutMs: 60_000, ...options });
    this.result = this.stream.run(startLsn, this.handler).then(() => undefined, (e: unknown) => { this.#failed = e; return e; });
  }

  /** Waits until `done` holds; looked at whenever something arrives. */
  async until(done: () => boolean): Promise<void> {
    while (!done()) {
      if (this.#failed !== undefined) throw this.#failed;
      await Promise.race([new Promise<void>((r) => { this.handler.onEvent = () => r(); }), this.result]);
    }
  }

  /** Waits until everything that is committed now has arrived. */
  async caughtUp(sql: SourceClient): Promise<void> {
    const target = await currentLsn(sql);
    const ask = setInterval(() => this.stream.requestReply(), 50);
    try {
      await this.until(() => this.stream.receivedLsn >= target);
    } finally {
      clearInterval(ask);
    }
  }

  /** Row and truncate events so far, relations and positions left out. */
  get changes(): unknown[][] {
    return this.handler.events.filter(([kind]) => ['insert', 'update', 'delete', 'truncate', 'message'].includes(kind as string)).map(([kind, ...rest]) => (kind === 'truncate' ? [kind, ...rest] : [kind, ...rest.slice(1)]));
  }

  get endLsns(): bigint[] {
    return this.handler.events.filter(([kind]) => kind === 'commit').map((e) => e[2] as bigint);
  }
}
