import { isDeepStrictEqual } from 'node:util';
import { WalbergError } from '../../errors/error.js';
import type { IcebergType, Long, NestedField, PartitionSpec, Schema, Snapshot, SnapshotRef, SortOrder, TableMetadata } from '../spec/types.js';
import type { TableUpdate } from './catalog.js';

/** How many earlier metadata files are remembered unless the table says otherwise (Java: `METADATA_PREVIOUS_VERSIONS_MAX_DEFAULT`). */
const PREVIOUS_VERSIONS = 100;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * The metadata after `updates`, in order. `previousLocation` is the file `metadata` was read from, for the metadata log.
 * Fields this module does not know are carried over. CATALOG_REQUEST when an update makes no sense on this table,
 * FORMAT_UNSUPPORTED for tables or upgrades above format version 2.
 */
export function applyUpdates(metadata: TableMetadata, updates: readonly TableUpdate[], nowMs: number, previousLocation?: string): TableMetadata {
  if (metadata['format-version'] > 2) throw unsupported(metadata['format-version']);
  const draft = new Draft(metadata, nowMs);
  for (const update of updates) draft.apply(update);
  return draft.finish(previousLocation);
}

/** One run of updates. Remembers what it added, because -1 means "the one added last" and logs treat new snapshots apart. */
class Draft {
  readonly #base: TableMetadata;
  readonly #next: Mutable<TableMetadata>;
  readonly #nowMs: number;
  readonly #addedSnapshots = new Set<bigint>();
  /** New snapshots that main pointed to and no longer does: never the table's state, so not in its log. */
  readonly #intermediate = new Set<bigint>();
  #lastSchema: number | undefined;
  #lastSpec: number | undefined;
  #lastOrder: number | undefined;

  constructor(base: TableMetadata, nowMs: number) {
    this.#base = base;
    this.#next = { ...base };
    this.#nowMs = nowMs;
  }

  apply(update: TableUpdate): void {
    const next = this.#next;
    switch (update.action) {
      case 'assign-uuid':
        next['table-uuid'] = update.uuid;
        return;
      case 'upgrade-format-version':
        if (update['format-version'] > 2) throw unsupported(update['format-version']);
        if (update['format-version'] < next['format-version']) throw refused(`format version ${next['format-version']} cannot go back to ${update['format-version']}`);
        next['format-version'] = update['format-version'];
        return;
      case 'add-schema':
        this.#addSchema(update.schema, update['last-column-id']);
        return;
      case 'set-current-schema':
        next['current-schema-id'] = known('schema', pick('schema', update['schema-id'], this.#lastSchema), next.schemas.map((schema) => schema['schema-id'] ?? 0));
        return;
      case 'add-spec':
        this.#addSpec(update.spec);
        return;
      case 'set-default-spec':
        next['default-spec-id'] = known('partition spec', pick('partition spec', update['spec-id'], this.#lastSpec), next['partition-specs'].map((spec) => spec['spec-id']));
        return;
      case 'add-sort-order':
        this.#addSortOrder(update['sort-order']);
        return;
      case 'set-default-sort-order':
        next['default-sort-order-id'] = known('sort order', pick('sort order', update['sort-order-id'], this.#lastOrder), next['sort-orders'].map((order) => order['order-id']));
        return;
      case 'add-snapshot':
        this.#addSnapshot(update.snapshot);
        return;
      case 'set-snapshot-ref': {
        const { action: _action, 'ref-name': name, ...ref } = update;
        this.#setRef(name, ref);
        return;
      }
      case 'remove-snapshot-ref':
        this.#removeRef(update['ref-name']);
        return;
      case 'remove-snapshots':
        this.#removeSnapshots(update['snapshot-ids']);
        return;
      case 'set-location':
        next.location = update.location.replace(/\/+$/, '');
        return;
      case 'set-properties':
        next.properties = { ...next.properties, ...update.updates };
        return;
      case 'remove-properties': {
        const removals = new Set(update.removals);
        next.properties = Object.fromEntries(Object.entries(next.properties).filter(([name]) => !removals.has(name)));
        return;
      }
      default:
        throw refused(`unknown update ${(update as { action: string }).action}`);
    }
  }

  finish(previousLocation: string | undefined): TableMetadata {
    const next = this.#next;
    // Clocks differ between writers: readers refuse a table whose times go back by more than a minute.
    next['last-updated-ms'] = Math.max(this.#nowMs, next['last-updated-ms']);
    if (this.#intermediate.size > 0) next['snapshot-log'] = next['snapshot-log'].filter((entry) => !this.#intermediate.has(BigInt(entry['snapshot-id'])));
    if (previousLocation !== undefined) {
      const log = [...(next['metadata-log'] ?? []), { 'metadata-file': previousLocation, 'timestamp-ms': this.#base['last-updated-ms'] }];
      next['metadata-log'] = log.slice(-previousVersions(next.properties));
    }
    return next;
  }

  #addSchema(schema: Schema, lastColumnId: number | undefined): void {
    const next = this.#next;
    const same = next.schemas.find((other) => sameSchema(other, schema));
    const highest = Math.max(next['last-column-id'], lastColumnId ?? 0, highestId(schema.fields));
    if (lastColumnId !== undefined && lastColumnId < next['last-column-id']) throw refused(`last-column-id ${lastColumnId} is below ${next['last-column-id']}`);
    next['last-column-id'] = highest;
    const id = same === undefined ? Math.max(-1, ...next.schemas.map((other) => other['schema-id'] ?? 0)) + 1 : same['schema-id'] ?? 0;
    if (same === undefined) next.schemas = [...next.schemas, { ...schema, 'schema-id': id }];
    this.#lastSchema = id;
  }

  #addSpec(spec: PartitionSpec): void {
    const next = this.#next;
    const same = next['partition-specs'].find((other) => sameSpec(other, spec));
    const id = same?.['spec-id'] ?? Math.max(-1, ...next['partition-specs'].map((other) => other['spec-id'])) + 1;
    if (same === undefined) {
      next['partition-specs'] = [...next['partition-specs'], { ...spec, 'spec-id': id }];
      next['last-partition-id'] = Math.max(next['last-partition-id'], ...spec.fields.map((field) => field['field-id']));
    }
    this.#lastSpec = id;
  }

  #addSortOrder(order: SortOrder): void {
    const next = this.#next;
    const same = next['sort-orders'].find((other) => isDeepStrictEqual(other.fields, order.fields));
    // Order 0 is reserved for "unsorted".
    const fresh = order.fields.length === 0 ? 0 : Math.max(0, ...next['sort-orders'].map((other) => other['order-id'])) + 1;
    const id = same?.['order-id'] ?? fresh;
    if (same === undefined) next['sort-orders'] = [...next['sort-orders'], { ...order, 'order-id': id }];
    this.#lastOrder = id;
  }

  #addSnapshot(snapshot: Snapshot): void {
    const next = this.#next;
    const id = BigInt(snapshot['snapshot-id']);
    if (next.snapshots.some((other) => BigInt(other['snapshot-id']) === id)) throw refused(`snapshot ${id} exists already`);
    const sequence = BigInt(snapshot['sequence-number']);
    const last = BigInt(next['last-sequence-number']);
    if (sequence <= last) {
      // Not malformed but late: the number was free when the snapshot was made.
      throw new WalbergError('COMMIT_CONFLICT', `The table has changed: sequence number ${sequence} is not above ${last}`, { context: { sequence, last } });
    }
    next.snapshots = [...next.snapshots, snapshot];
    next['last-sequence-number'] = snapshot['sequence-number'];
    next['last-updated-ms'] = Math.max(next['last-updated-ms'], snapshot['timestamp-ms']);
    this.#addedSnapshots.add(id);
  }

  #setRef(name: string, ref: SnapshotRef): void {
    const next = this.#next;
    const id = BigInt(ref['snapshot-id']);
    const snapshot = next.snapshots.find((other) => BigInt(other['snapshot-id']) === id);
    if (snapshot === undefined) throw refused(`${name} cannot point to snapshot ${id}, which does not exist`);
    if (name === 'main' && ref.type !== 'branch') throw refused('main must be a branch');
    const before = next.refs[name];
    next.refs = { ...next.refs, [name]: ref };
    if (name !== 'main') return;
    next['current-snapshot-id'] = ref['snapshot-id'];
    if (before !== undefined && BigInt(before['snapshot-id']) === id) return;
    if (before !== undefined && this.#addedSnapshots.has(BigInt(before['snapshot-id']))) this.#intermediate.add(BigInt(before['snapshot-id']));
    this.#intermediate.delete(id);
    const lastLogged = next['snapshot-log']?.at(-1)?.['timestamp-ms'] ?? 0;
    const at = this.#addedSnapshots.has(id) ? snapshot['timestamp-ms'] : this.#nowMs;
    next['snapshot-log'] = [...(next['snapshot-log'] ?? []), { 'snapshot-id': ref['snapshot-id'], 'timestamp-ms': Math.max(at, lastLogged) }];
    next['last-updated-ms'] = Math.max(next['last-updated-ms'], at, lastLogged);
  }

  #removeRef(name: string): void {
    const next = this.#next;
    next.refs = Object.fromEntries(Object.entries(next.refs).filter(([other]) => other !== name));
    if (name !== 'main') return;
    next['current-snapshot-id'] = -1;
    next['snapshot-log'] = [];
  }

  #removeSnapshots(ids: readonly Long[]): void {
    const next = this.#next;
    const gone = new Set(ids.map((id) => BigInt(id)));
    const kept = next.snapshots.filter((snapshot) => !gone.has(BigInt(snapshot['snapshot-id'])));
    if (kept.length === next.snapshots.length) return;
    next.snapshots = kept;
    for (const [name, ref] of Object.entries(next.refs)) if (gone.has(BigInt(ref['snapshot-id']))) this.#removeRef(name);
    const staying = (entry: unknown): boolean => {
      const id = (entry as { 'snapshot-id'?: Long } | null)?.['snapshot-id'];
      return id === undefined || !gone.has(BigInt(id));
    };
    if (next.statistics !== undefined) next.statistics = next.statistics.filter(staying);
    if (next['partition-statistics'] !== undefined) next['partition-statistics'] = next['partition-statistics'].filter(staying);
    // The log answers "what was the table at time t": before a hole it would answer wrongly, so it starts after the last one.
    const hole = next['snapshot-log'].findLastIndex((entry) => gone.has(BigInt(entry['snapshot-id'])));
    next['snapshot-log'] = next['snapshot-log'].slice(hole + 1);
  }
}

function pick(what: string, id: number, last: number | undefined): number {
  if (id !== -1) return id;
  if (last === undefined) throw refused(`-1 means the ${what} added last, but none was added`);
  return last;
}

function known(what: string, id: number, ids: readonly number[]): number {
  if (!ids.includes(id)) throw refused(`there is no ${what} ${id}`);
  return id;
}

function sameSchema(a: Schema, b: Schema): boolean {
  const identifiers = (schema: Schema): number[] => [...(schema['identifier-field-ids'] ?? [])].sort((x, y) => x - y);
  return isDeepStrictEqual(plain(a.fields), plain(b.fields)) && isDeepStrictEqual(identifiers(a), identifiers(b));
}

/** Without properties that are present but undefined, which no JSON has. */
function plain(fields: readonly NestedField[]): unknown {
  return JSON.parse(JSON.stringify(fields));
}

function sameSpec(a: PartitionSpec, b: PartitionSpec): boolean {
  return a.fields.length === b.fields.length && a.fields.every((field, index) => {
    const other = b.fields[index];
    return field['source-id'] === other['source-id'] && field.transform === other.transform && field.name === other.name;
  });
}

function highestId(fields: readonly NestedField[]): number {
  return fields.reduce((highest, field) => Math.max(highest, field.id, highestIdOf(field.type)), 0);
}

function highestIdOf(type: IcebergType): number {
  if (typeof type === 'string') return 0;
  switch (type.type) {
    case 'struct': return highestId(type.fields);
    case 'list': return Math.max(type['element-id'], highestIdOf(type.element));
    case 'map': return Math.max(type['key-id'], type['value-id'], highestIdOf(type.key), highestIdOf(type.value));
  }
}

/** At least one, as Java does. */
function previousVersions(properties: Readonly<Record<string, string>>): number {
  const text = properties['write.metadata.previous-versions-max'];
  const count = text === undefined ? PREVIOUS_VERSIONS : Number(text);
  return Number.isSafeInteger(count) ? Math.max(1, count) : PREVIOUS_VERSIONS;
}

function refused(what: string): WalbergError {
  return new WalbergError('CATALOG_REQUEST', `The table cannot be changed like this: ${what}`);
}

function unsupported(version: number): WalbergError {
  return new WalbergError('FORMAT_UNSUPPORTED', `Format version ${version} is not written, only version 2`, { context: { version } });
}
