import { quoteIdentifier } from '../postgres/quote.js';
import type { Demand, RoleFacts, ServerFacts, SlotFacts } from './facts.js';
import { type Finding, note, ok, problem } from './finding.js';
import { size } from './words.js';

/** Below this a pause of the process, or of the network, may cost the connection. */
const SHORT_TIMEOUT_MS = 5000;

/** Version, settings and free places of the server. */
export function checkServer(server: ServerFacts, { slot }: Pick<SlotFacts, 'slot'>, demand: Demand): Finding[] {
  return [
    server.versionNum < 140000 ? problem(`PostgreSQL ${server.version}`, 'Walberg needs PostgreSQL 14 or later.') : ok(`PostgreSQL ${server.version}, encoding ${server.encoding}`),
    ...standby(server),
    server.walLevel === 'logical' ? ok('wal_level is logical') : problem(`wal_level is ${server.walLevel}`, 'ALTER SYSTEM SET wal_level = logical; then restart Postgres (Amazon RDS: rds.logical_replication = 1; Cloud SQL: cloudsql.logical_decoding = on).'),
    places('max_replication_slots', 'slot', server.slotsMax, server.slotsUsed, (slot === undefined ? 1 : 0) + (demand.loads > 0 ? 1 : 0), demand.loads > 0 ? ', one of them for the time of the load' : ''),
    places('max_wal_senders', 'walsender', server.sendersMax, server.sendersUsed, slot?.active === true ? 0 : 1, ''),
    timeout(server.walSenderTimeoutMs),
    ...(slot?.failover === true && server.missingStandbySlots.length > 0
      ? [problem(`synchronized_standby_slots names slots that do not exist (${server.missingStandbySlots.join(', ')}): nothing is sent to a failover slot until they do`, 'Correct synchronized_standby_slots.')] : []),
    ...(server.idleSlotTimeout === undefined ? [] : [note(`idle_replication_slot_timeout is ${server.idleSlotTimeout}: when Walberg is stopped for longer, the slot is lost and every table is loaded anew`)]),
    server.slotKeepBytes === undefined
      ? note('max_slot_wal_keep_size has no limit: while Walberg does not run, WAL is kept until the disk is full', "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'; SELECT pg_reload_conf(); beyond that the slot is lost and every table is loaded anew.")
      : ok(`max_slot_wal_keep_size is ${size(server.slotKeepBytes)}: a slot that would keep more is lost`),
    ...(server.encoding === 'SQL_ASCII' ? [note('The database has no encoding (SQL_ASCII): a text that is not UTF-8 stops Walberg')] : []),
  ];
}

function standby({ inRecovery, versionNum }: ServerFacts): Finding[] {
  if (!inRecovery) return [];
  return [versionNum < 160000
    ? problem('The server is a standby, which cannot be streamed from before PostgreSQL 16', 'Connect to the primary.')
    : note('The server is a standby: a publication cannot be created here, and a slot is created only after the primary has logged its running transactions', 'Run SELECT pg_log_standby_snapshot(); on the primary when that takes long.')];
}

function places(setting: string, thing: string, max: number, used: number, needed: number, why: string): Finding {
  const text = `${setting} is ${max}, ${used} in use, ${needed} needed${needed > 1 ? why : ''}`;
  return max - used >= needed ? ok(text) : problem(text, `ALTER SYSTEM SET ${setting} = ${Math.max(10, used + needed)}; then restart Postgres; or free a ${thing} (pg_replication_slots, pg_stat_replication).`);
}

function timeout(ms: number): Finding {
  if (ms === 0) return note('wal_sender_timeout is 0: the server never gives up a dead connection, which keeps the slot in use', "ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf();");
  if (ms < SHORT_TIMEOUT_MS) return note(`wal_sender_timeout is ${ms} ms: a short pause ends the connection`, "ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf();");
  return ok(`wal_sender_timeout is ${ms / 1000} s`);
}

/** May the role make and read slots. What it needs of tables is told with the tables. */
export function checkRole(role: RoleFacts): Finding[] {
  const who = quoteIdentifier(role.name);
  if (role.superuser) return [note(`Role ${role.name} is a superuser, which is more than needed`)];
  if (role.replication) return [ok(`Role ${role.name} has REPLICATION`)];
  if (role.rdsReplication === true) return [ok(`Role ${role.name} is a member of rds_replication`)];
  return [problem(`Role ${role.name} may not replicate`, role.rdsReplication === false ? `GRANT rds_replication TO ${who};` : `ALTER ROLE ${who} REPLICATION;`)];
}
