/** A small seeded generator (mulberry32), so that a failed run can be repeated from its seed. */
export class Random {
  #state: number;
  constructor(readonly seed: number) { this.#state = seed >>> 0; }

  /** [0, 1) */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** Integer in [from, to]. */
  int(from: number, to: number): number { return from + Math.floor(this.next() * (to - from + 1)); }
  chance(probability: number): boolean { return this.next() < probability; }
  pick<T>(items: readonly T[]): T { return items[this.int(0, items.length - 1)]!; }
  /** A generator of its own for a part of the work. */
  fork(): Random { return new Random(Math.floor(this.next() * 4294967296)); }
}

/** WALBERG_TEST_SEED, or a new one. */
export function testSeed(): number {
  return process.env.WALBERG_TEST_SEED === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(process.env.WALBERG_TEST_SEED);
}
