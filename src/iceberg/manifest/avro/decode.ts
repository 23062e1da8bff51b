import { WalbergError } from '../../../errors/error.js';
import { integerFromBytes } from '../../spec/decimal-bytes.js';
import { childFields, isPrimitive } from '../../spec/schema.js';
import type { IcebergType, NestedField } from '../../spec/types.js';
import type { AvroCursor } from './cursor.js';
import { malformed } from './malformed.js';
import type { AvroNode } from './schema.js';

/** Reads one value. */
export type AvroDecoder = (cursor: AvroCursor) => unknown;

/** Type of a field whose value is wanted as its writer typed it: long always as bigint, int as number. */
export const AS_WRITTEN = 'as-written';

/**
 * A decoder for values of the writer's schema, resolved to an Iceberg type by field id (by name where the writer left the id
 * out). Fields that are not wanted are read over; wanted ones that the file does not have are undefined.
 *
 * Shapes as in `compileEncoder`. A `long` comes as number when exact, else as bigint; decimals as unscaled bigint.
 */
export function compileDecoder(node: AvroNode, wanted: IcebergType | undefined, what: string): AvroDecoder {
  if (node.kind === 'union') {
    const branches = node.branches.map((branch) => compileDecoder(branch, branch.kind === 'null' ? undefined : wanted, what));
    return (cursor) => {
      const index = cursor.size();
      if (index >= branches.length) throw malformed(what, 'a union names a branch that does not exist');
      return branches[index](cursor);
    };
  }
  const nested = wanted !== undefined && !isPrimitive(wanted) ? wanted : undefined;
  const holds = node.kind === 'record' ? 'struct' : node.kind === 'array' ? (nested?.type === 'map' ? 'map' : 'list') : 'primitive';
  if (wanted !== undefined && holds !== (nested?.type ?? 'primitive')) throw malformed(what, `its schema has a ${node.kind} where a ${typeof wanted === 'string' ? wanted : wanted.type} was expected`);

  switch (node.kind) {
    case 'record':
      return compileRecord(node, nested === undefined ? [] : childFields(nested), what);
    case 'array':
      if (nested?.type === 'map') return compileEntries(node.items, childFields(nested), what);
      return compileArray(compileDecoder(node.items, nested?.type === 'list' ? nested.element : undefined, what));
    case 'map': {
      const values = compileDecoder(node.values, undefined, what);
      return (cursor) => {
        cursor.blocks(() => {
          cursor.string();
          values(cursor);
        });
        return undefined;
      };
    }
    default:
      return compilePrimitive(node, wanted === 'long');
  }
}

function compileRecord(node: AvroNode & { kind: 'record' }, wanted: readonly NestedField[], what: string): AvroDecoder {
  const steps = node.fields.map((field) => {
    const slot = wanted.findIndex((candidate) => (field.id === undefined ? candidate.name === field.name : candidate.id === field.id));
    return { slot, decode: compileDecoder(field.node, slot < 0 ? undefined : wanted[slot].type, what) };
  });
  return (cursor) => {
    const values = new Array<unknown>(wanted.length).fill(undefined);
    for (const { slot, decode } of steps) {
      const value = decode(cursor);
      if (slot >= 0) values[slot] = value;
    }
    return values;
  };
}

function compileArray(item: AvroDecoder): AvroDecoder {
  return (cursor) => {
    const values: unknown[] = [];
    cursor.blocks(() => values.push(item(cursor)));
    return values;
  };
}

/** A map with keys other than strings: an array of records of key and value. */
function compileEntries(items: AvroNode, wanted: readonly NestedField[], what: string): AvroDecoder {
  if (items.kind !== 'record') throw malformed(what, 'its schema has a map that is no array of records');
  const entry = compileRecord(items, wanted, what);
  return (cursor) => {
    const values = new Map<unknown, unknown>();
    cursor.blocks(() => {
      const [key, value] = entry(cursor) as unknown[];
      values.set(key, value);
    });
    return values;
  };
}

function compilePrimitive(node: AvroNode, narrowLongs: boolean): AvroDecoder {
  switch (node.kind) {
    case 'null':
      return () => null;
    case 'boolean':
      return (cursor) => cursor.boolean();
    case 'int':
    case 'enum':
      return (cursor) => cursor.long();
    case 'long':
      return narrowLongs ? (cursor) => cursor.long() : (cursor) => BigInt(cursor.long());
    case 'float':
      return (cursor) => cursor.float();
    case 'double':
      return (cursor) => cursor.double();
    case 'string':
      return (cursor) => cursor.string();
    case 'bytes':
      return node.decimal ? (cursor) => integerFromBytes(cursor.bytes()) : (cursor) => cursor.bytes();
    case 'fixed': {
      const { size } = node;
      return node.decimal ? (cursor) => integerFromBytes(cursor.bytes(size)) : (cursor) => cursor.bytes(size);
    }
    default:
      throw new WalbergError('INTERNAL', `No decoder exists for the Avro type ${node.kind}.`);
  }
}
