import { WalbergError } from '../errors/error.js';
import type { TupleView } from '../pgoutput/messages.js';
import { Arena } from './arena.js';
import { withRoom } from './growing.js';
import { writeKey } from './tuples.js';

const INITIAL_SLOTS = 1024;

/**
 * Finds the entry of a key by its bytes: open addressing with linear probing over stored hashes, keys side by side in an
 * arena as tuples of the key columns. No object, string or BigInt per key.
 */
export class KeyIndex {
  readonly keys: Arena;
  /** Where the key of entry i begins in `keys`. */
  keyOffsets = new Int32Array(INITIAL_SLOTS / 2);
  #hashes = new Uint32Array(INITIAL_SLOTS / 2);
  /** Entry + 1; 0 = free. */
  #slots = new Int32Array(INITIAL_SLOTS);
  #count = 0;

  constructor(private readonly ordinals: readonly number[], private readonly tableName: string, initialBytes = 16_384) {
    this.keys = new Arena(initialBytes);
  }

  get size(): number {
    return this.#count;
  }

  /** Bytes held besides the keys themselves. */
  get overheadBytes(): number {
    return this.#slots.byteLength + this.#hashes.byteLength + this.keyOffsets.byteLength;
  }

  /** The entry of the key in `view`, or -1. `ordinals` says where `view` has the key columns (its own order by default). */
  find(view: TupleView, ordinals: readonly number[] = this.ordinals): number {
    return this.#slots[this.#probe(view, ordinals, this.#hash(view, ordinals))] - 1;
  }

  /** The entry of the key in `view`, made when it is new: then it is `size - 1` after the call. */
  findOrAdd(view: TupleView): number {
    const hash = this.#hash(view, this.ordinals);
    const slot = this.#probe(view, this.ordinals, hash);
    const found = this.#slots[slot];
    if (found !== 0) return found - 1;
    const entry = this.#count++;
    this.keyOffsets = withRoom(this.keyOffsets, entry);
    this.#hashes = withRoom(this.#hashes, entry);
    this.keyOffsets[entry] = writeKey(this.keys, view, this.ordinals);
    this.#hashes[entry] = hash;
    this.#slots[slot] = entry + 1;
    if (this.#count * 2 > this.#slots.length) this.#grow();
    return entry;
  }

  /** End of entry `i` in `keys`. */
  keyEnd(entry: number): number {
    return entry + 1 < this.#count ? this.keyOffsets[entry + 1] : this.keys.length;
  }

  #grow(): void {
    const slots = new Int32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let entry = 0; entry < this.#count; entry++) {
      let slot = this.#hashes[entry] & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = entry + 1;
    }
    this.#slots = slots;
  }

  #probe(view: TupleView, ordinals: readonly number[], hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const found = slots[slot];
      if (found === 0 || (this.#hashes[found - 1] === hash && this.#equals(found - 1, view, ordinals))) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #equals(entry: number, view: TupleView, ordinals: readonly number[]): boolean {
    const { bytes } = this.keys;
    const { buffer, lengths, offsets } = view;
    let pos = this.keyOffsets[entry] + 2;
    for (let i = 0; i < ordinals.length; i++) {
      const length = (bytes[pos + 1] << 24) | (bytes[pos + 2] << 16) | (bytes[pos + 3] << 8) | bytes[pos + 4];
      pos += 5;
      if (length !== lengths[ordinals[i]]) return false;
      const start = offsets[ordinals[i]];
      for (let b = 0; b < length; b++) if (bytes[pos + b] !== buffer[start + b]) return false;
      pos += length;
    }
    return true;
  }

  /** FNV-1a over lengths and bytes, finished so that the low bits of serial keys spread. */
  #hash(view: TupleView, ordinals: readonly number[]): number {
    const { buffer, lengths, offsets } = view;
    let hash = 0x811c9dc5;
    for (let i = 0; i < ordinals.length; i++) {
      const length = lengths[ordinals[i]];
      if (length < 0) throw new WalbergError('PROTOCOL', `A change of ${this.tableName} has no value for a key column`, { context: { table: this.tableName, ordinal: ordinals[i] } });
      hash = Math.imul(hash ^ length, 0x01000193);
      const start = offsets[ordinals[i]];
      for (let b = 0; b < length; b++) hash = Math.imul(hash ^ buffer[start + b], 0x01000193);
    }
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
    return (hash ^ (hash >>> 13)) >>> 0;
  }
}
