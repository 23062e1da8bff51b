import type { PartitionSpec, Schema, Snapshot, SnapshotRef, SortOrder, TableMetadata, Long } from '../spec/types.js';

export interface TableIdentifier {
  readonly namespace: readonly string[];
  readonly name: string;
}

export interface LoadedTable {
  readonly identifier: TableIdentifier;
  readonly metadata: TableMetadata;
  /** Location of the metadata file this state was read from. */
  readonly metadataLocation: string;
  /** Catalog-supplied configuration of this table (vended credentials and the like). */
  readonly config?: Readonly<Record<string, string>>;
}

/** Names and shapes of the REST OpenAPI file (`TableRequirement`). */
export type TableRequirement =
  | { type: 'assert-create' }
  | { type: 'assert-table-uuid'; uuid: string }
  | { type: 'assert-ref-snapshot-id'; ref: string; 'snapshot-id': Long | null }
  | { type: 'assert-last-assigned-field-id'; 'last-assigned-field-id': number }
  | { type: 'assert-current-schema-id'; 'current-schema-id': number }
  | { type: 'assert-last-assigned-partition-id'; 'last-assigned-partition-id': number }
  | { type: 'assert-default-spec-id'; 'default-spec-id': number }
  | { type: 'assert-default-sort-order-id'; 'default-sort-order-id': number };

/** Names and shapes of the REST OpenAPI file (`TableUpdate`). */
export type TableUpdate =
  | { action: 'assign-uuid'; uuid: string }
  | { action: 'upgrade-format-version'; 'format-version': number }
  | { action: 'add-schema'; schema: Schema; 'last-column-id'?: number }
  | { action: 'set-current-schema'; 'schema-id': number }
  | { action: 'add-spec'; spec: PartitionSpec }
  | { action: 'set-default-spec'; 'spec-id': number }
  | { action: 'add-sort-order'; 'sort-order': SortOrder }
  | { action: 'set-default-sort-order'; 'sort-order-id': number }
  | { action: 'add-snapshot'; snapshot: Snapshot }
  | ({ action: 'set-snapshot-ref'; 'ref-name': string } & SnapshotRef)
  | { action: 'remove-snapshot-ref'; 'ref-name': string }
  | { action: 'remove-snapshots'; 'snapshot-ids': readonly Long[] }
  | { action: 'set-location'; location: string }
  | { action: 'set-properties'; updates: Readonly<Record<string, string>> }
  | { action: 'remove-properties'; removals: readonly string[] };

/** A commit is data: requirements that must hold, then updates in order. */
export interface TableChange {
  readonly requirements: readonly TableRequirement[];
  readonly updates: readonly TableUpdate[];
}

export interface CreateTableRequest {
  readonly schema: Schema;
  readonly partitionSpec?: PartitionSpec;
  readonly sortOrder?: SortOrder;
  readonly location?: string;
  readonly properties: Readonly<Record<string, string>>;
}

/**
 * The port to a catalog. Errors are WalbergErrors: COMMIT_CONFLICT means definitely not applied, COMMIT_UNKNOWN means
 * it may be applied, now or later (5xx, timeout, reset); everything else was definitely refused.
 */
export interface Catalog {
  readonly name: string;
  /** Creates the namespace (and parents) when missing. */
  ensureNamespace(namespace: readonly string[]): Promise<void>;
  /** undefined when the table does not exist. */
  loadTable(identifier: TableIdentifier): Promise<LoadedTable | undefined>;
  /** Fails with COMMIT_CONFLICT when it exists. The catalog may renumber field ids: use the returned schema. */
  createTable(identifier: TableIdentifier, request: CreateTableRequest): Promise<LoadedTable>;
  /** Applies the change to the current table if all requirements hold. */
  commitTable(base: LoadedTable, change: TableChange): Promise<LoadedTable>;
  close?(): Promise<void>;
}
