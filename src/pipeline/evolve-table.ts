import type { WalbergConfig } from '../config/config.js';
import { asWalbergError, WalbergError } from '../errors/error.js';
import type { Catalog, LoadedTable } from '../iceberg/catalog/catalog.js';
import { Backoff } from '../iceberg/commit/backoff.js';
import { readPosition } from '../iceberg/commit/position.js';
import { currentSchema, schemaChange } from '../iceberg/commit/schema-change.js';
import type { PipelineEvents } from '../observe/events.js';
import type { SourceClient } from '../postgres/client.js';
import { holdsValues } from '../postgres/source-catalog.js';
import { bindColumns } from '../schema/bind-columns.js';
import { type Evolution, evolve } from '../schema/evolve.js';
import { COLUMNS, type KnownColumns, parseKnownColumns, printKnownColumns, sameColumns } from '../schema/known-columns.js';
import { qualifiedName, type TablePlan } from '../schema/table-plan.js';
import { type FoundTable, RELOAD_PENDING } from './open-tables.js';
import { targetName } from './table-target.js';

export interface EvolveOptions {
  readonly config: WalbergConfig;
  readonly catalog: Catalog;
  readonly client: SourceClient;
  readonly events: Pick<PipelineEvents, 'warning' | 'commitRetried'>;
  readonly signal: AbortSignal;
}

/** Answers of a catalog after which the table itself tells what has become of the change. */
const LOOK_AGAIN: ReadonlySet<string> = new Set(['COMMIT_CONFLICT', 'COMMIT_UNKNOWN', 'CATALOG_UNREACHABLE', 'CATALOG_UNAVAILABLE']);

/**
 * Brings an existing Iceberg table into the shape of its source before rows are written. When rows it holds lack values that
 * the log does not bring, it is marked for reload by the same commit.
 *
 * Errors: TABLE_INCOMPATIBLE when no change of the schema helps (nothing is committed then), POSITION_CHANGED, and the catalog's.
 */
export async function evolveTable(found: FoundTable, options: EvolveOptions): Promise<FoundTable> {
  const { config, catalog, events, signal } = options;
  if (found.existing === undefined || !config.sink.allowFieldAddition) return found;
  const backoff = new Backoff({ initialMs: config.pipeline.retryInitialMs, maxMs: config.pipeline.retryMaxMs, signal });
  let table = found.existing;
  for (let attempt = 1; ; attempt++) {
    const step = await planStep(found, table, options);
    if (step === undefined) return { ...found, existing: table };
    const { evolution, reload } = step;
    try {
      const properties = { [COLUMNS]: printKnownColumns(evolution.known), ...(reload === undefined ? {} : { [RELOAD_PENDING]: 'true' }) };
      table = await catalog.commitTable(table, schemaChange(table, evolution.schema, evolution.lastColumnId, properties));
      tell(found, evolution, reload, events);
      return { ...found, existing: table, reloadPending: found.reloadPending || reload !== undefined };
    } catch (thrown) {
      const error = asWalbergError(thrown, 'COMMIT_UNKNOWN');
      if (!LOOK_AGAIN.has(error.code) || attempt >= config.pipeline.commitRetries || signal.aborted) throw error;
      events.commitRetried({ table: targetName(found.identifier), attempt, error });
      await backoff.pause();
      table = await loadAgain(found, catalog);
    }
  }
}

/** What the source table looks like, as the Iceberg table remembers it. */
export function knownOf(plan: TablePlan, table: LoadedTable): KnownColumns | undefined {
  return parseKnownColumns(table.metadata.properties[COLUMNS], plan.source.oid);
}

/** The change that is needed and why a reload is; undefined when the table is right as it is. */
async function planStep(found: FoundTable, table: LoadedTable, options: EvolveOptions): Promise<{ evolution: Evolution; reload: string | undefined } | undefined> {
  const { plan } = found;
  const schema = currentSchema(table);
  // told where the table is bound
  if (schema === undefined) return undefined;
  const before = knownOf(plan, table);
  const evolution = evolve(plan, schema, table.metadata['last-column-id'], before);
  bindColumns(plan, evolution.schema ?? schema);
  const marked = table.metadata.properties[RELOAD_PENDING] !== undefined;
  const reload = found.position === undefined || marked ? undefined : evolution.reload ?? await missingValues(plan, evolution, before, options);
  const loadable = options.config.source.snapshotMode !== 'no_data';
  if (reload !== undefined && !loadable && !sameColumns(before, evolution.known)) {
    options.events.warning({ message: `${targetName(found.identifier)} would have to be loaded anew, which snapshot.mode=no_data forbids: ${reload} Rows keep what they have until they change.`, context: { table: qualifiedName(plan.source) } });
  }
  const wanted = loadable ? reload : undefined;
  return evolution.schema === undefined && wanted === undefined && sameColumns(before, evolution.known) ? undefined : { evolution, reload: wanted };
}

/**
 * Whether rows that were written without the new columns should have values there, as a sentence. ADD COLUMN with a default gives
 * values to all rows without a word in the log: a constant is kept in the catalog, anything else rewrites the table. A column
 * that existed before it was captured may have any values.
 */
async function missingValues(plan: TablePlan, { added }: Evolution, before: KnownColumns | undefined, { client }: EvolveOptions): Promise<string | undefined> {
  if (plan.mode === 'append') return undefined;
  const filled = added.find((c) => c.filled === true);
  if (filled !== undefined) return `Column ${filled.name} was added with a default, which rows have that were there before.`;
  const { files } = plan.source;
  const rewritten = before?.files === undefined || files === undefined || Object.entries(before.files).some(([oid, file]) => files[oid] !== undefined && files[oid] !== file);
  const doubtful = added.filter((c) => rewritten || before === undefined || c.attnum <= before.lastAttnum).map((c) => c.name);
  if (doubtful.length === 0 || !await holdsValues(client, plan.source, doubtful)) return undefined;
  return `Rows have values in ${doubtful.join(', ')} that may be from before the column was captured.`;
}

async function loadAgain(found: FoundTable, catalog: Catalog): Promise<LoadedTable> {
  const name = targetName(found.identifier);
  const table = await catalog.loadTable(found.identifier);
  if (table === undefined || table.metadata['table-uuid'] !== found.existing?.metadata['table-uuid']) throw new WalbergError('TABLE_REPLACED', `The table ${name} was dropped while its columns were changed`, { context: { table: name } });
  const lsn = readPosition(table)?.lsn;
  if (lsn !== found.position) throw new WalbergError('POSITION_CHANGED', `The position stored in ${name} has changed while its columns were changed`, { context: { table: name, knownLsn: found.position, storedLsn: lsn } });
  return table;
}

function tell(found: FoundTable, { changes }: Evolution, reload: string | undefined, events: EvolveOptions['events']): void {
  const context = { table: qualifiedName(found.plan.source), target: targetName(found.identifier) };
  if (changes.length > 0) events.warning({ message: `The Iceberg table follows its source. ${changes.join(' ')}`, context });
  if (reload !== undefined) events.warning({ message: `The table is loaded anew. ${reload}`, context });
}
