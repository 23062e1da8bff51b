import type { ConnectionConfig } from '../config/config.js';
import { connect, type SourceClient } from '../postgres/client.js';
import type { ReadBackSession } from './open-row-resolver.js';

/** One connection for reading values back, opened when it is first needed, used by one reader at a time. */
export class LazyReadBackSession implements ReadBackSession {
  #client: Promise<SourceClient> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly connection: ConnectionConfig) {}

  exclusively<T>(work: (client: SourceClient) => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => work(await (this.#client ??= connect(this.connection, { applicationName: 'walberg read-back' }))));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async close(): Promise<void> {
    await this.#client?.then((c) => c.close(), () => {});
  }
}
