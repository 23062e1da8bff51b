/**
 * Thrift compact protocol as a tree of plain values (thrift-compact-protocol.md of Apache Thrift): enough to read a Parquet
 * footer, change some fields and write it again with everything else as it was. Fields keep their order; doubles stay bytes.
 */
export const BOOLEAN_TRUE = 1;
export const BOOLEAN_FALSE = 2;
export const BYTE = 3;
export const I16 = 4;
export const I32 = 5;
export const I64 = 6;
export const DOUBLE = 7;
export const BINARY = 8;
export const LIST = 9;
export const STRUCT = 12;

export interface ThriftField {
  readonly id: number;
  readonly type: number;
  readonly value: ThriftValue;
}
export interface ThriftList {
  readonly elementType: number;
  readonly items: readonly ThriftValue[];
}
/** Integers as bigint (byte as number), binary as bytes, booleans of structs live in the field type. */
export type ThriftValue = boolean | number | bigint | Uint8Array | ThriftList | ThriftStruct;

/** A struct: its fields in file order. */
export class ThriftStruct {
  constructor(readonly fields: readonly ThriftField[]) {}

  /** Value of a field, or undefined. */
  get(id: number): ThriftValue | undefined {
    return this.fields.find((field) => field.id === id)?.value;
  }
  /** An integer field as a number; 0 when absent. */
  int(id: number): number {
    const value = this.get(id);
    return typeof value === 'bigint' ? Number(value) : 0;
  }
  struct(id: number): ThriftStruct | undefined {
    const value = this.get(id);
    return value instanceof ThriftStruct ? value : undefined;
  }
  structs(id: number): readonly ThriftStruct[] {
    const value = this.get(id);
    if (typeof value !== 'object' || !('items' in value)) return [];
    return value.items.filter((item) => item instanceof ThriftStruct);
  }
  text(id: number): string | undefined {
    const value = this.get(id);
    return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.length).toString('utf8') : undefined;
  }
  /** A copy with fields set, replaced in place or added in id order; undefined removes. */
  with(changes: readonly { readonly id: number; readonly type: number; readonly value: ThriftValue | undefined }[]): ThriftStruct {
    const byId = new Map(this.fields.map((field) => [field.id, field]));
    for (const { id, type, value } of changes) {
      if (value === undefined) byId.delete(id);
      else byId.set(id, { id, type, value });
    }
    return new ThriftStruct([...byId.values()].sort((a, b) => a.id - b.id));
  }
}

/** Reads the struct at the start of `bytes`. Throws RangeError when it is cut off or of an unknown type. */
export function readThrift(bytes: Uint8Array): ThriftStruct {
  let pos = 0;
  const byte = (): number => {
    if (pos >= bytes.length) throw new RangeError('Thrift data is cut off');
    return bytes[pos++];
  };
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const next = byte();
      value |= BigInt(next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
  };
  const zigzag = (): bigint => {
    const value = varint();
    return (value >> 1n) ^ -(value & 1n);
  };
  const raw = (length: number): Uint8Array => {
    if (pos + length > bytes.length) throw new RangeError('Thrift data is cut off');
    pos += length;
    // A copy, also of a Buffer, whose slice() would be a view.
    return new Uint8Array(bytes.subarray(pos - length, pos));
  };
  const value = (type: number, inList: boolean): ThriftValue => {
    switch (type) {
      case BOOLEAN_TRUE:
      case BOOLEAN_FALSE: return inList ? byte() === BOOLEAN_TRUE : type === BOOLEAN_TRUE;
      case BYTE: return byte();
      case I16:
      case I32:
      case I64: return zigzag();
      case DOUBLE: return raw(8);
      case BINARY: return raw(Number(varint()));
      case LIST: {
        const head = byte();
        const elementType = head & 0x0f;
        const count = head >> 4 === 15 ? Number(varint()) : head >> 4;
        const items: ThriftValue[] = [];
        for (let i = 0; i < count; i++) items.push(value(elementType, true));
        return { elementType, items };
      }
      case STRUCT: return struct();
      default: throw new RangeError(`Thrift type ${type} is not known here`);
    }
  };
  const struct = (): ThriftStruct => {
    const fields: ThriftField[] = [];
    let id = 0;
    for (;;) {
      const head = byte();
      if (head === 0) return new ThriftStruct(fields);
      id = head >> 4 === 0 ? Number(zigzag()) : id + (head >> 4);
      fields.push({ id, type: head & 0x0f, value: value(head & 0x0f, false) });
    }
  };
  return struct();
}

/** Writes a struct; the inverse of readThrift. */
export function writeThrift(root: ThriftStruct): Uint8Array {
  let out = new Uint8Array(4096);
  let pos = 0;
  const room = (length: number): void => {
    if (pos + length <= out.length) return;
    const larger = new Uint8Array(Math.max(out.length * 2, pos + length));
    larger.set(out);
    out = larger;
  };
  const byte = (value: number): void => {
    room(1);
    out[pos++] = value;
  };
  const varint = (value: bigint): void => {
    while (value >= 0x80n) {
      byte(Number(value & 0x7fn) | 0x80);
      value >>= 7n;
    }
    byte(Number(value));
  };
  const zigzag = (value: bigint): void => varint(value >= 0n ? value << 1n : (-value << 1n) - 1n);
  const raw = (value: Uint8Array): void => {
    room(value.length);
    out.set(value, pos);
    pos += value.length;
  };
  const write = (type: number, value: ThriftValue, inList: boolean): void => {
    if (value instanceof ThriftStruct) {
      struct(value);
    } else if (typeof value === 'boolean') {
      if (inList) byte(value ? BOOLEAN_TRUE : BOOLEAN_FALSE);
    } else if (typeof value === 'number') {
      byte(value);
    } else if (typeof value === 'bigint') {
      zigzag(value);
    } else if (value instanceof Uint8Array) {
      if (type === BINARY) varint(BigInt(value.length));
      raw(value);
    } else {
      const count = value.items.length;
      byte((Math.min(count, 15) << 4) | value.elementType);
      if (count >= 15) varint(BigInt(count));
      for (const item of value.items) write(value.elementType, item, true);
    }
  };
  const struct = (value: ThriftStruct): void => {
    let last = 0;
    for (const field of value.fields) {
      const delta = field.id - last;
      if (delta > 0 && delta < 16) {
        byte((delta << 4) | field.type);
      } else {
        byte(field.type);
        zigzag(BigInt(field.id));
      }
      write(field.type, field.value, false);
      last = field.id;
    }
    byte(0);
  };
  struct(root);
  return out.slice(0, pos);
}
