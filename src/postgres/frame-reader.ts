import type { Duplex } from 'node:stream';
import { WalbergError } from '../errors/error.js';

const COPY_DATA = 0x64; // d
const HEADER = 5;
/** Postgres allocates at most 1 GB for one message. */
const MAX_MESSAGE = 0x40000000;
const CARRY_KEEP = 1 << 20;

export interface FrameSink {
  /** The content of one CopyData message is `buffer[start .. end)`, valid only during the call. */
  copyData(buffer: Buffer, start: number, end: number): void;
  /** One complete message of any other kind, with its header. */
  other(frame: Buffer): void;
}

/**
 * Cuts the server's byte stream into messages (PostgreSQL manual, "Message Formats": type byte, length that counts itself,
 * content). CopyData is handed over where it lies, so a row costs no object; only a message that straddles two chunks is
 * copied together. `pg`'s own parser makes three objects and an event per row.
 */
export class FrameReader {
  #carry = Buffer.allocUnsafe(4096);
  #carried = 0;

  constructor(private readonly sink: FrameSink) {}

  /** Takes the next bytes; calls the sink for every message they complete. */
  push(chunk: Buffer): void {
    let pos = this.#carried === 0 ? 0 : this.#completeCarried(chunk);
    const end = chunk.length;
    while (pos + HEADER <= end) {
      const next = pos + messageLength(chunk, pos);
      if (next > end) break;
      this.#dispatch(chunk, pos, next);
      pos = next;
    }
    if (pos < end) {
      this.#reserve(end - pos >= HEADER ? messageLength(chunk, pos) : HEADER, 0);
      this.#carried = chunk.copy(this.#carry, 0, pos, end);
    }
  }

  /** Adds to a message that began in an earlier chunk; returns where in `chunk` the next message starts. */
  #completeCarried(chunk: Buffer): number {
    let pos = 0;
    if (this.#carried < HEADER) {
      pos = chunk.copy(this.#carry, this.#carried, 0, HEADER - this.#carried);
      this.#carried += pos;
      if (this.#carried < HEADER) return pos;
    }
    const total = messageLength(this.#carry, 0);
    this.#reserve(total, this.#carried);
    const taken = chunk.copy(this.#carry, this.#carried, pos, pos + total - this.#carried);
    this.#carried += taken;
    if (this.#carried < total) return pos + taken;
    this.#carried = 0;
    this.#dispatch(this.#carry, 0, total);
    // One huge value must not hold its memory for the life of the stream.
    if (this.#carry.length > CARRY_KEEP) this.#carry = Buffer.allocUnsafe(4096);
    return pos + taken;
  }

  #dispatch(buffer: Buffer, start: number, end: number): void {
    if (buffer[start] === COPY_DATA) this.sink.copyData(buffer, start + HEADER, end);
    else this.sink.other(buffer.subarray(start, end));
  }

  #reserve(size: number, keep: number): void {
    if (this.#carry.length >= size) return;
    const bigger = Buffer.allocUnsafe(size);
    this.#carry.copy(bigger, 0, 0, keep);
    this.#carry = bigger;
  }
}

/** With the type byte. */
function messageLength(buffer: Buffer, pos: number): number {
  const length = ((buffer[pos + 1] << 24) | (buffer[pos + 2] << 16) | (buffer[pos + 3] << 8) | buffer[pos + 4]) >>> 0;
  if (length < 4 || length > MAX_MESSAGE) throw new WalbergError('PROTOCOL', `A message of the server claims a length of ${length} bytes`);
  return length + 1;
}

/**
 * Puts a FrameReader between the socket and `pg`: CopyData goes to `onCopyData`, everything else goes on to `pg` as before.
 * Must be called, and released with the returned function, while no message is half received, that is between queries.
 * `onChunk` is called after each chunk of the socket with its size; what any callback throws goes to `onError`, never to the process.
 */
export function interceptCopyData(stream: Duplex, callbacks: {
  onCopyData(buffer: Buffer, start: number, end: number): void;
  onChunk(size: number): void;
  onError(error: unknown): void;
}): () => void {
  const readers = stream.listeners('data') as ((chunk: Buffer) => void)[];
  const frames = new FrameReader({
    copyData: callbacks.onCopyData,
    other: (frame) => { for (const read of readers) read(frame); },
  });
  let failed = false;
  const onData = (chunk: Buffer): void => {
    if (failed) return;
    try {
      frames.push(chunk);
      callbacks.onChunk(chunk.length);
    } catch (error) {
      failed = true;
      callbacks.onError(error);
    }
  };
  stream.on('data', onData);
  for (const read of readers) stream.off('data', read);
  return () => {
    for (const read of readers) stream.on('data', read);
    stream.off('data', onData);
  };
}
