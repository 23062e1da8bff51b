import type { SourceConfig } from '../config/config.js';
import { isWalbergError, WalbergError } from '../errors/error.js';
import type { SourceClient } from './client.js';
import { type Publication, readPublication } from './publication.js';
import { quoteIdentifier, quoteTable } from './quote.js';
import { listTables, type TableRef, verifyNames } from './table-selection.js';

type PublicationConfig = Pick<SourceConfig, 'publicationName' | 'publicationAutocreate' | 'publishViaPartitionRoot' | 'skippedOperations'>;

export interface PublicationSetup {
  readonly publication: Publication;
  readonly created: boolean;
  /** Tables put into an existing publication just now. A transaction that was open meanwhile is published only in part. */
  readonly added: readonly TableRef[];
}

/**
 * Brings the publication into the shape that `publication.autocreate.mode` asks for:
 *  - disabled: must exist
 *  - all_tables: created FOR ALL TABLES when missing
 *  - filtered: created for the captured tables when missing; captured tables it lacks are added, none is ever removed
 *  - no_tables: created empty when missing
 * Tables without a usable replica identity are never added: from that moment every UPDATE and DELETE of the application on
 * them would fail. Throws PUBLICATION_MISSING, REPLICA_IDENTITY_MISSING, SOURCE_PRIVILEGE with the SQL to run.
 */
export async function ensurePublication(client: SourceClient, config: PublicationConfig, tables: readonly TableRef[]): Promise<PublicationSetup> {
  const existing = await readPublication(client, config.publicationName);
  if (existing === undefined) {
    if (config.publicationAutocreate === 'disabled') throw missing(config, tables);
    await refuseUnsafe(client, config, config.publicationAutocreate === 'all_tables' ? await listTables(client, false) : config.publicationAutocreate === 'filtered' ? tables : []);
    await execute(client, createSql(config, tables));
    return { publication: await readExisting(client, config, tables), created: true, added: [] };
  }
  if (config.publicationAutocreate !== 'filtered') return { publication: existing, created: false, added: [] };
  const lacking = notPublished(existing, tables);
  if (lacking.length === 0) return { publication: existing, created: false, added: [] };
  await refuseUnsafe(client, config, lacking);
  await execute(client, addSql(config, lacking));
  return { publication: await readExisting(client, config, tables), created: false, added: lacking };
}

/**
 * Checks that the publication sends what is captured. Run at start and again and again while streaming: from PostgreSQL 18 a
 * missing publication is not an error of the stream, it just stays empty while the slot moves on. `since` is the publication as
 * it was when the stream began; from then on names must not pass to other tables either (`verifyNames`). Throws PUBLICATION_MISSING,
 * PUBLICATION_INCOMPLETE with the SQL to run, SCHEMA_CHANGED.
 */
export async function verifyPublication(client: SourceClient, config: PublicationConfig, tables: readonly TableRef[], since?: Publication): Promise<Publication> {
  const publication = await readExisting(client, config, tables);
  const context = { publication: config.publicationName };
  if (since !== undefined) await verifyNames(client, tables);
  if (since !== undefined && since.oid !== publication.oid) {
    throw new WalbergError('PUBLICATION_MISSING', `Publication ${config.publicationName} was dropped and created again`, { context, hint: 'Changes made in between were not published: create a new slot and reload the tables.' });
  }
  const unpublished = unpublishedOperations(publication, config);
  if (unpublished.length > 0) {
    throw new WalbergError('PUBLICATION_INCOMPLETE', `Publication ${config.publicationName} leaves out ${unpublished.join(', ')}`, {
      context, hint: operationsSql(config),
    });
  }
  const lacking = notPublished(publication, tables);
  if (lacking.length > 0) {
    const reload = since === undefined ? '' : ' Changes made meanwhile were not published: also drop the Iceberg tables of these, so that they are loaded anew.';
    throw new WalbergError('PUBLICATION_INCOMPLETE', `Publication ${config.publicationName} leaves out ${names(lacking)}`, { context: { ...context, tables: lacking.length }, hint: `${addSql(config, lacking)};${reload}` });
  }
  return publication;
}

const OPERATIONS = 'insert, update, delete, truncate';

/** Operations that are captured but not published. */
export function unpublishedOperations(publication: Publication, config: PublicationConfig): string[] {
  const wanted = { insert: 'c', update: 'u', delete: 'd', truncate: 't' } as const;
  return (Object.keys(wanted) as (keyof typeof wanted)[]).filter((o) => !publication.operations[o] && !config.skippedOperations.includes(wanted[o]));
}

/** What makes the publication send every operation. */
export function operationsSql(config: PublicationConfig): string {
  return `ALTER PUBLICATION ${quoteIdentifier(config.publicationName)} SET (publish = '${OPERATIONS}');`;
}

/** What creates the publication as the configuration wants it; without the final semicolon. */
export function createSql(config: PublicationConfig, tables: readonly TableRef[]): string {
  const scope = config.publicationAutocreate === 'all_tables' ? ' FOR ALL TABLES' : config.publicationAutocreate === 'no_tables' ? '' : ` FOR TABLE ${tableList(tables)}`;
  return `CREATE PUBLICATION ${quoteIdentifier(config.publicationName)}${scope} WITH (publish = '${OPERATIONS}', publish_via_partition_root = ${config.publishViaPartitionRoot})`;
}

/** What puts tables into the publication; without the final semicolon. */
export function addSql(config: PublicationConfig, tables: readonly TableRef[]): string {
  return `ALTER PUBLICATION ${quoteIdentifier(config.publicationName)} ADD TABLE ${tableList(tables)}`;
}

/** ONLY: tables that inherit from a captured one are captured by their own name or not at all. */
function tableList(tables: readonly TableRef[]): string {
  return tables.map((t) => `ONLY ${quoteTable(t)}`).join(', ');
}

/** Names for a message: the first twenty, and how many more. */
export function names(tables: readonly TableRef[]): string {
  const shown = tables.slice(0, 20).map((t) => `${t.schema}.${t.name}`).join(', ');
  return tables.length > 20 ? `${shown} and ${tables.length - 20} more` : shown;
}

/** The tables that the publication does not send under their own name. */
export function notPublished(publication: Publication, tables: readonly TableRef[]): TableRef[] {
  return tables.filter((t) => !publication.tables.some((p) => p.schema === t.schema && p.name === t.name));
}

function missing(config: PublicationConfig, tables: readonly TableRef[]): WalbergError {
  return new WalbergError('PUBLICATION_MISSING', `Publication ${config.publicationName} does not exist`, {
    context: { publication: config.publicationName }, hint: `${createSql(config, tables)};`,
  });
}

async function readExisting(client: SourceClient, config: PublicationConfig, tables: readonly TableRef[]): Promise<Publication> {
  const publication = await readPublication(client, config.publicationName);
  if (publication === undefined) throw missing(config, tables);
  return publication;
}

async function execute(client: SourceClient, sql: string): Promise<void> {
  try {
    await client.rows(sql);
  } catch (error) {
    if (!isWalbergError(error, 'SOURCE_PRIVILEGE')) throw error;
    throw new WalbergError('SOURCE_PRIVILEGE', error.message, { context: error.context, cause: error, hint: `Run this as a role that owns the tables (for all tables: a superuser): ${sql}; Walberg's own role only needs SELECT on the tables and, for the slot, REPLICATION: ALTER ROLE … REPLICATION;` });
  }
}

/** Tables on which UPDATE and DELETE fail once published; of a partitioned table its leaves decide. */
export async function withoutUsableIdentity(client: SourceClient, tables: readonly TableRef[]): Promise<TableRef[]> {
  if (tables.length === 0) return [];
  const rows = await client.rows<{ oid: string }>(`
    SELECT DISTINCT w.oid
      FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS w (oid)
      JOIN LATERAL (SELECT w.oid AS leaf UNION SELECT t.relid FROM pg_catalog.pg_partition_tree(w.oid::pg_catalog.regclass) t WHERE t.isleaf) l ON true
      JOIN pg_catalog.pg_class c ON c.oid = l.leaf AND c.relkind = 'r'
     WHERE CASE c.relreplident
             WHEN 'f' THEN false
             WHEN 'd' THEN NOT EXISTS (SELECT 1 FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indimmediate AND i.indisvalid)
             WHEN 'i' THEN NOT EXISTS (SELECT 1 FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisreplident AND i.indisvalid)
             ELSE true END`, [`{${tables.map((t) => t.oid).join(',')}}`]);
  const unsafe = new Set(rows.map((r) => Number(r.oid)));
  return tables.filter((t) => unsafe.has(t.oid));
}

async function refuseUnsafe(client: SourceClient, config: PublicationConfig, tables: readonly TableRef[]): Promise<void> {
  const unsafe = await withoutUsableIdentity(client, tables);
  if (unsafe.length === 0) return;
  const all = config.publicationAutocreate === 'all_tables' ? ' Or set publication.autocreate.mode=filtered to publish captured tables only.' : '';
  throw new WalbergError('REPLICA_IDENTITY_MISSING', `Publishing would make UPDATE and DELETE fail on ${names(unsafe)}: no primary key (or a deferrable one) and no other replica identity`, {
    context: { publication: config.publicationName, tables: unsafe.length },
    hint: `For each: ALTER TABLE … REPLICA IDENTITY FULL; or exclude it; or, if it is only ever inserted into, publish it by hand: ${config.publicationAutocreate === 'all_tables' ? createSql(config, []) : addSql(config, unsafe.slice(0, 1))};${all}`,
  });
}
