import { DateDay, Field, Int32, Int64, TimeMicrosecond, TimestampMicrosecond } from 'apache-arrow';
import { WalbergError } from '../errors/error.js';
import { childFields, isPrimitive, parseDecimal, parseFixed, typeText } from '../iceberg/spec/schema.js';
import type { IcebergType } from '../iceberg/spec/types.js';
import type { Codec, SpecialPolicy } from '../schema/codec.js';
import { BytesColumn, bytesTextWriter, writeBinary, writeText } from './column-bytes.js';
import { DecimalColumn, FixedColumn, UuidColumn } from './column-fixed.js';
import { BooleanColumn, FloatColumn, Int32Column, Int64Column } from './column-numbers.js';
import type { Column, ColumnPlace } from './column.js';
import { ListColumn } from './column-list.js';
import { MapColumn } from './column-map.js';
import type { Child } from './column-nested.js';
import { decodeDouble, decodeFloat, decodeFloatAsDouble } from './decode-floats.js';
import { decodeInt, decodeLong } from './decode-integers.js';
import { clampDate, clampTime, clampTimestamp, decodeDate, decodeTime, decodeTimestamp, decodeTimestamptz } from './decode-temporal.js';
import type { EncodeColumn, EncodeRequest } from './encode-types.js';
import { hstoreToJson, JSON_GROWTH } from './hstore-text.js';
import { writeIsoInterval } from './iso-interval.js';
import { isoWriter } from './iso-string.js';
import { metaColumn } from './meta.js';

/** The columns of a file with the source columns they need: `ordinals[slot]`. */
export interface FileColumns {
  readonly columns: readonly Column[];
  readonly ordinals: readonly number[];
}

/** Builds the columns of a request. Throws INTERNAL when a codec cannot make values of a column's Iceberg type. */
export function fileColumns(request: EncodeRequest): FileColumns {
  const ordinals: number[] = [];
  const slots = new Int16Array(request.sourceColumnNames.length).fill(-1);
  const slotOf = (ordinal: number): number => {
    if (slots[ordinal] === -1) slots[ordinal] = ordinals.push(ordinal) - 1;
    return slots[ordinal];
  };
  if (request.columns.some(({ source }) => source.from === 'meta' && source.field === 'unchanged')) request.sourceColumnNames.forEach((_, ordinal) => slotOf(ordinal));
  const columns = request.columns.map((column): Column => {
    const place = { table: request.tableName, name: column.name, required: column.required };
    const { source } = column;
    if (source.from === 'tuple') {
      return tupleColumn(source.codec, column.type, { ...place, slot: slotOf(source.ordinal), special: specialOf(source.codec) });
    }
    if (request.meta === undefined) throw new WalbergError('INTERNAL', `${request.tableName}: column ${column.name} needs row metadata, which the request has not`);
    return metaColumn(source.field, column.type, { ...place, slot: -1, special: 'fail' }, request.meta, request.sourceColumnNames, slots);
  });
  return { columns, ordinals };
}

function specialOf(codec: Codec): SpecialPolicy {
  return 'special' in codec ? codec.special : 'fail';
}

/**
 * The Iceberg type decides the column; the codec must make values of it. Promotions of the specification are covered: an int
 * codec fills a long column, a float codec a double one, and decimals follow the column's precision and scale.
 */
function tupleColumn(codec: Codec, type: IcebergType, place: ColumnPlace): Column {
  if (!isPrimitive(type)) return nestedColumn(codec, type, place);
  switch (`${codec.kind} ${typeText(type)}`) {
    case 'boolean boolean': return new BooleanColumn(place);
    case 'int int':
    case 'long int': return new Int32Column(place, new Int32(), decodeInt);
    case 'int long':
    case 'long long': return new Int64Column(place, new Int64(), decodeLong);
    case 'float float': return new FloatColumn(place, true, decodeFloat);
    case 'float double': return new FloatColumn(place, false, decodeFloatAsDouble);
    case 'double double':
    case 'numeric-double double': return new FloatColumn(place, false, decodeDouble);
    case 'string string':
    case 'uuid string': return new BytesColumn(place, true, writeText);
    case 'binary binary': return new BytesColumn(place, false, writeBinary);
    case 'uuid uuid': return new UuidColumn(place);
    case 'date date': return new Int32Column(place, new DateDay(), decodeDate, clampDate);
    case 'time time': return new Int64Column(place, new TimeMicrosecond(), decodeTime, clampTime);
    case 'timestamp timestamp': return new Int64Column(place, new TimestampMicrosecond(null), decodeTimestamp, clampTimestamp);
    case 'timestamptz timestamptz': return new Int64Column(place, new TimestampMicrosecond('UTC'), decodeTimestamptz, clampTimestamp);
  }
  if (codec.kind === 'iso-string' && type === 'string') return new BytesColumn(place, true, codec.of === 'interval' ? writeIsoInterval : isoWriter(codec.of));
  if (codec.kind === 'hstore' && type === 'string') return new BytesColumn(place, true, hstoreToJson, JSON_GROWTH);
  if (codec.kind === 'bytes-text' && type === 'string') return new BytesColumn(place, true, bytesTextWriter(codec.form));
  const decimal = parseDecimal(type);
  if (decimal !== undefined && (codec.kind === 'decimal' || codec.kind === 'int' || codec.kind === 'long')) return new DecimalColumn(place, decimal.precision, decimal.scale);
  const width = parseFixed(type);
  if (width !== undefined && codec.kind === 'binary') return new FixedColumn(place, width);
  throw mismatch(codec, type, place);
}

/** Lists and maps of primitive values. */
function nestedColumn(codec: Codec, type: Exclude<IcebergType, string>, place: ColumnPlace): Column {
  const child = (of: Codec, index: number): Child => {
    const { id, name, required, type: inside } = childFields(type)[index];
    if (!isPrimitive(inside)) throw mismatch(of, inside, place);
    // The batch of elements has one slot.
    return { id, name, required, type: inside, column: tupleColumn(of, inside, { ...place, required, slot: 0, special: specialOf(of) }) };
  };
  if (codec.kind === 'list' && type.type === 'list') return new ListColumn(place, child(codec.element, 0), codec.delimiter);
  if (codec.kind === 'hstore' && type.type === 'map') return new MapColumn(place, child({ kind: 'string' }, 0), child({ kind: 'string' }, 1));
  throw mismatch(codec, type, place);
}

function mismatch(codec: Codec, type: IcebergType, { table, name }: ColumnPlace): WalbergError {
  return new WalbergError('INTERNAL', `${table}, column ${name}: values of kind ${codec.kind} cannot be written as ${typeText(type)}`, { context: { table, column: name } });
}

/** Arrow field with Iceberg's field id where parquet-wasm looks for it. */
export function arrowField(column: EncodeColumn, data: Column): Field {
  return new Field(column.name, data.data().type, !column.required, new Map([['PARQUET:field_id', String(column.fieldId)]]));
}
