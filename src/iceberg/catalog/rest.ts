import type { CatalogConfig } from '../../config/config.js';
import { WalbergError, type ErrorContext } from '../../errors/error.js';
import { printJson } from '../spec/json.js';
import type { Catalog, CreateTableRequest, LoadedTable, TableChange, TableIdentifier } from './catalog.js';
import { isSuccess, RestClient, type RestOptions } from './rest-client.js';
import { errorBody, refused, replyText, unknownOutcome } from './rest-errors.js';
import type { HttpReply } from './rest-http.js';
import { mergeServerConfig, propertiesOf, RestPaths, settingsOf } from './rest-settings.js';
import { readTable } from './rest-table.js';

const WRONG_PLACE = 'Check debezium.sink.iceberg.uri (the part before /v1), warehouse and prefix.';
/** Java servers refuse a snapshot that is not newer than the table with this message, some of them with 400 in place of 409. */
const STALE_SEQUENCE = /cannot add snapshot with sequence number/i;

/**
 * An Iceberg REST catalog (apache/iceberg, open-api/rest-catalog-open-api.yaml).
 *
 * A change ends in one of three ways: applied; definitely refused (COMMIT_CONFLICT when another writer was first, any
 * other code when repeating is no use or the request did not reach the server); or COMMIT_UNKNOWN.
 */
export class RestCatalog implements Catalog {
  readonly name: string;
  readonly #client: RestClient;
  readonly #paths: RestPaths;

  private constructor(name: string, client: RestClient, paths: RestPaths) {
    this.name = name;
    this.#client = client;
    this.#paths = paths;
  }

  /**
   * Asks the server for its configuration and merges it with ours. Which endpoints the server lists is not looked at: only
   * those every server must have are used.
   *
   * @throws CONFIG_INVALID without a usable uri; CATALOG_REQUEST when there is no such catalog or warehouse; the codes of `RestClient.call`
   */
  static async connect(config: CatalogConfig, options: RestOptions = {}): Promise<RestCatalog> {
    const own = propertiesOf(config);
    const first = new RestClient(settingsOf(own, false), options);
    const query = config.warehouse === '' ? '' : `?warehouse=${encodeURIComponent(config.warehouse)}`;
    const doing = `get the configuration of catalog ${config.name}`;
    const reply = await first.call({ method: 'GET', path: `/v1/config${query}`, doing, effect: 'none', context: { uri: config.uri } }).finally(() => first.close());
    if (!isSuccess(reply)) throw refused(reply, doing, { uri: config.uri, warehouse: config.warehouse }, WRONG_PLACE);
    const { properties, idempotent } = mergeServerConfig(own, reply.body);
    const settings = settingsOf(properties, idempotent);
    return new RestCatalog(config.name, new RestClient(settings, options), new RestPaths(settings));
  }

  async ensureNamespace(namespace: readonly string[]): Promise<void> {
    if (await this.#namespaceExists(namespace)) return;
    for (let depth = 1; depth <= namespace.length; depth++) {
      const level = namespace.slice(0, depth);
      if (depth === namespace.length || !(await this.#namespaceExists(level))) await this.#createNamespace(level);
    }
  }

  async loadTable(identifier: TableIdentifier): Promise<LoadedTable | undefined> {
    const doing = `load table ${nameOf(identifier)}`;
    const context = contextOf(identifier);
    const reply = await this.#client.call({ method: 'GET', path: this.#paths.table(identifier.namespace, identifier.name), doing, effect: 'none', context });
    if (reply.status === 404) {
      if (await this.#isAbsent(identifier, reply)) return undefined;
      throw refused(reply, doing, context, WRONG_PLACE);
    }
    if (!isSuccess(reply)) throw refused(reply, doing, context);
    const table = readTable(identifier, reply.body);
    if (table === undefined) throw notATable(reply, doing, context);
    return table;
  }

  async createTable(identifier: TableIdentifier, request: CreateTableRequest): Promise<LoadedTable> {
    const doing = `create table ${nameOf(identifier)}`;
    const context = contextOf(identifier);
    const body = printJson({
      name: identifier.name,
      location: request.location,
      schema: request.schema,
      'partition-spec': request.partitionSpec,
      'write-order': request.sortOrder,
      'stage-create': false,
      properties: request.properties,
    });
    const reply = await this.#client.call({ method: 'POST', path: this.#paths.tables(identifier.namespace), body, doing, effect: 'commit', context });
    if (isSuccess(reply)) return changedTable(identifier, reply, doing, context);
    if (reply.status === 409 || errorBody(reply.body).type === 'AlreadyExistsException') throw conflict(reply, doing, context);
    throw refused(reply, doing, context, reply.status === 404 ? `The namespace does not exist. ${WRONG_PLACE}` : undefined);
  }

  async commitTable(base: LoadedTable, change: TableChange): Promise<LoadedTable> {
    const { identifier } = base;
    const doing = `commit to table ${nameOf(identifier)}`;
    const context = contextOf(identifier);
    const body = printJson({ identifier: { namespace: identifier.namespace, name: identifier.name }, requirements: change.requirements, updates: change.updates });
    const reply = await this.#client.call({ method: 'POST', path: this.#paths.table(identifier.namespace, identifier.name), body, doing, effect: 'commit', context });
    if (isSuccess(reply)) return changedTable(identifier, reply, doing, context);
    const { type, message } = errorBody(reply.body);
    if (type === 'CommitStateUnknownException') throw unknownOutcome(replyText(reply), doing, context);
    if (reply.status === 409 || type === 'CommitFailedException' || (reply.status === 400 && STALE_SEQUENCE.test(message))) throw conflict(reply, doing, context);
    if (reply.status === 404) {
      throw new WalbergError('TABLE_REPLACED', `The catalog no longer knows table ${nameOf(identifier)}: ${replyText(reply)}`, { context: { ...context, status: 404 } });
    }
    throw refused(reply, doing, context);
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  async #namespaceExists(namespace: readonly string[]): Promise<boolean> {
    const doing = `look up namespace ${namespace.join('.')}`;
    const context = { namespace: namespace.join('.') };
    const reply = await this.#client.call({ method: 'GET', path: this.#paths.namespace(namespace), doing, effect: 'none', context });
    if (reply.status === 404) return false;
    if (!isSuccess(reply)) throw refused(reply, doing, context);
    return true;
  }

  async #createNamespace(namespace: readonly string[]): Promise<void> {
    const doing = `create namespace ${namespace.join('.')}`;
    const context = { namespace: namespace.join('.') };
    const reply = await this.#client.call({ method: 'POST', path: this.#paths.namespaces(), body: printJson({ namespace, properties: {} }), doing, effect: 'repeatable', context });
    // 409: someone was faster, or an earlier attempt of this call.
    if (!isSuccess(reply) && reply.status !== 409) throw refused(reply, doing, context, reply.status === 404 ? WRONG_PLACE : undefined);
  }

  /**
   * True when a 404 means that the table does not exist. A proxy, a wrong prefix, or a metadata file that the server cannot
   * find (`NotFoundException`) answer 404 too: taking that for "no table" would start it anew.
   */
  async #isAbsent(identifier: TableIdentifier, reply: HttpReply): Promise<boolean> {
    const { type } = errorBody(reply.body);
    if (type === 'NoSuchTableException' || type === 'NoSuchNamespaceException') return true;
    if (type === 'NotFoundException' || type === 'NoSuchWarehouseException') return false;
    return this.#namespaceExists(identifier.namespace);
  }
}

function changedTable(identifier: TableIdentifier, reply: HttpReply, doing: string, context: ErrorContext): LoadedTable {
  const table = readTable(identifier, reply.body);
  // Something in between may have answered in the catalog's place.
  if (table === undefined) throw unknownOutcome(`${reply.status} without table metadata`, doing, context);
  return table;
}

function conflict(reply: HttpReply, doing: string, context: ErrorContext): WalbergError {
  return new WalbergError('COMMIT_CONFLICT', `The catalog did not ${doing}: ${replyText(reply)}`, { context: { ...context, status: reply.status } });
}

function notATable(reply: HttpReply, doing: string, context: ErrorContext): WalbergError {
  return new WalbergError('CATALOG_REQUEST', `The catalog's answer holds no table metadata (${doing})`, { context: { ...context, status: reply.status }, hint: WRONG_PLACE });
}

function nameOf(identifier: TableIdentifier): string {
  return [...identifier.namespace, identifier.name].join('.');
}

function contextOf(identifier: TableIdentifier): ErrorContext {
  return { table: nameOf(identifier) };
}
