/**
 * A Postgres expression (version 14 or newer) that gives the text which CanonicalRow defines for the column, NULL for NULL.
 *
 * `pgType` is as format_type() prints it (`numeric(10,2)`, `timestamp with time zone`, `integer[]`) or a short alias (`int4`, `timestamptz`).
 * Types without a counterpart of their own (text, json, enums, intervals, ranges …) give their own text.
 * Infinite dates and timestamps have no such text: the expression raises an error for them.
 * @param columnName unquoted name; quoted here
 */
export function postgresCanonicalSql(columnName: string, pgType: string): string {
  return canonical(`"${columnName.replaceAll('"', '""')}"`, pgType.trim().toLowerCase());
}

function canonical(x: string, type: string): string {
  if (type.endsWith('[]')) return list(x, type.slice(0, -2));
  const base = type.replace(/\([^)]*\)/, '').replace(/\s+/g, ' ').trim();
  switch (base) {
    case 'boolean': case 'bool':
      return `case ${x} when true then 'true' when false then 'false' end`;
    case 'real': case 'float4': case 'double precision': case 'float8':
      return `case when ${x}::float8 = 'NaN' then '7ff8000000000000' else encode(float8send(${x}::float8), 'hex') end`;
    // extract() is numeric since version 14, so exact from year 1 to 9999; the cast to timestamp pins UTC whatever the session's zone.
    case 'timestamp': case 'timestamp without time zone':
      return micros(x);
    case 'timestamptz': case 'timestamp with time zone':
      return micros(`(${x} at time zone 'UTC')`);
    case 'date':
      return `(${x} - date '1970-01-01')::text`;
    case 'time': case 'time without time zone':
      return micros(x);
    case 'bytea':
      return `encode(${x}, 'hex')`;
    case 'uuid':
      return `${x}::text`;
    // Postgres pads char(n) in its text output but drops the padding in a cast to text; the stream shows the padded value.
    case 'character': case 'char': case 'bpchar':
      return `case when ${x} is not null then format('%s', ${x}) end`;
    default:
      return `${x}::text`;
  }
}

function micros(x: string): string {
  return `(extract(epoch from ${x}) * 1000000)::bigint::text`;
}

/** One-dimensional array as compact JSON, the way the readers print lists. */
function list(x: string, elementType: string): string {
  const element = `coalesce(to_json((${canonical('e.v', elementType)})::text)::text, 'null')`;
  return `case when ${x} is null then null else '[' || coalesce((select string_agg(${element}, ',' order by e.n) from unnest(${x}) with ordinality as e(v, n)), '') || ']' end`;
}
