import type { ConnectionConfig } from '../config/config.js';
import { WalbergError } from '../errors/error.js';
import type { Catalog, TableIdentifier } from '../iceberg/catalog/catalog.js';
import type { NestedField } from '../iceberg/spec/types.js';
import type { SourceClient } from '../postgres/client.js';
import { quoteTable } from '../postgres/quote.js';
import type { Storage } from '../storage/storage.js';
import { sourceText } from './canonical-text.js';
import { RowBytes, TableDigest } from './row-digest.js';
import { withSession } from './session.js';
import { TableReader } from './table-reader.js';

export interface ComparedTable {
  /** `schema.table` at the source. */
  readonly name: string;
  readonly sourceRows: number;
  readonly tableRows: number;
  /** Same number of rows and the same values in all columns. */
  readonly equal: boolean;
  readonly hasEqualityDeletes: boolean;
  /** Newest metadata file. */
  readonly metadataLocation: string;
}

export interface CompareOptions {
  readonly connection: ConnectionConfig;
  readonly catalog: Catalog;
  readonly storage: Storage;
  readonly signal: AbortSignal;
}

const FETCH_ROWS = 5000;

/** Compares a source table with the Iceberg table that mirrors it, all rows and columns, read back from the files. */
export async function compareTable(source: { readonly schema: string; readonly name: string }, identifier: TableIdentifier, options: CompareOptions): Promise<ComparedTable> {
  const { connection, catalog, storage, signal } = options;
  const table = await catalog.loadTable(identifier);
  if (table === undefined) throw new WalbergError('FILE_MISSING', `There is no table for ${source.schema}.${source.name}.`);
  const reader = await TableReader.open(table, storage);
  const here = new TableDigest();
  await reader.eachRow((row) => {
    signal.throwIfAborted();
    here.add(row);
  });
  const there = await withSession(connection, signal, (client) => digestSource(client, quoteTable(source), reader.fields));
  return {
    name: `${source.schema}.${source.name}`, sourceRows: there.rows, tableRows: here.rows, equal: here.equals(there),
    hasEqualityDeletes: reader.hasEqualityDeletes, metadataLocation: table.metadataLocation,
  };
}

/** Streams the source table through a cursor. */
async function digestSource(client: SourceClient, table: string, fields: readonly NestedField[]): Promise<TableDigest> {
  const digest = new TableDigest();
  const row = new RowBytes();
  await client.rows('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await client.rows(`DECLARE source NO SCROLL CURSOR FOR SELECT ${fields.map((f, i) => `${sourceText(f)} AS c${i}`).join(', ')} FROM ${table}`);
  for (;;) {
    const fetched = await client.rows(`FETCH ${FETCH_ROWS} FROM source`);
    for (const values of fetched) {
      row.clear();
      for (let i = 0; i < fields.length; i++) {
        const text = values[`c${i}`];
        if (text === null) row.addNull();
        else row.addText(text);
      }
      digest.add(row);
    }
    if (fetched.length < FETCH_ROWS) break;
  }
  await client.rows('COMMIT');
  return digest;
}
