import { WalbergError } from '../../errors/error.js';
import type { IcebergType, NestedField, PrimitiveType, Schema, StructType } from './types.js';

/** Field ids above this are reserved for metadata columns (spec "Reserved Field IDs"). */
export const MAX_FIELD_ID = 2147483447;

const PLAIN = new Set(['boolean', 'int', 'long', 'float', 'double', 'date', 'time', 'timestamp', 'timestamptz', 'string', 'uuid', 'binary']);

/** True for a type without nested fields. */
export function isPrimitive(type: IcebergType): type is PrimitiveType {
  return typeof type === 'string';
}

/** A type as people write it: `int`, `list<int>`, `map<string, long>`; the members of a struct are left out. */
export function typeText(type: IcebergType): string {
  if (isPrimitive(type)) return type;
  switch (type.type) {
    case 'struct': return 'struct';
    case 'list': return `list<${typeText(type.element)}>`;
    case 'map': return `map<${typeText(type.key)}, ${typeText(type.value)}>`;
  }
}

/** Precision and scale of `decimal(P, S)` (the space is optional when reading), or undefined for any other type. */
export function parseDecimal(type: IcebergType): { precision: number; scale: number } | undefined {
  const match = isPrimitive(type) ? /^decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)$/.exec(type) : null;
  return match === null ? undefined : { precision: Number(match[1]), scale: Number(match[2]) };
}

/** Length in bytes of `fixed[L]`, or undefined for any other type. */
export function parseFixed(type: IcebergType): number | undefined {
  const match = isPrimitive(type) ? /^fixed\[\s*(\d+)\s*\]$/.exec(type) : null;
  return match === null ? undefined : Number(match[1]);
}

/** The decimal type as the specification writes it, with the space that strict readers insist on. */
export function decimalType(precision: number, scale: number): PrimitiveType {
  return `decimal(${precision}, ${scale})`;
}

/** Least bytes of a two's-complement integer that holds every unscaled value of `precision` digits (9 for 20, 16 for 38). */
export function decimalRequiredBytes(precision: number): number {
  const largest = 10n ** BigInt(precision) - 1n;
  let bytes = 1;
  while (largest > (1n << BigInt(8 * bytes - 1)) - 1n) bytes++;
  return bytes;
}

/** The named or unnamed fields directly within a type: struct members, the element of a list, key and value of a map. */
export function childFields(type: IcebergType): readonly NestedField[] {
  if (isPrimitive(type)) return [];
  switch (type.type) {
    case 'struct':
      return type.fields;
    case 'list':
      return [{ id: type['element-id'], name: 'element', required: type['element-required'], type: type.element }];
    case 'map':
      return [
        { id: type['key-id'], name: 'key', required: true, type: type.key },
        { id: type['value-id'], name: 'value', required: type['value-required'], type: type.value },
      ];
  }
}

/** Every field at every depth, parents before children. */
export function* allFields(type: IcebergType): Generator<NestedField> {
  for (const field of childFields(type)) {
    yield field;
    yield* allFields(field.type);
  }
}

/** The field of that id at any depth. */
export function findFieldById(schema: StructType, id: number): NestedField | undefined {
  for (const field of allFields(schema)) if (field.id === id) return field;
  return undefined;
}

/** The top-level field of that exact name. */
export function findFieldByName(schema: StructType, name: string): NestedField | undefined {
  return schema.fields.find((field) => field.name === name);
}

/** The largest field id at any depth, 0 for a schema without fields. `last-column-id` must never be below it. */
export function highestFieldId(type: IcebergType): number {
  let highest = 0;
  for (const field of allFields(type)) highest = Math.max(highest, field.id);
  return highest;
}

/** True for a primitive type of format version 2. */
export function isKnownPrimitive(type: PrimitiveType): boolean {
  if (PLAIN.has(type)) return true;
  const decimal = parseDecimal(type);
  if (decimal !== undefined) return decimal.precision >= 1 && decimal.precision <= 38 && decimal.scale <= decimal.precision;
  const fixed = parseFixed(type);
  return fixed !== undefined && fixed > 0;
}

/**
 * Checks what the specification asks of a schema: unique ids in range, unique names within a struct, known types of format
 * version 2, and identifier fields that are required, primitive, not floating-point and in no list, map or optional struct.
 *
 * @throws TABLE_INCOMPATIBLE naming the first field that is wrong
 */
export function validateSchema(schema: Schema): void {
  const problem = (field: NestedField, what: string): WalbergError =>
    new WalbergError('TABLE_INCOMPATIBLE', `Field "${field.name}" (id ${field.id}) of the Iceberg schema ${what}.`, { context: { fieldId: field.id, field: field.name } });

  const ids = new Set<number>();
  const identifiers = new Set(schema['identifier-field-ids'] ?? []);
  const visit = (type: IcebergType, mayIdentify: boolean): void => {
    const names = new Set<string>();
    for (const field of childFields(type)) {
      if (!Number.isInteger(field.id) || field.id < 0 || field.id > MAX_FIELD_ID) throw problem(field, `has an id outside 0..${MAX_FIELD_ID}`);
      if (ids.has(field.id)) throw problem(field, 'repeats the id of another field');
      if (field.name === '') throw problem(field, 'has an empty name');
      if (names.has(field.name)) throw problem(field, 'repeats the name of a field beside it');
      ids.add(field.id);
      names.add(field.name);
      if (isPrimitive(field.type) && !isKnownPrimitive(field.type)) throw problem(field, `has the type "${field.type}", which format version 2 does not know`);
      if (identifiers.delete(field.id)) {
        if (!mayIdentify || !field.required) throw problem(field, 'is an identifier field but can be null or repeated');
        if (!isPrimitive(field.type) || field.type === 'float' || field.type === 'double') throw problem(field, 'is an identifier field of a type that cannot identify a row');
      }
      visit(field.type, mayIdentify && field.required && !isPrimitive(field.type) && field.type.type === 'struct');
    }
  };
  visit(schema, true);
  if (identifiers.size > 0) {
    throw new WalbergError('TABLE_INCOMPATIBLE', `The Iceberg schema names identifier field ids that do not exist: ${[...identifiers].join(', ')}.`);
  }
}
