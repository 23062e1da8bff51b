/** Requests of the Parquet encoder from plain rows, and files read back by a decoder that shares no code with it. */
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import type { IcebergType, ListType } from '../../src/iceberg/spec/types.js';
import type { EncodeColumn, EncodedFile, EncodeRequest } from '../../src/parquet/encode-types.js';
import type { Codec, SpecialPolicy } from '../../src/schema/codec.js';
import { tuple, type TupleValue, UNCHANGED } from './pgoutput-bytes.js';

export type Row = readonly TupleValue[];

/** A column of a test file: Iceberg type and codec. */
export interface TestColumn {
  readonly type: IcebergType;
  readonly codec: Codec;
  readonly required?: boolean;
}

export const PLAIN = { keyValues: {}, compression: { codec: 'zstd' }, rowGroupRows: 1_000_000, tableName: 'public.t' } as const;

/** The codec a Postgres type has for an Iceberg type. */
export function codecOf(type: string, special: SpecialPolicy = 'fail'): Codec {
  const decimal = /^decimal\((\d+), ?(\d+)\)$/.exec(type);
  if (decimal !== null) return { kind: 'decimal', precision: Number(decimal[1]), scale: Number(decimal[2]), special };
  if (type.startsWith('fixed')) return { kind: 'binary' };
  switch (type) {
    case 'date':
    case 'time':
    case 'timestamp':
    case 'timestamptz': return { kind: type, special };
    case 'boolean':
    case 'int':
    case 'long':
    case 'float':
    case 'double':
    case 'string':
    case 'binary':
    case 'uuid': return { kind: type };
    default: throw new Error(`no codec for ${type}`);
  }
}

/** An optional list of optional elements of a type, as a column of a test file. */
export function listColumn(type: string, elementId: number, special: SpecialPolicy = 'fail', delimiter = ','): TestColumn & { readonly type: ListType } {
  return { type: { type: 'list', 'element-id': elementId, element: type, 'element-required': false }, codec: { kind: 'list', element: codecOf(type, special), delimiter, special } };
}

/** Columns c0, c1, … with field ids 1, 2, … from the tuple's columns in order. */
export function fileColumns(columns: readonly TestColumn[]): EncodeColumn[] {
  return columns.map(({ type, codec, required }, ordinal) => ({ fieldId: ordinal + 1, name: `c${ordinal}`, type, required: required ?? false, source: { from: 'tuple', ordinal, codec } }));
}

function arenaOf(rows: readonly Buffer[]): { arena: Uint8Array; rowOffsets: Int32Array } {
  const rowOffsets = new Int32Array(rows.length);
  let at = 0;
  rows.forEach((bytes, i) => {
    rowOffsets[i] = at;
    at += bytes.length;
  });
  return { arena: Uint8Array.from(Buffer.concat(rows)), rowOffsets };
}

export function tupleRequest(columns: readonly TestColumn[], rows: readonly Row[], extra: Partial<EncodeRequest> = {}): EncodeRequest {
  return { ...PLAIN, columns: fileColumns(columns), format: 'tuple', sourceColumnNames: columns.map((_, i) => `c${i}`), ...arenaOf(rows.map(tuple)), ...extra };
}

/** COPY escapes of one value as the server writes them. */
function copyValue(value: TupleValue): Buffer {
  if (value === null || value === UNCHANGED) return Buffer.from('\\N');
  const text = typeof value === 'string' ? value : Buffer.from(value).toString('latin1');
  const escaped = text.replace(/[\\\b\f\n\r\t\v]/g, (c) => ({ '\\': '\\\\', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v' })[c] ?? c);
  return Buffer.from(escaped, typeof value === 'string' ? 'utf8' : 'latin1');
}

export function copyRequest(columns: readonly TestColumn[], rows: readonly Row[], extra: Partial<EncodeRequest> = {}): EncodeRequest {
  const lines = rows.map((row) => Buffer.concat(row.flatMap((value, i) => [copyValue(value), Buffer.from(i === row.length - 1 ? '\n' : '\t')])));
  return { ...PLAIN, columns: fileColumns(columns), format: 'copy', sourceColumnNames: columns.map((_, i) => `c${i}`), ...arenaOf(lines), ...extra };
}

export type Footer = ReturnType<typeof parquetMetadata>;

export function arrayBufferOf(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer;
}

export function footerOf(file: Pick<EncodedFile, 'bytes'>): Footer {
  return parquetMetadata(arrayBufferOf(file.bytes));
}

// TextDecoder would drop a byte order mark, which belongs to the value.
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

/** Physical values, so that nothing is rounded on the way: strings as text, everything else as Parquet stores it. null for NULL. */
export async function physicalRows(file: Pick<EncodedFile, 'bytes'>): Promise<unknown[][]> {
  const buffer = arrayBufferOf(file.bytes);
  const metadata = parquetMetadata(buffer);
  const names = topLevelNames(metadata.schema);
  for (const element of metadata.schema) {
    if (element.logical_type?.type === 'STRING' || element.num_children !== undefined) continue;
    element.logical_type = undefined;
    element.converted_type = undefined;
  }
  const rows = await parquetReadObjects({ file: buffer, metadata, compressors, utf8: false, parsers: { stringFromBytes: textOf } });
  return rows.map((row) => names.map((name) => (row[name] === undefined ? null : row[name]) as unknown));
}

function topLevelNames(schema: Footer['schema']): string[] {
  const names: string[] = [];
  const skip = (at: number): number => {
    let next = at + 1;
    for (let child = 0; child < (schema[at].num_children ?? 0); child++) next = skip(next);
    return next;
  };
  for (let at = 1; at < schema.length; at = skip(at)) names.push(schema[at].name);
  return names;
}

/** Physical values of the only column. */
export async function physicalColumn(file: Pick<EncodedFile, 'bytes'>): Promise<unknown[]> {
  return (await physicalRows(file)).map((row) => row[0]);
}

/** A big-endian two's complement integer, as Parquet stores decimals of more than 18 digits. */
export function bigEndian(value: unknown): bigint {
  if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value);
  if (!(value instanceof Uint8Array)) throw new Error('no decimal');
  return BigInt.asIntN(8 * value.length, BigInt(`0x${Buffer.from(value).toString('hex')}`));
}
