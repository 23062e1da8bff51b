import type { ConnectionConfig } from '../config/config.js';
import { connect, type SourceClient } from '../postgres/client.js';
import type { PostgresServer } from './postgres-server.js';

/** How to reach the demo's server as its superuser. */
export function connectionTo(server: PostgresServer): ConnectionConfig {
  return { host: server.host, port: server.port, user: server.user, password: server.password, database: server.database, sslMode: 'disable', tcpKeepAlive: false, queryTimeoutMs: 0 };
}

/** Runs `work` with a session of its own, which is cut when `signal` is aborted: what it waits for then rejects. */
export async function withSession<T>(connection: ConnectionConfig, signal: AbortSignal, work: (client: SourceClient) => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const client = await connect(connection, { applicationName: 'walberg demo' });
  const cut = (): void => client.destroy();
  signal.addEventListener('abort', cut, { once: true });
  try {
    signal.throwIfAborted();
    await client.rows('SET search_path = shop, pg_catalog');
    return await work(client);
  } finally {
    signal.removeEventListener('abort', cut);
    await client.close();
  }
}
