import type { TableCommitter } from '../iceberg/commit/table-committer.js';
import type { TableIdentifier } from '../iceberg/catalog/catalog.js';
import type { EncodeColumn } from '../parquet/encode-types.js';
import type { KnownColumns } from '../schema/known-columns.js';
import type { TablePlan } from '../schema/table-plan.js';

/** An Iceberg table that is being written, and how its rows are formed. */
export interface TableTarget {
  /** `schema.table` at the source: the name in events, logs and metrics. */
  readonly name: string;
  readonly identifier: TableIdentifier;
  readonly plan: TablePlan;
  readonly committer: TableCommitter;
  /** What the table remembers of the columns of its source. */
  readonly known: KnownColumns | undefined;
  /** Columns of data files. */
  readonly columns: readonly EncodeColumn[];
  /** Columns of equality delete files, which take their values from tuples of the key columns alone. */
  readonly keyColumns: readonly EncodeColumn[];
  readonly equalityIds: readonly number[];
  /** Data files carry the schema they were written with. */
  readonly schemaJson: string;
  readonly schemaId: number;
  readonly specId: number;
  /** Folder of data and delete files. */
  readonly dataLocation: string;
  readonly database: string;
}

/** Identifier as messages show it. */
export function targetName(identifier: TableIdentifier): string {
  return [...identifier.namespace, identifier.name].join('.');
}
