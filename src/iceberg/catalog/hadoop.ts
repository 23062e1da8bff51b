import { gunzipSync, gzipSync } from 'node:zlib';
import { isWalbergError, WalbergError } from '../../errors/error.js';
import { parseJson, printJson } from '../spec/json.js';
import type { TableMetadata } from '../spec/types.js';
import type { Storage } from '../../storage/storage.js';
import type { Catalog, CreateTableRequest, LoadedTable, TableChange, TableIdentifier } from './catalog.js';
import { hintLocation, metadataLocations, tableLocation, versionOf, warehouseLocation } from './hadoop-location.js';
import { applyUpdates, checkRequirements, newTableMetadata } from './metadata-builder.js';

/** A metadata file can vanish between finding and reading it, when another writer trims old ones. */
const LOAD_ATTEMPTS = 5;

interface Version {
  readonly version: number;
  readonly location: string;
}

/**
 * Tables as folders of a file system or bucket, in the layout of Java's HadoopCatalog: `metadata/v<N>.metadata.json`,
 * found through `metadata/version-hint.text`, which may be behind, wrong or missing.
 *
 * A commit is the creation of v<N+1>, which succeeds for one writer only (link(2), If-None-Match). It applies only to the
 * very metadata it was built on, whatever its requirements say.
 */
export class HadoopCatalog implements Catalog {
  readonly name: string;
  readonly #warehouse: string;
  readonly #storage: Storage;
  readonly #now: () => number;

  /** `warehouse`: absolute location (`s3://…`, `file:///…` or a path). */
  constructor(options: { name: string; warehouse: string; storage: Storage; now?: () => number }) {
    this.name = options.name;
    this.#warehouse = warehouseLocation(options.warehouse);
    this.#storage = options.storage;
    this.#now = options.now ?? Date.now;
  }

  /** Nothing to do: a namespace is the folder that the first table's files create. */
  async ensureNamespace(_namespace: readonly string[]): Promise<void> {}

  async loadTable(identifier: TableIdentifier): Promise<LoadedTable | undefined> {
    const folder = tableLocation(this.#warehouse, identifier);
    for (let attempt = 1; ; attempt++) {
      const newest = await this.#newestVersion(folder);
      if (newest === undefined) return undefined;
      try {
        return { identifier, metadata: await this.#readMetadata(newest.location), metadataLocation: newest.location };
      } catch (error) {
        if (attempt >= LOAD_ATTEMPTS || !isWalbergError(error, 'FILE_MISSING')) throw error;
      }
    }
  }

  async createTable(identifier: TableIdentifier, request: CreateTableRequest): Promise<LoadedTable> {
    const folder = tableLocation(this.#warehouse, identifier);
    if (request.location !== undefined && warehouseLocation(request.location) !== folder) {
      throw new WalbergError('CATALOG_REQUEST', `A file-system catalog cannot put a table anywhere else than ${folder}`, { hint: 'Remove the location.' });
    }
    // v1 alone proves nothing: of an old table the first versions may have been trimmed.
    if ((await this.#newestVersion(folder)) !== undefined) throw new WalbergError('COMMIT_CONFLICT', `The table exists already: ${folder}`, { context: { location: folder } });
    return this.#publish(identifier, folder, 1, newTableMetadata(request, folder, { nowMs: this.#now() }));
  }

  async commitTable(base: LoadedTable, change: TableChange): Promise<LoadedTable> {
    const folder = tableLocation(this.#warehouse, base.identifier);
    // Looking again is not only for speed: after others committed and trimmed old versions, the name after ours is free again.
    const current = await this.loadTable(base.identifier);
    checkRequirements(current?.metadata, change.requirements);
    if (current === undefined) throw new WalbergError('COMMIT_CONFLICT', `The table does not exist any more: ${folder}`, { context: { location: folder } });
    const version = versionOf(current.metadataLocation)!;
    if (version !== versionOf(base.metadataLocation) || current.metadata['table-uuid'] !== base.metadata['table-uuid']) {
      throw new WalbergError('COMMIT_CONFLICT', `Another writer has changed the table: version ${version} is newer than ${base.metadataLocation}`, { context: { location: folder, version } });
    }
    const next = applyUpdates(current.metadata, change.updates, this.#now(), current.metadataLocation);
    const committed = await this.#publish(base.identifier, folder, version + 1, next);
    await this.#trim(current.metadata, next);
    return committed;
  }

  /** Makes `metadata` the version `version`, or fails: COMMIT_CONFLICT when that version is somebody else's. */
  async #publish(identifier: TableIdentifier, folder: string, version: number, metadata: TableMetadata): Promise<LoadedTable> {
    const [plain, gzip] = metadataLocations(folder, version);
    const compressed = metadata.properties['write.metadata.compression-codec']?.toLowerCase() === 'gzip';
    const location = compressed ? gzip : plain;
    const json = new TextEncoder().encode(printJson(metadata));
    const body = compressed ? gzipSync(json) : json;
    if ((await this.#storage.size(compressed ? plain : gzip)) !== undefined) throw taken(folder, version);
    try {
      await this.#storage.write(location, body, { ifAbsent: true });
    } catch (error) {
      await this.#settle(error, folder, version, location, body);
    }
    // Best effort: readers and writers look for newer versions themselves.
    await this.#storage.write(hintLocation(folder), new TextEncoder().encode(String(version))).catch(() => undefined);
    return { identifier, metadata, metadataLocation: location };
  }

  /**
   * Returns when the failed write is ours after all (its reply was lost, and the storage client's own repetition was
   * told "exists"), else throws what is known: refused, conflict, or unknown.
   */
  async #settle(error: unknown, folder: string, version: number, location: string, body: Uint8Array): Promise<void> {
    const refused = isWalbergError(error, 'STORAGE_FULL', 'STORAGE_AUTH', 'STORAGE_REFUSED');
    let found: Uint8Array | undefined;
    try {
      found = await this.#storage.read(location);
    } catch (missing) {
      if (refused) throw error;
      const absent = isWalbergError(missing, 'FILE_MISSING');
      const what = absent ? 'its request may still arrive' : 'it cannot be read back';
      throw new WalbergError('COMMIT_UNKNOWN', `Writing version ${version} failed and ${what}: ${location}`, { context: { location, version }, cause: error });
    }
    if (Buffer.compare(found, body) !== 0) throw taken(folder, version, error);
  }

  /** Removes metadata files that dropped out of the log, if the table asks for it (Java: `CatalogUtil.deleteRemovedMetadataFiles`). */
  async #trim(before: TableMetadata, after: TableMetadata): Promise<void> {
    if (after.properties['write.metadata.delete-after-commit.enabled'] !== 'true') return;
    const kept = new Set(after['metadata-log'].map((entry) => entry['metadata-file']));
    const dropped = (before['metadata-log'] ?? []).map((entry) => entry['metadata-file']).filter((location) => !kept.has(location));
    await this.#storage.remove(dropped).catch(() => undefined);
  }

  async #newestVersion(folder: string): Promise<Version | undefined> {
    const hinted = await this.#hint(folder);
    let newest = hinted === undefined ? undefined : await this.#existing(folder, hinted);
    newest ??= await this.#listedVersion(folder);
    // Old versions are trimmed oldest first, so from a version that exists all newer ones can be walked.
    for (let next = newest; next !== undefined;) {
      newest = next;
      next = await this.#existing(folder, next.version + 1);
    }
    return newest;
  }

  async #hint(folder: string): Promise<number | undefined> {
    try {
      const text = new TextDecoder().decode(await this.#storage.read(hintLocation(folder))).trim();
      return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
    } catch (error) {
      if (isWalbergError(error, 'FILE_MISSING')) return undefined;
      throw error;
    }
  }

  async #existing(folder: string, version: number): Promise<Version | undefined> {
    for (const location of metadataLocations(folder, version)) {
      if ((await this.#storage.size(location)) !== undefined) return { version, location };
    }
    return undefined;
  }

  async #listedVersion(folder: string): Promise<Version | undefined> {
    let newest: Version | undefined;
    for await (const { location } of this.#storage.list(`${folder}/metadata`)) {
      const version = versionOf(location);
      if (version !== undefined && (newest === undefined || version > newest.version)) newest = { version, location };
    }
    return newest;
  }

  async #readMetadata(location: string): Promise<TableMetadata> {
    const body = await this.#storage.read(location);
    const json = body[0] === 0x1f && body[1] === 0x8b ? gunzipSync(body) : body;
    const metadata = parseJson(new TextDecoder().decode(json), `table metadata ${location}`) as TableMetadata;
    const version = metadata['format-version'];
    if (version !== 2) throw new WalbergError('FORMAT_UNSUPPORTED', `The table has format version ${version}: ${location}`, { context: { location, version } });
    return withOptionalFields(metadata);
  }
}

/** Fields the specification lets a writer leave out, as empty ones. */
function withOptionalFields(metadata: TableMetadata): TableMetadata {
  const current = metadata['current-snapshot-id'];
  const main: TableMetadata['refs'] = current === undefined || current === null || BigInt(current) === -1n ? {} : { main: { 'snapshot-id': current, type: 'branch' } };
  return {
    ...metadata,
    properties: metadata.properties ?? {},
    refs: metadata.refs ?? main,
    snapshots: metadata.snapshots ?? [],
    statistics: metadata.statistics ?? [],
    'partition-statistics': metadata['partition-statistics'] ?? [],
    'snapshot-log': metadata['snapshot-log'] ?? [],
    'metadata-log': metadata['metadata-log'] ?? [],
  };
}

function taken(folder: string, version: number, cause?: unknown): WalbergError {
  return new WalbergError('COMMIT_CONFLICT', `Another writer has made version ${version} of ${folder}`, { context: { location: folder, version }, cause });
}
