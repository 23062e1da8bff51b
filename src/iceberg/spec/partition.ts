import { WalbergError } from '../../errors/error.js';
import { findFieldById } from './schema.js';
import { bindTransform, type Transform } from './transforms.js';
import type { NestedField, PartitionSpec, PartitionValue, Schema } from './types.js';

/** Id of the first partition field; an unpartitioned table has `last-partition-id` one below it. */
export const FIRST_PARTITION_FIELD_ID = 1000;

/** The spec of a table without partitions. */
export const UNPARTITIONED: PartitionSpec = { 'spec-id': 0, fields: [] };

/** A partition field ready to be applied. */
export interface BoundPartitionField {
  readonly sourceId: number;
  /** Id, name and result type as a field of the partition tuple; always optional. */
  readonly field: NestedField;
  readonly transform: Transform;
}

/**
 * The fields of a spec, bound to the schema's types, in spec order.
 *
 * A `void` field whose source column is gone has type int: its value is always null, so the type is never seen.
 *
 * @throws TABLE_INCOMPATIBLE when a source column does not exist
 */
export function bindPartitionSpec(schema: Schema, spec: PartitionSpec): readonly BoundPartitionField[] {
  return spec.fields.map((field) => {
    const source = findFieldById(schema, field['source-id']);
    if (source === undefined && field.transform !== 'void') {
      throw new WalbergError('TABLE_INCOMPATIBLE', `Partition field "${field.name}" of spec ${spec['spec-id']} needs column id ${field['source-id']}, which the schema does not have.`, {
        context: { specId: spec['spec-id'], fieldId: field['field-id'], sourceId: field['source-id'] },
      });
    }
    const transform = bindTransform(field.transform, source?.type ?? 'int');
    return { sourceId: field['source-id'], field: { id: field['field-id'], name: field.name, required: false, type: transform.resultType }, transform };
  });
}

/**
 * A text that is the same for equal partition tuples of one spec and differs otherwise, for use as a map key. Integers given
 * as number and as bigint are the same, since a promoted column's older values are read as the narrower type.
 */
export function partitionKey(specId: number, values: readonly PartitionValue[]): string {
  let key = String(specId);
  for (const value of values) {
    key += '/';
    if (value === null) key += 'n';
    else if (typeof value === 'string') key += `s${value.length}:${value}`;
    else if (typeof value === 'boolean') key += value ? 't' : 'f';
    else if (value instanceof Uint8Array) key += `x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
    else key += Object.is(value, -0) ? '-0' : String(value);
  }
  return key;
}
