import { encodeBound, type BoundValue } from './bounds.js';
import type { IcebergType } from './types.js';

const utf8 = new TextEncoder();

/** Unsigned byte order; a prefix comes first. This is also the order of strings by their UTF-8 bytes. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

/**
 * Order of two values of one type as readers use it for pruning: numbers by value with -0.0 before +0.0, strings by UTF-8
 * bytes, bytes unsigned. NaN is not ordered and must be left out before. UUIDs are compared as unsigned bytes, which is not
 * the order of every reader.
 */
export function compareValues(type: IcebergType, a: BoundValue, b: BoundValue): number {
  if (typeof a === 'string' && typeof b === 'string' && type === 'string') return compareBytes(utf8.encode(a), utf8.encode(b));
  if (typeof a === 'string' || typeof b === 'string' || a instanceof Uint8Array || b instanceof Uint8Array) return compareBytes(encodeBound(type, a), encodeBound(type, b));
  if (a < b) return -1;
  if (a > b) return 1;
  if (a === 0 && b === 0) return Number(Object.is(b, -0)) - Number(Object.is(a, -0));
  return 0;
}
