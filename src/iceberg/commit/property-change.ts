import type { Catalog, LoadedTable } from '../catalog/catalog.js';
import { refId } from './history.js';

/**
 * Sets and removes table properties in a commit of its own. It asserts the newest snapshot as well: a request of a killed
 * process that arrives late must not mark what has been committed since.
 */
export async function changeProperties(catalog: Catalog, table: LoadedTable, change: { readonly set?: Readonly<Record<string, string>>; readonly remove?: readonly string[] }): Promise<LoadedTable> {
  const { metadata } = table;
  return catalog.commitTable(table, {
    requirements: [
      { type: 'assert-table-uuid', uuid: metadata['table-uuid'] },
      { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': refId(metadata, 'main') ?? null },
    ],
    updates: [
      ...(change.set === undefined ? [] : [{ action: 'set-properties', updates: change.set } as const]),
      ...(change.remove === undefined ? [] : [{ action: 'remove-properties', removals: change.remove } as const]),
    ],
  });
}
