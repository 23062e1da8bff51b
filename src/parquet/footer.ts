import { WalbergError } from '../errors/error.js';
import { childFields, isPrimitive } from '../iceberg/spec/schema.js';
import type { IcebergType, PrimitiveType } from '../iceberg/spec/types.js';
import { release } from './release.js';
import { BINARY, I16, I32, I64, LIST, readThrift, STRUCT, ThriftStruct, type ThriftValue, writeThrift } from './thrift.js';

/** Length of the magic bytes at each end, and of magic plus footer length at the end. */
const MAGIC = Buffer.from('PAR1', 'latin1');
const TAIL = 8;

/** Field ids of parquet.thrift (apache/parquet-format). */
const FILE = { schema: 2, rows: 3, rowGroups: 4, keyValues: 5 };
const ELEMENT = { convertedType: 6, fieldId: 9, logicalType: 10 };
const GROUP = { columns: 1, rows: 3, offset: 5, ordinal: 7 };
const CHUNK = { metadata: 3, offsetIndexOffset: 4, offsetIndexLength: 5, columnIndexOffset: 6, columnIndexLength: 7 };
const META = { compressedSize: 7, dataPage: 9, indexPage: 10, dictionaryPage: 11, statistics: 12 };
const LOGICAL_UUID = 14;

/** Column of the file: what the schema element needs beyond what parquet-wasm writes. */
export interface FooterColumn {
  readonly fieldId: number;
  readonly type: IcebergType;
}

export interface FinishedFile {
  readonly bytes: Uint8Array;
  readonly splitOffsets: readonly number[];
  /** Compressed bytes by field id, of columns in file order; for a nested type by the ids of its leaves. */
  readonly columnSizes: ReadonlyMap<number, number>;
}

/** A schema element of the file as it has to be; without an id, it is the repeated group inside a list or map. */
interface Element {
  readonly fieldId?: number;
  /** Absent for groups. */
  readonly type?: PrimitiveType;
}
interface Leaf {
  readonly fieldId: number;
  readonly type: PrimitiveType;
}

/** Schema elements of a column, depth first (Iceberg specification, Appendix A, "Parquet": three levels for lists and maps). */
function elementsOf({ fieldId, type }: FooterColumn): readonly Element[] {
  if (isPrimitive(type)) return [{ fieldId, type }];
  return [{ fieldId }, ...(type.type === 'struct' ? [] : [{}]), ...childFields(type).flatMap((child) => elementsOf({ fieldId: child.id, type: child.type }))];
}

/**
 * Collects Parquet files of one row group each and makes one file of them, so that no more than one row group has to be in
 * WebAssembly memory. Pages are moved as they are; the footer is written anew:
 *  - uuid columns get their annotation, which parquet-wasm has no way to ask for, and lose their statistics, which readers
 *    compare in different orders;
 *  - timestamp and time columns lose the legacy converted type, which would claim that they are adjusted to UTC;
 *  - the page index is left out: files are small, and its offsets would have to be rewritten.
 */
export class FooterBuilder {
  readonly #parts: Uint8Array[] = [MAGIC];
  readonly #groups: ThriftStruct[] = [];
  readonly #splitOffsets: number[] = [];
  readonly #columnSizes: Map<number, number>;
  readonly #elements: readonly Element[];
  /** What has a column chunk. */
  readonly #leaves: readonly Leaf[];
  #end = MAGIC.length;
  #rows = 0;
  #template: ThriftStruct | undefined;

  constructor(columns: readonly FooterColumn[]) {
    this.#elements = columns.flatMap(elementsOf);
    this.#leaves = this.#elements.flatMap(({ fieldId, type }) => (fieldId === undefined || type === undefined ? [] : [{ fieldId, type }]));
    this.#columnSizes = new Map(this.#leaves.map(({ fieldId }) => [fieldId, 0]));
  }

  /** Adds a file that parquet-wasm wrote; one without rows gives the schema alone. */
  add(file: Uint8Array): void {
    const footerLength = new DataView(file.buffer, file.byteOffset).getUint32(file.length - TAIL, true);
    const footer = readThrift(file.subarray(file.length - TAIL - footerLength, file.length - TAIL));
    this.#template ??= footer;
    for (const group of footer.structs(FILE.rowGroups)) {
      const chunks = group.structs(GROUP.columns).map((chunk) => chunk.struct(CHUNK.metadata) ?? broken('a column chunk has no metadata'));
      if (chunks.length !== this.#leaves.length) throw broken('the number of columns differs');
      const start = Math.min(...chunks.map(chunkStart));
      const end = Math.max(...chunks.map((chunk) => chunkStart(chunk) + chunk.int(META.compressedSize)));
      this.#groups.push(this.#moved(group, this.#end - start));
      this.#splitOffsets.push(this.#end);
      this.#leaves.forEach(({ fieldId }, i) => this.#columnSizes.set(fieldId, this.#columnSizes.get(fieldId)! + chunks[i].int(META.compressedSize)));
      this.#rows += group.int(GROUP.rows);
      this.#parts.push(file.subarray(start, end));
      this.#end += end - start;
    }
  }

  /** The whole file. `add` must have been called at least once; the added files are freed. */
  finish(keyValues: Readonly<Record<string, string>>): FinishedFile {
    if (this.#template === undefined) throw broken('it has no schema');
    const pairs = Object.entries(keyValues).map(([key, value]) => new ThriftStruct([{ id: 1, type: BINARY, value: Buffer.from(key, 'utf8') }, { id: 2, type: BINARY, value: Buffer.from(value, 'utf8') }]));
    const footer = writeThrift(
      this.#template.with([
        { id: FILE.schema, type: LIST, value: { elementType: STRUCT, items: this.#schema(this.#template) } },
        { id: FILE.rows, type: I64, value: BigInt(this.#rows) },
        { id: FILE.rowGroups, type: LIST, value: { elementType: STRUCT, items: this.#groups } },
        { id: FILE.keyValues, type: LIST, value: pairs.length === 0 ? undefined : { elementType: STRUCT, items: pairs } },
      ]),
    );
    const bytes = new Uint8Array(this.#end + footer.length + TAIL);
    let pos = 0;
    for (const part of [...this.#parts, footer]) {
      bytes.set(part, pos);
      pos += part.length;
    }
    release(...this.#parts.slice(1).map((part) => part.buffer));
    new DataView(bytes.buffer).setUint32(pos, footer.length, true);
    bytes.set(MAGIC, pos + 4);
    return { bytes, splitOffsets: this.#splitOffsets, columnSizes: this.#columnSizes };
  }

  #schema(footer: ThriftStruct): ThriftValue[] {
    const [root, ...elements] = footer.structs(FILE.schema);
    if (elements.length !== this.#elements.length) throw broken('the number of schema elements differs');
    return [root, ...elements.map((element, i) => {
      const { fieldId, type } = this.#elements[i];
      if (element.int(ELEMENT.fieldId) !== (fieldId ?? 0)) throw broken('a schema element has another field id');
      if (type === 'uuid') return element.with([{ id: ELEMENT.logicalType, type: STRUCT, value: new ThriftStruct([{ id: LOGICAL_UUID, type: STRUCT, value: new ThriftStruct([]) }]) }]);
      if (type === 'timestamp' || type === 'time') return element.with([{ id: ELEMENT.convertedType, type: I32, value: undefined }]);
      return element;
    })];
  }

  /** A row group whose pages lie `shift` bytes further on. */
  #moved(group: ThriftStruct, shift: number): ThriftStruct {
    const offset = (struct: ThriftStruct, id: number): { id: number; type: number; value: bigint | undefined } =>
      ({ id, type: I64, value: struct.get(id) === undefined ? undefined : BigInt(struct.int(id) + shift) });
    const columns = group.structs(GROUP.columns).map((chunk, i) => {
      const metadata = chunk.struct(CHUNK.metadata) ?? broken('a column chunk has no metadata');
      const moved = metadata.with([offset(metadata, META.dataPage), offset(metadata, META.indexPage), offset(metadata, META.dictionaryPage),
        ...(this.#leaves[i].type === 'uuid' ? [{ id: META.statistics, type: STRUCT, value: undefined }] : [])]);
      const removed = [CHUNK.offsetIndexOffset, CHUNK.offsetIndexLength, CHUNK.columnIndexOffset, CHUNK.columnIndexLength].map((id) => ({ id, type: I64, value: undefined }));
      return chunk.with([{ id: CHUNK.metadata, type: STRUCT, value: moved }, ...removed]);
    });
    return group.with([
      { id: GROUP.columns, type: LIST, value: { elementType: STRUCT, items: columns } },
      offset(group, GROUP.offset),
      { id: GROUP.ordinal, type: I16, value: BigInt(this.#groups.length) },
    ]);
  }
}

/** Where a column chunk's first page is. */
function chunkStart(chunk: ThriftStruct): number {
  return chunk.get(META.dictionaryPage) === undefined ? chunk.int(META.dataPage) : Math.min(chunk.int(META.dictionaryPage), chunk.int(META.dataPage));
}

function broken(what: string): never {
  throw new WalbergError('INTERNAL', `the Parquet library wrote a file in an unexpected form: ${what}`);
}
