import type { IcebergType, NestedField, StructType } from '../spec/types.js';

/**
 * The structs of manifests and manifest lists (spec "Manifests", "Manifest Lists") as format version 2 writes them: ids,
 * order, and what is required. The Avro schemas and the `iceberg.schema` header keys are derived from these.
 */

const required = (id: number, name: string, type: IcebergType): NestedField => ({ id, name, required: true, type });
const optional = (id: number, name: string, type: IcebergType): NestedField => ({ id, name, required: false, type });
const mapOf = (keyId: number, valueId: number, value: IcebergType): IcebergType => ({ type: 'map', 'key-id': keyId, key: 'int', 'value-id': valueId, value, 'value-required': true });
const listOf = (elementId: number, element: IcebergType): IcebergType => ({ type: 'list', 'element-id': elementId, element, 'element-required': true });
const struct = (fields: readonly NestedField[]): StructType => ({ type: 'struct', fields });

/** A manifest entry whose files have the given partition tuple. The partition struct is required even when it is empty. */
export function manifestEntryStruct(partition: readonly NestedField[]): StructType {
  return struct([
    required(0, 'status', 'int'),
    optional(1, 'snapshot_id', 'long'),
    optional(3, 'sequence_number', 'long'),
    optional(4, 'file_sequence_number', 'long'),
    required(2, 'data_file', dataFileStruct(partition)),
  ]);
}

function dataFileStruct(partition: readonly NestedField[]): StructType {
  return struct([
    required(134, 'content', 'int'),
    required(100, 'file_path', 'string'),
    required(101, 'file_format', 'string'),
    required(102, 'partition', struct(partition)),
    required(103, 'record_count', 'long'),
    required(104, 'file_size_in_bytes', 'long'),
    optional(108, 'column_sizes', mapOf(117, 118, 'long')),
    optional(109, 'value_counts', mapOf(119, 120, 'long')),
    optional(110, 'null_value_counts', mapOf(121, 122, 'long')),
    optional(137, 'nan_value_counts', mapOf(138, 139, 'long')),
    optional(125, 'lower_bounds', mapOf(126, 127, 'binary')),
    optional(128, 'upper_bounds', mapOf(129, 130, 'binary')),
    optional(131, 'key_metadata', 'binary'),
    optional(132, 'split_offsets', listOf(133, 'long')),
    optional(135, 'equality_ids', listOf(136, 'int')),
    optional(140, 'sort_order_id', 'int'),
    optional(143, 'referenced_data_file', 'string'),
  ]);
}

/** A manifest as recorded in a manifest list. */
export const MANIFEST_FILE_STRUCT: StructType = struct([
  required(500, 'manifest_path', 'string'),
  required(501, 'manifest_length', 'long'),
  required(502, 'partition_spec_id', 'int'),
  required(517, 'content', 'int'),
  required(515, 'sequence_number', 'long'),
  required(516, 'min_sequence_number', 'long'),
  required(503, 'added_snapshot_id', 'long'),
  required(504, 'added_files_count', 'int'),
  required(505, 'existing_files_count', 'int'),
  required(506, 'deleted_files_count', 'int'),
  required(512, 'added_rows_count', 'long'),
  required(513, 'existing_rows_count', 'long'),
  required(514, 'deleted_rows_count', 'long'),
  optional(507, 'partitions', listOf(508, struct([
    required(509, 'contains_null', 'boolean'),
    optional(518, 'contains_nan', 'boolean'),
    optional(510, 'lower_bound', 'binary'),
    optional(511, 'upper_bound', 'binary'),
  ]))),
  optional(519, 'key_metadata', 'binary'),
]);
