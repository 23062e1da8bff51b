import { type Data, Field, makeData, Map_, Struct } from 'apache-arrow';
import { type Child, childField, NestedColumn } from './column-nested.js';
import type { ColumnPlace } from './column.js';
import { type PairSink, parseHstore } from './hstore-text.js';

/** map of strings to strings, from the text of hstore. */
export class MapColumn extends NestedColumn implements PairSink {
  constructor(place: ColumnPlace, private readonly keys: Child, private readonly items: Child) {
    super(place, [keys, items]);
  }

  protected take(_row: number, bytes: Buffer, at: number, length: number): void {
    if (!parseHstore(bytes, at, length, this)) throw this.invalid('a value has not the text form of its type');
  }

  key(bytes: Buffer, at: number, length: number): void {
    this.elements[0].addEscaped(bytes, at, length);
  }
  value(bytes: Buffer, at: number, length: number): void {
    this.elements[1].addEscaped(bytes, at, length);
  }
  nullValue(): void {
    this.elements[1].addNull();
  }

  data(): Data {
    const children = [this.keys.column.data(), this.items.column.data()];
    const pair = new Struct([childField(this.keys, children[0]), childField(this.items, children[1])]);
    const entries = new Field<Struct>('key_value', pair, false);
    const type = new Map_(entries as ConstructorParameters<typeof Map_>[0]);
    // The constructor gives it Arrow's usual name; Parquet has another (LogicalTypes.md, "Maps").
    Object.assign(entries, { name: 'key_value' });
    const child = makeData({ type: pair, length: this.elements[0].count, nullCount: 0, children });
    return makeData({ type, ...this.arrow(), child });
  }
}
