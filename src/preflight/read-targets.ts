import type { WalbergConfig } from '../config/config.js';
import { targetTableName } from '../config/naming.js';
import type { Catalog } from '../iceberg/catalog/catalog.js';
import { findTable, planTables } from '../pipeline/open-tables.js';
import type { SystemIdentity } from '../postgres/system.js';
import type { SourceTable } from '../schema/source-table.js';
import type { TablePlan } from '../schema/table-plan.js';
import type { TargetFacts } from './check-targets.js';
import { type Finding, problemOf } from './finding.js';

/** Plans every table by itself, so that one bad table does not hide the others; then looks for names that two would share. */
export function planEach(config: WalbergConfig, tables: readonly SourceTable[]): { plans: TablePlan[]; problems: Finding[] } {
  const plans: TablePlan[] = [];
  const problems: Finding[] = [];
  for (const table of tables) {
    try {
      plans.push(planTables(config, [table])[0].plan);
    } catch (error) {
      problems.push(problemOf(error));
    }
  }
  try {
    planTables(config, plans.map((p) => p.source));
  } catch (error) {
    problems.push(problemOf(error));
  }
  return { plans, problems };
}

/** Looks every planned table up in the catalog. Nothing is created. */
export async function readTargets(config: WalbergConfig, identity: SystemIdentity, catalog: Catalog, plans: readonly TablePlan[]): Promise<TargetFacts[]> {
  const targets: TargetFacts[] = [];
  for (const plan of plans) {
    const identifier = { namespace: config.sink.namespace, name: targetTableName(config, plan.source.schema, plan.source.name) };
    try {
      targets.push({ plan, identifier, found: await findTable(config, { identity }, catalog, { plan, identifier }), error: undefined });
    } catch (error) {
      targets.push({ plan, identifier, found: undefined, error });
    }
  }
  return targets;
}
