import { malformed } from './malformed.js';

/** An Avro schema as read from a file's header, named types resolved (Avro specification, "Schema Declaration"). */
export type AvroNode =
  | { readonly kind: 'null' | 'boolean' | 'int' | 'long' | 'float' | 'double' | 'string' | 'enum' }
  | { readonly kind: 'bytes'; readonly decimal: boolean }
  | { readonly kind: 'fixed'; readonly size: number; readonly decimal: boolean }
  | { readonly kind: 'array'; readonly items: AvroNode }
  | { readonly kind: 'map'; readonly values: AvroNode }
  | { readonly kind: 'union'; readonly branches: readonly AvroNode[] }
  | { readonly kind: 'record'; readonly fields: readonly AvroField[] };

export interface AvroField {
  readonly name: string;
  /** Iceberg field id; undefined when the writer left it out. */
  readonly id: number | undefined;
  readonly node: AvroNode;
}

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Resolves a schema given as parsed JSON. Recursive types are refused; no Iceberg file has any. */
export function parseAvroSchema(schema: unknown, what: string): AvroNode {
  const named = new Map<string, AvroNode>();

  const fullName = (name: string, namespace: string): string => (name.includes('.') || namespace === '' ? name : `${namespace}.${name}`);

  const parse = (value: unknown, namespace: string): AvroNode => {
    if (Array.isArray(value)) return { kind: 'union', branches: value.map((branch) => parse(branch, namespace)) };
    if (typeof value === 'string') return primitive(value, false) ?? reference(value, namespace);
    if (!isObject(value)) throw malformed(what, 'its schema is not an Avro schema');
    const { type } = value;
    if (typeof type !== 'string') return parse(type, namespace);
    const decimal = value.logicalType === 'decimal';
    switch (type) {
      case 'array':
        return { kind: 'array', items: parse(value.items, namespace) };
      case 'map':
        return { kind: 'map', values: parse(value.values, namespace) };
      case 'record':
      case 'fixed':
      case 'enum':
        return declaration(type, value, decimal, namespace);
      default:
        return primitive(type, decimal) ?? reference(type, namespace);
    }
  };

  const declaration = (type: 'record' | 'fixed' | 'enum', value: Json, decimal: boolean, outer: string): AvroNode => {
    if (typeof value.name !== 'string') throw malformed(what, `its schema has a nameless ${type}`);
    const name = fullName(value.name, typeof value.namespace === 'string' ? value.namespace : outer);
    const namespace = name.slice(0, Math.max(0, name.lastIndexOf('.')));
    const node: AvroNode =
      type === 'enum' ? { kind: 'enum' } : type === 'fixed' ? { kind: 'fixed', size: size(value.size), decimal } : { kind: 'record', fields: fields(value.fields, namespace) };
    named.set(name, node);
    return node;
  };

  const size = (value: unknown): number => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) throw malformed(what, 'its schema has a fixed type without a size');
    return value;
  };

  const fields = (value: unknown, namespace: string): AvroField[] => {
    if (!Array.isArray(value)) throw malformed(what, 'its schema has a record without fields');
    return value.map((field: unknown) => {
      if (!isObject(field) || typeof field.name !== 'string') throw malformed(what, 'its schema has a field without a name');
      const id = field['field-id'];
      return { name: field.name, id: typeof id === 'number' ? id : undefined, node: parse(field.type, namespace) };
    });
  };

  const reference = (name: string, namespace: string): AvroNode => {
    const node = named.get(fullName(name, namespace)) ?? named.get(name);
    if (node === undefined) throw malformed(what, 'its schema refers to a type that is not declared before');
    return node;
  };

  return parse(schema, '');
}

function primitive(type: string, decimal: boolean): AvroNode | undefined {
  switch (type) {
    case 'null':
    case 'boolean':
    case 'int':
    case 'long':
    case 'float':
    case 'double':
    case 'string':
      return { kind: type };
    case 'bytes':
      return { kind: type, decimal };
    default:
      return undefined;
  }
}
