import type { PrimitiveType } from '../iceberg/spec/types.js';
import type { Codec } from './codec.js';

/**
 * The codec that writes values of `codec` into a column of another Iceberg type; undefined when that type cannot hold every
 * value of the source. Types equal to the codec's own need no call.
 */
export function storedAs(codec: Codec, type: PrimitiveType): Codec | undefined {
  if (codec.kind === 'int' && type === 'long') return { kind: 'long' };
  if (codec.kind === 'float' && type === 'double') return { kind: 'double' };
  if (codec.kind === 'decimal') {
    const target = decimalType(type);
    if (target === undefined || target.scale < codec.scale || target.precision - target.scale < codec.precision - codec.scale) return undefined;
    return { ...codec, ...target };
  }
  return undefined;
}

/** Precision and scale of a decimal type, however its JSON is spaced; undefined for other types. */
export function decimalType(type: PrimitiveType): { readonly precision: number; readonly scale: number } | undefined {
  const match = /^decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)$/.exec(type);
  return match === null ? undefined : { precision: Number(match[1]), scale: Number(match[2]) };
}
