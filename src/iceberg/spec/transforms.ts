import { WalbergError } from '../../errors/error.js';
import { encodeBound, type BoundValue } from './bounds.js';
import { minimalBytes } from './decimal-bytes.js';
import { murmur3 } from './murmur3.js';
import { isPrimitive, parseDecimal } from './schema.js';
import type { IcebergType, PartitionValue, PrimitiveType } from './types.js';

/** A partition transform bound to the type of its source column (spec "Partition Transforms"). */
export interface Transform {
  /** As in the partition spec: `identity`, `bucket[16]`, … */
  readonly name: string;
  readonly resultType: PrimitiveType;
  /** null in, null out. Values as in `PartitionValue`. */
  apply(value: PartitionValue): PartitionValue;
}

const MICROS_PER_HOUR = 3_600_000_000n;
const MICROS_PER_DAY = 86_400_000_000n;

/** Rounds toward minus infinity, as the specification asks: one microsecond before 1970 lies in hour -1. */
const floorDiv = (value: bigint, by: bigint): bigint => {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
};

const isTimestamp = (type: IcebergType): boolean => type === 'timestamp' || type === 'timestamptz';

/** Years and months since 1970 of a day number. Integer civil-calendar arithmetic: Date ends at the year 275760. */
function civil(days: number): { year: number; month: number } {
  // Days since 0000-03-01, in 400-year eras of 146097 days; a year that starts in March ends with the leap day.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor((dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = monthFromMarch < 10 ? monthFromMarch + 2 : monthFromMarch - 10;
  return { year: yearOfEra + era * 400 + (month <= 1 ? 1 : 0) - 1970, month };
}

const daysOf = (type: IcebergType, value: BoundValue): number => (isTimestamp(type) ? Number(floorDiv(BigInt(value as number | bigint), MICROS_PER_DAY)) : Number(value));

function bucketHash(type: PrimitiveType, value: BoundValue): number {
  // int and date hash as a long does, so that a promotion keeps the bucket.
  if (type === 'int' || type === 'date') return murmur3(encodeBound('long', value));
  if (parseDecimal(type) !== undefined) return murmur3(minimalBytes(value as bigint));
  return murmur3(encodeBound(type, value));
}

function truncateValue(type: PrimitiveType, width: number, value: BoundValue): BoundValue {
  if (typeof value === 'string') {
    // By code points; a string of no more UTF-16 units than `width` is short enough in any case.
    return value.length <= width ? value : Array.from(value).slice(0, width).join('');
  }
  if (value instanceof Uint8Array) return new Uint8Array(value.subarray(0, width));
  const wide = BigInt(width);
  const integer = BigInt(value);
  const cut = integer - (((integer % wide) + wide) % wide);
  return type === 'int' ? Number(BigInt.asIntN(32, cut)) : type === 'long' ? BigInt.asIntN(64, cut) : cut;
}

/** The type after a transform, or undefined when the transform does not take the source type. */
function resultTypeOf(base: string, source: PrimitiveType): PrimitiveType | undefined {
  const calendar = source === 'date' || isTimestamp(source);
  switch (base) {
    case 'identity':
    case 'void':
      return source;
    case 'bucket':
      return source === 'boolean' || source === 'float' || source === 'double' ? undefined : 'int';
    case 'truncate':
      return ['int', 'long', 'string', 'binary'].includes(source) || parseDecimal(source) !== undefined ? source : undefined;
    case 'year':
    case 'month':
      return calendar ? 'int' : undefined;
    case 'day':
      return calendar ? 'date' : undefined;
    case 'hour':
      return isTimestamp(source) ? 'int' : undefined;
    default:
      return undefined;
  }
}

function applyTo(base: string, width: number, source: PrimitiveType): (value: BoundValue) => PartitionValue {
  switch (base) {
    case 'void':
      return () => null;
    case 'bucket':
      return (value) => (bucketHash(source, value) & 0x7fffffff) % width;
    case 'truncate':
      return (value) => truncateValue(source, width, value);
    case 'year':
      return (value) => civil(daysOf(source, value)).year;
    case 'month':
      return (value) => {
        const { year, month } = civil(daysOf(source, value));
        return year * 12 + month;
      };
    case 'day':
      return (value) => daysOf(source, value);
    case 'hour':
      return (value) => Number(floorDiv(BigInt(value as number | bigint), MICROS_PER_HOUR));
    default:
      return (value) => value;
  }
}

/**
 * The transform of that name for a source type. Results: bucket, year, month and hour are int; day is a date (days since
 * 1970); identity, truncate and void keep the source type. Negative times round down, not toward zero.
 *
 * @throws FORMAT_UNSUPPORTED for a transform this version does not know
 * @throws TABLE_INCOMPATIBLE when the transform cannot take the source type
 */
export function bindTransform(name: string, source: IcebergType): Transform {
  const match = /^(identity|void|year|month|day|hour)$|^(bucket|truncate)\[(\d+)\]$/.exec(name);
  const width = Number(match?.[3] ?? 1);
  if (match === null || width < 1 || width > 0x7fffffff) throw new WalbergError('FORMAT_UNSUPPORTED', `The partition transform "${name}" is unknown.`, { context: { transform: name } });
  const base = match[1] ?? match[2];
  const resultType = isPrimitive(source) ? resultTypeOf(base, source) : undefined;
  if (resultType === undefined || !isPrimitive(source)) {
    const type = isPrimitive(source) ? source : source.type;
    throw new WalbergError('TABLE_INCOMPATIBLE', `The partition transform "${name}" cannot be applied to a column of type ${type}.`, { context: { transform: name, type } });
  }
  const apply = applyTo(base, width, source);
  return { name, resultType, apply: (value) => (value === null ? null : apply(value)) };
}

/** True when a value of that type can be NaN. */
export function canBeNan(type: IcebergType): boolean {
  return type === 'float' || type === 'double';
}
