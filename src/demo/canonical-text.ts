import { type Data, type DataType, Type } from 'apache-arrow';
import { WalbergError } from '../errors/error.js';
import type { NestedField } from '../iceberg/spec/types.js';
import { quoteIdentifier } from '../postgres/quote.js';
import type { RowBytes } from './row-digest.js';

/** Adds the value in a row of a column to the row's bytes. */
export type ValueReader = (row: number, into: RowBytes) => void;

/**
 * SQL of a column's canonical text. Integers, booleans, uuid and text are what Postgres prints; decimals have all digits of
 * their scale; timestamps are microseconds and dates days since 1970.
 */
export function sourceText({ name, type }: NestedField): string {
  const column = quoteIdentifier(name);
  switch (type) {
    case 'timestamp': case 'timestamptz': return `(extract(epoch FROM ${column}) * 1000000)::bigint::text`;
    case 'date': return `(${column} - date '1970-01-01')::text`;
    default: return `${column}::text`;
  }
}

/** Reads the same text from an Arrow column of a data file. @throws WalbergError FORMAT_UNSUPPORTED for types the shop has not */
export function arrowText(field: NestedField, column: Data): ValueReader {
  const value = valueText(field, column);
  if (column.nullCount === 0) return value;
  return (row, into) => (column.getValid(row) ? value(row, into) : into.addNull());
}

function valueText(field: NestedField, column: Data<DataType>): ValueReader {
  const type: DataType = column.type;
  const values: unknown = column.values;
  switch (type.typeId) {
    case Type.Utf8: {
      const offsets = column.valueOffsets as Int32Array;
      return (row, into) => into.addBytes(values as Uint8Array, offsets[row], offsets[row + 1]);
    }
    // Raw values: Arrow's accessors give milliseconds.
    case Type.Int: case Type.Timestamp: case Type.Date: {
      const numbers = values as Int32Array | BigInt64Array;
      return (row, into) => into.addText(String(numbers[row]));
    }
    case Type.Bool: {
      const bits = values as Uint8Array;
      return (row, into) => into.addText(String((bits[row >> 3] & (1 << (row & 7))) !== 0));
    }
    case Type.Decimal: {
      const { scale } = type as DataType<Type.Decimal> & { readonly scale: number };
      const words = values as Uint32Array;
      return (row, into) => into.addText(decimalText(words, row * 4, scale));
    }
    case Type.FixedSizeBinary:
      if (field.type === 'uuid') return (row, into) => into.addText(uuidText(values as Uint8Array, row * 16));
  }
  throw new WalbergError('FORMAT_UNSUPPORTED', `Column ${field.name} is ${Type[type.typeId]} in a data file; the comparison does not read that.`, { context: { column: field.name } });
}

/** 128 bits in two's complement, least significant word first. */
function decimalText(words: Uint32Array, at: number, scale: number): string {
  const high = (BigInt(words[at + 3] | 0) << 96n) | (BigInt(words[at + 2]) << 64n);
  const unscaled = high | (BigInt(words[at + 1]) << 32n) | BigInt(words[at]);
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, point)}${scale === 0 ? '' : `.${digits.slice(point)}`}`;
}

function uuidText(bytes: Uint8Array, at: number): string {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset + at, 16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
