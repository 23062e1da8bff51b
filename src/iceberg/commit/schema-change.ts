import type { LoadedTable, TableChange } from '../catalog/catalog.js';
import type { Schema } from '../spec/types.js';
import { refId } from './history.js';

/** The schema of a table as it is now; undefined when its metadata names one that it lacks. */
export function currentSchema({ metadata }: LoadedTable): Schema | undefined {
  return metadata.schemas.find((s) => s['schema-id'] === metadata['current-schema-id']);
}

/**
 * Makes `schema` (undefined: it stays) the current one and sets properties, in one commit. It asserts all that it was planned
 * on, also the newest snapshot: a request that arrives late must not undo what came after it.
 */
export function schemaChange(table: LoadedTable, schema: Schema | undefined, lastColumnId: number, properties: Readonly<Record<string, string>>): TableChange {
  const { metadata } = table;
  return {
    requirements: [
      { type: 'assert-table-uuid', uuid: metadata['table-uuid'] },
      { type: 'assert-current-schema-id', 'current-schema-id': metadata['current-schema-id'] },
      { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': metadata['last-column-id'] },
      { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': refId(metadata, 'main') ?? null },
    ],
    updates: [
      ...(schema === undefined ? [] : [{ action: 'add-schema', schema, 'last-column-id': lastColumnId } as const, { action: 'set-current-schema', 'schema-id': -1 } as const]),
      { action: 'set-properties', updates: properties },
    ],
  };
}
