import { parentPort } from 'node:worker_threads';
import { encodeFile } from './encode-file.js';
import { type EncodeAnswer, owned, toPlain } from './encode-messages.js';
import type { EncodeRequest } from './encode-types.js';
import { release } from './release.js';
import { wasmBytes } from './row-group.js';

/** Entry of an encoding thread: one EncodeRequest in, one EncodeAnswer out, in turn. */
const port = parentPort;
if (port === null) throw new Error('encode-worker.js is the entry of a worker thread');
port.on('message', (request: EncodeRequest) => {
  try {
    const file = encodeFile(request);
    release(request.arena.buffer);
    const bytes = owned(file.bytes);
    port.postMessage({ file: { ...file, bytes }, wasmBytes: wasmBytes() } satisfies EncodeAnswer, [bytes.buffer as ArrayBuffer]);
  } catch (error) {
    port.postMessage({ error: toPlain(error), wasmBytes: wasmBytes() } satisfies EncodeAnswer);
  }
});
