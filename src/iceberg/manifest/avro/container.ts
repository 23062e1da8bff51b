import { randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { parseJson, printJson } from '../../spec/json.js';
import type { StructType } from '../../spec/types.js';
import { AvroCursor } from './cursor.js';
import { compileDecoder } from './decode.js';
import { compileEncoder } from './encode.js';
import { decompressBlock } from './compression.js';
import { toAvroSchema } from './iceberg-schema.js';
import { malformed } from './malformed.js';
import { parseAvroSchema, type AvroNode } from './schema.js';
import { AvroSink } from './sink.js';

const MAGIC = Uint8Array.of(0x4f, 0x62, 0x6a, 1);
const SYNC_LENGTH = 16;
/** Uncompressed bytes after which a block is closed, as Avro's own default. */
const BLOCK_BYTES = 64_000;

export type AvroCodec = 'deflate' | 'null';

/**
 * Writes an Avro object container file (Avro specification, "Object Container Files") whose records are given in the shapes of
 * `compileEncoder`.
 *
 * @param recordName name of the top record; readers look for `manifest_entry` and `manifest_file`
 * @param metadata header key-values beside Avro's own
 */
export function writeContainer(o: {
  readonly struct: StructType;
  readonly recordName: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly records: Iterable<readonly unknown[]>;
  readonly codec?: AvroCodec;
}): Uint8Array {
  const codec = o.codec ?? 'deflate';
  const encode = compileEncoder(o.struct, true, o.recordName);
  const sync = randomBytes(SYNC_LENGTH);
  const file = new AvroSink(BLOCK_BYTES);
  file.fixed(MAGIC);
  const header = Object.entries({ ...o.metadata, 'avro.schema': printJson(toAvroSchema(o.struct, o.recordName)), 'avro.codec': codec });
  file.long(header.length);
  for (const [key, value] of header) {
    file.string(key);
    file.string(value);
  }
  file.long(0);
  file.fixed(sync);

  const block = new AvroSink(BLOCK_BYTES + 4096);
  let count = 0;
  const close = (): void => {
    if (count === 0) return;
    file.long(count);
    file.bytes(codec === 'deflate' ? deflateRawSync(block.view()) : block.view());
    file.fixed(sync);
    block.clear();
    count = 0;
  };
  for (const record of o.records) {
    encode(block, record);
    count++;
    if (block.length >= BLOCK_BYTES) close();
  }
  close();
  return new Uint8Array(file.view());
}

/** An opened Avro object container file. */
export interface Container {
  /** Header key-values as text. */
  readonly metadata: ReadonlyMap<string, string>;
  /** The writer's schema of the top record. */
  readonly schema: AvroNode;
  /** Reads all records, once, resolved to the wanted struct; shapes as in `compileDecoder`. */
  records(wanted: StructType): Generator<readonly unknown[]>;
}

/**
 * Opens an Avro file of any writer.
 *
 * @param what names the file in errors, e.g. `manifest s3://…`
 * @throws FILE_MALFORMED, FORMAT_UNSUPPORTED (codec)
 */
export function openContainer(bytes: Uint8Array, what: string): Container {
  const cursor = new AvroCursor(bytes, what);
  if (cursor.remaining < MAGIC.length || !cursor.view(MAGIC.length).equals(MAGIC)) throw malformed(what, 'it is not an Avro file');
  const metadata = new Map<string, string>();
  cursor.blocks(() => {
    const key = cursor.string();
    metadata.set(key, cursor.string());
  });
  const sync = cursor.view(SYNC_LENGTH);
  const schema = parseAvroSchema(parseJson(metadata.get('avro.schema') ?? '', `schema of the ${what}`), what);
  const codec = metadata.get('avro.codec') ?? 'null';

  return {
    metadata,
    schema,
    *records(wanted) {
      const decode = compileDecoder(schema, wanted, what);
      while (cursor.remaining > 0) {
        const count = cursor.size();
        const data = new AvroCursor(decompressBlock(codec, cursor.view(cursor.size()), what), what);
        if (!cursor.view(SYNC_LENGTH).equals(sync)) throw malformed(what, 'a block does not end where it should');
        for (let i = 0; i < count; i++) {
          if (data.remaining === 0) throw malformed(what, 'a block has fewer records than it says');
          yield decode(data) as readonly unknown[];
        }
        if (data.remaining > 0) throw malformed(what, 'a block has more data than records');
      }
    },
  };
}
