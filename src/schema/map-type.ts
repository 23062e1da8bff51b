import type { TypeConfig } from '../config/config.js';
import type { IcebergType, PrimitiveType } from '../iceberg/spec/types.js';
import type { Codec, SpecialPolicy } from './codec.js';
import { numericModifier } from './numeric-modifier.js';
import type { SourceColumn } from './source-table.js';

/**
 * How one source column is written; ids inside a nested type are 0, the table gives them. `note` is a sentence for the
 * operator when the type has no exact counterpart.
 */
export interface MappedType {
  readonly type: IcebergType;
  readonly codec: Codec;
  readonly note?: string;
}

/** A mapped type that is no list: of a column, or of the elements of an array. `note` follows what it is about. */
interface MappedScalar extends MappedType {
  readonly type: PrimitiveType;
}

/** What decides a scalar type. */
type Described = Pick<SourceColumn, 'typeName' | 'baseTypeOid' | 'baseTypmod' | 'baseTypeKind'> & { readonly baseTypeName: string };

/** OIDs of built-in types, fixed since they were added (src/include/catalog/pg_type.dat). */
const OID = {
  bool: 16, bytea: 17, char: 18, name: 19, int8: 20, int2: 21, int4: 23, text: 25, oid: 26, xid: 28, cid: 29,
  json: 114, xml: 142, float4: 700, float8: 701, bpchar: 1042, varchar: 1043, date: 1082, time: 1083, timestamp: 1114,
  timestamptz: 1184, interval: 1186, timetz: 1266, numeric: 1700, uuid: 2950, jsonb: 3802, xid8: 5069,
} as const;

/** Types whose text is the value itself, so that writing a string loses nothing and needs no note. */
const TEXT: ReadonlySet<number> = new Set([OID.char, OID.name, OID.text, OID.bpchar, OID.varchar, OID.json, OID.jsonb, OID.xml]);

const STRING: MappedScalar = { type: 'string', codec: { kind: 'string' } };

/** Digits an Iceberg decimal can hold (specification, "Primitive Types"). */
const DECIMAL_DIGITS_MAX = 38;

/**
 * The Iceberg type and the codec of a source column. Domains go by their base type. A type without an Iceberg counterpart
 * is written as the text Postgres shows, which is lossless, and is never left out. Arrays are lists of what their elements
 * are, unless they are declared with several dimensions.
 */
export function mapColumn(column: SourceColumn, types: TypeConfig): MappedType {
  const { element } = column;
  if (types.hstoreMode === 'map' && isExtensionType(column, 'hstore')) {
    return { type: { type: 'map', 'key-id': 0, key: 'string', 'value-id': 0, value: 'string', 'value-required': false }, codec: { kind: 'hstore' } };
  }
  if (element === undefined || types.arrayMode === 'text') return noted(column, mapScalar(column, types));
  if (element.dimensions > 1) return { ...STRING, note: `Column ${column.name} is declared with ${element.dimensions} dimensions: written as the text Postgres shows for it.` };
  const mapped = mapScalar({ ...element, baseTypeName: element.typeName }, types);
  return {
    type: { type: 'list', 'element-id': 0, element: mapped.type, 'element-required': false },
    codec: { kind: 'list', element: mapped.codec, delimiter: element.delimiter, special: types.specialValues },
    ...(mapped.note === undefined ? {} : { note: `Column ${column.name} is ${column.typeName}, and its elements are ${mapped.note}` }),
  };
}

function noted(column: SourceColumn, mapped: MappedScalar): MappedScalar {
  return mapped.note === undefined ? mapped : { ...mapped, note: `Column ${column.name} is ${mapped.note}` };
}

function mapScalar(column: Described, types: TypeConfig): MappedScalar {
  if (column.baseTypeKind === 'e') return STRING;
  if (types.hstoreMode === 'json' && isExtensionType(column, 'hstore')) return { type: 'string', codec: { kind: 'hstore' } };
  if (column.baseTypeKind !== 'b' || TEXT.has(column.baseTypeOid)) return asText(column);
  const special = types.specialValues;
  switch (column.baseTypeOid) {
    case OID.bool: return { type: 'boolean', codec: { kind: 'boolean' } };
    case OID.int2:
    case OID.int4: return { type: 'int', codec: { kind: 'int' } };
    // oid, xid and cid are unsigned 32-bit
    case OID.int8:
    case OID.oid:
    case OID.xid:
    case OID.cid: return { type: 'long', codec: { kind: 'long' } };
    // unsigned 64-bit: 20 digits
    case OID.xid8: return decimal(20, 0, special);
    case OID.float4: return { type: 'float', codec: { kind: 'float' } };
    case OID.float8: return { type: 'double', codec: { kind: 'double' } };
    case OID.numeric: return mapNumeric(column, types);
    case OID.uuid: return { type: 'uuid', codec: { kind: 'uuid' } };
    case OID.bytea: return types.binaryMode === 'bytes' ? { type: 'binary', codec: { kind: 'binary' } } : { type: 'string', codec: { kind: 'bytes-text', form: types.binaryMode } };
    case OID.date: return temporal('date', types);
    case OID.time: return temporal('time', types);
    case OID.timestamp: return temporal('timestamp', types);
    case OID.timestamptz: return temporal('timestamptz', types);
    case OID.interval: return types.intervalMode === 'string' ? { type: 'string', codec: { kind: 'iso-string', of: 'interval' } } : asText(column);
    default: return asText(column);
  }
}

/** Native, or ISO-8601 text. Infinity, 24:00 and years beyond the range of 64-bit microseconds go by the special policy. */
function temporal(kind: 'date' | 'time' | 'timestamp' | 'timestamptz', types: TypeConfig): MappedScalar {
  if (types.timeMode === 'isostring') return { type: 'string', codec: { kind: 'iso-string', of: kind } };
  return { type: kind, codec: { kind, special: types.specialValues } };
}

/** numeric by `decimal.handling.mode`; precise means a decimal wherever every value of the declared type fits one. */
function mapNumeric(column: Described, types: TypeConfig): MappedScalar {
  if (types.decimalMode === 'double') return { type: 'double', codec: { kind: 'numeric-double' } };
  if (types.decimalMode === 'string') return STRING;
  const modifier = numericModifier(column.baseTypmod);
  if (modifier === undefined) return { ...STRING, note: `${column.typeName} without precision: written as text, which keeps every digit.` };
  // numeric(5,-2) rounds to hundreds but its text has all 7 digits; numeric(3,5) has 5 digits after the point, the first 2 zero
  const scale = Math.max(modifier.scale, 0);
  const precision = Math.max(modifier.precision - Math.min(modifier.scale, 0), scale);
  if (precision > DECIMAL_DIGITS_MAX) return { ...STRING, note: `${column.typeName}, more digits than the ${DECIMAL_DIGITS_MAX} of an Iceberg decimal: written as text.` };
  return decimal(precision, scale, types.specialValues);
}

function decimal(precision: number, scale: number, special: SpecialPolicy): MappedScalar {
  return { type: `decimal(${precision}, ${scale})`, codec: { kind: 'decimal', precision, scale, special } };
}

function asText(column: Described): MappedScalar {
  if (TEXT.has(column.baseTypeOid) || isExtensionType(column, 'citext')) return STRING;
  return { ...STRING, note: `${column.typeName}: written as the text Postgres shows for it.` };
}

/** Types of extensions have no fixed OID; format_type() names the schema unless it is on the search path. */
function isExtensionType({ baseTypeKind, baseTypeName }: Described, name: string): boolean {
  return baseTypeKind === 'b' && (baseTypeName === name || baseTypeName.endsWith(`.${name}`));
}
