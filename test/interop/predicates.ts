/** Engines by the name of their reader; each has its own way to write a value. */
export type Engine = 'spark' | 'duckdb' | 'pyiceberg' | 'clickhouse';

/** Longer values are not written into a query. */
const LONGEST_LITERAL = 400;
const NAN = '7ff8000000000000';
/** ClickHouse makes dates of constants from 1900 to 2299 alone. */
const CLICKHOUSE_DAYS = [-25_567, 120_529] as const;

/**
 * DuckDB's `= 'NaN'` passes over files whose bounds do not reach NaN, though bounds never do; it treats tables of PyIceberg in the same way.
 * ClickHouse's NaN equals nothing.
 */
const IS_NAN: Readonly<Record<Engine, (column: string) => string>> = { spark: (c) => `${c} = double('NaN')`, duckdb: (c) => `isnan(${c})`, pyiceberg: (c) => `${c} is nan`, clickhouse: (c) => `isNaN(${c})` };

/**
 * A condition that holds for the rows whose value is the given canonical text, as equality and as a pair of bounds, which engines
 * compare with a file's bounds in different ways. Undefined when the engine's SQL has no way to say it.
 */
export function conditionOn(engine: Engine, column: string, type: string, text: string | null): string | undefined {
  if (text === null) return `${column} is null`;
  if ((type === 'float' || type === 'double') && text === NAN) return IS_NAN[engine](column);
  const value = text.length > LONGEST_LITERAL ? undefined : literal(engine, type, text);
  if (value === undefined) return undefined;
  const equal = `${column} = ${value}`;
  return type === 'boolean' || type === 'uuid' ? equal : `${equal} and ${column} >= ${value} and ${column} <= ${value}`;
}

/** Whether the engines take the two texts for the same value: zeros of both signs are equal. */
export function sameValue(type: string, a: string | null, b: string | null): boolean {
  if (a === b) return true;
  return (type === 'float' || type === 'double') && [a, b].every((text) => text === '0000000000000000' || text === '8000000000000000');
}

function literal(engine: Engine, type: string, text: string): string | undefined {
  if (type.startsWith('decimal')) return decimal(engine, type, text);
  switch (type) {
    case 'boolean': return text;
    case 'int': return text;
    case 'long': return engine === 'spark' ? `${text}L` : text;
    case 'float': case 'double': return floating(engine, type, text);
    case 'string': return string(engine, text);
    case 'uuid': return { spark: `'${text}'`, pyiceberg: `'${text}'`, duckdb: `'${text}'::UUID`, clickhouse: `toUUID('${text}')` }[engine];
    case 'binary': return { spark: `X'${text}'`, pyiceberg: undefined, duckdb: `unhex('${text}')`, clickhouse: `unhex('${text}')` }[engine];
    case 'date': return day(engine, text);
    case 'time': return { spark: undefined, clickhouse: undefined, pyiceberg: `'${clock(BigInt(text))}'`, duckdb: `TIME '${clock(BigInt(text))}'` }[engine];
    case 'timestamp': return { spark: `cast(timestamp_micros(${text}L) as timestamp_ntz)`, duckdb: `make_timestamp(${text})`, pyiceberg: `'${isoTime(BigInt(text))}'`, clickhouse: `fromUnixTimestamp64Micro(${text}, 'UTC')` }[engine];
    case 'timestamptz': return { spark: `timestamp_micros(${text}L)`, duckdb: `make_timestamptz(${text})`, pyiceberg: `'${isoTime(BigInt(text))}+00:00'`, clickhouse: `fromUnixTimestamp64Micro(${text}, 'UTC')` }[engine];
    default: throw new Error(`no literal for ${type}`);
  }
}

function decimal(engine: Engine, type: string, text: string): string {
  const [precision, scale] = /\d+, \d+/.exec(type)![0].split(', ');
  return { spark: `cast('${text}' as decimal(${precision}, ${scale}))`, duckdb: `'${text}'::DECIMAL(${precision}, ${scale})`, pyiceberg: `'${text}'`, clickhouse: `toDecimal128('${text}', ${scale})` }[engine];
}

/** From the bits of a double, which are those of a widened float for `float`. */
function floating(engine: Engine, type: 'float' | 'double', bits: string): string | undefined {
  const number = Buffer.from(bits, 'hex').readDoubleBE();
  const text = Object.is(number, -0) ? '-0.0' : String(number);
  switch (engine) {
    case 'spark': return `cast('${text}' as ${type})`;
    case 'duckdb': return `'${text}'::${type}`;
    // It takes infinity for a number beyond the range of float, which no row can have.
    case 'pyiceberg': return type === 'float' && !Number.isFinite(number) ? undefined : `'${text}'`;
    case 'clickhouse': return `reinterpretAsFloat${type === 'double' ? `64(reinterpretAsUInt64(reverse(unhex('${bits}'))))` : `32(reinterpretAsUInt32(reverse(unhex('${single(number)}'))))`}`;
  }
}

function single(number: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatBE(number);
  return bytes.toString('hex');
}

function string(engine: Engine, text: string): string | undefined {
  switch (engine) {
    // Its filters know no escapes.
    case 'pyiceberg': return /['"\\\p{Cc}]/u.test(text) || text.trim() !== text || text === '' ? undefined : `'${text}'`;
    case 'duckdb': return `'${text.replaceAll("'", "''")}'`;
    case 'spark': case 'clickhouse': return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  }
}

function day(engine: Engine, text: string): string | undefined {
  const iso = isoTime(BigInt(text) * 86_400_000_000n).slice(0, 10);
  switch (engine) {
    case 'spark': return `date_from_unix_date(${text})`;
    case 'duckdb': return `DATE '${iso}'`;
    case 'pyiceberg': return `'${iso}'`;
    case 'clickhouse': return Number(text) >= CLICKHOUSE_DAYS[0] && Number(text) <= CLICKHOUSE_DAYS[1] ? `toDate32('${iso}')` : undefined;
  }
}

/** Proleptic Gregorian, years 1 to 9999. */
function isoTime(micros: bigint): string {
  const millis = micros / 1000n - (micros % 1000n < 0n ? 1n : 0n);
  return new Date(Number(millis)).toISOString().replace('Z', String(micros - millis * 1000n).padStart(3, '0'));
}

const clock = (micros: bigint): string => isoTime(micros).slice(11);
