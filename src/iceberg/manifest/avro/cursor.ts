import { malformed } from './malformed.js';

/** Reads Avro's binary encoding. Never reads past the end: damaged input ends in FILE_MALFORMED naming `what`. */
export class AvroCursor {
  readonly what: string;
  readonly #buffer: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array, what: string) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.what = what;
  }

  get remaining(): number {
    return this.#buffer.length - this.#at;
  }

  boolean(): boolean {
    return this.#byte() !== 0;
  }

  /** int or long: a number when exact, else a bigint. */
  long(): number | bigint {
    let low = 0;
    let scale = 1;
    // Up to 49 bits fit a double, so that nearly every integer is read without a bigint.
    for (let i = 0; i < 7; i++) {
      const byte = this.#byte();
      low += (byte & 0x7f) * scale;
      if (byte < 0x80) return low % 2 === 0 ? low / 2 : -(low + 1) / 2;
      scale *= 128;
    }
    let zigzag = BigInt(low);
    for (let shift = 49n; ; shift += 7n) {
      if (shift > 63n) throw malformed(this.what, 'an integer is longer than 64 bits');
      const byte = this.#byte();
      zigzag |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    const value = BigInt.asIntN(64, (zigzag >> 1n) ^ -(zigzag & 1n));
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }

  /** A length, count or index: not negative and exact. */
  size(): number {
    const value = this.long();
    if (typeof value !== 'number' || value < 0) throw malformed(this.what, 'a length is out of range');
    return value;
  }

  float(): number {
    return this.#buffer.readFloatLE(this.#take(4));
  }

  double(): number {
    return this.#buffer.readDoubleLE(this.#take(8));
  }

  /** A view, valid as long as the input. */
  view(length: number): Buffer {
    const start = this.#take(length);
    return this.#buffer.subarray(start, start + length);
  }

  /** A copy, so that keeping one bound does not keep the whole file. */
  bytes(length = this.size()): Uint8Array {
    return new Uint8Array(this.view(length));
  }

  string(): string {
    const length = this.size();
    const start = this.#take(length);
    return this.#buffer.toString('utf8', start, start + length);
  }

  /**
   * The blocks of an array or map: calls `item` once per element. A negative count is followed by the block's length in bytes.
   * Every element Iceberg writes takes at least a byte, which bounds the loop on damaged input.
   */
  blocks(item: () => void): void {
    for (;;) {
      const signed = this.long();
      if (signed === 0) return;
      if (signed < 0) this.long();
      const count = Math.abs(Number(signed));
      if (count > this.remaining) throw malformed(this.what, 'a count is larger than the file');
      for (let i = 0; i < count; i++) item();
    }
  }

  #byte(): number {
    if (this.#at >= this.#buffer.length) throw malformed(this.what, 'it ends too early');
    return this.#buffer[this.#at++];
  }

  #take(length: number): number {
    const start = this.#at;
    if (length > this.#buffer.length - start) throw malformed(this.what, 'it ends too early');
    this.#at = start + length;
    return start;
  }
}
