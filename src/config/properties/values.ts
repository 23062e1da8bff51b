import { declare, oneOf, type Property } from '../property.js';

const { supported, accepted, refused } = declare('values', 'debezium.source.');
const NATIVE = "Iceberg has the type, so the column is date, time, timestamp or timestamptz with microseconds instead of a number";

/** How Postgres types become Iceberg types. Unset means the exact native type. */
export const VALUES: readonly Property[] = [
  supported('decimal.handling.mode', oneOf(['precise', 'double', 'string']), 'numeric with precision and scale: decimal, double or string. numeric without them is a string unless double is chosen.', {
    default: 'precise',
    differs: { debezium: 'double (Java sink)', because: 'double loses digits' },
  }),
  supported('time.precision.mode', oneOf(['native', 'isostring'], { adaptive: 'native', adaptive_time_microseconds: 'native', connect: 'native', microseconds: 'native' }), 'Dates and times: the Iceberg types, or ISO 8601 strings.', {
    default: 'native',
    differs: { debezium: 'isostring (Java sink)', because: 'times kept as strings cannot be compared or pruned as times' },
    notedValues: { adaptive: NATIVE, adaptive_time_microseconds: NATIVE, connect: NATIVE, microseconds: NATIVE },
    refusedValues: {
      nanoseconds: 'Postgres has microseconds; remove the property for timestamp columns, or use isostring',
      structured: 'nested times are not written; remove the property for timestamp columns, or use isostring',
    },
  }),
  accepted('time.precision.mode.adaptive-allowed', 'Let the Java sink take adaptive modes.', 'times have their own types here', { default: 'false' }),
  supported('binary.handling.mode', oneOf(['bytes', 'base64', 'base64-url-safe', 'hex']), 'bytea: binary, or a string in this form.', { default: 'bytes' }),
  supported('hstore.handling.mode', oneOf(['text', 'json', 'map']), 'hstore: the text Postgres prints, a string with a JSON object, or a map of strings.', {
    default: 'text',
    differs: { debezium: 'json', because: 'types without a native mapping are written as their Postgres text unless another form is named' },
  }),
  supported('interval.handling.mode', oneOf(['text', 'string']), 'interval: the text Postgres prints (1 mon 2 days 03:04:05), or ISO 8601 with every part (string: P0Y1M2DT3H4M5S).', {
    default: 'text',
    differs: { debezium: 'numeric', because: 'a month has no fixed number of microseconds' },
    refusedValues: { numeric: 'a month has no fixed number of microseconds; use string or text' },
  }),
  refused('money.fraction.digits', 'Digits of money after the point.', 'money is written as the text Postgres prints', 'Remove it, or change the column to numeric.', ['2'], {
    default: '2',
    defaultWords: 'money is text',
    differs: {
      debezium: '2 (money is decimal)', because: 'types without a native mapping are written as their Postgres text',
      note: 'has no effect: money is written as the text Postgres prints, in Debezium as a decimal',
    },
  }),
  accepted('include.unknown.datatypes', 'Columns of types the connector does not know.', 'every captured column is written, types without a native mapping as their text; leave columns out with column.exclude.list', {
    default: 'true',
    differs: { debezium: 'false', because: 'no captured column is dropped' },
  }),
  accepted('unavailable.value.placeholder', 'Text for unchanged TOAST values.', 'the real value is found and written, never a placeholder', { default: '__debezium_unavailable_value' }),
  refused('converters', 'Java classes that convert columns.', 'a Java class cannot run here', 'Convert in a view of the Iceberg table.'),
  accepted('schema.name.adjustment.mode', 'Characters in schema names.', 'there are no event schemas', { default: 'none' }),
  refused('field.name.adjustment.mode', 'Characters in column names.', 'column names are kept as they are', 'Remove it.', ['none'], { default: 'none' }),
  accepted('schema.refresh.mode', 'When the connector reads table structure again.', 'the stream announces each table structure', { default: 'columns_diff' }),
];
