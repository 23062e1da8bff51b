import { parseJson } from '../spec/json.js';
import type { SnapshotRef, TableMetadata } from '../spec/types.js';
import type { LoadedTable, TableIdentifier } from './catalog.js';

/**
 * Reads a `LoadTableResult` or `CommitTableResponse`. The OpenAPI file requires next to nothing of the metadata it
 * carries, and servers leave out what is empty: the missing parts are filled in as the table specification defines them.
 *
 * @returns undefined when the body is not such a result
 */
export function readTable(identifier: TableIdentifier, body: string): LoadedTable | undefined {
  let parsed: unknown;
  try {
    parsed = parseJson(body);
  } catch {
    return undefined;
  }
  if (!isObject(parsed) || !isObject(parsed.metadata)) return undefined;
  const { metadata, config } = parsed;
  if (typeof metadata['table-uuid'] !== 'string' || typeof metadata['format-version'] !== 'number') return undefined;
  const location = parsed['metadata-location'];
  return {
    identifier,
    metadata: complete(metadata as unknown as Partial<TableMetadata> & Pick<TableMetadata, 'table-uuid' | 'format-version'>),
    metadataLocation: typeof location === 'string' ? location : '',
    config: isObject(config) ? Object.fromEntries(Object.entries(config).map(([name, value]) => [name, String(value)])) : {},
  };
}

function complete(metadata: Partial<TableMetadata> & Pick<TableMetadata, 'table-uuid' | 'format-version'>): TableMetadata {
  const current = metadata['current-snapshot-id'];
  // Java writes -1 for none.
  const snapshotId = current === undefined || current === null || BigInt(current) === -1n ? null : current;
  const main: Record<string, SnapshotRef> = snapshotId === null ? {} : { main: { 'snapshot-id': snapshotId, type: 'branch' } };
  return {
    ...metadata,
    location: metadata.location ?? '',
    'last-sequence-number': metadata['last-sequence-number'] ?? 0,
    'last-updated-ms': metadata['last-updated-ms'] ?? 0,
    'last-column-id': metadata['last-column-id'] ?? 0,
    schemas: metadata.schemas ?? [],
    'current-schema-id': metadata['current-schema-id'] ?? 0,
    'partition-specs': metadata['partition-specs'] ?? [{ 'spec-id': 0, fields: [] }],
    'default-spec-id': metadata['default-spec-id'] ?? 0,
    'last-partition-id': metadata['last-partition-id'] ?? 999,
    'sort-orders': metadata['sort-orders'] ?? [{ 'order-id': 0, fields: [] }],
    'default-sort-order-id': metadata['default-sort-order-id'] ?? 0,
    properties: metadata.properties ?? {},
    'current-snapshot-id': snapshotId,
    refs: metadata.refs ?? main,
    snapshots: metadata.snapshots ?? [],
    'snapshot-log': metadata['snapshot-log'] ?? [],
    'metadata-log': metadata['metadata-log'] ?? [],
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
