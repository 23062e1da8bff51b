/** The program with a catalog that misbehaves at chosen commits: see daemon-faults.ts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { runCli } from '../../src/cli.js';
import { WalbergError } from '../../src/errors/error.js';
import type { Catalog, LoadedTable, TableChange } from '../../src/iceberg/catalog/catalog.js';
import { type CommitFaults, FAULTS_VARIABLE } from './daemon-faults.js';

const SLOW_MS = 5000;

class FaultyCatalog implements Catalog {
  readonly name: string;
  #commits = 0;

  constructor(private readonly inner: Catalog, private readonly faults: CommitFaults) {
    this.name = inner.name;
  }

  ensureNamespace: Catalog['ensureNamespace'] = (namespace) => this.inner.ensureNamespace(namespace);
  loadTable: Catalog['loadTable'] = (identifier) => this.inner.loadTable(identifier);
  createTable: Catalog['createTable'] = (identifier, request) => this.inner.createTable(identifier, request);

  async commitTable(base: LoadedTable, change: TableChange): Promise<LoadedTable> {
    const fault = this.faults[String(++this.#commits)] ?? this.faults['*'];
    if (fault === 'kill-before') return die();
    if (fault === 'refuse') throw new WalbergError('CATALOG_UNAVAILABLE', 'The catalog is not available');
    if (fault === 'lose') throw cut();
    if (fault === 'slow') await sleep(SLOW_MS);
    const table = await this.inner.commitTable(base, change);
    if (fault === 'kill-after') return die();
    if (fault === 'apply') throw cut();
    return table;
  }

  async close(): Promise<void> {
    await this.inner.close?.();
  }
}

const cut = (): WalbergError => new WalbergError('COMMIT_UNKNOWN', 'The connection to the catalog was cut');

/** Nothing of this process runs after the signal. */
function die(): never {
  process.kill(process.pid, 'SIGKILL');
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

const faults = JSON.parse(process.env[FAULTS_VARIABLE] ?? '{}') as CommitFaults;
const exitCode = await runCli(process.argv.slice(2), { wrapCatalog: (catalog) => new FaultyCatalog(catalog, faults) });
process.exit(exitCode);
