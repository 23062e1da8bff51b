import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Publication } from '../../src/postgres/publication.js';
import type { SlotState } from '../../src/postgres/slot.js';
import { checkPublication } from '../../src/preflight/check-publication.js';
import { checkRole, checkServer } from '../../src/preflight/check-server.js';
import { checkSlotState } from '../../src/preflight/check-slot.js';
import { checkColumns, checkPlan, checkRights, checkUncaptured } from '../../src/preflight/check-tables.js';
import type { OpenTransaction, PublicationFacts, RoleFacts, ServerFacts, SlotFacts, TableFacts } from '../../src/preflight/facts.js';
import { type Finding, note, ok, problem } from '../../src/preflight/finding.js';
import { describePreflight, hasProblems } from '../../src/preflight/report.js';
import { duration, list, size } from '../../src/preflight/words.js';
import { planTable } from '../../src/schema/table-plan.js';
import { sourceConfig } from '../support/source-config.js';
import { everyColumn, EXACT_TYPES, sinkConfig, sourceColumn, sourceTable } from '../support/source-table.js';

const SERVER: ServerFacts = { version: '16.2', versionNum: 160002, inRecovery: false, encoding: 'UTF8', walLevel: 'logical', slotsMax: 10, slotsUsed: 1, sendersMax: 10, sendersUsed: 1, walSenderTimeoutMs: 60_000, slotKeepBytes: 1n << 30n, idleSlotTimeout: undefined, missingStandbySlots: [] };
const ROLE: RoleFacts = { name: 'Wal berg', superuser: false, replication: true, bypassRls: false, mayCreate: true, rdsReplication: undefined };
const SLOT: SlotState = { name: 'walberg', type: 'logical', plugin: 'pgoutput', database: 'shop', temporary: false, active: false, activePid: undefined, restartLsn: 1n, confirmedFlushLsn: 2n, walStatus: 'reserved', safeWalSize: undefined, twoPhase: false, invalidationReason: undefined, inactiveSince: undefined, failover: false, synced: false };
const SOURCE = sourceConfig({ host: 'h', port: 1, user: 'u', password: 'p', database: 'shop', sslMode: 'disable', tcpKeepAlive: true, queryTimeoutMs: 0 });
const NONE = { positions: 0, loads: 0 };

const table = (name: string, changes: Partial<TableFacts> = {}): TableFacts => ({ oid: 1, schema: 'public', name, kind: 'r', schemaUsage: true, unreadable: [], owned: true, rowSecurity: false, generated: [], outOfLineBytes: 0n, ...changes });
const publication = (tables: readonly string[], changes: Partial<Publication> = {}): Publication => ({ oid: 9, name: 'walberg', allTables: false, operations: { insert: true, update: true, delete: true, truncate: true }, viaPartitionRoot: false, tables: tables.map((name) => ({ schema: 'public', name })), ...changes });
const marks = (findings: readonly Finding[]): string => findings.map((f) => f.mark[0]).join('');
/** The only finding with this mark. */
function only(findings: readonly Finding[], mark: Finding['mark']): Finding {
  const found = findings.filter((f) => f.mark === mark);
  assert.equal(found.length, 1, JSON.stringify(findings));
  return found[0];
}

test('a server that is set up has nothing to say against it', () => {
  assert.equal(marks(checkServer(SERVER, { slot: undefined }, NONE)), 'oooooo');
});

test('what is wrong with a server is one problem or note each', () => {
  const of = (changes: Partial<ServerFacts>, mark: Finding['mark'], slot?: SlotState): Finding => only(checkServer({ ...SERVER, ...changes }, { slot }, NONE), mark);
  assert.match(of({ versionNum: 130010, version: '13.10' }, 'problem').remedy!, /14 or later/);
  assert.match(of({ walLevel: 'replica' }, 'problem').remedy!, /^ALTER SYSTEM SET wal_level = logical;/);
  assert.match(of({ inRecovery: true, versionNum: 150004 }, 'problem').remedy!, /primary/);
  assert.match(of({ inRecovery: true }, 'note').text, /standby/);
  assert.match(of({ walSenderTimeoutMs: 0 }, 'note').text, /never gives up/);
  assert.match(of({ walSenderTimeoutMs: 4999 }, 'note').text, /4999 ms/);
  assert.match(of({ slotKeepBytes: undefined }, 'note').remedy!, /max_slot_wal_keep_size = /);
  assert.match(of({ idleSlotTimeout: '1d' }, 'note').text, /1d/);
  assert.match(of({ encoding: 'SQL_ASCII' }, 'note').text, /UTF-8/);
  assert.match(of({ missingStandbySlots: ['s1'] }, 'problem', { ...SLOT, failover: true }).text, /s1/);
  assert.equal(marks(checkServer({ ...SERVER, missingStandbySlots: ['s1'] }, { slot: SLOT }, NONE)).includes('p'), false, 'a slot that is no failover slot does not wait for standbys');
});

test('places: a slot to be made and one for the load, less what is there already', () => {
  const needed = (slot: SlotState | undefined, loads: number): string[] => checkServer({ ...SERVER, slotsMax: 2, slotsUsed: 1, sendersMax: 1, sendersUsed: 1 }, { slot }, { positions: 0, loads }).slice(2, 4).map((f) => `${f.mark} ${/\d+ needed/.exec(f.text)![0]}`);
  assert.deepEqual(needed(undefined, 3), ['problem 2 needed', 'problem 1 needed']);
  assert.deepEqual(needed(undefined, 0), ['ok 1 needed', 'problem 1 needed']);
  assert.deepEqual(needed(SLOT, 1), ['ok 1 needed', 'problem 1 needed']);
  assert.deepEqual(needed({ ...SLOT, active: true }, 0), ['ok 0 needed', 'ok 0 needed']);
});

test('the right to replicate: attribute, membership, or the statement that gives it', () => {
  assert.deepEqual(checkRole(ROLE).map((f) => f.mark), ['ok']);
  assert.deepEqual(checkRole({ ...ROLE, replication: false, rdsReplication: true }).map((f) => f.mark), ['ok']);
  assert.deepEqual(checkRole({ ...ROLE, superuser: true, replication: false }).map((f) => f.mark), ['note']);
  assert.equal(only(checkRole({ ...ROLE, replication: false }), 'problem').remedy, 'ALTER ROLE "Wal berg" REPLICATION;');
  assert.equal(only(checkRole({ ...ROLE, replication: false, rdsReplication: false }), 'problem').remedy, 'GRANT rds_replication TO "Wal berg";');
});

test('rights on tables: one statement per kind, quoted', () => {
  assert.equal(marks(checkRights(ROLE, [table('a')])), 'o');
  const findings = checkRights(ROLE, [table('a', { schemaUsage: false, unreadable: [{ schema: 'public', name: 'a' }] }), table('b', { rowSecurity: true, unreadable: [{ schema: 'public', name: 'b"1' }] })]);
  assert.deepEqual(findings.map((f) => f.remedy), ['GRANT USAGE ON SCHEMA "public" TO "Wal berg";', 'GRANT SELECT ON "public"."a", "public"."b""1" TO "Wal berg";', 'ALTER ROLE "Wal berg" BYPASSRLS;']);
  assert.equal(marks(checkRights({ ...ROLE, bypassRls: true }, [table('b', { rowSecurity: true })])), 'o');
});

test('a publication that is missing: made by the role, or the statement for somebody who may', () => {
  const of = (mode: typeof SOURCE.publicationAutocreate, role: Partial<RoleFacts> = {}, facts: Partial<PublicationFacts> = {}, tables = [table('a')], inRecovery = false): Finding => {
    const findings = checkPublication({ ...SOURCE, publicationAutocreate: mode }, { publication: undefined, owned: false, withoutIdentity: [], ...facts }, { ...ROLE, ...role }, { inRecovery }, tables);
    assert.equal(findings.length, 1);
    return findings[0];
  };
  assert.equal(of('filtered').mark, 'ok');
  assert.equal(of('all_tables', { superuser: true }).mark, 'ok');
  const sql = "CREATE PUBLICATION \"walberg\" FOR TABLE ONLY \"public\".\"a\" WITH (publish = 'insert, update, delete, truncate', publish_via_partition_root = false);";
  assert.deepEqual(of('disabled'), problem('Publication walberg does not exist (publication.autocreate.mode=disabled)', sql));
  assert.equal(of('no_tables').remedy, sql);
  assert.match(of('filtered', { mayCreate: false }).text, /no CREATE on the database$/);
  assert.match(of('filtered', {}, {}, [table('a', { owned: false })]).text, /does not own public\.a$/);
  assert.match(of('all_tables').remedy!, /FOR ALL TABLES/);
  assert.match(of('filtered', {}, {}, [table('a')], true).remedy!, /^On the primary: CREATE/);
  assert.match(of('filtered', {}, { withoutIdentity: [table('a')] }).text, /UPDATE and DELETE fail on public\.a/);
});

test('a publication that is there: operations, tables, and who may add them', () => {
  const of = (found: Publication, facts: Partial<PublicationFacts> = {}, tables = [table('a'), table('b', { oid: 2 })], mode: typeof SOURCE.publicationAutocreate = 'filtered'): Finding[] => checkPublication({ ...SOURCE, publicationAutocreate: mode }, { publication: found, owned: true, withoutIdentity: [], ...facts }, ROLE, { inRecovery: false }, tables);
  assert.equal(marks(of(publication(['a', 'b']))), 'o');
  assert.equal(only(of(publication(['a', 'b'], { operations: { insert: true, update: false, delete: true, truncate: true } })), 'problem').remedy, "ALTER PUBLICATION \"walberg\" SET (publish = 'insert, update, delete, truncate');");
  assert.match(only(of(publication(['a'])), 'ok').text, /leaves out public\.b: it will be added/);
  const sql = 'ALTER PUBLICATION "walberg" ADD TABLE ONLY "public"."b";';
  assert.equal(only(of(publication(['a']), {}, undefined, 'disabled'), 'problem').remedy, sql);
  assert.equal(only(of(publication(['a']), { owned: false }), 'problem').remedy, sql);
  assert.equal(only(of(publication(['a']), {}, [table('a'), table('b', { oid: 2, owned: false })]), 'problem').remedy, sql);
  assert.match(only(of(publication(['a']), { withoutIdentity: [table('b', { oid: 2 })] }), 'problem').text, /fail on public\.b/);
  assert.match(only(of(publication(['a', 'b', 'c'])), 'note').text, /in vain: public\.c$/);
  assert.equal(marks(of(publication(['a', 'b', 'c'], { allTables: true }))), 'o');
  assert.match(only(of(publication(['a', 'b'], { viaPartitionRoot: true })), 'note').text, /name of their root/);
});

test('a slot: to be made, gone, usable, in use, lost', () => {
  const of = (facts: Partial<SlotFacts>, demand = NONE, mode = SOURCE.snapshotMode, open: readonly OpenTransaction[] = []): Finding[] => checkSlotState({ ...SOURCE, snapshotMode: mode }, { slot: undefined, retainedBytes: undefined, reader: undefined, ...facts }, demand, SERVER, open);
  assert.equal(marks(of({})), 'oo');
  assert.match(only(of({}, { positions: 2, loads: 0 }), 'problem').text, /2 tables hold a position/);
  assert.match(only(of({}, { positions: 1, loads: 1 }, 'when_needed'), 'note').text, /loaded anew/);
  assert.equal(marks(of({ slot: SLOT })), 'o');
  assert.match(only(of({ slot: { ...SLOT, active: true, activePid: 7 }, reader: 'walberg stream' }), 'note').text, /7 \(walberg stream\)/);
  assert.match(only(of({ slot: { ...SLOT, active: true, activePid: 7 }, reader: 'somebody' }), 'problem').text, /7 \(somebody\)/);
  for (const changes of [{ type: 'physical' }, { plugin: 'wal2json' }, { database: 'other' }, { walStatus: 'lost' }, { twoPhase: true }, { synced: true }, { confirmedFlushLsn: undefined }]) only(of({ slot: { ...SLOT, ...changes } }), 'problem');
});

test('WAL that a slot keeps: a note from half of its share on', () => {
  const of = (retainedBytes: bigint, changes: Partial<SlotState> = {}, slotKeepBytes: bigint | undefined = 1000n): Finding => checkSlotState(SOURCE, { slot: { ...SLOT, ...changes }, retainedBytes, reader: undefined }, NONE, { slotKeepBytes }, [])[1];
  assert.equal(of(500n).mark, 'ok');
  assert.equal(of(501n).mark, 'note');
  assert.equal(checkSlotState(SOURCE, { slot: SLOT, retainedBytes: 1n << 50n, reader: undefined }, NONE, { slotKeepBytes: undefined }, [])[1].mark, 'ok');
  assert.equal(of(1n, { walStatus: 'unreserved', safeWalSize: -5n }).mark, 'note');
  assert.match(of(1n, { safeWalSize: 2048n }).text, /2 kB more may be written/);
});

test('transactions matter to a slot that must be made, when they are long or prepared', () => {
  const open: OpenTransaction[] = [{ pid: 5, prepared: undefined, seconds: 4 }, { pid: 6, prepared: undefined, seconds: 7300 }, { pid: undefined, prepared: 'gx', seconds: 1 }];
  const of = (transactions: OpenTransaction[], slot?: SlotState, loads = 0): Finding[] => checkSlotState(SOURCE, { slot, retainedBytes: undefined, reader: undefined }, { positions: 0, loads }, SERVER, transactions).slice(1);
  assert.match(only(of(open), 'note').text, /ended: process 6 for 2 h, prepared gx for 1 s$/);
  assert.equal(marks(of(open.slice(0, 1))), 'o');
  assert.match(of([{ pid: 5, prepared: undefined, seconds: undefined }])[0].text, /^1 open transaction whose age/);
  assert.deepEqual(of(open, SLOT), []);
  assert.equal(marks(of(open, SLOT, 1)), 'n');
});

test('a table: how it is written, and what is special about it', () => {
  const plain = sourceTable([sourceColumn('id', 'integer'), sourceColumn('big', 'text'), sourceColumn('span', 'interval')], ['id']);
  const plan = planTable(plain, sinkConfig(), EXACT_TYPES, everyColumn);
  const facts: PublicationFacts = { publication: publication(['t']), owned: true, withoutIdentity: [] };
  const findings = checkPlan(plan, facts);
  assert.deepEqual(findings[0], ok('public.t: mirror by id; replica identity DEFAULT'));
  assert.match(only(findings, 'note').text, /^public\.t: .*span.*interval/);
  const keyless = planTable(sourceTable([sourceColumn('v', 'integer')], []), sinkConfig(), EXACT_TYPES, everyColumn);
  const unsafe = checkPlan(keyless, { ...facts, withoutIdentity: [table('t', { oid: keyless.source.oid })] });
  assert.equal(unsafe.find((f) => f.remedy !== undefined)?.remedy, 'ALTER TABLE "public"."t" REPLICA IDENTITY FULL;');
  assert.equal(checkPlan(keyless, { ...facts, publication: undefined, withoutIdentity: [table('t', { oid: keyless.source.oid })] }).length, 2);

  const columns = (changes: Parameters<typeof sourceTable>[2], upsert = true): Finding[] => {
    const planned = planTable({ ...plain, ...changes }, sinkConfig({ upsert }), EXACT_TYPES, everyColumn);
    return checkColumns([planned], [table('t', { oid: plain.oid, outOfLineBytes: 5n << 20n, generated: ['twice'] })]);
  };
  assert.deepEqual(columns({ replicaIdentity: 'f' }).map((f) => f.text), ['Generated columns are not in the log and are left out: public.t (twice)']);
  assert.match(columns({})[1].text, /read back by key: public\.t \(big; 5 MB now\)$/);
  assert.match(columns({}, false)[1].text, /in append mode they are NULL and named in __unchanged: public\.t/);
});

test('what lists match in vain is told by kind', () => {
  assert.deepEqual(checkUncaptured([{ schema: 's', name: 'a', reason: 'view' }, { schema: 's', name: 'b', reason: 'unlogged' }, { schema: 's', name: 'c', reason: 'view' }]).map((f) => f.text),
    ['Unlogged tables are not in the log and not captured: s.b', 'Views are not in the log and not captured: s.a, s.c']);
});

test('the report: groups, marks, remedies below, and the sum', () => {
  const groups = [{ title: 'One', findings: [ok('fine'), problem('bad', 'do this')] }, { title: 'Empty', findings: [] }, { title: 'Two', findings: [note('hm'), note('hm, too')] }];
  assert.equal(describePreflight(groups), 'One\n  ok       fine\n  problem  bad\n             do this\n\nTwo\n  note     hm\n  note     hm, too\n\n1 problem, 2 notes.\n');
  assert.equal(hasProblems(groups), true);
  assert.equal(describePreflight([{ title: 'One', findings: [ok('fine')] }]), 'One\n  ok       fine\n\nNothing prevents running.\n');
  assert.equal(hasProblems(groups.slice(1)), false);
});

test('sizes, durations and lists as people read them', () => {
  assert.deepEqual([0n, 1023n, 1024n, 1536n, 10n << 20n, 3n << 40n].map(size), ['0 bytes', '1023 bytes', '1 kB', '1.5 kB', '10 MB', '3 TB']);
  assert.deepEqual([1, 119, 120, 7199, 7200].map(duration), ['1 s', '119 s', '2 min', '120 min', '2 h']);
  assert.equal(list(Array.from({ length: 22 }, (_, i) => String(i))).endsWith('19 and 2 more'), true);
});
