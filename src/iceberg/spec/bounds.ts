import { WalbergError } from '../../errors/error.js';
import { integerFromBytes, minimalBytes } from './decimal-bytes.js';
import { parseDecimal, parseFixed } from './schema.js';
import type { IcebergType, PartitionValue } from './types.js';

/** A value that can be a bound: like a partition value, but never null. Integers of any type may be given as number or bigint. */
export type BoundValue = Exclude<PartitionValue, null>;

const utf8 = new TextEncoder();
const text = new TextDecoder('utf-8', { ignoreBOM: true });

const withView = (length: number, fill: (view: DataView) => void): Uint8Array => {
  const bytes = new Uint8Array(length);
  fill(new DataView(bytes.buffer));
  return bytes;
};

/** The 16 bytes of a UUID's text form, big-endian. */
export function uuidBytes(uuid: string): Uint8Array {
  const hex = uuid.replaceAll('-', '');
  if (!/^[0-9a-fA-F]{32}$/.test(hex)) throw new WalbergError('INTERNAL', 'A UUID in its text form was expected.');
  return Uint8Array.from({ length: 16 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
}

const mismatch = (type: IcebergType, what: string): WalbergError =>
  new WalbergError('INTERNAL', `${what} is no value of the Iceberg type ${typeof type === 'string' ? type : type.type}.`, { context: { type: typeof type === 'string' ? type : type.type } });

/**
 * The single-value binary form of a primitive value (spec Appendix D, "Binary single-value serialization"), the form of
 * manifest bounds and partition summaries.
 *
 * Values: boolean; number or bigint for int (32 bit), date (days), long, time and timestamps (microseconds); number for
 * float and double; bigint unscaled for decimal; string (or its UTF-8 bytes) for string; bytes or text for uuid; bytes for fixed
 * and binary. Bounds of strings and binaries are truncated first, see `truncate*`. A bound for uuid columns is better not
 * written at all: readers order UUIDs differently.
 *
 * @throws INTERNAL when the value does not belong to the type
 */
export function encodeBound(type: IcebergType, value: BoundValue): Uint8Array {
  switch (type) {
    case 'boolean':
      if (typeof value === 'boolean') return Uint8Array.of(value ? 1 : 0);
      break;
    case 'int':
    case 'date': {
      if (typeof value !== 'number' && typeof value !== 'bigint') break;
      const integer = Number(value);
      if (integer !== (integer | 0)) throw mismatch(type, 'An integer beyond 32 bits');
      return withView(4, (view) => view.setInt32(0, integer, true));
    }
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz': {
      if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) break;
      const integer = BigInt(value as number | bigint);
      if (BigInt.asIntN(64, integer) !== integer) throw mismatch(type, 'An integer beyond 64 bits');
      return withView(8, (view) => view.setBigInt64(0, integer, true));
    }
    case 'float':
      if (typeof value === 'number') return withView(4, (view) => view.setFloat32(0, value, true));
      break;
    case 'double':
      if (typeof value === 'number') return withView(8, (view) => view.setFloat64(0, value, true));
      break;
    case 'string':
      if (typeof value === 'string') return utf8.encode(value);
      if (value instanceof Uint8Array) return value;
      break;
    case 'uuid':
      if (typeof value === 'string') return uuidBytes(value);
      if (value instanceof Uint8Array && value.length === 16) return value;
      break;
    case 'binary':
      if (value instanceof Uint8Array) return value;
      break;
    default:
      if (parseDecimal(type) !== undefined && typeof value === 'bigint') return minimalBytes(value);
      if (value instanceof Uint8Array && value.length === parseFixed(type)) return value;
  }
  throw mismatch(type, `A ${typeof value}`);
}

/**
 * Reads the single-value binary form: number for int, date, float, double; bigint for long, time, timestamps and decimals
 * (unscaled); string; bytes for uuid, fixed and binary. Bounds written before a promotion (int to long, float to double) are
 * shorter and are read as what they were written as.
 *
 * @throws FILE_MALFORMED when the length does not fit the type
 */
export function decodeBound(type: IcebergType, bytes: Uint8Array): BoundValue {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (type) {
    case 'boolean':
      if (bytes.length === 1) return bytes[0] !== 0;
      break;
    case 'int':
    case 'date':
      if (bytes.length === 4) return view.getInt32(0, true);
      break;
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz':
      if (bytes.length === 8) return view.getBigInt64(0, true);
      if (bytes.length === 4 && type === 'long') return BigInt(view.getInt32(0, true));
      break;
    case 'float':
      if (bytes.length === 4) return view.getFloat32(0, true);
      break;
    case 'double':
      if (bytes.length === 8) return view.getFloat64(0, true);
      if (bytes.length === 4) return view.getFloat32(0, true);
      break;
    case 'string':
      return text.decode(bytes);
    case 'uuid':
      if (bytes.length === 16) return new Uint8Array(bytes);
      break;
    case 'binary':
      return new Uint8Array(bytes);
    default:
      if (parseDecimal(type) !== undefined && bytes.length > 0) return integerFromBytes(bytes);
      if (parseFixed(type) !== undefined) return new Uint8Array(bytes);
  }
  throw new WalbergError('FILE_MALFORMED', `A bound of ${bytes.length} bytes does not fit the Iceberg type ${typeof type === 'string' ? type : type.type}.`);
}
