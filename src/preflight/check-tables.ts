import { quoteIdentifier, quoteTable } from '../postgres/quote.js';
import { type TablePlan, qualifiedName } from '../schema/table-plan.js';
import type { PublicationFacts, RoleFacts, TableFacts, UncapturedFacts } from './facts.js';
import { type Finding, note, ok, problem } from './finding.js';
import { list, size } from './words.js';

/** Rights of the role on the captured tables. One statement for each kind that is lacking. */
export function checkRights(role: RoleFacts, tables: readonly TableFacts[]): Finding[] {
  const who = quoteIdentifier(role.name);
  const findings: Finding[] = [];
  const schemas = [...new Set(tables.filter((t) => !t.schemaUsage).map((t) => t.schema))];
  if (schemas.length > 0) findings.push(problem(`Role ${role.name} may not use ${schemas.length === 1 ? 'schema' : 'the schemas'} ${list(schemas)}`, `GRANT USAGE ON SCHEMA ${schemas.map(quoteIdentifier).join(', ')} TO ${who};`));
  const unreadable = tables.flatMap((t) => t.unreadable);
  if (unreadable.length > 0) findings.push(problem(`Role ${role.name} may not read ${list(unreadable.map(nameOf))}`, `GRANT SELECT ON ${unreadable.map(quoteTable).join(', ')} TO ${who};`));
  const secured = role.bypassRls || role.superuser ? [] : tables.filter((t) => t.rowSecurity);
  if (secured.length > 0) findings.push(problem(`Row-level security would hide rows of ${list(secured.map(nameOf))} from the load`, `ALTER ROLE ${who} BYPASSRLS;`));
  return findings.length > 0 || tables.length === 0 ? findings : [ok(`Role ${role.name} may read every captured table`)];
}

const IDENTITY: Readonly<Record<string, string>> = { d: 'DEFAULT', f: 'FULL', i: 'USING INDEX', n: 'NOTHING' };

/** How a table is written and why, and what of it is not as one might expect. */
export function checkPlan(plan: TablePlan, { publication, withoutIdentity }: PublicationFacts): Finding[] {
  const { source, mode } = plan;
  const name = qualifiedName(source);
  const how = mode === 'append' ? 'append, one row per change' : `${mode} by ${plan.keyNames.join(', ')}`;
  const findings = [ok(`${name}: ${how}; replica identity ${IDENTITY[source.replicaIdentity]}`), ...plan.notes.map((n) => note(n.startsWith('Table ') ? n : `${name}: ${n}`))];
  const sendsChanges = publication?.operations.update === true || publication?.operations.delete === true;
  if (sendsChanges && withoutIdentity.some((t) => t.oid === source.oid) && publication.tables.some((t) => t.schema === source.schema && t.name === source.name)) {
    findings.push(note(`${name}: UPDATE and DELETE fail at the source while it is published without a replica identity`, `ALTER TABLE ${quoteTable(source)} REPLICA IDENTITY FULL;`));
  }
  return findings;
}

/** What is the same thing in many tables, told once. */
export function checkColumns(plans: readonly TablePlan[], facts: readonly TableFacts[]): Finding[] {
  const findings: Finding[] = [];
  const factsOf = (plan: TablePlan): TableFacts | undefined => facts.find((f) => f.oid === plan.source.oid);
  const generated = plans.flatMap((plan) => {
    const unsent = (factsOf(plan)?.generated ?? []).filter((g) => !plan.source.columns.some((c) => c.name === g));
    return unsent.length === 0 ? [] : [`${qualifiedName(plan.source)} (${unsent.join(', ')})`];
  });
  if (generated.length > 0) findings.push(note(`Generated columns are not in the log and are left out: ${list(generated)}`));
  const toastable = plans.filter((p) => p.toastableOrdinals.length > 0 && p.source.replicaIdentity !== 'f');
  const described = (plan: TablePlan): string => {
    const bytes = factsOf(plan)?.outOfLineBytes ?? 0n;
    return `${qualifiedName(plan.source)} (${plan.toastableOrdinals.map((o) => plan.source.columns[o].name).join(', ')}${bytes > 0n ? `; ${size(bytes)} now` : ''})`;
  };
  const [logged, readBack] = [toastable.filter((p) => p.mode === 'append'), toastable.filter((p) => p.mode !== 'append')];
  if (readBack.length > 0) findings.push(note(`An UPDATE leaves out values that are stored out of line and did not change; they are read back by key: ${list(readBack.map(described))}`, 'For busy tables: ALTER TABLE … REPLICA IDENTITY FULL;'));
  if (logged.length > 0) findings.push(note(`An UPDATE leaves out values that are stored out of line and did not change; in append mode they are NULL and named in __unchanged: ${list(logged.map(described))}`, 'To have them: ALTER TABLE … REPLICA IDENTITY FULL;'));
  return findings;
}

const REASONS: Readonly<Record<UncapturedFacts['reason'], string>> = {
  unlogged: 'Unlogged tables are not in the log and not captured',
  foreign: 'Foreign tables are not in the log and not captured',
  view: 'Views are not in the log and not captured',
  partitioned: 'Partitioned tables are captured by the names of their partitions, unless publish.via.partition.root=true',
};

/** What the lists match without effect. */
export function checkUncaptured(uncaptured: readonly UncapturedFacts[]): Finding[] {
  return (Object.keys(REASONS) as UncapturedFacts['reason'][]).flatMap((reason) => {
    const of = uncaptured.filter((u) => u.reason === reason).map(nameOf);
    return of.length === 0 ? [] : [note(`${REASONS[reason]}: ${list(of)}`)];
  });
}

function nameOf({ schema, name }: { readonly schema: string; readonly name: string }): string {
  return `${schema}.${name}`;
}
