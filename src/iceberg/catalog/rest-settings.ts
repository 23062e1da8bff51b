import type { CatalogConfig } from '../../config/config.js';
import { WalbergError } from '../../errors/error.js';
import { parseJson } from '../spec/json.js';
import type { AuthSettings } from './rest-auth.js';

/** Flat properties under Iceberg's own names, the form in which a server's defaults and overrides are merged. */
export type CatalogProperties = Readonly<Record<string, string>>;

export interface RestSettings {
  /** Base address without trailing slash. */
  readonly uri: string;
  /** Path element between `/v1/` and the rest, as the server gave it: it may be percent-encoded and is not encoded again. */
  readonly prefix: string;
  /** Between the levels of a namespace in a path, percent-encoded. */
  readonly namespaceSeparator: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: AuthSettings;
  /** The server understands `Idempotency-Key`. */
  readonly idempotent: boolean;
  readonly timeoutMs: number | undefined;
}

/** The configuration as flat properties. */
export function propertiesOf(config: CatalogConfig): CatalogProperties {
  const headers = Object.fromEntries(Object.entries(config.headers).map(([name, value]) => [`header.${name}`, value]));
  const own = { uri: config.uri, warehouse: config.warehouse, prefix: config.prefix, token: config.token, credential: config.credential, 'oauth2-server-uri': config.oauth2ServerUri, scope: config.scope };
  return { ...config.properties, ...headers, ...definedOf(own) };
}

function definedOf(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''));
}

/** Server defaults < own configuration < server overrides (OpenAPI file, `GET /v1/config`). */
export function mergeServerConfig(own: CatalogProperties, body: string): { properties: CatalogProperties; idempotent: boolean } {
  let parsed: unknown;
  try {
    parsed = parseJson(body);
  } catch (error) {
    throw notACatalog(error);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw notACatalog(undefined);
  const reply = parsed as { defaults?: unknown; overrides?: unknown; 'idempotency-key-lifetime'?: unknown };
  return {
    properties: { ...strings(reply.defaults), ...own, ...strings(reply.overrides) },
    idempotent: typeof reply['idempotency-key-lifetime'] === 'string',
  };
}

function notACatalog(cause: unknown): WalbergError {
  return new WalbergError('CATALOG_REQUEST', 'The answer to GET /v1/config is not that of an Iceberg REST catalog', { cause, hint: 'Check debezium.sink.iceberg.uri: the part before /v1.' });
}

function strings(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter(([, text]) => text !== null && text !== undefined).map(([name, text]) => [name, String(text)]));
}

/** Reads the properties that the client uses. */
export function settingsOf(properties: CatalogProperties, idempotent: boolean): RestSettings {
  const uri = trimSlashes(properties.uri ?? '');
  if (!/^https?:\/\/[^/]/i.test(uri)) {
    throw new WalbergError('CONFIG_INVALID', `Not the address of a REST catalog: "${uri}"`, { hint: 'Set debezium.sink.iceberg.uri to http://… or https://….' });
  }
  const headers = Object.fromEntries(Object.entries(properties).filter(([name]) => name.startsWith('header.')).map(([name, value]) => [name.slice('header.'.length), value]));
  const timeout = Number(properties['rest.client.socket-timeout-ms']);
  return {
    uri,
    prefix: (properties.prefix ?? '').replace(/^\/+|\/+$/g, ''),
    namespaceSeparator: encodedSeparator(properties['namespace-separator'] ?? '%1F'),
    headers,
    auth: authSettings(uri, properties, headers),
    idempotent,
    timeoutMs: timeout > 0 ? timeout : undefined,
  };
}

function authSettings(uri: string, properties: CatalogProperties, headers: Readonly<Record<string, string>>): AuthSettings {
  const given = properties['oauth2-server-uri'] ?? 'v1/oauth/tokens';
  const tokenUri = /^https?:\/\//i.test(given) ? given : `${uri}/${given.replace(/^\/+/, '')}`;
  // Own headers may be secrets of the catalog: another host does not get them.
  const sameOrigin = URL.canParse(tokenUri) && new URL(tokenUri).origin === new URL(uri).origin;
  const tokenHeaders = Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'));
  return {
    token: properties.token,
    credential: properties.credential,
    tokenUri,
    scope: properties.scope ?? 'catalog',
    fields: definedOf({ audience: properties.audience, resource: properties.resource }),
    headers: sameOrigin ? tokenHeaders : {},
  };
}

/** Servers give the separator percent-encoded; a plain one such as "." is encoded here. */
function encodedSeparator(text: string): string {
  return /^(%[0-9a-f]{2})+$/i.test(text) ? text : encodeURIComponent(text);
}

function trimSlashes(text: string): string {
  return text.replace(/\/+$/, '');
}

/** Paths of the OpenAPI file, below the base address. */
export class RestPaths {
  readonly #root: string;
  readonly #separator: string;

  constructor(settings: Pick<RestSettings, 'prefix' | 'namespaceSeparator'>) {
    this.#root = settings.prefix === '' ? '/v1' : `/v1/${settings.prefix}`;
    this.#separator = settings.namespaceSeparator;
  }

  namespaces(): string {
    return `${this.#root}/namespaces`;
  }

  namespace(levels: readonly string[]): string {
    return `${this.namespaces()}/${levels.map(encodeURIComponent).join(this.#separator)}`;
  }

  tables(levels: readonly string[]): string {
    return `${this.namespace(levels)}/tables`;
  }

  table(levels: readonly string[], name: string): string {
    return `${this.tables(levels)}/${encodeURIComponent(name)}`;
  }
}
