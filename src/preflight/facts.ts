import type { Publication } from '../postgres/publication.js';
import type { SlotState } from '../postgres/slot.js';
import type { TableRef } from '../postgres/table-selection.js';

/** The server and its settings for replication. */
export interface ServerFacts {
  /** As `server_version` shows it. */
  readonly version: string;
  readonly versionNum: number;
  readonly inRecovery: boolean;
  readonly encoding: string;
  readonly walLevel: string;
  readonly slotsMax: number;
  readonly slotsUsed: number;
  readonly sendersMax: number;
  readonly sendersUsed: number;
  /** 0 = never. */
  readonly walSenderTimeoutMs: number;
  /** max_slot_wal_keep_size; undefined = no limit. */
  readonly slotKeepBytes: bigint | undefined;
  /** 18 and later: as the setting shows it; undefined = never. */
  readonly idleSlotTimeout: string | undefined;
  /** 17 and later: names in synchronized_standby_slots without a slot. */
  readonly missingStandbySlots: readonly string[];
}

/** The role of the connection. */
export interface RoleFacts {
  readonly name: string;
  readonly superuser: boolean;
  readonly replication: boolean;
  readonly bypassRls: boolean;
  /** CREATE on the database, which a publication needs. */
  readonly mayCreate: boolean;
  /** Membership in rds_replication, which replaces the attribute there; undefined where there is no such role. */
  readonly rdsReplication: boolean | undefined;
}

/** What the catalog says about a captured table beyond its description. */
export interface TableFacts extends TableRef {
  readonly schemaUsage: boolean;
  /** The table and those of its leaves that the role may not SELECT from, as schema and name. */
  readonly unreadable: readonly { readonly schema: string; readonly name: string }[];
  /** The role has the rights of its owner. */
  readonly owned: boolean;
  /** Row-level security applies to this role. */
  readonly rowSecurity: boolean;
  readonly generated: readonly string[];
  /** Bytes of values that are stored out of line now, leaves included. */
  readonly outOfLineBytes: bigint;
}

/** A relation that the include lists match although it cannot be captured. */
export interface UncapturedFacts {
  readonly schema: string;
  readonly name: string;
  readonly reason: 'unlogged' | 'foreign' | 'view' | 'partitioned';
}

/** The publication as it is. */
export interface PublicationFacts {
  /** undefined = there is none. */
  readonly publication: Publication | undefined;
  /** The role may alter it. */
  readonly owned: boolean;
  /** Tables on which UPDATE and DELETE fail once they are published; of all tables when all would be published. */
  readonly withoutIdentity: readonly TableRef[];
}

/** The slot as it is. */
export interface SlotFacts {
  /** undefined = there is none. */
  readonly slot: SlotState | undefined;
  readonly retainedBytes: bigint | undefined;
  /** application_name of its reader, where the role may see it. */
  readonly reader: string | undefined;
}

/** A transaction that a new slot, also the temporary one of a load, has to wait for. */
export interface OpenTransaction {
  /** undefined for a prepared one. */
  readonly pid: number | undefined;
  /** Global id of a prepared one. */
  readonly prepared: string | undefined;
  /** undefined where the role may not see it. */
  readonly seconds: number | undefined;
}

/** What is planned to happen with the slot. */
export interface Demand {
  /** Tables that hold a position of the slot. */
  readonly positions: number;
  /** Tables that would be loaded. */
  readonly loads: number;
}
