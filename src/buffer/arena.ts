const MAX_BYTES = 0x7fff_ffff;

/** A growing run of bytes that owns its ArrayBuffer, so that it can be handed to another thread without a copy. */
export class Arena {
  bytes: Buffer;
  length = 0;

  constructor(initialBytes: number) {
    this.bytes = Buffer.allocUnsafeSlow(initialBytes);
  }

  /** Makes room for `size` more bytes. */
  reserve(size: number): void {
    const needed = this.length + size;
    if (needed <= this.bytes.length) return;
    if (needed > MAX_BYTES) throw new RangeError('an arena is limited to 2 GiB');
    const bigger = Buffer.allocUnsafeSlow(Math.min(MAX_BYTES, Math.max(needed, this.bytes.length * 2)));
    this.bytes.copy(bigger, 0, 0, this.length);
    this.bytes = bigger;
  }

  /** Appends `source[start .. end)` and returns where it begins. */
  append(source: Uint8Array, start: number, end: number): number {
    const size = end - start;
    this.reserve(size);
    const at = this.length;
    const { bytes } = this;
    // A call into native code costs more than copying a short row here.
    if (size <= 48) for (let i = 0; i < size; i++) bytes[at + i] = source[start + i];
    else bytes.set(source.subarray(start, end), at);
    this.length = at + size;
    return at;
  }

  int16(value: number): void {
    this.reserve(2);
    this.bytes[this.length++] = value >>> 8;
    this.bytes[this.length++] = value & 0xff;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  int32(value: number): void {
    this.reserve(4);
    const { bytes, length } = this;
    bytes[length] = value >>> 24;
    bytes[length + 1] = (value >>> 16) & 0xff;
    bytes[length + 2] = (value >>> 8) & 0xff;
    bytes[length + 3] = value & 0xff;
    this.length += 4;
  }
}
