import { encodeBound, type BoundValue } from '../spec/bounds.js';
import { compareValues } from '../spec/compare.js';
import type { NestedField, PartitionValue } from '../spec/types.js';
import type { FieldSummary } from './types.js';

/**
 * Collects the partition summaries of a manifest. Readers skip the whole manifest by them, and take a missing bound to mean
 * that all values are null, so they must be true or absent altogether.
 */
export class PartitionSummary {
  readonly #fields: readonly FieldCollector[];

  constructor(partition: readonly NestedField[]) {
    this.#fields = partition.map((field) => new FieldCollector(field));
  }

  add(partition: readonly PartitionValue[]): void {
    for (let i = 0; i < this.#fields.length; i++) this.#fields[i].add(partition[i]);
  }

  /** One summary per field; undefined when one cannot be given that holds in every reader. */
  summaries(): readonly FieldSummary[] | undefined {
    return this.#fields.every((field) => field.agreed) ? this.#fields.map((field) => field.summary()) : undefined;
  }
}

class FieldCollector {
  readonly #field: NestedField;
  #containsNull = false;
  #containsNan = false;
  #lower: BoundValue | undefined;
  #upper: BoundValue | undefined;

  constructor(field: NestedField) {
    this.#field = field;
  }

  add(value: PartitionValue): void {
    if (value === null) this.#containsNull = true;
    else if (Number.isNaN(value)) this.#containsNan = true;
    else {
      if (this.#lower === undefined || compareValues(this.#field.type, value, this.#lower) < 0) this.#lower = value;
      if (this.#upper === undefined || compareValues(this.#field.type, value, this.#upper) > 0) this.#upper = value;
    }
  }

  /** Readers order UUIDs as unsigned bytes, as two signed longs, or by their second half first: only a single value is safe. */
  get agreed(): boolean {
    return this.#field.type !== 'uuid' || this.#lower === undefined || compareValues('uuid', this.#lower, this.#upper as BoundValue) === 0;
  }

  summary(): FieldSummary {
    const { type } = this.#field;
    const bounds = this.#lower === undefined || this.#upper === undefined ? {} : { lowerBound: encodeBound(type, this.#lower), upperBound: encodeBound(type, this.#upper) };
    return { containsNull: this.#containsNull, containsNan: this.#containsNan, ...bounds };
  }
}
