/**
 * Decompresses one raw Snappy block (google/snappy `format_description.txt`), as other writers may use in manifests.
 *
 * @throws RangeError on damaged input; callers turn it into their own error
 */
export function snappyDecompress(input: Uint8Array): Uint8Array {
  let at = 0;
  const next = (): number => {
    if (at >= input.length) throw new RangeError('input ends too early');
    return input[at++];
  };
  /** Little-endian unsigned integer of `bytes` bytes. */
  const integer = (bytes: number): number => {
    let value = 0;
    for (let i = 0; i < bytes; i++) value += next() * 2 ** (8 * i);
    return value;
  };

  let length = 0;
  for (let shift = 0; ; shift += 7) {
    if (shift > 28) throw new RangeError('length out of range');
    const byte = next();
    length += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
  }
  // No element is longer than 64 times its encoding: a copy of 64 bytes takes 2.
  if (length > 64 * input.length) throw new RangeError('length out of range');

  const output = new Uint8Array(length);
  let end = 0;
  while (at < input.length) {
    const tag = next();
    const kind = tag & 3;
    if (kind === 0) {
      const short = tag >> 2;
      const size = (short < 60 ? short : integer(short - 59)) + 1;
      if (size > input.length - at || size > length - end) throw new RangeError('literal out of range');
      output.set(input.subarray(at, at + size), end);
      at += size;
      end += size;
      continue;
    }
    const size = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    const offset = kind === 1 ? ((tag >> 5) << 8) | next() : integer(kind === 2 ? 2 : 4);
    if (offset === 0 || offset > end || size > length - end) throw new RangeError('copy out of range');
    // Byte by byte: source and target may overlap, which repeats a pattern.
    for (let i = 0; i < size; i++, end++) output[end] = output[end - offset];
  }
  if (end !== length) throw new RangeError('output too short');
  return output;
}
