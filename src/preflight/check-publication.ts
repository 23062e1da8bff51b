import type { SourceConfig } from '../config/config.js';
import { addSql, createSql, names, notPublished, operationsSql, unpublishedOperations } from '../postgres/publication-setup.js';
import type { Publication } from '../postgres/publication.js';
import type { PublicationFacts, RoleFacts, ServerFacts, TableFacts } from './facts.js';
import { type Finding, note, ok, problem } from './finding.js';
import { count, list } from './words.js';

const IDENTITY_REMEDY = 'For each: ALTER TABLE … REPLICA IDENTITY FULL; or exclude it; or, if it is only ever inserted into, publish it by hand.';

/** Does the publication send what is captured, or can the role bring it there. */
export function checkPublication(source: SourceConfig, facts: PublicationFacts, role: RoleFacts, server: Pick<ServerFacts, 'inRecovery'>, tables: readonly TableFacts[]): Finding[] {
  const { publication } = facts;
  return publication === undefined ? missing(source, facts, role, server, tables) : existing(source, publication, facts, server, tables);
}

function missing(source: SourceConfig, { withoutIdentity }: PublicationFacts, role: RoleFacts, { inRecovery }: Pick<ServerFacts, 'inRecovery'>, tables: readonly TableFacts[]): Finding[] {
  const { publicationName: name, publicationAutocreate: mode } = source;
  const byHand = `${createSql({ ...source, publicationAutocreate: mode === 'all_tables' ? mode : 'filtered' }, tables)};`;
  if (mode === 'disabled') return [problem(`Publication ${name} does not exist (publication.autocreate.mode=disabled)`, byHand)];
  if (mode === 'no_tables') return [problem(`Publication ${name} does not exist, and would be created without the captured tables (publication.autocreate.mode=no_tables)`, byHand)];
  if (inRecovery) return [problem(`Publication ${name} does not exist and cannot be created on a standby`, `On the primary: ${byHand}`)];
  if (withoutIdentity.length > 0) return [problem(`Publication ${name} does not exist; publishing would make UPDATE and DELETE fail on ${names(withoutIdentity)}: no primary key (or a deferrable one) and no other replica identity`, IDENTITY_REMEDY)];
  const foreign = tables.filter((t) => !t.owned);
  if (mode === 'all_tables' && !role.superuser) return [problem(`Publication ${name} does not exist, and only a superuser creates one FOR ALL TABLES`, byHand)];
  if (!role.mayCreate || (mode === 'filtered' && foreign.length > 0)) {
    const why = [...(role.mayCreate ? [] : ['has no CREATE on the database']), ...(foreign.length > 0 ? [`does not own ${names(foreign)}`] : [])].join(' and ');
    return [problem(`Publication ${name} does not exist, and role ${role.name} cannot create it: it ${why}`, `As the owner of the tables: ${byHand}`)];
  }
  return [ok(`Publication ${name} does not exist and will be created for ${mode === 'all_tables' ? 'all tables' : count(tables.length, 'table')}`)];
}

function existing(source: SourceConfig, publication: Publication, facts: PublicationFacts, { inRecovery }: Pick<ServerFacts, 'inRecovery'>, tables: readonly TableFacts[]): Finding[] {
  const { publicationName: name } = source;
  const findings: Finding[] = [];
  const lacking = notPublished(publication, tables);
  const unpublished = unpublishedOperations(publication, source);
  if (unpublished.length > 0) findings.push(problem(`Publication ${name} leaves out ${unpublished.join(', ')}`, operationsSql(source)));
  if (lacking.length > 0) findings.push(adding(source, facts, inRecovery, lacking, tables));
  if (findings.length === 0) findings.push(ok(`Publication ${name} publishes ${tables.length === 0 ? 'the operations needed' : tables.length === 1 ? 'the captured table' : `all ${tables.length} captured tables`}`));
  if (publication.viaPartitionRoot !== source.publishViaPartitionRoot && (publication.viaPartitionRoot || tables.some((t) => t.kind === 'p'))) {
    findings.push(note(`Publication ${name} sends partitions under ${publication.viaPartitionRoot ? 'the name of their root' : 'their own names'}, which counts rather than publish.via.partition.root=${source.publishViaPartitionRoot}`));
  }
  const unused = publication.tables.filter((p) => !tables.some((t) => t.schema === p.schema && t.name === p.name));
  if (!publication.allTables && unused.length > 0 && tables.length > 0) findings.push(note(`It also publishes tables that are not captured, whose changes are sent in vain: ${list(unused.map((t) => `${t.schema}.${t.name}`))}`));
  const filtered = publication.tables.filter((p) => p.rowFilter !== undefined && tables.some((t) => t.schema === p.schema && t.name === p.name));
  if (filtered.length > 0) findings.push(note(`It sends only rows that pass a filter (WHERE), and only such are loaded: ${list(filtered.map((t) => `${t.schema}.${t.name}`))}`));
  return findings;
}

function adding(source: SourceConfig, facts: PublicationFacts, inRecovery: boolean, lacking: readonly { readonly schema: string; readonly name: string; readonly oid: number; readonly kind: string }[], tables: readonly TableFacts[]): Finding {
  const what = `Publication ${source.publicationName} leaves out ${names(lacking)}`;
  const sql = `${addSql(source, lacking)};`;
  if (source.publicationAutocreate !== 'filtered') return problem(what, sql);
  const unsafe = lacking.filter((t) => facts.withoutIdentity.some((u) => u.oid === t.oid));
  if (unsafe.length > 0) return problem(`${what}; publishing would make UPDATE and DELETE fail on ${names(unsafe)}: no primary key (or a deferrable one) and no other replica identity`, IDENTITY_REMEDY);
  const foreign = lacking.some((t) => !tables.some((f) => f.oid === t.oid && f.owned));
  if (inRecovery || foreign || !facts.owned) return problem(`${what}, and ${inRecovery ? 'a standby cannot change that' : 'the role does not own both the publication and the tables'}`, sql);
  return ok(`${what}: ${lacking.length === 1 ? 'it' : 'they'} will be added`);
}
