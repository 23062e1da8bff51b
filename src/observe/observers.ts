import type { DestinationStream } from 'pino';
import type { ObserveConfig } from '../config/config.js';
import type { PipelineListener } from './events.js';
import { Health } from './health.js';
import { StatusServer } from './http.js';
import { logListener } from './log-listener.js';
import { createLogger, type Logger } from './logging.js';
import { Metrics } from './metrics.js';
import { SourceLag } from './source-lag.js';
import { systemdNotify, SystemdService, watchdogMs } from './systemd.js';

export interface ObserverOptions {
  /** Version of Walberg, for logs and metrics. */
  readonly version: string;
  /** Where logs go; absent = standard output. */
  readonly logDestination?: DestinationStream;
  /** Environment with NOTIFY_SOCKET and WATCHDOG_USEC; absent = that of the process. */
  readonly env?: NodeJS.ProcessEnv;
}

/** Everything that watches the pipeline. */
export interface Observers {
  /** For `broadcast`, in this order. */
  readonly listeners: readonly PipelineListener[];
  readonly logger: Logger;
  readonly lag: SourceLag;
  readonly health: Health;
  readonly metrics: Metrics;
  /** Opens the status port, unless it is 0, and tells the service manager. @throws HTTP_PORT */
  start(): Promise<{ port: number | undefined }>;
  /** A clean stop has begun. */
  stopping(): void;
  /** Closes the port and timers. */
  stop(): Promise<void>;
}

/** Builds logs, metrics, health and service notification of one process. */
export function createObservers(config: ObserveConfig, options: ObserverOptions): Observers {
  const env = options.env ?? process.env;
  const lag = new SourceLag();
  const logger = createLogger(config, options.logDestination);
  const metrics = new Metrics({ version: options.version, lag });
  const health = new Health({ lag });
  const server = new StatusServer({ health, metrics });
  const service = new SystemdService({ notify: systemdNotify(env), watchdogMs: watchdogMs(env), health });
  const status: PipelineListener = {
    sessionStarted: ({ slot, tables }) => service.status(`streaming ${tables.length} tables from slot ${slot}`),
    sessionEnded: ({ error, retryInMs }) => {
      if (error !== undefined && retryInMs !== undefined) service.status(`waiting after an error: ${error.message.split('\n', 1)[0]}`);
    },
  };
  return {
    // Lag comes first: metrics and health read it.
    listeners: [lag.listener, metrics.listener, health.listener, logListener(logger), status],
    logger,
    lag,
    health,
    metrics,
    async start() {
      const port = config.httpPort === 0 ? undefined : await server.listen(config.httpPort, config.httpHost);
      if (port !== undefined) logger.info({ host: config.httpHost, port }, `health and metrics on port ${port}`);
      service.ready('starting');
      return { port };
    },
    stopping: () => service.stopping(),
    async stop() {
      await service.close();
      await server.close();
    },
  };
}
