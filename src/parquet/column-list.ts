import { type Data, List, makeData } from 'apache-arrow';
import { type ElementSink, MANY_DIMENSIONS, NO_ARRAY, parseArray } from './array-text.js';
import { type Child, childField, NestedColumn } from './column-nested.js';
import type { ColumnPlace } from './column.js';

/**
 * list of a primitive type, from the text of one-dimensional arrays. An array of more dimensions goes by the special policy;
 * as there is no nearest list, clamp makes it null too.
 */
export class ListColumn extends NestedColumn implements ElementSink {
  readonly #delimiter: number;

  constructor(place: ColumnPlace, private readonly child: Child, delimiter: string) {
    super(place, [child]);
    this.#delimiter = delimiter.charCodeAt(0);
  }

  protected take(row: number, bytes: Buffer, at: number, length: number): void {
    const outcome = parseArray(bytes, at, length, this.#delimiter, this);
    if (outcome === NO_ARRAY) throw this.invalid('a value has not the text form of its type');
    if (outcome !== MANY_DIMENSIONS) return;
    if (this.place.special === 'fail') {
      throw this.invalid('an array has more than one dimension, which the list of the Iceberg table cannot hold',
        'Set walberg.special-values=null to write NULL for such arrays, or write arrays as text to a new table with walberg.array-handling=text.');
    }
    this.ownReplaced++;
    this.setNull(row);
  }

  element(bytes: Buffer, at: number, length: number): void {
    this.elements[0].add(bytes, at, length);
  }
  escapedElement(bytes: Buffer, at: number, length: number): void {
    this.elements[0].addEscaped(bytes, at, length);
  }
  nullElement(): void {
    this.elements[0].addNull();
  }

  data(): Data {
    const child = this.child.column.data();
    return makeData({ type: new List(childField(this.child, child)), ...this.arrow(), child });
  }
}
