import pRetry from 'p-retry';
import type { PipelineConfig } from '../config/config.js';
import { asWalbergError } from '../errors/error.js';
import { CONTENT_DATA, CONTENT_EQUALITY_DELETES, type DataFile, type FileContent } from '../iceberg/spec/types.js';
import type { PipelineEvents } from '../observe/events.js';
import type { EncodedFile, Encoder, EncodeRequest, RowMeta } from '../parquet/encode-types.js';
import type { Storage } from '../storage/storage.js';
import type { TableTarget } from './table-target.js';

/** Attempts of one upload before the session starts over. The storage client has its own retries below these. */
const UPLOAD_RETRIES = 3;

export interface PartWriterOptions {
  readonly encoder: Encoder;
  readonly storage: Storage;
  readonly config: Pick<PipelineConfig, 'rowGroupRows' | 'compression'>;
  readonly events: Pick<PipelineEvents, 'valuesReplaced'>;
  /** Distinguishes this process's files. */
  readonly process: string;
  readonly signal: AbortSignal;
}

/** Rows in either form the encoder takes. */
export type PartRows = Pick<EncodeRequest, 'arena' | 'rowOffsets' | 'format'> & { readonly meta?: RowMeta };

/** Turns rows into files at rest. */
export class PartWriter {
  #files = 0;

  constructor(private readonly options: PartWriterOptions) {}

  /** Writes a data file. */
  async writeData(target: TableTarget, rows: PartRows): Promise<DataFile> {
    const encoded = await this.#encode(target, { ...rows, columns: target.columns, sourceColumnNames: target.plan.source.columns.map((c) => c.name), keyValues: { 'iceberg.schema': target.schemaJson } });
    for (const [column, count] of Object.entries(encoded.replacedValues)) this.options.events.valuesReplaced({ table: target.name, column, count, policy: 'walberg.special-values' });
    return this.#upload(target, encoded, CONTENT_DATA);
  }

  /** Writes an equality delete file from tuples of the key columns. */
  async writeDeletes(target: TableTarget, keys: Pick<EncodeRequest, 'arena' | 'rowOffsets'>): Promise<DataFile> {
    const keyValues = { 'iceberg.schema': target.schemaJson, 'delete-type': 'equality', 'delete-field-ids': target.equalityIds.join(',') };
    const encoded = await this.#encode(target, { ...keys, format: 'tuple', columns: target.keyColumns, sourceColumnNames: target.plan.keyNames, keyValues });
    return this.#upload(target, encoded, CONTENT_EQUALITY_DELETES);
  }

  /** Removes files that no commit will name. Best effort: an orphan is harmless. */
  async discard(files: readonly DataFile[]): Promise<void> {
    await this.options.storage.remove(files.map((f) => f.filePath)).catch(() => {});
  }

  #encode(target: TableTarget, request: Omit<EncodeRequest, 'compression' | 'rowGroupRows' | 'tableName'>): Promise<EncodedFile> {
    const { rowGroupRows, compression } = this.options.config;
    this.options.signal.throwIfAborted();
    return this.options.encoder.encode({ ...request, compression, rowGroupRows, tableName: target.name });
  }

  async #upload(target: TableTarget, file: EncodedFile, content: FileContent): Promise<DataFile> {
    const kind = content === CONTENT_DATA ? 'data' : 'eq-deletes';
    const number = String(++this.#files).padStart(6, '0');
    const filePath = `${target.dataLocation}/${number}-${this.options.process}-${kind}.parquet`;
    await pRetry(() => this.options.storage.write(filePath, file.bytes), {
      retries: UPLOAD_RETRIES,
      minTimeout: 200,
      randomize: true,
      signal: this.options.signal,
      shouldRetry: ({ error }) => asWalbergError(error).policy === 'retry' && asWalbergError(error).code !== 'STORAGE_FULL',
    });
    return {
      ...file.metrics,
      content,
      filePath,
      fileFormat: 'PARQUET',
      specId: target.specId,
      partition: [],
      recordCount: file.recordCount,
      fileSizeInBytes: file.bytes.length,
      splitOffsets: file.splitOffsets,
      ...(content === CONTENT_EQUALITY_DELETES ? { equalityIds: target.equalityIds } : {}),
      sortOrderId: 0,
    };
  }
}
