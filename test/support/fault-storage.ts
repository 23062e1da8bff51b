import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorCode } from '../../src/errors/codes.js';
import { WalbergError } from '../../src/errors/error.js';
import type { Storage } from '../../src/storage/storage.js';
import { FaultPlan, type FaultRule, type Gate } from './faults.js';

export type StorageOperation = 'write' | 'read' | 'size' | 'remove' | 'list';

export type StorageAction =
  /** Refuse without doing it. */
  | { readonly kind: 'fail'; readonly code: ErrorCode }
  /** Do it, then fail: the reply was lost. */
  | { readonly kind: 'fail-after'; readonly code: ErrorCode }
  /** Wait, then do it. */
  | { readonly kind: 'hold'; readonly gate: Gate }
  /** Do it, then wait with the reply. */
  | { readonly kind: 'hold-after'; readonly gate: Gate }
  | { readonly kind: 'slow'; readonly ms: number }
  /** Let something else happen first. */
  | { readonly kind: 'run'; readonly run: () => Promise<void> };

/** `where` gets the location; of a `remove` each one, and the rule matches when any does. */
export type StorageFault = FaultRule<StorageOperation, string, StorageAction>;

/** A storage in which scripted calls go wrong: `new FaultStorage(inner, [{ on: 'write', nth: 3, action: { kind: 'fail', code: 'STORAGE_FULL' } }])`. */
export class FaultStorage implements Storage {
  /** Every call so far, whatever became of it. */
  readonly calls: { readonly operation: StorageOperation; readonly locations: readonly string[] }[] = [];
  readonly #inner: Storage;
  readonly #plan: FaultPlan<StorageOperation, readonly string[], StorageAction>;

  constructor(inner: Storage, script: readonly StorageFault[] = []) {
    this.#inner = inner;
    this.#plan = new FaultPlan(script.map(overLists));
  }

  add(fault: StorageFault): void {
    this.#plan.add(overLists(fault));
  }

  /** Forgets all faults; waiting calls go on waiting for their gate. */
  heal(): void {
    this.#plan.clear();
  }

  /** True when every scripted fault has happened. */
  get exhausted(): boolean {
    return this.#plan.exhausted;
  }

  async write(location: string, body: Uint8Array, options?: { ifAbsent?: boolean }): Promise<void> {
    await this.#play('write', [location], () => this.#inner.write(location, body, options));
  }

  async read(location: string): Promise<Uint8Array> {
    return this.#play('read', [location], () => this.#inner.read(location));
  }

  async size(location: string): Promise<number | undefined> {
    return this.#play('size', [location], () => this.#inner.size(location));
  }

  async remove(locations: readonly string[]): Promise<void> {
    await this.#play('remove', locations, () => this.#inner.remove(locations));
  }

  async *list(prefix: string): AsyncGenerator<{ location: string; size: number; modifiedMs: number }> {
    yield* await this.#play('list', [prefix], async () => this.#inner.list(prefix));
  }

  async close(): Promise<void> {
    await this.#inner.close?.();
  }

  async #play<T>(operation: StorageOperation, locations: readonly string[], perform: () => Promise<T>): Promise<T> {
    this.calls.push({ operation, locations });
    const action = this.#plan.next(operation, locations);
    const failure = (code: ErrorCode): WalbergError => new WalbergError(code, `Scripted fault: ${operation} ${locations[0] ?? ''}`, { context: { location: locations[0] } });
    switch (action?.kind) {
      case 'fail':
        throw failure(action.code);
      case 'fail-after':
        await perform();
        throw failure(action.code);
      case 'hold':
        await action.gate.pass();
        return perform();
      case 'hold-after': {
        const result = await perform();
        await action.gate.pass();
        return result;
      }
      case 'slow':
        await sleep(action.ms);
        return perform();
      case 'run':
        await action.run();
        return perform();
      case undefined:
        return perform();
    }
  }
}

function overLists(fault: StorageFault): FaultRule<StorageOperation, readonly string[], StorageAction> {
  const { where } = fault;
  return { ...fault, where: where === undefined ? undefined : (locations) => locations.some(where) };
}
