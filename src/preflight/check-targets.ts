import { WalbergError } from '../errors/error.js';
import type { TableIdentifier } from '../iceberg/catalog/catalog.js';
import type { FoundTable } from '../pipeline/open-tables.js';
import { refuseOtherModes, refuseOtherSources } from '../pipeline/same-source.js';
import { refuseForeignRows } from '../pipeline/session.js';
import { targetName } from '../pipeline/table-target.js';
import { formatLsn } from '../postgres/lsn.js';
import type { Publication } from '../postgres/publication.js';
import { bindColumns, bindingNotes } from '../schema/bind-columns.js';
import { qualifiedName, type TablePlan } from '../schema/table-plan.js';
import { type Finding, note, ok, problem, problemOf, refusal } from './finding.js';

/** A planned table with what the catalog said: the table (or its absence), or why it could not be read. */
export interface TargetFacts {
  readonly plan: TablePlan;
  readonly identifier: TableIdentifier;
  readonly found: FoundTable | undefined;
  readonly error: unknown;
}

/**
 * What a start would do with one Iceberg table. `reload`: everything is loaded anew, so what the table holds does not matter;
 * `publication` as it is now, undefined = none.
 */
export function checkTarget({ plan, identifier, found, error }: TargetFacts, reload: boolean, publication: Publication | undefined): Finding[] {
  const name = `${qualifiedName(plan.source)} → ${targetName(identifier)}`;
  if (found === undefined) return [problemOf(error)];
  if (found.existing === undefined) return [ok(`${name}: will be created and loaded`)];
  const problems = [
    ...(reload ? [] : [...refusal(() => refuseOtherSources([found])), ...refusal(() => refuseOtherModes([found])), ...leftOut(found, publication)]),
    ...refusal(() => refuseForeignRows(found)),
    ...refusal(() => { bindColumns(plan, currentSchema(found)); }),
  ];
  if (problems.length > 0) return problems;
  const notes = bindingNotes(plan, currentSchema(found)).map((n) => note(n));
  if (found.position === undefined) return [ok(`${name}: exists without rows of Walberg and will be loaded`), ...notes];
  if (reload || found.reloadPending) return [note(`${name}: will be emptied and loaded anew`), ...notes];
  return [ok(`${name}: at ${formatLsn(found.position)}`), ...notes];
}

/** Changes of a table were not published for a while: what a start refuses (`refuseUnpublished`). */
function leftOut({ plan, identifier, position }: FoundTable, publication: Publication | undefined): Finding[] {
  if (position === undefined || publication?.tables.some((p) => p.schema === plan.source.schema && p.name === plan.source.name) === true) return [];
  return [problem(`${targetName(identifier)} holds a position, but ${publication === undefined ? 'the publication does not exist any more' : `the publication leaves out ${qualifiedName(plan.source)}`}: changes made meanwhile are lost`, `Drop ${targetName(identifier)}, so that it is loaded anew, or load into another namespace through another slot.name.`)];
}

function currentSchema({ existing, identifier }: FoundTable): Parameters<typeof bindColumns>[1] {
  const schema = existing?.metadata.schemas.find((s) => s['schema-id'] === existing.metadata['current-schema-id']);
  if (schema === undefined) throw new WalbergError('FORMAT_UNSUPPORTED', `The metadata of ${targetName(identifier)} has no current schema`);
  return schema;
}
