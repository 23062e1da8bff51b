import { isPrimitive, parseDecimal } from '../iceberg/spec/schema.js';
import type { IcebergType } from '../iceberg/spec/types.js';
import type { Codec } from './codec.js';

/**
 * The codec that writes values of `codec` into a column of another Iceberg type; undefined when that type cannot hold every
 * value of the source. `exact` (for keys) admits only types that compare values as the planned type does. Otherwise text
 * holds anything that has one form: times in ISO-8601 as other writers leave them, the rest as Postgres shows it.
 * A list may differ in the type of its elements, which have to be optional.
 */
export function storedAs(codec: Codec, type: IcebergType, exact: boolean): Codec | undefined {
  if (!isPrimitive(type)) {
    if (exact || codec.kind !== 'list' || type.type !== 'list' || type['element-required']) return undefined;
    const element = storedAs(codec.element, type.element, false);
    return element === undefined ? undefined : { ...codec, element };
  }
  if (codec.kind === 'int' && type === 'long') return { kind: 'long' };
  const target = codec.kind === 'decimal' ? parseDecimal(type) : undefined;
  if (codec.kind === 'decimal' && target !== undefined) {
    const holds = target.scale >= codec.scale && target.precision - target.scale >= codec.precision - codec.scale;
    return holds ? { ...codec, ...target } : undefined;
  }
  if (exact) return undefined;
  // read as a float and widened, as values from before a promotion are
  if (codec.kind === 'float' && type === 'double') return codec;
  if (type !== 'string') return undefined;
  switch (codec.kind) {
    case 'date': case 'time': case 'timestamp': case 'timestamptz': return { kind: 'iso-string', of: codec.kind };
    case 'int': case 'long': case 'decimal': case 'uuid': case 'list': case 'hstore': return { kind: 'string' };
    // boolean, floating-point and binary values have no single text form
    default: return undefined;
  }
}
