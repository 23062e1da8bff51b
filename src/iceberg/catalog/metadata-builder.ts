import { randomUUID } from 'node:crypto';
import { WalbergError } from '../../errors/error.js';
import type { IcebergType, NestedField, PartitionField, Schema, SortOrder, TableMetadata } from '../spec/types.js';
import type { CreateTableRequest, TableRequirement } from './catalog.js';

export { applyUpdates } from './metadata-builder-updates.js';

/** Partition field ids start above this (Java: `PartitionSpec.unpartitionedLastAssignedId`). */
const LAST_PARTITION_ID_OF_NONE = 999;

/** Properties that steer creation and are not kept (Java: `TableProperties.RESERVED_PROPERTIES`). */
const RESERVED = new Set(['format-version', 'uuid', 'snapshot-count', 'current-snapshot-summary', 'current-snapshot-id', 'current-snapshot-timestamp-ms', 'current-schema', 'default-partition-spec', 'default-sort-order']);

/**
 * Metadata of a new, empty format version 2 table at `location` (an absolute URI without trailing slash).
 *
 * Field ids are assigned anew, in the order Java's catalogs do it (all fields of a struct before what is nested in them),
 * so the ids of the request are only references within it. Use the ids of the result.
 */
export function newTableMetadata(request: CreateTableRequest, location: string, options: { nowMs?: number; uuid?: string } = {}): TableMetadata {
  const version = request.properties['format-version'];
  if (version !== undefined && version !== '2') {
    throw new WalbergError('FORMAT_UNSUPPORTED', `Format version ${version} is not written, only version 2`, { hint: 'Remove format-version or set it to 2.' });
  }
  const ids = new Map<number, number>();
  let last = 0;
  const fields = freshFields(request.schema.fields, () => ++last, ids);
  const mapped = (id: number, what: string): number => {
    const fresh = ids.get(id);
    if (fresh === undefined) throw new WalbergError('CATALOG_REQUEST', `The ${what} refers to field id ${id}, which the schema does not have`, { context: { fieldId: id } });
    return fresh;
  };
  const identifiers = request.schema['identifier-field-ids'] ?? [];
  const schema: Schema = {
    type: 'struct',
    'schema-id': 0,
    ...(identifiers.length === 0 ? {} : { 'identifier-field-ids': identifiers.map((id) => mapped(id, 'identifier')) }),
    fields,
  };
  const partition: PartitionField[] = (request.partitionSpec?.fields ?? []).map((field, index) => ({
    'source-id': mapped(field['source-id'], 'partition spec'),
    'field-id': LAST_PARTITION_ID_OF_NONE + 1 + index,
    name: field.name,
    transform: field.transform,
  }));
  const sorted = request.sortOrder?.fields ?? [];
  const order: SortOrder = sorted.length === 0
    ? { 'order-id': 0, fields: [] }
    : { 'order-id': 1, fields: sorted.map((field) => ({ ...field, 'source-id': mapped(field['source-id'], 'sort order') })) };
  return {
    'format-version': 2,
    'table-uuid': options.uuid ?? randomUUID(),
    location,
    'last-sequence-number': 0,
    'last-updated-ms': options.nowMs ?? Date.now(),
    'last-column-id': last,
    'current-schema-id': 0,
    schemas: [schema],
    'default-spec-id': 0,
    'partition-specs': [{ 'spec-id': 0, fields: partition }],
    'last-partition-id': LAST_PARTITION_ID_OF_NONE + partition.length,
    'default-sort-order-id': order['order-id'],
    'sort-orders': [order],
    properties: Object.fromEntries(Object.entries(request.properties).filter(([name]) => !RESERVED.has(name))),
    'current-snapshot-id': -1,
    refs: {},
    snapshots: [],
    statistics: [],
    'partition-statistics': [],
    'snapshot-log': [],
    'metadata-log': [],
  };
}

function freshFields(fields: readonly NestedField[], next: () => number, ids: Map<number, number>): NestedField[] {
  const assigned = fields.map((field) => assign(field.id, next, ids));
  return fields.map((field, index) => ({ ...field, id: assigned[index], type: freshType(field.type, next, ids) }));
}

function freshType(type: IcebergType, next: () => number, ids: Map<number, number>): IcebergType {
  if (typeof type === 'string') return type;
  switch (type.type) {
    case 'struct':
      return { type: 'struct', fields: freshFields(type.fields, next, ids) };
    case 'list': {
      const id = assign(type['element-id'], next, ids);
      return { type: 'list', 'element-id': id, element: freshType(type.element, next, ids), 'element-required': type['element-required'] };
    }
    case 'map': {
      const key = assign(type['key-id'], next, ids);
      const value = assign(type['value-id'], next, ids);
      return {
        type: 'map',
        'key-id': key,
        key: freshType(type.key, next, ids),
        'value-id': value,
        value: freshType(type.value, next, ids),
        'value-required': type['value-required'],
      };
    }
  }
}

function assign(old: number, next: () => number, ids: Map<number, number>): number {
  const fresh = next();
  ids.set(old, fresh);
  return fresh;
}

/**
 * Checks what a commit requires of the table as it is; `metadata` is undefined when the table does not exist.
 * COMMIT_CONFLICT names the first requirement that does not hold.
 */
export function checkRequirements(metadata: TableMetadata | undefined, requirements: readonly TableRequirement[]): void {
  for (const requirement of requirements) {
    const problem = metadata === undefined ? withoutTable(requirement) : violated(metadata, requirement);
    if (problem !== undefined) throw new WalbergError('COMMIT_CONFLICT', `The table has changed: ${problem}`, { context: { requirement: requirement.type } });
  }
}

function withoutTable(requirement: TableRequirement): string | undefined {
  return requirement.type === 'assert-create' ? undefined : 'it does not exist';
}

function violated(metadata: TableMetadata, requirement: TableRequirement): string | undefined {
  const differs = (what: string, wanted: number, found: number): string | undefined => (wanted === found ? undefined : `${what} is ${found}, not ${wanted}`);
  switch (requirement.type) {
    case 'assert-create':
      return 'it exists already';
    case 'assert-table-uuid':
      return metadata['table-uuid'].toLowerCase() === requirement.uuid.toLowerCase() ? undefined : `its uuid is ${metadata['table-uuid']}, not ${requirement.uuid}`;
    case 'assert-ref-snapshot-id': {
      const found = metadata.refs[requirement.ref]?.['snapshot-id'];
      const wanted = requirement['snapshot-id'];
      if (found === undefined) return wanted === null ? undefined : `${requirement.ref} does not exist any more`;
      if (wanted === null) return `${requirement.ref} exists already, at snapshot ${found}`;
      return BigInt(found) === BigInt(wanted) ? undefined : `${requirement.ref} is at snapshot ${found}, not ${wanted}`;
    }
    case 'assert-last-assigned-field-id':
      return differs('the last field id', requirement['last-assigned-field-id'], metadata['last-column-id']);
    case 'assert-current-schema-id':
      return differs('the current schema', requirement['current-schema-id'], metadata['current-schema-id']);
    case 'assert-last-assigned-partition-id':
      return differs('the last partition field id', requirement['last-assigned-partition-id'], metadata['last-partition-id']);
    case 'assert-default-spec-id':
      return differs('the default partition spec', requirement['default-spec-id'], metadata['default-spec-id']);
    case 'assert-default-sort-order-id':
      return differs('the default sort order', requirement['default-sort-order-id'], metadata['default-sort-order-id']);
  }
}
