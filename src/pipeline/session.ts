import { randomBytes } from 'node:crypto';
import { WalbergError } from '../errors/error.js';
import { describeTables } from '../postgres/source-catalog.js';
import { type CommitterOptions, TableCommitter } from '../iceberg/commit/table-committer.js';
import { buildTarget } from './build-target.js';
import { evolveTable } from './evolve-table.js';
import { slotGuard } from './guard-base.js';
import { columnsLeftOut, LEFT_OUT, LEFT_OUT_COLUMNS } from './left-out.js';
import { loadTables, type LoadRequest } from './load-table.js';
import { openSource, type OpenSource } from './open-source.js';
import { openTable, RELOAD_PENDING, type FoundTable } from './open-tables.js';
import { PartWriter } from './part-writer.js';
import type { SessionContext } from './session-context.js';
import { StreamSession } from './stream-session.js';
import { takeStock } from './take-stock.js';
import { targetName, type TableTarget } from './table-target.js';
import { refuseUnpublished } from './unpublished.js';

/**
 * One run from durable state: finds out where every table stands, loads those that have no position, and streams. Returns when
 * `stop` is aborted, or after the load when nothing else is asked for.
 */
export async function runSession(context: SessionContext, stop: AbortSignal): Promise<void> {
  const { config, catalog, storage, encoder, events } = context;
  const abort = new AbortController();
  const ended = AbortSignal.any([stop, abort.signal]);
  const process = randomBytes(6).toString('hex');
  const partWriter = new PartWriter({ encoder, storage, config: config.pipeline, events, process, signal: abort.signal });
  const source = await openSource(config.source, (client, identity, refs) => refuseUnpublished(config, client, identity, refs, catalog, context.loaded));
  try {
    const { snapshotMode } = config.source;
    const { found, slot } = await takeStock(context, source, ended);
    const guard = config.pipeline.slotGuard === 'off' ? undefined : slotGuard(found, slot);
    if (found.some((t) => t.existing === undefined)) await catalog.ensureNamespace(config.sink.namespace);
    const targets: TableTarget[] = [];
    const loads: LoadRequest[] = [];
    for (const before of found) {
      const table = await evolveTable(before, { config, catalog, client: source.client, events, signal: ended });
      const target = await openTarget(table, context, source, { process, signal: abort.signal, properties: guard?.properties });
      targets.push(target);
      if (table.position !== undefined && !table.reloadPending) continue;
      loads.push({ target, empty: table.reloadPending && target.plan.mode !== 'append', rows: snapshotMode !== 'no_data', ...propertiesAfterLoad(table) });
    }
    for (const { name, identifier, plan, committer } of targets) {
      events.tableReady({ table: name, target: targetName(identifier), mode: plan.mode, position: committer.position, note: plan.notes.length === 0 ? undefined : plan.notes.join(' ') });
    }
    if (loads.length > 0) await loadTables(loads, { source: config.source, pipeline: config.pipeline, partWriter, events, describe: (oids) => describeTables(source.client, oids, config.source.publicationName), signal: ended });
    context.loaded = true;
    if (snapshotMode === 'initial_only' || stop.aborted) return;
    await new StreamSession({ config, source, targets, startLsn: slot.confirmedFlushLsn ?? 0n, guard, partWriter, events, abort }).run(stop);
  } catch (error) {
    // What was interrupted by the stop is not a failure.
    if (stop.aborted && error === stop.reason) return;
    throw error;
  } finally {
    abort.abort();
    await source.client.close();
  }
}

/** A load makes up for what was passed over, except for columns that stay left out. */
function propertiesAfterLoad(table: FoundTable): Pick<LoadRequest, 'properties' | 'removeProperties'> {
  const columns = columnsLeftOut(table);
  return {
    properties: columns.length === 0 ? {} : { [LEFT_OUT_COLUMNS]: JSON.stringify(columns) },
    removeProperties: [RELOAD_PENDING, LEFT_OUT, ...(columns.length === 0 ? [LEFT_OUT_COLUMNS] : [])].filter((name) => table.existing?.metadata.properties[name] !== undefined),
  };
}

async function openTarget(found: FoundTable, context: SessionContext, source: OpenSource, ofSession: Pick<CommitterOptions, 'process' | 'signal' | 'properties'>): Promise<TableTarget> {
  const { config, catalog, storage, events } = context;
  const table = await openTable(found, config, catalog);
  refuseForeignRows(found);
  const name = targetName(found.identifier);
  const committer = new TableCommitter(table, {
    catalog,
    storage,
    slot: config.source.slotName,
    systemId: source.identity.systemId,
    sourceOid: found.plan.source.oid,
    mode: found.plan.mode,
    ...ofSession,
    retries: config.pipeline.commitRetries,
    initialMs: config.pipeline.retryInitialMs,
    maxMs: config.pipeline.retryMaxMs,
    onRetry: (attempt, error) => events.commitRetried({ table: name, attempt, error }),
  });
  return buildTarget(found.plan, table, committer, source.identity.database);
}

/** A mirror must begin with nothing: rows that others wrote would stay beside the source's. */
export function refuseForeignRows({ plan, existing, position, identifier }: FoundTable): void {
  if (plan.mode === 'append' || existing === undefined || position !== undefined) return;
  const { metadata } = existing;
  const head = metadata.snapshots.find((s) => metadata['current-snapshot-id'] !== undefined && metadata['current-snapshot-id'] !== null && BigInt(s['snapshot-id']) === BigInt(metadata['current-snapshot-id']));
  if (head === undefined || head.summary['total-records'] === '0') return;
  throw new WalbergError('TABLE_INCOMPATIBLE', `Table ${targetName(identifier)} holds rows that Walberg did not write`, {
    context: { table: targetName(identifier) }, hint: 'Drop or rename it, or load into another namespace (debezium.sink.iceberg.table-namespace) or under another prefix.',
  });
}
