import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WalbergError } from '../errors/error.js';
import type { Health, HealthKind } from './health.js';
import type { Metrics } from './metrics.js';

/** Paths of Quarkus, as Debezium Server has them, and short ones. */
const HEALTH_PATHS: Readonly<Record<string, HealthKind>> = {
  '/q/health': 'all', '/q/health/live': 'live', '/q/health/ready': 'ready', '/q/health/started': 'started',
  '/health': 'all', '/live': 'live', '/ready': 'ready', '/started': 'started',
};
const METRICS_PATHS: ReadonlySet<string> = new Set(['/q/metrics', '/metrics']);

/** Serves health (200 or 503) and metrics. */
export class StatusServer {
  readonly #health: Health;
  readonly #metrics: Metrics;
  readonly #server: Server;

  constructor({ health, metrics }: { health: Health; metrics: Metrics }) {
    this.#health = health;
    this.#metrics = metrics;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => {
        if (!response.headersSent) response.writeHead(500);
        response.end();
      });
    });
    // Probes come often and rarely reuse connections.
    this.#server.keepAliveTimeout = 5000;
    this.#server.requestTimeout = 10_000;
  }

  /**
   * Opens the port; 0 lets the system choose one.
   *
   * @throws HTTP_PORT when it is taken or not allowed
   */
  async listen(port: number, host: string): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      const failed = (cause: NodeJS.ErrnoException): void => {
        const reason = cause.code === 'EADDRINUSE' ? 'it is taken' : cause.code === 'EACCES' ? 'ports below 1024 need a privilege' : cause.message;
        reject(new WalbergError('HTTP_PORT', `The status port ${host}:${port} cannot be opened: ${reason}`, { cause, context: { host, port } }));
      };
      this.#server.once('error', failed);
      this.#server.listen(port, host, () => {
        this.#server.off('error', failed);
        resolve();
      });
    });
    return (this.#server.address() as AddressInfo).port;
  }

  /** Closes the port and open connections. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').replace(/[?#].*$/s, '').replace(/(?<=.)\/+$/, '');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    const kind = HEALTH_PATHS[path];
    if (kind !== undefined) {
      const report = this.#health.report(kind);
      send(request, response, report.status === 'UP' ? 200 : 503, 'application/json; charset=utf-8', `${JSON.stringify(report, undefined, 2)}\n`);
    } else if (METRICS_PATHS.has(path)) {
      const { contentType, body } = await this.#metrics.text();
      send(request, response, 200, contentType, body);
    } else {
      send(request, response, path === '/' ? 200 : 404, 'text/plain; charset=utf-8', 'Walberg: /q/health /q/health/live /q/health/ready /q/health/started /q/metrics\n');
    }
  }
}

function send(request: IncomingMessage, response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' });
  response.end(request.method === 'HEAD' ? undefined : body);
}
