/**
 * Session settings under which Postgres shows text as the replication session does; run once before selecting.
 * Only the text of types without an Iceberg counterpart (ranges, intervals, money …) depends on them.
 */
export const CANONICAL_SESSION_SQL =
  "set timezone = 'UTC'; set datestyle = 'ISO'; set intervalstyle = 'postgres'; set extra_float_digits = 3; set bytea_output = 'hex'; set lc_monetary = 'C'";

/**
 * A Postgres expression (version 14 or newer) that gives the text which CanonicalRow defines for the column, NULL for NULL.
 *
 * `pgType` is as format_type() prints it (`numeric(10,2)`, `timestamp with time zone`, `integer[]`) or a short alias (`int4`, `timestamptz`).
 * Types without an Iceberg counterpart give the text that Postgres shows. An array (`integer[]`) is a list of one dimension, hstore a map. Infinite dates and timestamps have no canonical text: the expression raises an error for them.
 * @param columnName unquoted name; quoted here
 */
export function postgresCanonicalSql(columnName: string, pgType: string): string {
  const x = `"${columnName.replaceAll('"', '""')}"`;
  if (pgType.endsWith('[]')) {
    // By position: unnest would take composite values apart.
    const elements = `select string_agg(coalesce(to_json(${postgresCanonicalSql('v', pgType.slice(0, -2))})::text, 'null'), ',' order by n) from (select (${x})[n] as v, n from generate_subscripts(${x}, 1) as n) as u`;
    return `case when ${x} is not null then '[' || coalesce((${elements}), '') || ']' end`;
  }
  switch (pgType.toLowerCase().replace(/\([^)]*\)/, '').replace(/\s+/g, ' ').trim()) {
    case 'boolean': case 'bool':
      return `case ${x} when true then 'true' when false then 'false' end`;
    // A NaN made by arithmetic may carry other bits.
    case 'real': case 'float4': case 'double precision': case 'float8':
      return `case when ${x} = 'NaN' then '7ff8000000000000' else encode(float8send(${x}::float8), 'hex') end`;
    // Without a zone, so that the session's zone plays no part.
    case 'timestamptz': case 'timestamp with time zone':
      return micros(`(${x} at time zone 'UTC')`);
    case 'timestamp': case 'timestamp without time zone': case 'time': case 'time without time zone':
      return micros(x);
    case 'date':
      return `(${x} - date '1970-01-01')::text`;
    // As a map; keys in the order of their code points.
    case 'hstore': case 'public.hstore':
      return `case when ${x} is not null then (select '[' || coalesce(string_agg('[' || to_json(key)::text || ',' || coalesce(to_json(value)::text, 'null') || ']', ',' order by key collate "C"), '') || ']' from each(${x})) end`;
    case 'bytea':
      return `encode(${x}, 'hex')`;
    // The output function, not a cast to text: they differ for char(n), which loses its padding, and inet, which gets a mask.
    // IS DISTINCT FROM: a composite value with a NULL field is not "is not null".
    default:
      return `case when ${x} is distinct from null then format('%s', ${x}) end`;
  }
}

/** extract() gives numeric since version 14: exact for every year. */
function micros(x: string): string {
  return `(extract(epoch from ${x}) * 1000000)::bigint::text`;
}
