import type { ReplicaIdentity } from '../pgoutput/messages.js';

/** What the values of an array column are. */
export interface SourceElement {
  /** `format_type()` of the element, domains resolved. */
  readonly typeName: string;
  /** As of columns; the modifier is that of the array, or of the element's domain. */
  readonly baseTypeOid: number;
  readonly baseTypmod: number;
  readonly baseTypeKind: string;
  /** pg_type.typdelim: the character between elements in the text of an array. */
  readonly delimiter: string;
  /** Dimensions of the declaration (pg_attribute.attndims, or those of the domain): integer[][] has 2. Postgres does not enforce them; 0 when unknown. */
  readonly dimensions: number;
}

/** One column of a source table as the Postgres catalog describes it (pg_attribute joined with pg_type). */
export interface SourceColumn {
  readonly name: string;
  readonly attnum: number;
  /** Declared type. */
  readonly typeOid: number;
  readonly typmod: number;
  /** `format_type()` of the declared type, for messages and docs. */
  readonly typeName: string;
  /** Domains resolved recursively: type, typmod and pg_type.typtype / typcategory of the base type. */
  readonly baseTypeOid: number;
  readonly baseTypmod: number;
  readonly baseTypeName: string;
  /** pg_type.typtype of the base type: b base, c composite, e enum, p pseudo, r range, m multirange. */
  readonly baseTypeKind: string;
  readonly notNull: boolean;
  /** pg_attribute.attstorage <> 'p': the value may be stored out of line, so an UPDATE may leave it out. */
  readonly toastable: boolean;
  /** '' ordinary, 's' stored generated, 'v' virtual generated. Only ordinary columns are captured. */
  readonly generated: string;
  /** Of array columns, also by a domain. int2vector and oidvector, whose text is another, are no arrays here. */
  readonly element?: SourceElement;
  /** pg_attribute.atthasmissing of the table or a partition: rows from before the column was added show a value that was never written. */
  readonly filled?: boolean;
  readonly comment?: string;
}

/** A source table with its keys. */
export interface SourceTable {
  readonly oid: number;
  readonly schema: string;
  readonly name: string;
  /** pg_class.relkind: r table, p partitioned root. */
  readonly kind: string;
  /** Captured columns in attnum order: what pgoutput sends for this table (publication column list and generated columns applied). */
  readonly columns: readonly SourceColumn[];
  readonly replicaIdentity: ReplicaIdentity;
  /** Primary key column names in key order, from pg_index.indisprimary only. Empty when none. */
  readonly primaryKey: readonly string[];
  /** True when the primary key constraint is deferrable, so keys may repeat inside a transaction. */
  readonly primaryKeyDeferrable: boolean;
  /** Columns of the replica identity index when replicaIdentity is 'i'. */
  readonly identityIndexColumns: readonly string[];
  readonly comment?: string;
  /** pg_class.relnatts: number of the newest attribute, dropped ones counted. */
  readonly lastAttnum?: number;
  /** pg_class.relfilenode of the table or its partitions, by OID: another one after every rewrite. Absent when there are too many. */
  readonly files?: Readonly<Record<string, string>>;
  /** Publication row filter (WHERE), as SQL text. */
  readonly rowFilter?: string;
}
