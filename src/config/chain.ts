import type { SinkConfig } from './config.js';
import type { Problem } from './problem.js';
import type { Settings } from './settings.js';
import { splitList } from './values.js';

const UNWRAP_CLASS = 'io.debezium.transforms.ExtractNewRecordState';
const PREFIX = 'debezium.transforms.';

/** What to use in place of a transform, by the last part of its class name. */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  EventRouter: 'the outbox table itself is mirrored or appended; leave the transform out and route when reading, by aggregatetype',
  RegexRouter: 'use debezium.sink.iceberg.destination-regexp and destination-regexp-replace',
  ByLogicalTableRouter: 'use debezium.sink.iceberg.destination-regexp and destination-regexp-replace',
  ReplaceField: 'use debezium.source.column.include.list or column.exclude.list to leave columns out',
  MaskField: 'use debezium.source.column.exclude.list to leave columns out',
  InsertField: 'use debezium.transforms.unwrap.add.fields for metadata columns',
  Filter: 'use a row filter in the publication (CREATE PUBLICATION … WHERE), or skipped.operations',
  TimestampConverter: 'times have their own Iceberg types',
  ContentBasedRouter: 'use debezium.sink.iceberg.destination-regexp',
};

/**
 * Finds the name under which the chain runs ExtractNewRecordState. Its options are declared under `unwrap`, the name of the
 * Java sink's default, and count under any name.
 */
export function unwrapName(get: (key: string) => string | undefined): string {
  const names = splitList(get(PREFIX.slice(0, -1)) ?? 'unwrap');
  return names.find((name) => get(`${PREFIX}${name}.type`) === UNWRAP_CLASS) ?? 'unwrap';
}

/** Refuses every transform that has no counterpart, and a chain without flattening. `reported` are names whose value was found bad already. */
export function checkChain(settings: Settings, reported: ReadonlySet<string>): Problem[] {
  const problems: Problem[] = [];
  const chain = settings.setting('debezium.transforms');
  const names = settings.list('debezium.transforms');
  const types = settings.withPrefix(PREFIX);
  if (names.length === 0) {
    problems.push({
      code: 'CONFIG_REFUSED', key: 'debezium.transforms', value: chain?.text, origin: chain?.origin,
      message: 'turns flattening off, and nested events (before, after, source) are not written.',
      remedy: 'Remove it. Without upsert each change is a row with __op and the other metadata columns.',
    });
  }
  for (const name of names) {
    const type = name === 'unwrap' ? settings.setting('debezium.transforms.unwrap.type') : types.get(`${name}.type`);
    const className = type?.text ?? (name === 'unwrap' ? UNWRAP_CLASS : undefined);
    if (className === UNWRAP_CLASS || reported.has(`${PREFIX}${name}.type`)) continue;
    if (className === undefined) {
      problems.push({ code: 'CONFIG_INVALID', key: 'debezium.transforms', value: chain?.text, origin: chain?.origin, message: `names the transform ${name}, which has no ${PREFIX}${name}.type.`, remedy: 'Remove the name from the list.' });
      continue;
    }
    const short = className.replace(/^.*\./, '').replace(/\$.*$/, '');
    problems.push({
      code: 'CONFIG_REFUSED', key: type?.key ?? `${PREFIX}${name}.type`, value: className, origin: type?.origin,
      message: 'is a transform that would change what is written, and Java classes cannot run here.',
      remedy: `Remove ${name} from debezium.transforms: ${REPLACEMENTS[short] ?? 'transform the data when reading, for example in a view'}.`,
    });
  }
  return problems;
}

/** Debezium's field names for each metadata field, without `source.`. */
const FIELDS: Readonly<Record<string, string>> = {
  op: 'op', table: 'table', schema: 'schema', db: 'db', lsn: 'lsn', txId: 'txId', ts_ms: 'ts_ms', ts_us: 'ts_us', ts_ns: 'ts_ns',
  'source.table': 'table', 'source.schema': 'schema', 'source.db': 'db', 'source.lsn': 'lsn', 'source.txId': 'txId',
  'source.ts_ms': 'source.ts_ms', 'source.ts_us': 'source.ts_us', 'source.ts_ns': 'source.ts_ns',
};

/**
 * Metadata columns that the configuration asks for; undefined = the default of the mode. `add.fields` is the Java sink's
 * whole list, to which a rewriting delete handling adds `__deleted`, except where rows are removed.
 */
export function metaFields(settings: Settings): { fields?: SinkConfig['metaFields']; problems: Problem[] } {
  const added = settings.setting('debezium.transforms.unwrap.add.fields');
  const removesRows = settings.boolean('debezium.sink.iceberg.upsert') && !settings.boolean('debezium.sink.iceberg.upsert-keep-deletes');
  const asksForDeleted = settings.isSet('debezium.transforms.unwrap.delete.tombstone.handling.mode') || settings.isSet('debezium.transforms.unwrap.delete.handling.mode');
  const deleted = { field: 'deleted', column: '__deleted' };
  if (added === undefined) return { fields: removesRows && asksForDeleted ? [deleted] : undefined, problems: [] };
  const prefix = settings.string('debezium.transforms.unwrap.add.fields.prefix') ?? '';
  const problems: Problem[] = [];
  const refuse = (message: string, remedy: string): void => {
    problems.push({ code: 'CONFIG_REFUSED', key: added.key, value: added.text, origin: added.origin, message, remedy });
  };
  const fields: { field: string; column: string }[] = [];
  for (const item of added.value as readonly string[]) {
    const [name, renamed] = item.split(':', 2);
    const field = FIELDS[name];
    if (field === undefined) refuse(`asks for the field ${name}, which is not available.`, `Choose from ${Object.keys(FIELDS).join(', ')}.`);
    else fields.push({ field, column: prefix + (renamed ?? name).replaceAll('.', '_') });
  }
  if (!removesRows || asksForDeleted) fields.push(deleted);
  const repeated = fields.find((f, i) => fields.findIndex((g) => g.column === f.column) !== i);
  if (repeated !== undefined) refuse(`gives two fields the column name ${repeated.column}.`, 'Rename one, as field:name.');
  return { fields, problems };
}
