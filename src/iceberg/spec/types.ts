/**
 * Iceberg table metadata as in the specification (apache/iceberg format/spec.md), property names as in the JSON.
 * 64-bit integers are `bigint | number`: the JSON codec reads them as number when exact, as bigint otherwise.
 */
export type Long = bigint | number;

/** Primitive type string: boolean int long float double date time timestamp timestamptz string uuid binary fixed[L] decimal(P, S). */
export type PrimitiveType = string;

export interface StructType {
  readonly type: 'struct';
  readonly fields: readonly NestedField[];
}
export interface ListType {
  readonly type: 'list';
  readonly 'element-id': number;
  readonly element: IcebergType;
  readonly 'element-required': boolean;
}
export interface MapType {
  readonly type: 'map';
  readonly 'key-id': number;
  readonly key: IcebergType;
  readonly 'value-id': number;
  readonly value: IcebergType;
  readonly 'value-required': boolean;
}
export type IcebergType = PrimitiveType | StructType | ListType | MapType;

export interface NestedField {
  readonly id: number;
  readonly name: string;
  readonly required: boolean;
  readonly type: IcebergType;
  readonly doc?: string;
}

export interface Schema extends StructType {
  readonly 'schema-id'?: number;
  readonly 'identifier-field-ids'?: readonly number[];
}

export interface PartitionField {
  readonly 'source-id': number;
  readonly 'field-id': number;
  readonly name: string;
  readonly transform: string;
}
export interface PartitionSpec {
  readonly 'spec-id': number;
  readonly fields: readonly PartitionField[];
}
export interface SortOrder {
  readonly 'order-id': number;
  readonly fields: readonly { transform: string; 'source-id': number; direction: 'asc' | 'desc'; 'null-order': 'nulls-first' | 'nulls-last' }[];
}

export interface Snapshot {
  readonly 'snapshot-id': Long;
  readonly 'parent-snapshot-id'?: Long | null;
  readonly 'sequence-number': Long;
  readonly 'timestamp-ms': number;
  readonly 'manifest-list': string;
  readonly summary: Readonly<Record<string, string>>;
  readonly 'schema-id'?: number;
}

export interface SnapshotRef {
  readonly 'snapshot-id': Long;
  readonly type: 'branch' | 'tag';
  readonly 'min-snapshots-to-keep'?: number;
  readonly 'max-snapshot-age-ms'?: number;
  readonly 'max-ref-age-ms'?: number;
}

export interface TableMetadata {
  readonly 'format-version': number;
  readonly 'table-uuid': string;
  readonly location: string;
  readonly 'last-sequence-number': Long;
  readonly 'last-updated-ms': number;
  readonly 'last-column-id': number;
  readonly schemas: readonly Schema[];
  readonly 'current-schema-id': number;
  readonly 'partition-specs': readonly PartitionSpec[];
  readonly 'default-spec-id': number;
  readonly 'last-partition-id': number;
  readonly 'sort-orders': readonly SortOrder[];
  readonly 'default-sort-order-id': number;
  readonly properties: Readonly<Record<string, string>>;
  readonly 'current-snapshot-id'?: Long | null;
  readonly refs: Readonly<Record<string, SnapshotRef>>;
  readonly snapshots: readonly Snapshot[];
  readonly 'snapshot-log': readonly { 'snapshot-id': Long; 'timestamp-ms': number }[];
  readonly 'metadata-log': readonly { 'metadata-file': string; 'timestamp-ms': number }[];
  readonly statistics?: readonly unknown[];
  readonly 'partition-statistics'?: readonly unknown[];
}

/** Content of a data file, manifest entry field 134. */
export const CONTENT_DATA = 0;
export const CONTENT_POSITION_DELETES = 1;
export const CONTENT_EQUALITY_DELETES = 2;
export type FileContent = 0 | 1 | 2;

/** Per-column file metrics, keyed by field id. Bounds are in the spec's single-value binary form (Appendix D). */
export interface FileMetrics {
  readonly columnSizes?: ReadonlyMap<number, number>;
  readonly valueCounts?: ReadonlyMap<number, number>;
  readonly nullValueCounts?: ReadonlyMap<number, number>;
  readonly nanValueCounts?: ReadonlyMap<number, number>;
  readonly lowerBounds?: ReadonlyMap<number, Uint8Array>;
  readonly upperBounds?: ReadonlyMap<number, Uint8Array>;
}

export type FileFormat = 'PARQUET' | 'AVRO' | 'ORC';

/** A data or delete file as recorded in a manifest entry (spec "Manifests", data_file struct). */
export interface DataFile extends FileMetrics {
  readonly content: FileContent;
  readonly filePath: string;
  /** Walberg writes Parquet only; other formats occur in manifests of other writers and are carried along. */
  readonly fileFormat: FileFormat;
  readonly specId: number;
  /** Partition tuple in spec field order; empty when unpartitioned. Values: see `PartitionValue`. */
  readonly partition: readonly PartitionValue[];
  readonly recordCount: number;
  readonly fileSizeInBytes: number;
  readonly splitOffsets?: readonly number[];
  /** Required for content 2: field ids, ascending in schema order. */
  readonly equalityIds?: readonly number[];
  readonly sortOrderId?: number;
  readonly referencedDataFile?: string;
  /** Encryption metadata of other writers, carried along. */
  readonly keyMetadata?: Uint8Array;
  /**
   * Which step of the commit this file belongs to, 0-based. A commit of n steps takes n sequence numbers inside one
   * snapshot, so that equality deletes of a later step reach rows of an earlier one (a transaction larger than memory).
   */
  readonly sequenceStep?: number;
}

/** null; int/date/year…hour as number; long/timestamp/time as bigint; string; bytes (uuid, fixed, binary, decimal unscaled as bigint); boolean; float/double as number. */
export type PartitionValue = null | boolean | number | bigint | string | Uint8Array;
