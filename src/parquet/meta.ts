import { Int64, TimestampMicrosecond } from 'apache-arrow';
import { WalbergError } from '../errors/error.js';
import type { IcebergType } from '../iceberg/spec/types.js';
import type { MetaField } from '../schema/codec.js';
import type { Column, ColumnPlace } from './column.js';
import { BytesColumn, writeText } from './column-bytes.js';
import { Int64Column } from './column-numbers.js';
import { decodeLong } from './decode-integers.js';
import { OP_DELETE, OP_LETTERS, type RowMeta } from './encode-types.js';
import { BATCH_ROWS, type Batch, SLOT_UNCHANGED } from './scan.js';

/** Builds the column of a metadata field. `ordinalSlots[ordinal]` is the slot of a source column, needed for 'unchanged' alone. */
export function metaColumn(field: MetaField, type: IcebergType, place: ColumnPlace, meta: RowMeta, sourceColumnNames: readonly string[], ordinalSlots: Int16Array): Column {
  const asLong = type === 'long' || type === 'timestamptz' || type === 'timestamp';
  if (asLong && field in UNITS) return timeColumn(field, type, place, meta);
  if (type === 'long' && field === 'lsn') return new PerTransactionColumn(place, new Int64(), meta, BigInt64Array.from(meta.endLsns, (lsn) => BigInt.asIntN(64, lsn)));
  if (type === 'long' && field === 'txId') return new PerTransactionColumn(place, new Int64(), meta, BigInt64Array.from(meta.xids, BigInt));
  if (type === 'string') {
    switch (field) {
      case 'op': return new PerRowTextColumn(place, OP_LETTERS, meta.ops);
      case 'deleted': return new PerRowTextColumn(place, OP_LETTERS.map((_, op) => String(op === OP_DELETE)), meta.ops);
      case 'table': return new PerRowTextColumn(place, [meta.table], undefined);
      case 'schema': return new PerRowTextColumn(place, [meta.schema], undefined);
      case 'db': return new PerRowTextColumn(place, [meta.database], undefined);
      case 'unchanged': return new UnchangedColumn(place, sourceColumnNames, ordinalSlots);
    }
  }
  throw new WalbergError('INTERNAL', `metadata field ${field} of ${place.table} cannot be written as ${typeof type === 'string' ? type : type.type}`, { context: { table: place.table, column: place.name } });
}

/** Time fields: numerator and denominator from microseconds to the unit of the name, and whether the source's clock is meant. */
const UNITS: Readonly<Record<string, { readonly times: bigint; readonly by: bigint; readonly source: boolean }>> = {
  'source.ts_ms': { times: 1n, by: 1000n, source: true },
  'source.ts_us': { times: 1n, by: 1n, source: true },
  'source.ts_ns': { times: 1000n, by: 1n, source: true },
  ts_ms: { times: 1n, by: 1000n, source: false },
  ts_us: { times: 1n, by: 1n, source: false },
  ts_ns: { times: 1000n, by: 1n, source: false },
};

function timeColumn(field: MetaField, type: IcebergType, place: ColumnPlace, meta: RowMeta): Column {
  const { times, by, source } = UNITS[field];
  const arrow = type === 'long' ? new Int64() : new TimestampMicrosecond(type === 'timestamptz' ? 'UTC' : null);
  // A timestamp column holds microseconds; a name that ends in ms cuts it to milliseconds all the same, as its bigint form does.
  const convert = (micros: bigint): bigint => (type === 'long' ? floorDivide(micros * times, by) : floorDivide(micros, by) * by);
  return new PerTransactionColumn(place, arrow, meta, source ? meta.commitTimesMicros.map(convert) : BigInt64Array.of(convert(meta.processedMicros)), source);
}

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return quotient * by > value ? quotient - 1n : quotient;
}

/** 64-bit values of each row's transaction, or one value for all. */
class PerTransactionColumn extends Int64Column {
  readonly #halves: Int32Array;

  constructor(place: ColumnPlace, type: Int64 | TimestampMicrosecond, private readonly meta: RowMeta, values: BigInt64Array, private readonly perTransaction = true) {
    super(place, type, decodeLong);
    this.#halves = new Int32Array(values.buffer, values.byteOffset, values.length * 2);
  }

  override append(batch: Batch): void {
    this.reserve(batch.rows);
    const halves = this.#halves;
    const { transactions } = this.meta;
    const from = this.rows;
    for (let row = 0; row < batch.rows; row++) {
      const at = this.perTransaction ? 2 * transactions[batch.first + row] : 0;
      this.push(halves[at], halves[at + 1]);
    }
    this.observe(from, this.rows, false);
  }
}

/** One of a few texts a row. */
class PerRowTextColumn extends BytesColumn {
  readonly #texts: readonly Buffer[];
  readonly #longest: number;

  constructor(place: ColumnPlace, texts: readonly string[], private readonly choice: Uint8Array | undefined) {
    super(place, true, writeText);
    this.#texts = texts.map((text) => Buffer.from(text, 'utf8'));
    this.#longest = Math.max(...this.#texts.map((text) => text.length));
  }

  override append(batch: Batch): void {
    this.reserve(batch.rows);
    this.room(batch.rows * this.#longest);
    for (let row = 0; row < batch.rows; row++) this.push(this.#texts[this.choice === undefined ? 0 : this.choice[batch.first + row]]);
  }
}

/** Names of the columns whose TOAST value the source left out, comma-separated in column order; null when there is none. */
class UnchangedColumn extends BytesColumn {
  readonly #known = new Map<string, Buffer>();

  constructor(place: ColumnPlace, private readonly names: readonly string[], private readonly ordinalSlots: Int16Array) {
    super(place, true, writeText);
  }

  override append(batch: Batch): void {
    this.reserve(batch.rows);
    for (let row = 0; row < batch.rows; row++) {
      let list = '';
      this.ordinalSlots.forEach((slot, ordinal) => {
        if (slot >= 0 && batch.lengths[slot * BATCH_ROWS + row] === SLOT_UNCHANGED) list += (list === '' ? '' : ',') + this.names[ordinal];
      });
      if (list === '') {
        this.pushNull();
        continue;
      }
      let text = this.#known.get(list);
      if (text === undefined) this.#known.set(list, (text = Buffer.from(list, 'utf8')));
      this.room(text.length);
      this.push(text);
    }
  }
}
