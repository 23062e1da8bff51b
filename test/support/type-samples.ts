/**
 * Values at the edges of every type a source column can have. Each is the text that Postgres takes as input for the type;
 * null is NULL.
 */
export interface TypeSample {
  readonly column: string;
  /** As in CREATE TABLE. */
  readonly type: string;
  /** What format_type() calls the base type, where `type` is a domain. */
  readonly base?: string;
  /** Type of the Iceberg column under default settings. */
  readonly iceberg: string;
  readonly values: readonly (string | null)[];
}

/** Statements that the types below need. */
export const TYPE_SETUP: readonly string[] = [
  'CREATE EXTENSION IF NOT EXISTS citext',
  'CREATE EXTENSION IF NOT EXISTS hstore',
  'CREATE EXTENSION IF NOT EXISTS ltree',
  "CREATE TYPE mood AS ENUM ('sad', 'ok', '', 'glücklich 🎉')",
  'CREATE TYPE pair AS (a integer, b text)',
  'CREATE DOMAIN price AS numeric(12, 3) CHECK (value > -1e9)',
  'CREATE DOMAIN short_text AS varchar(20)',
  'CREATE DOMAIN nested_domain AS price',
  'CREATE DOMAIN tags AS text[]',
];

const MEGABYTE = 1024 * 1024;
const ASTRAL = '😀';
/** The largest code point: no upper bound can be cut from a string of these. */
const LAST = '\u{10FFFF}';

/** Strings around the 16 code points after which bounds are cut. */
const TEXTS: readonly (string | null)[] = [
  '', null, 'plain', ' leading and trailing ', '0123456789abcdef', '0123456789abcdefg', `0123456789abcde${ASTRAL}`, `0123456789abcde${ASTRAL}z`, `0123456789abcde${LAST}z`, `0123456789abcde\u{D7FF}z`,
  LAST.repeat(20), ASTRAL.repeat(17), '\uFFFF\uFFFD', `e\u0301 é ß`, `quotes ' " \` and \\ back\\slashes\nlines\ttabs\r\u0001\u007F`, '\\N', 'NULL', '{"a":[1]}',
];
const DECIMALS_38 = '9'.repeat(38);

export const TYPE_SAMPLES: readonly TypeSample[] = [
  { column: 'c_bool', type: 'boolean', iceberg: 'boolean', values: ['true', 'false', null] },
  { column: 'c_int2', type: 'smallint', iceberg: 'int', values: ['-32768', '32767', '0', '-1', null] },
  { column: 'c_int4', type: 'integer', iceberg: 'int', values: ['-2147483648', '2147483647', '0', '-1'] },
  { column: 'c_int8', type: 'bigint', iceberg: 'long', values: ['-9223372036854775808', '9223372036854775807', '9007199254740993', '0', '-1', null] },
  { column: 'c_oid', type: 'oid', iceberg: 'long', values: ['0', '4294967295', '2147483648'] },
  { column: 'c_real', type: 'real', iceberg: 'float', values: ['NaN', 'Infinity', '-Infinity', '-0', '0', '1.4e-45', '-1.4e-45', '3.4028235e38', '-3.4028235e38', '0.1', '16777215', null] },
  { column: 'c_double', type: 'double precision', iceberg: 'double', values: ['-0', 'NaN', '5e-324', '-5e-324', '2.2250738585072014e-308', '1.7976931348623157e308', '-1.7976931348623157e308', 'Infinity', '-Infinity', '0', '0.1', '9007199254740993', null] },
  { column: 'c_num_5_2', type: 'numeric(5,2)', iceberg: 'decimal(5, 2)', values: ['999.99', '-999.99', '0', '0.01', '-0.01', null] },
  { column: 'c_num_9', type: 'numeric(9,0)', iceberg: 'decimal(9, 0)', values: ['999999999', '-999999999', '0', '1'] },
  { column: 'c_num_10', type: 'numeric(10,0)', iceberg: 'decimal(10, 0)', values: ['9999999999', '-9999999999', '0', '-128', '128'] },
  { column: 'c_num_18_6', type: 'numeric(18,6)', iceberg: 'decimal(18, 6)', values: ['999999999999.999999', '-999999999999.999999', '0.000001', '-0.000001', null] },
  { column: 'c_num_19', type: 'numeric(19,0)', iceberg: 'decimal(19, 0)', values: ['9999999999999999999', '-9999999999999999999', '9223372036854775808', '-9223372036854775809', '0'] },
  { column: 'c_num_38', type: 'numeric(38,0)', iceberg: 'decimal(38, 0)', values: [DECIMALS_38, `-${DECIMALS_38}`, '0', '-1', '255', '256', '-256', null] },
  { column: 'c_num_38_38', type: 'numeric(38,38)', iceberg: 'decimal(38, 38)', values: [`0.${DECIMALS_38}`, `-0.${DECIMALS_38}`, `0.${'0'.repeat(37)}1`, '0'] },
  { column: 'c_num_38_10', type: 'numeric(38,10)', iceberg: 'decimal(38, 10)', values: [`${'9'.repeat(28)}.9999999999`, `-${'9'.repeat(28)}.9999999999`, '0.0000000001', '-0.5'] },
  { column: 'c_num_neg', type: 'numeric(5,-2)', iceberg: 'decimal(7, 0)', values: ['9999900', '-9999900', '149', '-151', '0', null] },
  { column: 'c_num_over', type: 'numeric(3,5)', iceberg: 'decimal(5, 5)', values: ['0.00999', '-0.00999', '0.00001', '0'] },
  { column: 'c_num_39', type: 'numeric(39,1)', iceberg: 'string', values: [`${DECIMALS_38}.9`, `-${DECIMALS_38}.9`, '0'] },
  { column: 'c_num_free', type: 'numeric', iceberg: 'string', values: ['0', '-0.00', '1e400', '-1e-400', 'NaN', 'Infinity', '-Infinity', '1.10', null] },
  { column: 'c_text', type: 'text', iceberg: 'string', values: [...TEXTS, `long ${'ä'.repeat(MEGABYTE / 2)}`] },
  { column: 'c_varchar', type: 'varchar(40)', iceberg: 'string', values: TEXTS },
  { column: 'c_char', type: 'character(8)', iceberg: 'string', values: ['', 'a', 'ä😀', '12345678', null] },
  { column: 'c_char1', type: '"char"', iceberg: 'string', values: ['a', '', null] },
  { column: 'c_citext', type: 'citext', iceberg: 'string', values: ['MiXed', 'mixed', '', null] },
  { column: 'c_name', type: 'name', iceberg: 'string', values: ['pg_class', '', 'ä'.repeat(31)] },
  { column: 'c_bytea', type: 'bytea', iceberg: 'binary', values: ['\\x', '\\x00', `\\x${'ff'.repeat(20)}`, `\\x${'00'.repeat(15)}ff00`, `\\x${'ff'.repeat(15)}fe01`, '\\xdeadbeef', '\\x5c78', `\\x${'00ff80'.repeat(MEGABYTE / 3)}`, null] },
  { column: 'c_uuid', type: 'uuid', iceberg: 'uuid', values: ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '80000000-0000-0000-0000-000000000001', '7fffffff-ffff-ffff-7fff-ffffffffffff', '00112233-4455-6677-8899-aabbccddeeff', null] },
  { column: 'c_date', type: 'date', iceberg: 'date', values: ['0001-01-01', '9999-12-31', '1970-01-01', '1969-12-31', '1582-10-04', '1582-10-15', '2024-02-29', '1900-02-28', null] },
  { column: 'c_timestamp', type: 'timestamp', iceberg: 'timestamp', values: ['0001-01-01 00:00:00', '9999-12-31 23:59:59.999999', '1970-01-01 00:00:00', '1969-12-31 23:59:59.999999', '1582-10-04 23:59:59.5', '2024-02-29 12:34:56.789012', '1900-01-01 00:00:00.000001', null] },
  { column: 'c_timestamptz', type: 'timestamptz', iceberg: 'timestamptz', values: ['0001-01-01 00:00:00+00', '9999-12-31 23:59:59.999999+00', '1970-01-01 00:00:00+00', '1969-12-31 23:59:59.999999+00', '1883-11-18 12:03:57+05:53:28', '2024-03-31 02:30:00.000001+02', null] },
  { column: 'c_timestamp3', type: 'timestamp(3)', iceberg: 'timestamp', values: ['2024-02-29 12:34:56.7899', '1969-12-31 23:59:59.9994'] },
  { column: 'c_timetz', type: 'timetz', iceberg: 'string', values: ['23:59:59.999999+05:30', '00:00:00-12', null] },
  { column: 'c_json', type: 'json', iceberg: 'string', values: ['{"a" : "\\u00e9\\ud83d\\ude00", "a":1e2}', ' [1, 2] ', 'null', '""', null] },
  { column: 'c_jsonb', type: 'jsonb', iceberg: 'string', values: ['{"a" : "\\u00e9\\ud83d\\ude00", "b":1e2}', '[1.0, null]', 'null', '"\\\\"', null] },
  { column: 'c_enum', type: 'mood', iceberg: 'string', values: ['sad', 'ok', '', 'glücklich 🎉', null] },
  { column: 'c_price', type: 'price', base: 'numeric(12,3)', iceberg: 'decimal(12, 3)', values: ['999999999.999', '-99999999.001', '0', null] },
  { column: 'c_nested_domain', type: 'nested_domain', base: 'numeric(12,3)', iceberg: 'decimal(12, 3)', values: ['1.5', null] },
  { column: 'c_short_text', type: 'short_text', base: 'varchar(20)', iceberg: 'string', values: ['', 'domain 😀', null] },
  { column: 'c_xid8', type: 'xid8', iceberg: 'decimal(20, 0)', values: ['0', '18446744073709551615', null] },
  // Types without a counterpart: the text that Postgres shows.
  { column: 't_int_array', type: 'integer[][]', iceberg: 'string', values: ['{}', '{1,NULL,-3}', '{{1,2},{3,4}}', '[0:1]={5,6}', null] },
  { column: 't_range', type: 'tstzrange', iceberg: 'string', values: ['[2024-01-01 00:00+00,2024-01-02 00:00+00)', 'empty', '(,)', null] },
  { column: 't_multirange', type: 'int4multirange', iceberg: 'string', values: ['{[1,3),[5,)}', '{}'] },
  { column: 't_interval', type: 'interval', iceberg: 'string', values: ['1 year -2 mons 3 days -04:05:06.000001', '00:00:00', '-178000000 years', null] },
  { column: 't_inet', type: 'inet', iceberg: 'string', values: ['10.0.0.1', '10.0.0.0/8', '::ffff:1.2.3.4/96', null] },
  { column: 't_cidr', type: 'cidr', iceberg: 'string', values: ['10.0.0.0/8', '2001:db8::/32'] },
  { column: 't_macaddr', type: 'macaddr', iceberg: 'string', values: ['08:00:2b:01:02:03', null] },
  { column: 't_bit', type: 'bit(9)', iceberg: 'string', values: ['101010101', '000000000'] },
  { column: 't_varbit', type: 'varbit', iceberg: 'string', values: ['', '1', '0'.repeat(70), null] },
  { column: 't_money', type: 'money', iceberg: 'string', values: ['-92233720368547758.08', '92233720368547758.07', '0', null] },
  { column: 't_xml', type: 'xml', iceberg: 'string', values: ['<a b="1">ä&amp;<!-- c --></a>', '', null] },
  { column: 't_ltree', type: 'ltree', iceberg: 'string', values: ['Top.Science.Astronomy', ''] },
  { column: 't_tsvector', type: 'tsvector', iceberg: 'string', values: ["'a':1A 'fat':2,4B 'it''s':3", '', null] },
  { column: 't_tsquery', type: 'tsquery', iceberg: 'string', values: ["'fat' & !('rat' | 'cat')", null] },
  { column: 't_point', type: 'point', iceberg: 'string', values: ['(0.1,-1e300)', '(NaN,Infinity)', null] },
  { column: 't_polygon', type: 'polygon', iceberg: 'string', values: ['((0,0),(1.5,0),(1,1))'] },
  { column: 't_composite', type: 'pair', iceberg: 'string', values: ['(1,)', '(,"a ""b"", (c)")', '(,)', null] },
  { column: 't_pg_lsn', type: 'pg_lsn', iceberg: 'string', values: ['FFFFFFFF/FFFFFFFF', '0/0'] },
];

/**
 * Arrays, as lists; `iceberg` is the type of the elements. Some with bounds of their own, some longer than what is handed on at
 * once, and some large enough to be stored out of line.
 */
export const ARRAY_SAMPLES: readonly TypeSample[] = [
  { column: 'a_bool', type: 'boolean[]', iceberg: 'boolean', values: ['{}', '{t,NULL,f}', null] },
  { column: 'a_int2', type: 'smallint[]', iceberg: 'int', values: ['{-32768,32767,NULL}', '{}'] },
  { column: 'a_int4', type: 'integer[]', iceberg: 'int', values: ['{}', '{1,NULL,-3}', '[2:3]={5,6}', '{NULL}', `{${Array.from({ length: 5000 }, (_, i) => i * 7919).join(',')}}`, '{-2147483648,2147483647}', null] },
  { column: 'a_int8', type: 'bigint[]', iceberg: 'long', values: ['{9223372036854775807,-9223372036854775808,9007199254740993}', '{}', null] },
  { column: 'a_real', type: 'real[]', iceberg: 'float', values: ['{NaN,-0,0.1,NULL,-Infinity}', '{}'] },
  { column: 'a_double', type: 'double precision[]', iceberg: 'double', values: ['{NaN,5e-324,-0,Infinity}', '{0.1,NULL}', null] },
  { column: 'a_num', type: 'numeric(12,3)[]', iceberg: 'decimal(12, 3)', values: ['{1,-999999999.999,NULL}', '{}'] },
  { column: 'a_num_38', type: 'numeric(38,0)[]', iceberg: 'decimal(38, 0)', values: [`{${DECIMALS_38},-${DECIMALS_38},0}`, null] },
  { column: 'a_num_free', type: 'numeric[]', iceberg: 'string', values: ['{1.10,NaN,1e50}', '{}'] },
  { column: 'a_text', type: 'text[]', iceberg: 'string', values: ['{"a,b","\\"q\\"",NULL,"null","","😀\\\\"," spaced ","{}","line\nbreak\ttab"}', '{}', '{NULL}', '{plain}', `{"${'ä'.repeat(3000)}","${'0123456789'.repeat(40_000)}"}`, null] },
  { column: 'a_varchar', type: 'varchar(9)[]', iceberg: 'string', values: ['{abc,"d e"}', null] },
  { column: 'a_char', type: 'character(3)[]', iceberg: 'string', values: ['{a,abc}'] },
  { column: 'a_bytea', type: 'bytea[]', iceberg: 'binary', values: ['{"\\\\x00ff","\\\\x",NULL}', '{}', null] },
  { column: 'a_uuid', type: 'uuid[]', iceberg: 'uuid', values: ['{00112233-4455-6677-8899-aabbccddeeff,NULL,ffffffff-ffff-ffff-ffff-ffffffffffff}', '{}', null] },
  { column: 'a_date', type: 'date[]', iceberg: 'date', values: ['{1969-12-31,2024-02-29,NULL}', '{}'] },
  { column: 'a_timestamp', type: 'timestamp[]', iceberg: 'timestamp', values: ['{"1969-12-31 23:59:59.999999",NULL}', '{}'] },
  { column: 'a_timestamptz', type: 'timestamptz[]', iceberg: 'timestamptz', values: ['{"2024-01-01 05:30:00+05:30","2024-01-01 00:00:00.000001+00"}', '{}', null] },
  { column: 'a_enum', type: 'mood[]', iceberg: 'string', values: ['{sad,"","glücklich 🎉",NULL}', '{}'] },
  { column: 'a_jsonb', type: 'jsonb[]', iceberg: 'string', values: ['{"{\\"a\\": [1, \\"\\\\\\\\\\"]}",null}', '{}'] },
  { column: 'a_price', type: 'price[]', base: 'numeric(12,3)[]', iceberg: 'decimal(12, 3)', values: ['{1.5,NULL}', null] },
  { column: 'a_tags', type: 'tags', base: 'text[]', iceberg: 'string', values: ['{a,b}', '{}', null] },
  { column: 'a_interval', type: 'interval[]', iceberg: 'string', values: ['{"1 day 02:00:00",NULL}'] },
  { column: 'a_box', type: 'box[]', iceberg: 'string', values: ['{(1,1),(0,0);(2,2),(1,1)}', '{}', null] },
  { column: 'a_pair', type: 'pair[]', iceberg: 'string', values: ['{"(1,\\"x y\\")",NULL}', null] },
  { column: 'a_range', type: 'int4range[]', iceberg: 'string', values: ['{"[1,3)",empty}'] },
];

/** hstore, for runs that write it as a map. */
export const MAP_SAMPLES: readonly TypeSample[] = [
  { column: 'm_hstore', type: 'hstore', iceberg: 'map<string, string>', values: ['"a"=>"1", "b"=>NULL, "q\\""=>"😀"', '', '""=>"", "ä"=>"NULL", "z\\\\"=>"line\nbreak"', null] },
];

/** `time` in a table of its own: some engines refuse a table that has such a column. */
export const TIME_SAMPLES: readonly TypeSample[] = [
  { column: 'c_time', type: 'time', iceberg: 'time', values: ['00:00:00', '23:59:59.999999', '00:00:00.000001', '12:34:56', null] },
  { column: 'c_time3', type: 'time(3)', iceberg: 'time', values: ['23:59:59.9984', '00:00:00.0016'] },
];

/** One row per value of the column that has most, and one of NULLs: row n holds each column's value n modulo its number of values. */
export function sampleRows(samples: readonly TypeSample[]): (readonly (string | null)[])[] {
  const most = Math.max(...samples.map(({ values }) => values.length));
  return [...Array.from({ length: most }, (_, n) => samples.map(({ values }) => values[n % values.length]!)), samples.map(() => null)];
}

/** CREATE TABLE with a bigint key `id`, the samples' columns, and an integer `touched`. */
export function createSampleTable(table: string, samples: readonly TypeSample[]): string {
  return `CREATE TABLE ${table} (id bigint PRIMARY KEY, ${samples.map(({ column, type }) => `${column} ${type}`).join(', ')}, touched integer)`;
}

/** SQL for the value. */
export function sqlValue(value: string | null, type: string): string {
  return value === null ? 'NULL' : `${literal(value)}::${type}`;
}

export function insertSampleRow(table: string, id: number, samples: readonly TypeSample[], row: readonly (string | null)[]): string {
  return `INSERT INTO ${table} VALUES (${[String(id), ...row.map((value, i) => sqlValue(value, samples[i]!.type)), 'NULL'].join(', ')})`;
}

/** Sets every column of the row. */
export function updateSampleRow(table: string, id: number, samples: readonly TypeSample[], row: readonly (string | null)[]): string {
  return `UPDATE ${table} SET ${row.map((value, i) => `${samples[i]!.column} = ${sqlValue(value, samples[i]!.type)}`).join(', ')} WHERE id = ${id}`;
}

const literal = (text: string): string => `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
