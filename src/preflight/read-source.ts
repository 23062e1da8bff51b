import type { SourceConfig } from '../config/config.js';
import type { SourceClient } from '../postgres/client.js';
import { withoutUsableIdentity } from '../postgres/publication-setup.js';
import { readPublication } from '../postgres/publication.js';
import { readSlot } from '../postgres/slot.js';
import { readSourceStatus } from '../postgres/source-status.js';
import { isTableCaptured, listTables, type TableRef } from '../postgres/table-selection.js';
import type { OpenTransaction, PublicationFacts, RoleFacts, ServerFacts, SlotFacts, TableFacts, UncapturedFacts } from './facts.js';

/** Settings and use of what replication needs. */
export async function readServer(client: SourceClient): Promise<ServerFacts> {
  const [row] = await client.rows(`
    SELECT pg_catalog.current_setting('server_version') AS version, pg_catalog.pg_is_in_recovery() AS in_recovery,
           pg_catalog.current_setting('server_encoding') AS encoding, pg_catalog.current_setting('wal_level') AS wal_level,
           pg_catalog.current_setting('max_replication_slots') AS slots_max, (SELECT count(*) FROM pg_catalog.pg_replication_slots) AS slots_used,
           pg_catalog.current_setting('max_wal_senders') AS senders_max, (SELECT count(*) FROM pg_catalog.pg_stat_get_wal_senders()) AS senders_used,
           (SELECT setting FROM pg_catalog.pg_settings WHERE name = 'wal_sender_timeout') AS wal_sender_timeout,
           (SELECT setting FROM pg_catalog.pg_settings WHERE name = 'max_slot_wal_keep_size') AS keep_mb,
           pg_catalog.current_setting('idle_replication_slot_timeout', true) AS idle_timeout,
           (SELECT COALESCE(pg_catalog.json_agg(n.name), '[]')
              FROM pg_catalog.regexp_split_to_table(pg_catalog.current_setting('synchronized_standby_slots', true), '[, "]+') AS n (name)
             WHERE n.name <> '' AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_replication_slots s WHERE s.slot_name = n.name)) AS missing_standbys`);
  const keep = Number(row.keep_mb);
  return {
    version: row.version ?? '',
    versionNum: client.serverVersionNum,
    inRecovery: row.in_recovery === 't',
    encoding: row.encoding ?? '',
    walLevel: row.wal_level ?? '',
    slotsMax: Number(row.slots_max),
    slotsUsed: Number(row.slots_used),
    sendersMax: Number(row.senders_max),
    sendersUsed: Number(row.senders_used),
    walSenderTimeoutMs: Number(row.wal_sender_timeout),
    slotKeepBytes: keep < 0 ? undefined : BigInt(keep) << 20n,
    idleSlotTimeout: row.idle_timeout === null || row.idle_timeout.startsWith('0') ? undefined : row.idle_timeout,
    missingStandbySlots: JSON.parse(row.missing_standbys ?? '[]') as string[],
  };
}

/** Attributes and rights of the connection's role. */
export async function readRole(client: SourceClient): Promise<RoleFacts> {
  const [row] = await client.rows(`
    SELECT r.rolname, r.rolsuper, r.rolreplication, r.rolbypassrls, pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE') AS may_create,
           (SELECT pg_catalog.pg_has_role(g.oid, 'MEMBER') FROM pg_catalog.pg_roles g WHERE g.rolname = 'rds_replication') AS rds
      FROM pg_catalog.pg_roles r WHERE r.rolname = CURRENT_USER`);
  return {
    name: row.rolname ?? '', superuser: row.rolsuper === 't', replication: row.rolreplication === 't', bypassRls: row.rolbypassrls === 't', mayCreate: row.may_create === 't',
    rdsReplication: row.rds === null ? undefined : row.rds === 't',
  };
}

/** Rights and storage of the captured tables, in their order; those that vanished meanwhile are left out. */
export async function readTables(client: SourceClient, tables: readonly TableRef[]): Promise<TableFacts[]> {
  const rows = await client.rows(`
    SELECT c.oid, pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE') AS schema_usage, pg_catalog.pg_has_role(c.relowner, 'USAGE') AS owned,
           pg_catalog.row_security_active(c.oid) AS row_security,
           (SELECT COALESCE(pg_catalog.json_agg(a.attname ORDER BY a.attnum), '[]') FROM pg_catalog.pg_attribute a
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> '') AS generated,
           l.unreadable, l.out_of_line
      FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS w (oid)
      JOIN pg_catalog.pg_class c ON c.oid = w.oid
      JOIN LATERAL (
        SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object('schema', n.nspname, 'name', f.relname) ORDER BY n.nspname, f.relname) FILTER (WHERE NOT pg_catalog.has_table_privilege(f.oid, 'SELECT')), '[]') AS unreadable,
               COALESCE(pg_catalog.sum(pg_catalog.pg_relation_size(NULLIF(f.reltoastrelid, 0))), 0) AS out_of_line
          FROM (SELECT w.oid UNION SELECT t.relid FROM pg_catalog.pg_partition_tree(w.oid::pg_catalog.regclass) t) AS o (oid)
          JOIN pg_catalog.pg_class f ON f.oid = o.oid JOIN pg_catalog.pg_namespace n ON n.oid = f.relnamespace) l ON true`, [`{${tables.map((t) => t.oid).join(',')}}`]);
  return tables.flatMap((ref): TableFacts[] => rows.filter((r) => Number(r.oid) === ref.oid).map((r) => ({
    ...ref,
    schemaUsage: r.schema_usage === 't',
    unreadable: JSON.parse(r.unreadable ?? '[]') as TableFacts['unreadable'],
    owned: r.owned === 't',
    rowSecurity: r.row_security === 't',
    generated: JSON.parse(r.generated ?? '[]') as string[],
    outOfLineBytes: BigInt(r.out_of_line ?? '0'),
  })));
}

/** What the include lists match although no change of it reaches the log under that name. */
export async function readUncaptured(client: SourceClient, source: SourceConfig, viaPartitionRoot: boolean): Promise<UncapturedFacts[]> {
  const listed = source.tableInclude.length > 0;
  // Without a list the publication that somebody manages by hand is the choice.
  if (!listed && source.schemaInclude.length === 0 && (source.publicationAutocreate === 'disabled' || source.publicationAutocreate === 'no_tables')) return [];
  const rows = await client.rows<Record<'nspname' | 'relname' | 'reason', string>>(`
    SELECT n.nspname, c.relname, CASE WHEN c.relkind = 'f' THEN 'foreign' WHEN c.relkind IN ('v', 'm') THEN 'view' WHEN c.relpersistence = 'u' THEN 'unlogged' ELSE 'partitioned' END AS reason
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND c.relpersistence <> 't' AND NOT (c.relkind = 'r' AND c.relpersistence = 'p')
       AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
     ORDER BY 1, 2`);
  return rows.filter((r) => isTableCaptured(source, r.nspname, r.relname) && (listed || r.reason === 'unlogged' || r.reason === 'foreign') && !(viaPartitionRoot && r.reason === 'partitioned'))
    .map((r) => ({ schema: r.nspname, name: r.relname, reason: r.reason as UncapturedFacts['reason'] }));
}

/** The publication, and what publishing tables would break. */
export async function readPublicationFacts(client: SourceClient, source: SourceConfig, tables: readonly TableRef[]): Promise<PublicationFacts> {
  const publication = await readPublication(client, source.publicationName);
  const owner = await client.rows('SELECT pg_catalog.pg_has_role(p.pubowner, \'USAGE\') AS owned FROM pg_catalog.pg_publication p WHERE p.pubname = $1', [source.publicationName]);
  const concerned = publication === undefined && source.publicationAutocreate === 'all_tables' ? await listTables(client, false) : tables;
  return { publication, owned: owner[0]?.owned === 't', withoutIdentity: await withoutUsableIdentity(client, concerned) };
}

/** The slot, what it costs, and who reads from it. */
export async function readSlotFacts(client: SourceClient, name: string): Promise<SlotFacts> {
  const slot = await readSlot(client, name);
  if (slot === undefined) return { slot, retainedBytes: undefined, reader: undefined };
  const { retainedBytes } = await readSourceStatus(client, name);
  const [reader] = slot.activePid === undefined ? [] : await client.rows('SELECT a.application_name AS name FROM pg_catalog.pg_stat_activity a WHERE a.pid = $1', [slot.activePid]);
  return { slot, retainedBytes, reader: reader?.name ?? undefined };
}

/** Open transactions that have written something, in any database of the cluster. From the locks, which every role may see. */
export async function readOpenTransactions(client: SourceClient): Promise<OpenTransaction[]> {
  const rows = await client.rows(`
    SELECT DISTINCT l.pid, NULL AS gid, pg_catalog.floor(EXTRACT(epoch FROM pg_catalog.clock_timestamp() - a.xact_start)) AS seconds
      FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
     WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted AND l.pid <> pg_catalog.pg_backend_pid()
    UNION ALL
    SELECT NULL, p.gid, pg_catalog.floor(EXTRACT(epoch FROM pg_catalog.clock_timestamp() - p.prepared)) FROM pg_catalog.pg_prepared_xacts p`);
  return rows.map((r) => ({ pid: r.pid === null ? undefined : Number(r.pid), prepared: r.gid ?? undefined, seconds: r.seconds === null ? undefined : Number(r.seconds) }));
}
