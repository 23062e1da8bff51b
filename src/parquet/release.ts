import { MessageChannel } from 'node:worker_threads';

const { port1, port2 } = new MessageChannel();
port2.close();
port1.unref();

/**
 * Frees the memory of big buffers now. They are outside the collector's heap, so garbage of this kind can reach hundreds of
 * megabytes before a thread with little else to collect runs its collector. A buffer sent to a closed port is gone at once; every
 * view on it has length 0 afterwards.
 */
export function release(...buffers: readonly ArrayBufferLike[]): void {
  for (const buffer of buffers) {
    if (buffer instanceof ArrayBuffer && buffer.byteLength >= 1 << 16) port1.postMessage(null, [buffer]);
  }
}
