import type { SinkConfig } from '../config/config.js';
import { WalbergError } from '../errors/error.js';
import type { PrimitiveType } from '../iceberg/spec/types.js';
import type { MetaField } from './codec.js';

/** Iceberg type of each metadata field. The Java sink writes the millisecond times as timestamptz, other times as numbers. */
export const META_TYPES: Readonly<Record<MetaField, PrimitiveType>> = {
  'op': 'string', 'table': 'string', 'schema': 'string', 'db': 'string',
  'source.ts_ms': 'timestamptz', 'source.ts_us': 'long', 'source.ts_ns': 'long', 'ts_ms': 'timestamptz', 'ts_us': 'long', 'ts_ns': 'long',
  'lsn': 'long', 'txId': 'long', 'deleted': 'string', 'unchanged': 'string',
};

/** A metadata field and the column that holds it. */
export interface MetaColumn {
  readonly field: MetaField;
  readonly name: string;
}

const DELETED: MetaColumn = { field: 'deleted', name: '__deleted' };
const UNCHANGED: MetaColumn = { field: 'unchanged', name: '__unchanged' };

/** What rows of append and soft-delete tables carry unless `add.fields` says otherwise. */
const DEFAULTS: readonly MetaColumn[] = [
  { field: 'op', name: '__op' },
  { field: 'table', name: '__table' },
  { field: 'source.ts_ms', name: '__source_ts_ms' },
  { field: 'source.ts_ns', name: '__source_ts_ns' },
  { field: 'db', name: '__db' },
  { field: 'ts_ms', name: '__ts_ms' },
  DELETED,
];

/**
 * Metadata columns of a table, in file order. A mirror has those asked for and no others. Whatever is asked for, soft-delete
 * rows say that they are deleted, append rows say it too unless they name the operation, and append rows whose unchanged
 * large values are not known name those columns: a NULL there must not pass for a value.
 */
export function metaColumns(mode: 'mirror' | 'soft' | 'append', configured: SinkConfig['metaFields'], unchangedPossible: boolean): readonly MetaColumn[] {
  const columns = configured?.map(asMetaColumn) ?? (mode === 'mirror' ? [] : [...DEFAULTS]);
  const has = (field: MetaField): boolean => columns.some((c) => c.field === field);
  if ((mode === 'soft' && !has('deleted')) || (mode === 'append' && !has('deleted') && !has('op'))) columns.push(DELETED);
  if (mode === 'append' && unchangedPossible && !has('unchanged')) columns.push(UNCHANGED);
  return columns;
}

function asMetaColumn(item: { readonly field: string; readonly column: string }): MetaColumn {
  if (!Object.hasOwn(META_TYPES, item.field)) {
    throw new WalbergError('CONFIG_INVALID', `The metadata field ${item.field} does not exist.`, { hint: `Choose from ${Object.keys(META_TYPES).join(', ')}.` });
  }
  return { field: item.field as MetaField, name: item.column };
}
