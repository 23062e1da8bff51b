import { type Data, type Schema as ArrowSchema, tableFromIPC } from 'apache-arrow';
import { readParquet } from 'parquet-wasm';
import { WalbergError } from '../errors/error.js';
import type { LoadedTable } from '../iceberg/catalog/catalog.js';
import { isLive, type ManifestEntry, readManifest, readManifestList } from '../iceberg/manifest/index.js';
import { CONTENT_DATA, CONTENT_EQUALITY_DELETES, type NestedField, type Snapshot } from '../iceberg/spec/types.js';
import type { Storage } from '../storage/storage.js';
import { arrowText, type ValueReader } from './canonical-text.js';
import { RowBytes } from './row-digest.js';

/** Rows of a batch, with the readers of asked columns in their order. */
interface Batch {
  readonly rows: number;
  /** Column of the file by field id. */
  column(id: number): Data | undefined;
}

/** Equality deletes on the same columns: the highest sequence number at which each key was deleted. */
interface EqualityDeletes {
  readonly fields: readonly NestedField[];
  readonly newest: Map<string, bigint>;
}

/** Rows deleted by place: file, then row number, with the sequence number of the delete. */
type PositionDeletes = Map<string, Map<number, bigint>>;

/** Columns of position delete files (specification, "Position Delete Files"). */
const PATH_FIELD: NestedField = { id: 2147483546, name: 'file_path', required: true, type: 'string' };
const POSITION_FIELD: NestedField = { id: 2147483545, name: 'pos', required: true, type: 'long' };

/**
 * Reads an unpartitioned table from its files alone, as the specification says: manifests of the current snapshot, data
 * files, equality deletes on rows of lower sequence number, position deletes on rows of the same or a lower one (specification,
 * "Scan Planning").
 */
export class TableReader {
  readonly #row = new RowBytes();

  private constructor(private readonly storage: Storage, readonly fields: readonly NestedField[], private readonly entries: readonly ManifestEntry[]) {}

  /** Reads the table's manifests. */
  static async open(table: LoadedTable, storage: Storage): Promise<TableReader> {
    const { metadata } = table;
    const fields = metadata.schemas.find((s) => s['schema-id'] === metadata['current-schema-id'])?.fields ?? [];
    const snapshot = currentSnapshot(table);
    const entries: ManifestEntry[] = [];
    if (snapshot !== undefined) {
      const list = snapshot['manifest-list'];
      for (const manifest of readManifestList(await storage.read(list), list)) entries.push(...readManifest(await storage.read(manifest.path), manifest).filter(isLive));
    }
    return new TableReader(storage, fields, entries);
  }

  /** Whether the current snapshot has equality delete files, which some readers refuse. */
  get hasEqualityDeletes(): boolean {
    return this.entries.some((e) => e.file.content === CONTENT_EQUALITY_DELETES);
  }

  /** Calls `onRow` with each row of the table, all columns in the order of `fields`. One file is in memory at a time. */
  async eachRow(onRow: (row: RowBytes) => void): Promise<void> {
    const equality = await this.#equalityDeletes();
    const positions = await this.#positionDeletes();
    for (const entry of this.#filesOf(CONTENT_DATA)) {
      const sequence = entry.sequenceNumber!;
      const gone = positions.get(entry.file.filePath);
      let place = 0;
      for (const batch of await this.#batches(entry)) {
        const columns = batchReaders(this.fields, batch);
        const keys = equality.map(({ fields, newest }) => ({ newest, columns: batchReaders(fields, batch) }));
        for (let i = 0; i < batch.rows; i++, place++) {
          if (gone !== undefined && (gone.get(place) ?? -1n) >= sequence) continue;
          if (keys.some((key) => (key.newest.get(this.#fill(key.columns, i).toKey()) ?? -1n) > sequence)) continue;
          onRow(this.#fill(columns, i));
        }
      }
      // The event loop also serves the terminal and signals.
      await new Promise(setImmediate);
    }
  }

  async #equalityDeletes(): Promise<EqualityDeletes[]> {
    const byFields = new Map<string, EqualityDeletes>();
    for (const entry of this.#filesOf(CONTENT_EQUALITY_DELETES)) {
      const ids = entry.file.equalityIds ?? [];
      const known = byFields.get(ids.join()) ?? { fields: ids.map((id) => this.#field(id)), newest: new Map<string, bigint>() };
      byFields.set(ids.join(), known);
      for (const batch of await this.#batches(entry)) {
        const columns = batchReaders(known.fields, batch);
        for (let i = 0; i < batch.rows; i++) raise(known.newest, this.#fill(columns, i).toKey(), entry.sequenceNumber!);
      }
    }
    return [...byFields.values()];
  }

  async #positionDeletes(): Promise<PositionDeletes> {
    const deletes: PositionDeletes = new Map();
    for (const entry of this.entries) {
      if (entry.file.content === CONTENT_DATA || entry.file.content === CONTENT_EQUALITY_DELETES) continue;
      for (const batch of await this.#batches(entry)) {
        const paths = batch.column(PATH_FIELD.id)!;
        const offsets = paths.valueOffsets as Int32Array;
        const places = batch.column(POSITION_FIELD.id)!.values as BigInt64Array;
        for (let i = 0; i < batch.rows; i++) {
          const path = Buffer.from((paths.values as Uint8Array).subarray(offsets[i], offsets[i + 1])).toString();
          const file = deletes.get(path) ?? new Map<number, bigint>();
          deletes.set(path, file);
          raise(file, Number(places[i]), entry.sequenceNumber!);
        }
      }
    }
    return deletes;
  }

  #filesOf(content: number): ManifestEntry[] {
    return this.entries.filter((e) => e.file.content === content);
  }

  #field(id: number): NestedField {
    const found = this.fields.find((f) => f.id === id);
    if (found === undefined) throw new WalbergError('FILE_MALFORMED', `A delete file names column ${id}, which the table does not have.`);
    return found;
  }

  #fill(columns: readonly ValueReader[], row: number): RowBytes {
    this.#row.clear();
    for (const column of columns) column(row, this.#row);
    return this.#row;
  }

  async #batches({ file }: ManifestEntry): Promise<Batch[]> {
    const arrow = tableFromIPC(readParquet(await this.storage.read(file.filePath), { batchSize: 65_536 }).intoIPCStream());
    const places = columnPlaces(arrow.schema);
    return arrow.batches.map((batch) => ({
      rows: batch.numRows,
      column: (id) => { const at = places.get(id); return at === undefined ? undefined : batch.data.children[at]; },
    }));
  }
}

function currentSnapshot({ metadata }: LoadedTable): Snapshot | undefined {
  const id = metadata.refs.main?.['snapshot-id'];
  return id === undefined ? undefined : metadata.snapshots.find((s) => BigInt(s['snapshot-id']) === BigInt(id));
}

/** Columns are found by field id, never by name. */
function columnPlaces(schema: ArrowSchema): Map<number, number> {
  return new Map(schema.fields.map((field, at) => [Number(field.metadata.get('PARQUET:field_id')), at]));
}

/** A column that was added after the file was written is NULL in it. */
function batchReaders(fields: readonly NestedField[], batch: Batch): ValueReader[] {
  return fields.map((field) => {
    const column = batch.column(field.id);
    return column === undefined ? (_, into) => into.addNull() : arrowText(field, column);
  });
}

function raise<K>(highest: Map<K, bigint>, key: K, to: bigint): void {
  const before = highest.get(key);
  if (before === undefined || before < to) highest.set(key, to);
}
