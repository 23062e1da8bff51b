import type { SinkConfig, TypeConfig } from '../../src/config/config.js';
import type { Relation } from '../../src/pgoutput/messages.js';
import type { SourceColumn, SourceElement, SourceTable } from '../../src/schema/source-table.js';

/** OID, typtype and storage of types that tests name. */
const TYPES: Readonly<Record<string, readonly [oid: number, kind: string, toastable: boolean]>> = {
  'boolean': [16, 'b', false], 'bytea': [17, 'b', true], '"char"': [18, 'b', false], 'name': [19, 'b', false], 'bigint': [20, 'b', false],
  'smallint': [21, 'b', false], 'integer': [23, 'b', false], 'text': [25, 'b', true], 'oid': [26, 'b', false], 'xid': [28, 'b', false], 'cid': [29, 'b', false],
  'json': [114, 'b', true], 'xml': [142, 'b', true], 'point': [600, 'b', false], 'real': [700, 'b', false], 'double precision': [701, 'b', false],
  'money': [790, 'b', false], 'inet': [869, 'b', true], 'integer[]': [1007, 'b', true], 'character(4)': [1042, 'b', true], 'character varying(20)': [1043, 'b', true],
  'date': [1082, 'b', false], 'time without time zone': [1083, 'b', false], 'timestamp without time zone': [1114, 'b', false],
  'timestamp with time zone': [1184, 'b', false], 'interval': [1186, 'b', false], 'time with time zone': [1266, 'b', false], 'bit(3)': [1560, 'b', true],
  'numeric': [1700, 'b', true], 'uuid': [2950, 'b', false], 'jsonb': [3802, 'b', true], 'int4range': [3904, 'r', true], 'int4multirange': [4451, 'm', true],
  'xid8': [5069, 'b', false], 'citext': [16401, 'b', true], 'public.mood': [16402, 'e', false], 'public.address': [16403, 'c', true], 'vector(3)': [16404, 'b', true], 'public.hstore': [16405, 'b', true],
};

/** Type modifier of numeric(precision, scale), as the server packs it. */
export function numericTypmod(precision: number, scale: number): number {
  return ((precision << 16) | (scale & 0x7ff)) + 4;
}

/** A column of a type by its SQL name; `numeric(p,s)` sets the modifier. `changes` overrides anything. */
export function sourceColumn(name: string, typeName: string, changes: Partial<SourceColumn> = {}): SourceColumn {
  const numeric = /^numeric\((\d+),\s*(-?\d+)\)$/.exec(typeName);
  const [oid, kind, toastable] = TYPES[numeric === null ? typeName : 'numeric'];
  const typmod = numeric === null ? -1 : numericTypmod(Number(numeric[1]), Number(numeric[2]));
  return {
    name, attnum: 1, typeOid: oid, typmod, typeName, baseTypeOid: oid, baseTypmod: typmod, baseTypeName: typeName, baseTypeKind: kind,
    notNull: false, toastable, generated: '', ...changes,
  };
}

/** An array column as the catalog describes it, by the SQL name of its elements. */
export function arrayColumn(name: string, elementName: string, changes: Partial<SourceElement> = {}, column: Partial<SourceColumn> = {}): SourceColumn {
  const element = sourceColumn(name, elementName);
  return {
    ...element, typeOid: 16900, baseTypeOid: 16900, typeName: `${elementName}[]`, baseTypeName: `${elementName}[]`, typmod: element.typmod, baseTypmod: element.typmod, baseTypeKind: 'b', toastable: true,
    element: { typeName: elementName, baseTypeOid: element.typeOid, baseTypmod: element.typmod, baseTypeKind: element.baseTypeKind, delimiter: ',', dimensions: 1, ...changes }, ...column,
  };
}

/** public.t with a primary key over `primaryKey`, whose columns become NOT NULL. */
export function sourceTable(columns: readonly SourceColumn[], primaryKey: readonly string[], changes: Partial<SourceTable> = {}): SourceTable {
  return {
    oid: 16384, schema: 'public', name: 't', kind: 'r',
    columns: columns.map((c, i) => ({ ...c, attnum: i + 1, notNull: c.notNull || primaryKey.includes(c.name) })),
    replicaIdentity: 'd', primaryKey, primaryKeyDeferrable: false, identityIndexColumns: [], ...changes,
  };
}

/** The Relation message Postgres sends for the table. */
export function relationOf(source: SourceTable): Relation {
  const identity = source.replicaIdentity === 'd' ? (source.primaryKeyDeferrable ? [] : source.primaryKey) : source.replicaIdentity === 'i' ? source.identityIndexColumns : [];
  return {
    oid: source.oid, schema: source.schema, name: source.name, replicaIdentity: source.replicaIdentity,
    columns: source.columns.map((c) => ({ name: c.name, typeOid: c.typeOid, typmod: c.typmod, identity: source.replicaIdentity === 'f' || identity.includes(c.name) })),
  };
}

export const EXACT_TYPES: TypeConfig = { decimalMode: 'precise', timeMode: 'native', binaryMode: 'bytes', arrayMode: 'list', hstoreMode: 'text', intervalMode: 'text', specialValues: 'fail' };

/** A sink that mirrors, with Walberg's defaults elsewhere. */
export function sinkConfig(changes: Partial<SinkConfig> = {}): SinkConfig {
  return {
    catalog: { type: 'hadoop', name: 'default', warehouse: 'file:///w', scope: 'catalog', headers: {}, properties: {}, token: undefined },
    s3: { pathStyleAccess: false, multipartBytes: 1 << 23 }, namespace: ['default'], tablePrefix: '', destinationReplace: '', tableNameCase: 'keep',
    upsert: true, upsertKeepDeletes: false, createIdentifierFields: true, preserveRequired: false, allowFieldAddition: true, excludedColumns: [], tableProperties: {}, concurrentUploads: 1,
    ...changes,
  };
}

export const everyColumn = (): boolean => true;
