import type { PrimitiveType } from '../iceberg/spec/types.js';
import type { Codec } from './codec.js';

/**
 * The codec that writes values of `codec` into a column of another Iceberg type; undefined when that type cannot hold every
 * value of the source. `exact` (for keys) admits only types that compare values as the planned type does. Otherwise text
 * holds anything that has one form: times in ISO-8601 as other writers leave them, the rest as Postgres shows it.
 */
export function storedAs(codec: Codec, type: PrimitiveType, exact: boolean): Codec | undefined {
  if (codec.kind === 'int' && type === 'long') return { kind: 'long' };
  const target = codec.kind === 'decimal' ? decimalType(type) : undefined;
  if (codec.kind === 'decimal' && target !== undefined) {
    const holds = target.scale >= codec.scale && target.precision - target.scale >= codec.precision - codec.scale;
    return holds ? { ...codec, ...target } : undefined;
  }
  if (exact) return undefined;
  // read as a float and widened, as values from before a promotion are
  if (codec.kind === 'float' && type === 'double') return codec;
  if (type !== 'string') return undefined;
  switch (codec.kind) {
    case 'date': case 'time': case 'timestamp': case 'timestamptz': return { kind: 'iso-string', of: codec.kind };
    case 'int': case 'long': case 'decimal': case 'uuid': return { kind: 'string' };
    // boolean, floating-point and binary values have no single text form
    default: return undefined;
  }
}

/** Precision and scale of a decimal type, however its JSON is spaced; undefined for other types. */
export function decimalType(type: PrimitiveType): { readonly precision: number; readonly scale: number } | undefined {
  const match = /^decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)$/.exec(type);
  return match === null ? undefined : { precision: Number(match[1]), scale: Number(match[2]) };
}
