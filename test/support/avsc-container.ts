import { once } from 'node:events';
import avsc from 'avsc';

/**
 * Avro container files through `avsc`, which shares no code with Walberg's own reader and writer. Longs are bigints.
 */

const longType = avsc.types.LongType.__with({
  fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const buffer = Buffer.alloc(8);
    buffer.writeBigInt64LE(value);
    return buffer;
  },
  fromJSON: (value: number) => BigInt(value),
  toJSON: Number,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (a: bigint, b: bigint) => (a < b ? -1 : Number(a > b)),
});

/** The registry serves plain "long"; a long with attributes of its own is an object and passes by the registry. */
const typeOf = (schema: avsc.Schema): avsc.Type =>
  avsc.Type.forSchema(schema, {
    registry: { long: longType },
    typeHook: (part) => (typeof part === 'object' && (part as { type?: unknown }).type === 'long' ? longType : undefined),
    wrapUnions: 'never',
  });

export interface AvscFile {
  readonly codec: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The writer's schema as JSON, with all attributes. */
  readonly schema: AvscRecord;
  readonly records: readonly Record<string, unknown>[];
}

/** The shape of the schemas in question, as far as tests walk them. */
export type AvscSchema = string | readonly AvscSchema[] | AvscRecord;
export interface AvscRecord {
  readonly type: AvscSchema;
  readonly name: string;
  readonly fields: readonly (AvscRecord & { default?: unknown })[];
  readonly items: AvscSchema;
  readonly [attribute: string]: unknown;
}

/** Record instances and Buffers turned into plain objects and Uint8Arrays. */
function plain(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return new Uint8Array(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null) return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
  return value;
}

/** avsc takes bytes as Buffers only. */
function withBuffers(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value);
  if (Array.isArray(value)) return value.map(withBuffers);
  if (typeof value === 'object' && value !== null) return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withBuffers(member)]));
  return value;
}

export async function readWithAvsc(bytes: Uint8Array): Promise<AvscFile> {
  const decoder = new avsc.streams.BlockDecoder({ parseHook: typeOf });
  let header: { codec: string; meta: Record<string, Buffer> } | undefined;
  decoder.on('metadata', (_type: unknown, codec: string, raw: { meta: Record<string, Buffer> }) => (header = { codec, meta: raw.meta }));
  const records: Record<string, unknown>[] = [];
  decoder.on('data', (record: unknown) => records.push(plain(record) as Record<string, unknown>));
  const ended = once(decoder, 'end');
  decoder.end(Buffer.from(bytes));
  await ended;
  if (header === undefined) throw new Error('no header');
  const metadata = Object.fromEntries(Object.entries(header.meta).map(([key, value]) => [key, value.toString()]));
  return { codec: header.codec, metadata, schema: JSON.parse(metadata['avro.schema']) as AvscRecord, records };
}

export async function writeWithAvsc(
  schema: object,
  records: readonly object[],
  options: { metadata?: Readonly<Record<string, string>>; codec?: string; codecs?: Record<string, (data: Buffer, done: (error: Error | null, data?: Buffer) => void) => void>; blockSize?: number } = {},
): Promise<Uint8Array> {
  // Header keys of Avro's own would win over the encoder's.
  const metadata = Object.fromEntries(Object.entries(options.metadata ?? {}).filter(([key]) => !key.startsWith('avro.')).map(([key, value]) => [key, Buffer.from(value)]));
  const encoder = new avsc.streams.BlockEncoder(typeOf(schema as avsc.Schema), { ...options, metadata, writeHeader: 'auto' } as object);
  // Given a type, the encoder writes a schema without custom attributes into the header; given a schema, it has no bigints.
  // And it writes no header at all as long as there is no record.
  const inner = encoder as unknown as { _schema: object; _needHeader: boolean; _writeHeader(): void };
  inner._schema = schema;
  inner._writeHeader();
  inner._needHeader = false;
  const chunks: Buffer[] = [];
  encoder.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = once(encoder, 'end');
  for (const record of records) encoder.write(withBuffers(record));
  encoder.end();
  await ended;
  return new Uint8Array(Buffer.concat(chunks));
}
