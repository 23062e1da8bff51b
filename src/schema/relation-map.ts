import type { Relation } from '../pgoutput/messages.js';
import { keepsValues, type KnownColumns } from './known-columns.js';
import { identityDifference } from './relation-match.js';
import { type TablePlan, qualifiedName } from './table-plan.js';

/** Where each column of the plan's tuples lies in tuples of an older relation (-1: nowhere, it is NULL), or why that cannot be said. */
export type RelationMap = { readonly ordinals: Int32Array; readonly problem?: undefined } | { readonly ordinals?: undefined; readonly problem: string };

/**
 * Reads a Relation message from before the table got the columns of the plan. Columns are found by name, or by a name that
 * the column is known to have had; those the relation lacks were added later and were NULL then; those only it has are gone.
 *
 * The relation must not be newer than the plan. A problem is told when the key or a type is another one, and when a column
 * that nobody remembers may be an earlier name of one of the plan's.
 */
export function mapRelation(plan: TablePlan, relation: Relation, known: KnownColumns | undefined): RelationMap {
  const table = qualifiedName(plan.source);
  const { columns } = plan.source;
  const captured = new Set(plan.columns.flatMap((c) => (c.source.from === 'tuple' ? [c.source.ordinal] : [])));
  const sent = new Set(relation.columns.map((c) => c.name));
  const ordinals = new Int32Array(columns.length).fill(-1);
  const unknown: string[] = [];
  let last = -1;
  for (const [index, theirs] of relation.columns.entries()) {
    let ordinal = columns.findIndex((c) => c.name === theirs.name);
    const former = ordinal >= 0 ? undefined : known?.former.find((c) => c.name === theirs.name);
    if (former !== undefined) ordinal = columns.findIndex((c) => c.attnum === former.attnum && !sent.has(c.name));
    if (ordinal < 0) {
      if (former === undefined) unknown.push(theirs.name);
      continue;
    }
    // Columns are sent in the order they were made in, which nothing changes.
    if (ordinal <= last) return { problem: `Column ${theirs.name} of table ${table} was in another place, so the name belonged to another column.` };
    last = ordinal;
    const ours = columns[ordinal];
    if (captured.has(ordinal) && !keepsValues(theirs, ours, false)) return { problem: `Column ${theirs.name} of table ${table} had type OID ${theirs.typeOid} (${theirs.typmod}) and is now ${ours.typeName}.` };
    ordinals[ordinal] = index;
  }
  const lacking = [...captured].find((ordinal) => ordinals[ordinal] < 0);
  if (unknown.length > 0 && lacking !== undefined) {
    return { problem: `Table ${table} had a column ${unknown[0]}; whether it is column ${columns[lacking].name} now cannot be said.` };
  }
  const named = relation.columns.map((c, index) => ({ ...c, name: columns[ordinals.indexOf(index)]?.name ?? c.name }));
  const problem = identityDifference(plan, { ...relation, columns: named });
  return problem === undefined ? { ordinals } : { problem };
}
