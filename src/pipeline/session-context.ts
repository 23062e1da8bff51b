import type { WalbergConfig } from '../config/config.js';
import type { Catalog } from '../iceberg/catalog/catalog.js';
import type { PipelineEvents } from '../observe/events.js';
import type { Encoder } from '../parquet/encode-types.js';
import type { Storage } from '../storage/storage.js';

/** What outlives sessions. */
export interface SessionContext {
  readonly config: WalbergConfig;
  readonly catalog: Catalog;
  readonly storage: Storage;
  readonly encoder: Encoder;
  readonly events: PipelineEvents;
  /** Tables were loaded, or marked for it, by this process: `snapshot.mode=always` loads once per start, not once per reconnect. */
  loaded: boolean;
}
