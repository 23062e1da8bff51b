import { WalbergError } from '../../../errors/error.js';
import { decimalRequiredBytes, isPrimitive, parseDecimal, parseFixed } from '../../spec/schema.js';
import type { IcebergType, NestedField, StructType } from '../../spec/types.js';

/** An Avro schema as JSON. */
export type AvroSchemaJson = string | readonly AvroSchemaJson[] | { readonly [key: string]: unknown };

/**
 * The Avro schema of an Iceberg struct (spec Appendix A, "Avro"), named as Java's writer names it: nested structs `r<id>`, maps
 * with other than string keys as arrays of records `k<key id>_v<value id>`. Optional fields are unions with null first and
 * default null; required ones are never unions. Field ids are on every record field, element ids on arrays.
 */
export function toAvroSchema(struct: StructType, name: string): AvroSchemaJson {
  // A second declaration of a name is an error in Avro, and a reference to the first is unknown to PyIceberg (0.12): later ones
  // get names of their own.
  const declared = new Set<string>();

  const record = (type: StructType, recordName: string): AvroSchemaJson => {
    const names = new Set<string>();
    return {
      type: 'record',
      name: recordName,
      fields: type.fields.map((field) => {
        let avroName = avroFieldName(field.name);
        if (names.has(avroName)) avroName = `${avroName}_${field.id}`;
        names.add(avroName);
        return avroField(field, avroName);
      }),
    };
  };

  const avroField = (field: NestedField, avroName: string): AvroSchemaJson => {
    const type = convert(field.type, field.id);
    return {
      name: avroName,
      ...(field.required ? { type } : { type: ['null', type], default: null }),
      ...(avroName === field.name ? {} : { 'iceberg-field-name': field.name }),
      'field-id': field.id,
    };
  };

  const convert = (type: IcebergType, id: number): AvroSchemaJson => {
    if (isPrimitive(type)) {
      return primitive(type, (fixedName, size, logical) => {
        const free = declared.has(fixedName) ? `${fixedName}_${id}` : fixedName;
        declared.add(free);
        return { type: 'fixed', name: free, size, ...logical };
      });
    }
    const optional = (inner: AvroSchemaJson, required: boolean): AvroSchemaJson => (required ? inner : ['null', inner]);
    switch (type.type) {
      case 'struct':
        return record(type, `r${id}`);
      case 'list':
        return { type: 'array', items: optional(convert(type.element, type['element-id']), type['element-required']), 'element-id': type['element-id'] };
      case 'map':
        return {
          type: 'array',
          items: record(
            {
              type: 'struct',
              fields: [
                { id: type['key-id'], name: 'key', required: true, type: type.key },
                { id: type['value-id'], name: 'value', required: type['value-required'], type: type.value },
              ],
            },
            `k${type['key-id']}_v${type['value-id']}`,
          ),
          logicalType: 'map',
        };
    }
  };

  return record(struct, name);
}

function primitive(type: string, declareFixed: (name: string, size: number, logical?: Record<string, unknown>) => AvroSchemaJson): AvroSchemaJson {
  switch (type) {
    case 'boolean':
    case 'int':
    case 'long':
    case 'float':
    case 'double':
    case 'string':
      return type;
    case 'binary':
      return 'bytes';
    case 'date':
      return { type: 'int', logicalType: 'date' };
    case 'time':
      return { type: 'long', logicalType: 'time-micros' };
    case 'timestamp':
    case 'timestamptz':
      return { type: 'long', logicalType: 'timestamp-micros', 'adjust-to-utc': type === 'timestamptz' };
    case 'uuid':
      return declareFixed('uuid_fixed', 16, { logicalType: 'uuid' });
  }
  const decimal = parseDecimal(type);
  if (decimal !== undefined) {
    const { precision, scale } = decimal;
    return declareFixed(`decimal_${precision}_${scale}`, decimalRequiredBytes(precision), { logicalType: 'decimal', precision, scale });
  }
  const size = parseFixed(type);
  if (size !== undefined) return declareFixed(`fixed_${size}`, size);
  throw new WalbergError('FORMAT_UNSUPPORTED', `The type "${type}" has no form in Avro.`, { context: { type } });
}

/** A name made valid for Avro ([A-Za-z_][A-Za-z0-9_]*): other characters become `_x<hex>`, a leading digit gets an underscore. */
export function avroFieldName(name: string): string {
  const escaped = name.replace(/[^A-Za-z0-9_]/g, (character) => `_x${character.charCodeAt(0).toString(16).toUpperCase()}`);
  return /^[0-9]/.test(escaped) ? `_${escaped}` : escaped;
}
