import { WalbergError } from '../../../errors/error.js';

/** Growing buffer with the primitive encodings of Avro's binary format (Avro specification, "Binary Encoding"). */
export class AvroSink {
  #buffer: Buffer;
  #length = 0;

  constructor(capacity = 4096) {
    this.#buffer = Buffer.allocUnsafe(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** The bytes written so far; valid until the next write. */
  view(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  boolean(value: boolean): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = value ? 1 : 0;
  }

  /** int and long: zigzag, then 7 bits a byte, lowest first. */
  long(value: number | bigint): void {
    this.#reserve(10);
    if (typeof value === 'number' && value >= -0x40000000 && value < 0x40000000) {
      let rest = ((value << 1) ^ (value >> 31)) >>> 0;
      for (; rest > 0x7f; rest >>>= 7) this.#buffer[this.#length++] = (rest & 0x7f) | 0x80;
      this.#buffer[this.#length++] = rest;
      return;
    }
    const wide = BigInt(value);
    if (BigInt.asIntN(64, wide) !== wide) throw new WalbergError('INTERNAL', 'An integer beyond 64 bits was to be written to an Avro file.');
    let rest = BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n));
    for (; rest > 0x7fn; rest >>= 7n) this.#buffer[this.#length++] = Number(rest & 0x7fn) | 0x80;
    this.#buffer[this.#length++] = Number(rest);
  }

  float(value: number): void {
    this.#reserve(4);
    this.#length = this.#buffer.writeFloatLE(value, this.#length);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleLE(value, this.#length);
  }

  /** bytes: length, then the bytes. */
  bytes(value: Uint8Array): void {
    this.long(value.length);
    this.fixed(value);
  }

  /** fixed: the bytes alone. */
  fixed(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
  }

  string(value: string): void {
    const length = Buffer.byteLength(value);
    this.long(length);
    this.#reserve(length);
    this.#length += this.#buffer.write(value, this.#length);
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length));
    larger.set(this.view());
    this.#buffer = larger;
  }
}
