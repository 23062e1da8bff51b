import type { CatalogConfig } from '../../src/config/config.js';
import { RestCatalog } from '../../src/iceberg/catalog/rest.js';
import type { RestOptions } from '../../src/iceberg/catalog/rest-client.js';
import { json, ScriptedHttp, type Handler, type Scripted, type SeenRequest } from './scripted-http.js';

export function restConfig(config: Partial<CatalogConfig> = {}): CatalogConfig {
  return { type: 'rest', name: 'lake', warehouse: '', scope: 'catalog', headers: {}, properties: {}, ...config };
}

/** Waits so short that a test does not notice them. */
export const FAST: RestOptions = { timeoutMs: 5_000, retries: 2, retryMinMs: 1, retryMaxMs: 2 };

export function restError(status: number, type: string, message = 'scripted'): Scripted {
  return json(status, { error: { message, type, code: status } });
}

/** A LoadTableResult whose snapshot id no double can hold. */
export const TABLE_JSON = `{"metadata-location":"s3://lake/shop/orders/metadata/00001-a.metadata.json","metadata":{"format-version":2,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1",
"location":"s3://lake/shop/orders","last-sequence-number":7,"last-updated-ms":1700000000000,"last-column-id":1,
"schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"}]}],"current-schema-id":0,
"partition-specs":[{"spec-id":0,"fields":[]}],"default-spec-id":0,"last-partition-id":999,"sort-orders":[{"order-id":0,"fields":[]}],"default-sort-order-id":0,
"properties":{"walberg.lsn":"42"},"current-snapshot-id":9007199254740993,"refs":{"main":{"snapshot-id":9007199254740993,"type":"branch"}},
"snapshots":[{"snapshot-id":9007199254740993,"sequence-number":7,"timestamp-ms":1700000000000,"manifest-list":"s3://lake/x.avro","summary":{"operation":"append"},"schema-id":0}],
"snapshot-log":[],"metadata-log":[]},"config":{"client.region":"eu-west-1"}}`;

export interface RestSession {
  readonly server: ScriptedHttp;
  readonly catalog: RestCatalog;
  /** Requests after the one for the configuration. */
  readonly requests: () => SeenRequest[];
}

/** A catalog connected to a server that answers the configuration request itself and everything else by `handler`. */
export async function restSession(handler: Handler, setup: { config?: Partial<CatalogConfig>; options?: RestOptions; serverConfig?: unknown } = {}): Promise<RestSession> {
  const server = await ScriptedHttp.start((request) => (request.path.startsWith('/v1/config') ? json(200, setup.serverConfig ?? { defaults: {}, overrides: {} }) : handler(request)));
  const catalog = await RestCatalog.connect(restConfig({ uri: server.url, ...setup.config }), { ...FAST, ...setup.options });
  return { server, catalog, requests: () => server.seen.filter(({ path }) => !path.startsWith('/v1/config')) };
}
