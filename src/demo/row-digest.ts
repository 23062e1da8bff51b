import { hash } from 'node:crypto';

const NULL_MARK = 0xffff_ffff;

/**
 * The values of one row as bytes that no other row has: per value its length in bytes (32 bits) and its text in UTF-8, or
 * the mark of NULL. Used again for each row.
 */
export class RowBytes {
  #buffer = Buffer.allocUnsafe(16_384);
  #length = 0;

  clear(): void {
    this.#length = 0;
  }

  addNull(): void {
    this.#reserve(4);
    this.#length = this.#buffer.writeUInt32LE(NULL_MARK, this.#length);
  }

  addText(text: string): void {
    // A character of UTF-16 takes at most three bytes.
    this.#reserve(4 + text.length * 3);
    const written = this.#buffer.write(text, this.#length + 4, 'utf8');
    this.#buffer.writeUInt32LE(written, this.#length);
    this.#length += 4 + written;
  }

  /** UTF-8 that is already encoded. */
  addBytes(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve(4 + end - start);
    this.#buffer.writeUInt32LE(end - start, this.#length);
    this.#buffer.set(bytes.subarray(start, end), this.#length + 4);
    this.#length += 4 + end - start;
  }

  /** The bytes, valid until the next change. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** As a key of a Map. */
  toKey(): string {
    return this.#buffer.toString('latin1', 0, this.#length);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe((this.#length + bytes) * 2);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

/** Number of rows and the sum modulo 2^64 of 64 bits of each row's SHA-256: the same for the same rows in any order. */
export class TableDigest {
  #rows = 0;
  #sum = 0n;

  add(row: RowBytes): void {
    this.#rows++;
    this.#sum = BigInt.asUintN(64, this.#sum + hash('sha256', row.bytes, 'buffer').readBigUInt64LE(0));
  }

  get rows(): number {
    return this.#rows;
  }

  get sum(): bigint {
    return this.#sum;
  }

  equals(other: TableDigest): boolean {
    return this.#rows === other.#rows && this.#sum === other.#sum;
  }
}
