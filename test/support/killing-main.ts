/**
 * The program with a trap: it kills itself the hard way around the WALBERG_TEST_KILL_AT-th catalog commit (1-based, counted over
 * the process). WALBERG_TEST_KILL=before-commit: the catalog is not asked any more. after-commit: it has answered.
 */
import { runCli } from '../../src/cli.js';
import type { Catalog, LoadedTable, TableChange } from '../../src/iceberg/catalog/catalog.js';

class KillingCatalog implements Catalog {
  readonly name: string;
  #commits = 0;

  constructor(private readonly inner: Catalog, private readonly when: string | undefined, private readonly at: number) {
    this.name = inner.name;
  }

  ensureNamespace: Catalog['ensureNamespace'] = (namespace) => this.inner.ensureNamespace(namespace);
  loadTable: Catalog['loadTable'] = (identifier) => this.inner.loadTable(identifier);
  createTable: Catalog['createTable'] = (identifier, request) => this.inner.createTable(identifier, request);

  async commitTable(base: LoadedTable, change: TableChange): Promise<LoadedTable> {
    const due = ++this.#commits === this.at;
    if (due && this.when === 'before-commit') await die();
    const table = await this.inner.commitTable(base, change);
    if (due && this.when === 'after-commit') await die();
    return table;
  }

  async close(): Promise<void> {
    await this.inner.close?.();
  }
}

/** The signal needs a moment to arrive; nothing of this process may go on meanwhile. */
function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}

const { WALBERG_TEST_KILL, WALBERG_TEST_KILL_AT } = process.env;
process.exitCode = await runCli(process.argv.slice(2), { wrapCatalog: (catalog) => new KillingCatalog(catalog, WALBERG_TEST_KILL, Number(WALBERG_TEST_KILL_AT ?? '1')) });
process.exit();
