import type { Relation } from '../pgoutput/messages.js';
import { type TablePlan, qualifiedName } from './table-plan.js';

const IDENTITY = { d: 'DEFAULT', n: 'NOTHING', f: 'FULL', i: 'USING INDEX' } as const;

/**
 * What a Relation message says differently from the plan, as a sentence for the operator; undefined when rows of the
 * relation can be read by the plan. Columns are compared in order by name and, if captured, by declared type and modifier.
 * A changed name of the table is no difference: rows go by OID. Not visible in the message, so not compared: NOT NULL,
 * defaults, comments, what a domain is made of, and the primary key under REPLICA IDENTITY FULL.
 */
export function relationDifference(plan: TablePlan, relation: Relation): string | undefined {
  return columnDifference(plan, relation) ?? identityDifference(plan, relation);
}

/** What `relationDifference` says of columns: names, order, types. */
export function columnDifference(plan: TablePlan, relation: Relation): string | undefined {
  const table = qualifiedName(plan.source);
  const captured = new Set(plan.columns.flatMap((c) => (c.source.from === 'tuple' ? [c.source.ordinal] : [])));
  const known = plan.source.columns;
  for (let i = 0; i < Math.max(known.length, relation.columns.length); i++) {
    const ours = known[i];
    const theirs = relation.columns[i];
    if (theirs === undefined) return `Column ${ours.name} of table ${table} is no longer sent.`;
    if (ours === undefined) return `Column ${theirs.name} of table ${table} is new.`;
    if (ours.name !== theirs.name) return nameDifference(table, i, known.map((c) => c.name), relation.columns.map((c) => c.name));
    if (!captured.has(i)) continue;
    if (ours.typeOid !== theirs.typeOid) return `Column ${ours.name} of table ${table} has changed its type: it was ${ours.typeName} (OID ${ours.typeOid}) and is now OID ${theirs.typeOid}.`;
    if (ours.typmod !== theirs.typmod) return `Column ${ours.name} of table ${table} has changed its type modifier: it was ${ours.typeName} (${ours.typmod}) and is now ${theirs.typmod}.`;
  }
  return undefined;
}

/** What `relationDifference` says of the columns by which rows are identified; names are the plan's. */
export function identityDifference(plan: TablePlan, relation: Relation): string | undefined {
  const table = qualifiedName(plan.source);
  if (plan.source.replicaIdentity !== relation.replicaIdentity) {
    return `The replica identity of table ${table} was ${IDENTITY[plan.source.replicaIdentity]} and is now ${IDENTITY[relation.replicaIdentity]}.`;
  }
  // under FULL every column is flagged; without a key rows are appended whatever identifies them
  if (relation.replicaIdentity === 'f' || plan.mode === 'append') return undefined;
  const now = relation.columns.filter((c) => c.identity).map((c) => c.name);
  const lost = plan.keyNames.find((name) => !now.includes(name));
  if (lost !== undefined) return `Column ${lost} of table ${table} no longer identifies its rows.`;
  const gained = now.find((name) => !plan.keyNames.includes(name));
  return gained === undefined ? undefined : `Column ${gained} of table ${table} is now part of what identifies its rows.`;
}

function nameDifference(table: string, position: number, known: readonly string[], sent: readonly string[]): string {
  const ours = known[position];
  const theirs = sent[position];
  if (!sent.includes(ours) && !known.includes(theirs)) return `Column ${ours} of table ${table} is now named ${theirs}.`;
  if (!sent.includes(ours)) return `Column ${ours} of table ${table} is no longer sent.`;
  if (!known.includes(theirs)) return `Column ${theirs} of table ${table} is new.`;
  return `Column ${ours} of table ${table} has moved.`;
}
