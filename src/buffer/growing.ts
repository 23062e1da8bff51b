type Growable = Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Uint8Array<ArrayBuffer> | BigInt64Array<ArrayBuffer> | BigUint64Array<ArrayBuffer>;

/** The array with room for index `index`; contents are kept. */
export function withRoom<T extends Growable>(array: T, index: number): T {
  if (index < array.length) return array;
  const bigger = new (array.constructor as new (length: number) => T)(Math.max(index + 1, array.length * 2));
  (bigger as Uint8Array).set(array as Uint8Array);
  return bigger;
}
