import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorCode } from '../../src/errors/codes.js';
import { WalbergError } from '../../src/errors/error.js';
import type { Catalog, CreateTableRequest, LoadedTable, TableChange, TableIdentifier } from '../../src/iceberg/catalog/catalog.js';
import { FaultPlan, type FaultRule, type Gate } from './faults.js';

export type CatalogOperation = 'ensureNamespace' | 'loadTable' | 'createTable' | 'commitTable';

/** What a rule can look at. */
export interface CatalogCall {
  /** `namespace.table`, or the namespace. */
  readonly name: string;
  /** Of a commit. */
  readonly change?: TableChange;
}

export type CatalogAction =
  /** COMMIT_CONFLICT, nothing done. */
  | { readonly kind: 'conflict' }
  /** COMMIT_UNKNOWN, and it never happens. */
  | { readonly kind: 'unknown-not-applied' }
  /** Done, then COMMIT_UNKNOWN. */
  | { readonly kind: 'unknown-applied' }
  /** COMMIT_UNKNOWN now; done when the gate is released, as the request of a killed process that arrives late. See `late`. */
  | { readonly kind: 'unknown-applied-later'; readonly gate: Gate }
  /** CATALOG_UNAVAILABLE, nothing done: the server turned the request away. */
  | { readonly kind: 'unavailable' }
  /** CATALOG_AUTH, nothing done. */
  | { readonly kind: 'auth-expired' }
  | { readonly kind: 'fail'; readonly code: ErrorCode }
  | { readonly kind: 'fail-after'; readonly code: ErrorCode }
  /** Wait, then do it. */
  | { readonly kind: 'hold'; readonly gate: Gate }
  /** Do it, then wait with the reply. */
  | { readonly kind: 'hold-after'; readonly gate: Gate }
  | { readonly kind: 'slow'; readonly ms: number }
  /** Let something else happen first, such as the commit of another writer. */
  | { readonly kind: 'run'; readonly run: () => Promise<void> };

export type CatalogFault = FaultRule<CatalogOperation, CatalogCall, CatalogAction>;

/** A catalog in which scripted calls go wrong: `new FaultCatalog(inner, [{ on: 'commitTable', nth: 2, action: { kind: 'unknown-applied' } }])`. */
export class FaultCatalog implements Catalog {
  readonly name: string;
  /** Every call so far, whatever became of it. */
  readonly calls: (CatalogCall & { readonly operation: CatalogOperation })[] = [];
  /** Outcomes of `unknown-applied-later` calls, in the order of the calls; each settles after its gate is released. A refusal is an outcome too. */
  readonly late: Promise<PromiseSettledResult<unknown>>[] = [];
  readonly #inner: Catalog;
  readonly #plan: FaultPlan<CatalogOperation, CatalogCall, CatalogAction>;

  constructor(inner: Catalog, script: readonly CatalogFault[] = []) {
    this.name = inner.name;
    this.#inner = inner;
    this.#plan = new FaultPlan(script);
  }

  add(fault: CatalogFault): void {
    this.#plan.add(fault);
  }

  /** Forgets all faults; waiting calls go on waiting for their gate. */
  heal(): void {
    this.#plan.clear();
  }

  /** True when every scripted fault has happened. */
  get exhausted(): boolean {
    return this.#plan.exhausted;
  }

  async ensureNamespace(namespace: readonly string[]): Promise<void> {
    await this.#play('ensureNamespace', { name: namespace.join('.') }, () => this.#inner.ensureNamespace(namespace));
  }

  async loadTable(identifier: TableIdentifier): Promise<LoadedTable | undefined> {
    return this.#play('loadTable', { name: nameOf(identifier) }, () => this.#inner.loadTable(identifier));
  }

  async createTable(identifier: TableIdentifier, request: CreateTableRequest): Promise<LoadedTable> {
    return this.#play('createTable', { name: nameOf(identifier) }, () => this.#inner.createTable(identifier, request));
  }

  async commitTable(base: LoadedTable, change: TableChange): Promise<LoadedTable> {
    return this.#play('commitTable', { name: nameOf(base.identifier), change }, () => this.#inner.commitTable(base, change));
  }

  async close(): Promise<void> {
    await this.#inner.close?.();
  }

  async #play<T>(operation: CatalogOperation, call: CatalogCall, perform: () => Promise<T>): Promise<T> {
    this.calls.push({ operation, ...call });
    const action = this.#plan.next(operation, call);
    const failure = (code: ErrorCode): WalbergError => new WalbergError(code, `Scripted fault: ${operation} ${call.name}`, { context: { table: call.name } });
    switch (action?.kind) {
      case 'conflict':
        throw failure('COMMIT_CONFLICT');
      case 'unknown-not-applied':
        throw failure('COMMIT_UNKNOWN');
      case 'unknown-applied':
        await perform();
        throw failure('COMMIT_UNKNOWN');
      case 'unknown-applied-later':
        this.late.push(Promise.allSettled([action.gate.pass().then(perform)]).then(([outcome]) => outcome));
        throw failure('COMMIT_UNKNOWN');
      case 'unavailable':
        throw failure('CATALOG_UNAVAILABLE');
      case 'auth-expired':
        throw failure('CATALOG_AUTH');
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

function nameOf(identifier: TableIdentifier): string {
  return [...identifier.namespace, identifier.name].join('.');
}
