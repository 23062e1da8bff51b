/**
 * How the text form of a Postgres value becomes an Iceberg value. A codec is plain data so that it can be posted to a
 * worker. Text forms are those of a session with timezone=UTC, datestyle=ISO, bytea_output=hex, extra_float_digits=3.
 */
export type Codec =
  | { readonly kind: 'boolean' }
  | { readonly kind: 'int' }
  | { readonly kind: 'long' }
  | { readonly kind: 'float' }
  | { readonly kind: 'double' }
  /** Unscaled integer at exactly `scale`; precision ≤ 38. */
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number; readonly special: SpecialPolicy }
  /** numeric text to double (`decimal.handling.mode=double`). */
  | { readonly kind: 'numeric-double' }
  | { readonly kind: 'string' }
  | { readonly kind: 'binary' }
  | { readonly kind: 'uuid' }
  | { readonly kind: 'date'; readonly special: SpecialPolicy }
  | { readonly kind: 'time'; readonly special: SpecialPolicy }
  | { readonly kind: 'timestamp'; readonly special: SpecialPolicy }
  | { readonly kind: 'timestamptz'; readonly special: SpecialPolicy }
  /** ISO-8601 string of date/time types (`time.precision.mode=isostring`) and of intervals (`interval.handling.mode=string`). */
  | { readonly kind: 'iso-string'; readonly of: 'date' | 'time' | 'timestamp' | 'timestamptz' | 'interval' }
  | { readonly kind: 'bytes-text'; readonly form: 'base64' | 'base64-url-safe' | 'hex' }
  /** hstore text to a map of strings, or to a JSON object in a string column. */
  | { readonly kind: 'hstore' }
  /** Array text to a list; `delimiter` is pg_type.typdelim of the element's type, `special` is for arrays of several dimensions. */
  | { readonly kind: 'list'; readonly element: Codec; readonly delimiter: string; readonly special: SpecialPolicy };

/** What to do with a value that the Iceberg type cannot hold (infinity, NaN numeric, out of range, 24:00, an array of several dimensions). */
export type SpecialPolicy = 'fail' | 'null' | 'clamp';

/** Debezium's metadata fields that Walberg can add to a row. */
export type MetaField = 'op' | 'table' | 'schema' | 'db' | 'source.ts_ms' | 'source.ts_us' | 'source.ts_ns' | 'ts_ms' | 'ts_us' | 'ts_ns' | 'lsn' | 'txId' | 'deleted' | 'unchanged';
