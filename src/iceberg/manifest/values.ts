import { malformed } from './avro/malformed.js';

/** Checked access to the decoded values of one record; every failure is FILE_MALFORMED naming file and field. */
export class RecordValues {
  readonly #values: readonly unknown[];
  readonly #what: string;

  constructor(values: readonly unknown[], what: string) {
    this.#values = values;
    this.#what = what;
  }

  /** A 64-bit integer, or null. */
  long(slot: number, name: string): bigint | null {
    const value = this.#values[slot];
    if (value === null || value === undefined) return null;
    if (typeof value !== 'number' && typeof value !== 'bigint') throw this.#wrong(name);
    return BigInt(value);
  }

  requiredLong(slot: number, name: string, missing?: bigint): bigint {
    const value = this.long(slot, name) ?? missing;
    if (value === undefined) throw this.#missing(name);
    return value;
  }

  /** An integer that a number holds exactly. */
  int(slot: number, name: string): number | undefined {
    const value = this.#values[slot];
    if (value === null || value === undefined) return undefined;
    if (typeof value !== 'number') throw this.#wrong(name);
    return value;
  }

  requiredInt(slot: number, name: string, missing?: number): number {
    const value = this.int(slot, name) ?? missing;
    if (value === undefined) throw this.#missing(name);
    return value;
  }

  string(slot: number, name: string): string | undefined {
    const value = this.#values[slot];
    if (value === null || value === undefined) return undefined;
    if (typeof value !== 'string') throw this.#wrong(name);
    return value;
  }

  requiredString(slot: number, name: string): string {
    const value = this.string(slot, name);
    if (value === undefined) throw this.#missing(name);
    return value;
  }

  boolean(slot: number, name: string): boolean | undefined {
    const value = this.#values[slot];
    if (value === null || value === undefined) return undefined;
    if (typeof value !== 'boolean') throw this.#wrong(name);
    return value;
  }

  bytes(slot: number, name: string): Uint8Array | undefined {
    const value = this.#values[slot];
    if (value === null || value === undefined) return undefined;
    if (!(value instanceof Uint8Array)) throw this.#wrong(name);
    return value;
  }

  /** A list, or the slots of a nested record. */
  list(slot: number, name: string): readonly unknown[] | undefined {
    const value = this.#values[slot];
    if (value === null || value === undefined) return undefined;
    if (!Array.isArray(value)) throw this.#wrong(name);
    return value as readonly unknown[];
  }

  requiredList(slot: number, name: string): readonly unknown[] {
    const value = this.list(slot, name);
    if (value === undefined) throw this.#missing(name);
    return value;
  }

  /** A list of integers that numbers hold exactly. */
  ints(slot: number, name: string): readonly number[] | undefined {
    const values = this.list(slot, name);
    if (values !== undefined && !values.every((value) => typeof value === 'number')) throw this.#wrong(name);
    return values;
  }

  /** A map from field ids to counts. */
  counts(slot: number, name: string): ReadonlyMap<number, number> | undefined {
    return this.#map(slot, name, (value) => typeof value === 'number') as ReadonlyMap<number, number> | undefined;
  }

  /** A map from field ids to bounds. */
  bounds(slot: number, name: string): ReadonlyMap<number, Uint8Array> | undefined {
    return this.#map(slot, name, (value) => value instanceof Uint8Array) as ReadonlyMap<number, Uint8Array> | undefined;
  }

  #map(slot: number, name: string, holds: (value: unknown) => boolean): ReadonlyMap<unknown, unknown> | undefined {
    const values = this.#values[slot];
    if (values === null || values === undefined) return undefined;
    if (!(values instanceof Map)) throw this.#wrong(name);
    for (const [key, value] of values) if (typeof key !== 'number' || !holds(value)) throw this.#wrong(name);
    return values;
  }

  #missing(name: string): Error {
    return malformed(this.#what, `the required field ${name} is missing`);
  }

  #wrong(name: string): Error {
    return malformed(this.#what, `the field ${name} has another type than the specification says`);
  }
}
