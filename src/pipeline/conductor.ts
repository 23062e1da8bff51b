import type { WalbergConfig } from '../config/config.js';
import { asWalbergError, type WalbergError } from '../errors/error.js';
import type { Catalog } from '../iceberg/catalog/catalog.js';
import { openCatalog } from '../iceberg/catalog/open-catalog.js';
import { broadcast, type PipelineListener } from '../observe/events.js';
import { EncodePool } from '../parquet/encode-pool.js';
import { createStorage } from '../storage/router.js';
import type { Storage } from '../storage/storage.js';
import type { SessionContext } from './session-context.js';
import { runSession } from './session.js';

export interface PipelineOptions {
  readonly config: WalbergConfig;
  readonly listeners: readonly PipelineListener[];
  /** Ends the pipeline cleanly: what is whole is committed and confirmed first. */
  readonly stop: AbortSignal;
  /** For callers that stand between Walberg and its storage or catalog. */
  readonly wrapStorage?: (storage: Storage) => Storage;
  readonly wrapCatalog?: (catalog: Catalog) => Catalog;
}

/**
 * Runs until stopped: session after session, each from durable state alone. Transient errors are waited out with growing,
 * jittered pauses; errors a person has to deal with end it.
 */
export async function runPipeline(options: PipelineOptions): Promise<void> {
  const { config, stop } = options;
  const retry = new RetryPolicy(config);
  const events = broadcast([...options.listeners, { commitFinished: () => retry.progress(), sessionStarted: () => retry.slotObtained() }]);
  const storage = (options.wrapStorage ?? ((s) => s))(createStorage({ s3: config.sink.s3 }));
  const encoder = new EncodePool({ workers: config.pipeline.encodeWorkers });
  let catalog: Catalog | undefined;
  let loaded = false;
  try {
    while (!stop.aborted) {
      try {
        catalog ??= (options.wrapCatalog ?? ((c) => c))(await openCatalog(config.sink, storage));
        const context: SessionContext = { config, catalog, storage, encoder, events, loaded };
        try {
          await runSession(context, stop);
        } finally {
          ({ loaded } = context);
        }
        events.sessionEnded({});
        return;
      } catch (thrown) {
        const error = asWalbergError(thrown);
        const retryInMs = retry.pauseAfter(error);
        events.sessionEnded({ error, retryInMs: stop.aborted ? undefined : retryInMs });
        if (stop.aborted && error.policy !== 'stop') return;
        if (retryInMs === undefined) throw error;
        await pause(retryInMs, stop);
      }
    }
  } finally {
    await encoder.close();
    await catalog?.close?.();
    await storage.close?.();
  }
}

/** How long to wait after which error. */
class RetryPolicy {
  #failures = 0;
  #taken = 0;

  constructor(private readonly config: WalbergConfig) {}

  /** Something was made durable: the next failure is the first of its kind again. */
  progress(): void {
    this.#failures = 0;
  }

  /** The stream has begun, so nobody else has the slot; a quiet source may never see a commit. */
  slotObtained(): void {
    this.#taken = 0;
  }

  /** Milliseconds; undefined = do not go on. */
  pauseAfter(error: WalbergError): number | undefined {
    const { source, pipeline } = this.config;
    if (error.policy === 'stop' || error.policy === 'config') return undefined;
    if (error.code === 'SLOT_TAKEN') return ++this.#taken > source.slotMaxRetries ? undefined : source.slotRetryDelayMs;
    const limit = Math.min(pipeline.retryMaxMs, pipeline.retryInitialMs * 2 ** this.#failures++);
    return limit / 2 + Math.random() * (limit / 2);
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      stop.removeEventListener('abort', done);
      resolve();
    }
    stop.addEventListener('abort', done);
  });
}
