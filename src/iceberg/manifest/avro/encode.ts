import { WalbergError } from '../../../errors/error.js';
import { uuidBytes } from '../../spec/bounds.js';
import { fixedBytes } from '../../spec/decimal-bytes.js';
import { decimalRequiredBytes, isPrimitive, parseDecimal, parseFixed } from '../../spec/schema.js';
import type { IcebergType } from '../../spec/types.js';
import type { AvroSink } from './sink.js';

/** Appends one value. */
export type AvroEncoder = (sink: AvroSink, value: unknown) => void;

/**
 * An encoder for values of an Iceberg type under the schema of `toAvroSchema`.
 *
 * Shapes: struct as an array of values in field order, list as an array, map as a Map; null or undefined for an absent
 * optional value; primitives as in `PartitionValue`, integers of any width as number or bigint.
 */
export function compileEncoder(type: IcebergType, required: boolean, name: string): AvroEncoder {
  const encode = compileRequired(type, name);
  if (required) {
    return (sink, value) => {
      if (value === null || value === undefined) throw new WalbergError('INTERNAL', `The required field "${name}" of a manifest has no value.`, { context: { field: name } });
      encode(sink, value);
    };
  }
  return (sink, value) => {
    if (value === null || value === undefined) return sink.long(0);
    sink.long(1);
    encode(sink, value);
  };
}

function compileRequired(type: IcebergType, name: string): AvroEncoder {
  if (isPrimitive(type)) return compilePrimitive(type, name);
  switch (type.type) {
    case 'struct': {
      const encoders = type.fields.map((field) => compileEncoder(field.type, field.required, field.name));
      return (sink, value) => {
        const values = value as readonly unknown[];
        for (let i = 0; i < encoders.length; i++) encoders[i](sink, values[i]);
      };
    }
    case 'list': {
      const element = compileEncoder(type.element, type['element-required'], name);
      return (sink, value) => {
        const values = value as readonly unknown[];
        if (values.length > 0) sink.long(values.length);
        for (const item of values) element(sink, item);
        sink.long(0);
      };
    }
    case 'map': {
      const key = compileEncoder(type.key, true, name);
      const item = compileEncoder(type.value, type['value-required'], name);
      return (sink, value) => {
        const entries = value as ReadonlyMap<unknown, unknown>;
        if (entries.size > 0) sink.long(entries.size);
        for (const [k, v] of entries) {
          key(sink, k);
          item(sink, v);
        }
        sink.long(0);
      };
    }
  }
}

function compilePrimitive(type: string, name: string): AvroEncoder {
  const wrong = (): WalbergError => new WalbergError('INTERNAL', `A value of field "${name}" does not belong to its type ${type}.`, { context: { field: name, type } });
  const fixed = (size: number): AvroEncoder => (sink, value) => {
    const bytes = typeof value === 'string' && type === 'uuid' ? uuidBytes(value) : value;
    if (!(bytes instanceof Uint8Array) || bytes.length !== size) throw wrong();
    sink.fixed(bytes);
  };
  switch (type) {
    case 'boolean':
      return (sink, value) => {
        if (typeof value !== 'boolean') throw wrong();
        sink.boolean(value);
      };
    case 'int':
    case 'date':
      return (sink, value) => {
        const integer = typeof value === 'bigint' ? Number(value) : value;
        if (typeof integer !== 'number' || integer !== (integer | 0)) throw wrong();
        sink.long(integer);
      };
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz':
      return (sink, value) => {
        if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) throw wrong();
        sink.long(value as number | bigint);
      };
    case 'float':
    case 'double':
      return (sink, value) => {
        if (typeof value !== 'number') throw wrong();
        if (type === 'float') sink.float(value);
        else sink.double(value);
      };
    case 'string':
      return (sink, value) => {
        if (typeof value !== 'string') throw wrong();
        sink.string(value);
      };
    case 'binary':
      return (sink, value) => {
        if (!(value instanceof Uint8Array)) throw wrong();
        sink.bytes(value);
      };
    case 'uuid':
      return fixed(16);
  }
  const decimal = parseDecimal(type);
  if (decimal === undefined) return fixed(parseFixed(type) ?? -1);
  const size = decimalRequiredBytes(decimal.precision);
  return (sink, value) => {
    if (typeof value !== 'bigint' || BigInt.asIntN(8 * size, value) !== value) throw wrong();
    sink.fixed(fixedBytes(value, size));
  };
}
