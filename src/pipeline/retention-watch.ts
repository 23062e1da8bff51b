import type { PipelineEvents, SourceStatus } from '../observe/events.js';

/** What the WAL that a slot keeps is heading for, from harmless to hopeless. */
export type RetentionLevel = 'fine' | 'extended' | 'half' | 'unreserved' | 'lost';

const RANK: readonly RetentionLevel[] = ['fine', 'extended', 'half', 'unreserved', 'lost'];

const MESSAGES: Readonly<Record<RetentionLevel, string>> = {
  fine: '',
  extended: 'The slot keeps more WAL than max_wal_size: the disk of the server fills while Walberg is behind',
  half: 'The slot keeps more than half of the WAL it may (max_slot_wal_keep_size): beyond that it is lost, and every table is loaded anew',
  unreserved: 'Postgres may remove WAL that the slot needs at its next checkpoint: the slot is lost then, and every table is loaded anew',
  lost: 'Postgres has removed WAL that the slot needs',
};

/**
 * The level of a status. pg_replication_slots.wal_status (PostgreSQL manual, System Views) and the share of the limit that is used;
 * `half` ends below two fifths only, so that a slot at the edge does not warn again and again.
 */
export function retentionLevel({ walStatus, retainedBytes, keepBytes }: SourceStatus, before: RetentionLevel): RetentionLevel {
  if (walStatus === 'lost' || walStatus === 'unreserved') return walStatus;
  const [above, of] = RANK.indexOf(before) >= RANK.indexOf('half') ? [2n, 5n] : [1n, 2n];
  if (keepBytes !== undefined && retainedBytes !== undefined && retainedBytes * of > keepBytes * above) return 'half';
  return walStatus === 'extended' ? 'extended' : 'fine';
}

/** Warns whenever the WAL that the slot keeps becomes more of a danger than it was. */
export class RetentionWatch {
  #level: RetentionLevel = 'fine';

  constructor(private readonly events: Pick<PipelineEvents, 'warning'>) {}

  look(status: SourceStatus): void {
    const before = this.#level;
    this.#level = retentionLevel(status, before);
    if (RANK.indexOf(this.#level) <= RANK.indexOf(before)) return;
    this.events.warning({ message: MESSAGES[this.#level], context: { walStatus: status.walStatus, retainedBytes: status.retainedBytes, keepBytes: status.keepBytes, safeBytes: status.safeWalSizeBytes } });
  }
}
