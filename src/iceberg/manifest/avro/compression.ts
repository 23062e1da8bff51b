import * as zlib from 'node:zlib';
import { WalbergError } from '../../../errors/error.js';
import { malformed } from './malformed.js';
import { snappyDecompress } from './snappy.js';

/** `zstdDecompressSync` came with Node 22.15; the types of older versions do not have it. */
const zstd = (zlib as { zstdDecompressSync?: (bytes: Uint8Array) => Buffer }).zstdDecompressSync;

/** Decompresses one block of an Avro file (Avro specification, "Object Container Files", required and optional codecs). */
export function decompressBlock(codec: string, block: Uint8Array, what: string): Uint8Array {
  try {
    switch (codec) {
      case 'null':
        return block;
      case 'deflate':
        return zlib.inflateRawSync(block);
      case 'snappy':
        // The last 4 bytes are a checksum of the uncompressed data.
        return snappyDecompress(block.subarray(0, Math.max(0, block.length - 4)));
      case 'zstandard':
        if (zstd !== undefined) return zstd(block);
    }
  } catch (error) {
    throw malformed(what, 'a compressed block is damaged', error);
  }
  throw new WalbergError('FORMAT_UNSUPPORTED', `The ${what} is compressed with "${codec}", which this version of Node and Walberg cannot read.`, {
    context: { codec },
    hint: codec === 'zstandard' ? 'Run Walberg on Node 22.15 or later, or rewrite the manifests with codec gzip.' : 'Rewrite the manifests with codec gzip.',
  });
}
