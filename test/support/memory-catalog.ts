import { WalbergError } from '../../src/errors/error.js';
import type { Catalog, CreateTableRequest, LoadedTable, TableChange, TableIdentifier } from '../../src/iceberg/catalog/catalog.js';
import { applyUpdates, checkRequirements, newTableMetadata } from '../../src/iceberg/catalog/metadata-builder.js';

/**
 * A catalog that behaves as a REST server does: a change is applied to the table as it is now, if its requirements hold,
 * whatever state it was built on.
 */
export class MemoryCatalog implements Catalog {
  readonly name = 'memory';
  /** Called with each change right after it was applied. */
  onApplied: (change: TableChange, table: LoadedTable) => void = () => {};
  readonly #tables = new Map<string, LoadedTable>();
  #versions = 0;
  #clockMs = 1_700_000_000_000;

  async ensureNamespace(): Promise<void> {}

  async loadTable(identifier: TableIdentifier): Promise<LoadedTable | undefined> {
    return this.#tables.get(keyOf(identifier));
  }

  async createTable(identifier: TableIdentifier, request: CreateTableRequest): Promise<LoadedTable> {
    if (this.#tables.has(keyOf(identifier))) throw new WalbergError('COMMIT_CONFLICT', 'The table exists');
    const metadata = newTableMetadata(request, `memory://lake/${keyOf(identifier)}`, { nowMs: this.#now() });
    return this.#put({ identifier, metadata, metadataLocation: '' });
  }

  async commitTable(base: LoadedTable, change: TableChange): Promise<LoadedTable> {
    const current = this.#tables.get(keyOf(base.identifier));
    checkRequirements(current?.metadata, change.requirements);
    if (current === undefined) throw new WalbergError('COMMIT_CONFLICT', 'No such table');
    const table = this.#put({ ...current, metadata: applyUpdates(current.metadata, change.updates, this.#now(), current.metadataLocation) });
    this.onApplied(change, table);
    return table;
  }

  drop(identifier: TableIdentifier): void {
    this.#tables.delete(keyOf(identifier));
  }

  #put(table: LoadedTable): LoadedTable {
    const stored = { ...table, metadataLocation: `memory://lake/${keyOf(table.identifier)}/metadata/${++this.#versions}.json` };
    this.#tables.set(keyOf(table.identifier), stored);
    return stored;
  }

  #now(): number {
    return (this.#clockMs += 1000);
  }
}

function keyOf(identifier: TableIdentifier): string {
  return [...identifier.namespace, identifier.name].join('.');
}
