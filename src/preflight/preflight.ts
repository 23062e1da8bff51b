import type { WalbergConfig } from '../config/config.js';
import { openCatalog } from '../iceberg/catalog/open-catalog.js';
import type { Catalog } from '../iceberg/catalog/catalog.js';
import { refuseServerBehind } from '../pipeline/open-tables.js';
import { connect, type SourceClient } from '../postgres/client.js';
import { describeTables } from '../postgres/source-catalog.js';
import { identifySystem } from '../postgres/system.js';
import { selectTables, type TableRef } from '../postgres/table-selection.js';
import { createStorage } from '../storage/router.js';
import type { Storage } from '../storage/storage.js';
import { checkPublication } from './check-publication.js';
import { checkRole, checkServer } from './check-server.js';
import { checkSlotState } from './check-slot.js';
import { checkStorage } from './check-storage.js';
import { checkColumns, checkPlan, checkRights, checkUncaptured } from './check-tables.js';
import { checkTarget, type TargetFacts } from './check-targets.js';
import { type Finding, type Group, ok, problem, problemOf } from './finding.js';
import { readOpenTransactions, readPublicationFacts, readRole, readServer, readSlotFacts, readTables, readUncaptured } from './read-source.js';
import { planEach, readTargets } from './read-targets.js';

export interface PreflightOptions {
  readonly config: WalbergConfig;
  readonly wrapStorage?: (storage: Storage) => Storage;
  readonly wrapCatalog?: (catalog: Catalog) => Catalog;
}

/**
 * Looks at source, catalog and storage with the eyes of a start, without changing anything: no slot, publication or table is
 * made. Reads everything once, then judges. Never throws for what it looks at: what cannot be read is a problem itself.
 */
export async function runPreflight(options: PreflightOptions): Promise<Group[]> {
  const { config } = options;
  const storage = (options.wrapStorage ?? ((s) => s))(createStorage({ s3: config.sink.s3 }));
  const opened = await attempt(async () => (options.wrapCatalog ?? ((c) => c))(await openCatalog(config.sink, storage)));
  const catalog = opened.value;
  try {
    const source = await attempt(() => connect(config.source.connection, { applicationName: 'walberg check' }));
    const reached = catalog === undefined ? opened.problems : [ok(`The ${config.sink.catalog.type} catalog ${config.sink.catalog.type === 'rest' ? 'answers' : 'can be opened'}`)];
    if (source.value === undefined) return [{ title: 'Source', findings: source.problems }, { title: 'Target', findings: [...reached, ...await checkStorage(config, storage, [])] }];
    try {
      return await lookAt(config, source.value, catalog, storage, reached);
    } catch (error) {
      return [{ title: 'Source', findings: [problemOf(error)] }, { title: 'Target', findings: reached }];
    } finally {
      await source.value.close();
    }
  } finally {
    await catalog?.close?.();
    await storage.close?.();
  }
}

async function lookAt(config: WalbergConfig, client: SourceClient, catalog: Catalog | undefined, storage: Storage, reached: readonly Finding[]): Promise<Group[]> {
  const { source } = config;
  const server = await readServer(client);
  const role = await readRole(client);
  const identity = await identifySystem(client);
  const slot = await readSlotFacts(client, source.slotName);
  const open = await readOpenTransactions(client);
  const selected = await attempt(() => selectTables(client, source));
  const refs: readonly TableRef[] = selected.value ?? [];
  const tables = await readTables(client, refs);
  const publication = await readPublicationFacts(client, source, refs);
  const uncaptured = await readUncaptured(client, source, publication.publication?.viaPartitionRoot ?? source.publishViaPartitionRoot);
  const { plans, problems: unplanned } = planEach(config, await describeTables(client, refs.map((t) => t.oid), source.publicationName));
  const targets = catalog === undefined ? [] : await readTargets(config, identity, catalog, plans);

  const found = targets.flatMap((t) => t.found ?? []);
  const positions = found.filter((t) => t.position !== undefined).length;
  const reload = source.snapshotMode === 'always' || (source.snapshotMode === 'when_needed' && slot.slot === undefined && positions > 0);
  const loads = reload || catalog === undefined ? plans.length : found.filter((t) => t.position === undefined || t.reloadPending).length;
  const demand = { positions, loads };
  const behind = await attempt(() => refuseServerBehind({ client }, found));
  const unguardable = server.inRecovery && config.pipeline.slotGuard === 'strict' ? [problem('walberg.slot.guard=strict writes into the WAL, which a standby cannot', 'Set walberg.slot.guard=off, or connect to the primary.')] : [];
  const mayReplicate = checkRole(role);
  // A role that may not replicate is refused a session for that very reason.
  const session = mayReplicate.some((f) => f.mark === 'problem') ? [] : await replicationSession(config);
  return [
    { title: 'Server', findings: [...checkServer(server, slot, demand), ...mayReplicate, ...session] },
    { title: 'Publication', findings: checkPublication(source, publication, role, server, tables) },
    { title: 'Slot', findings: [...checkSlotState(source, slot, demand, server, open), ...unguardable] },
    { title: 'Tables', findings: [...selected.problems, ...checkRights(role, tables), ...unplanned, ...plans.flatMap((p) => checkPlan(p, publication)), ...checkColumns(plans, tables), ...checkUncaptured(uncaptured)] },
    { title: 'Target', findings: [...reached, ...await checkStorage(config, storage, targets), ...behind.problems, ...targets.flatMap((t: TargetFacts) => checkTarget(t, reload, publication.publication))] },
  ];
}

/** A stream needs a session of another kind, with its own line in pg_hba.conf and a free walsender. */
async function replicationSession({ source }: WalbergConfig): Promise<Finding[]> {
  const session = await attempt(() => connect(source.connection, { replication: true, applicationName: 'walberg check' }));
  await session.value?.close();
  return session.value === undefined ? [...session.problems] : [ok('A replication session can be opened')];
}

async function attempt<T>(work: () => Promise<T>): Promise<{ readonly value?: T; readonly problems: readonly Finding[] }> {
  try {
    return { value: await work(), problems: [] };
  } catch (error) {
    return { problems: [problemOf(error)] };
  }
}
