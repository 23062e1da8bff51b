import { BOOLEAN, declare, LIST, oneOf, TEXT, type Property } from '../property.js';

const { supported, accepted, refused } = declare('transforms', 'debezium.');
const UNWRAP = 'transforms.unwrap.';

/**
 * Transforms, converters and formats. `transforms.unwrap` is the one transform with a counterpart: the Java sink's default,
 * which flattens change events and adds metadata columns. Any other transform is refused where the chain is read.
 */
export const TRANSFORMS: readonly Property[] = [
  supported('transforms', LIST, 'Names of the transforms, in order. Only one of type ExtractNewRecordState has a counterpart.', { default: 'unwrap' }),
  supported('transforms.<name>.type', TEXT, 'Java class of a transform. Only io.debezium.transforms.ExtractNewRecordState has a counterpart.'),
  supported(`${UNWRAP}type`, TEXT, 'Java class of the transform.', { default: 'io.debezium.transforms.ExtractNewRecordState' }),
  supported(`${UNWRAP}add.fields`, LIST, 'Metadata columns: op, table, schema, db, lsn, txId, ts_ms, ts_us, ts_ns and source.… of these; field:name renames.', {
    defaultWords: '`op,table,source.ts_ms,source.ts_ns,db,ts_ms` without upsert, none with upsert',
    touches: (s) => s.boolean('debezium.sink.iceberg.upsert'),
    differs: { debezium: 'op,table,source.ts_ms,source.ts_ns,db,ts_ms,ts_ns (Java sink)', because: 'a mirrored table has the columns of its source; name the fields to have them' },
  }),
  supported(`${UNWRAP}add.fields.prefix`, TEXT, 'Put before the names of metadata columns.', { default: '__' }),
  supported(`${UNWRAP}delete.tombstone.handling.mode`, oneOf(['rewrite'], { 'rewrite-with-tombstone': 'rewrite' }), "What a delete becomes: a row with __deleted = 'true' (append and soft delete). With upsert and without upsert-keep-deletes rows are removed.", {
    default: 'rewrite',
    refusedValues: {
      drop: 'deletes would never reach the tables; use rewrite, or skipped.operations=d',
      tombstone: 'deletes would never reach the tables; use rewrite',
      'delete-to-tombstone': 'deletes would never reach the tables; use rewrite',
    },
  }),
  supported(`${UNWRAP}delete.handling.mode`, oneOf(['rewrite']), 'Older form of delete.tombstone.handling.mode.', {
    default: 'rewrite',
    refusedValues: {
      drop: 'deletes would never reach the tables; use rewrite, or skipped.operations=d',
      none: 'deletes would never reach the tables; use rewrite',
    },
  }),
  accepted(`${UNWRAP}drop.tombstones`, 'Drop tombstones.', 'there are no tombstones', { default: 'true' }),
  accepted(`${UNWRAP}add.headers`, 'Metadata as event headers.', 'rows have no headers; use add.fields'),
  accepted(`${UNWRAP}add.headers.prefix`, 'Put before header names.', 'rows have no headers', { default: '__' }),
  refused(`${UNWRAP}route.by.field`, 'Column that names the destination.', 'each source table has one destination', 'Use destination-regexp to write several tables into one.'),
  accepted(`${UNWRAP}drop.fields.header.name`, 'Header that lists fields to drop.', 'rows have no headers'),
  accepted(`${UNWRAP}drop.fields.from.key`, 'Drop these fields from the key too.', 'rows have no headers', { default: 'false' }),
  accepted(`${UNWRAP}drop.fields.keep.schema.compatible`, 'Drop only optional fields.', 'rows have no headers', { default: 'true' }),
  refused(`${UNWRAP}replace.null.with.default`, 'Write the default of a column in place of NULL.', 'NULL is not the default of a column', 'Remove it: NULL stays NULL.', ['false'], {
    default: 'false',
    differs: { debezium: 'true', because: 'a NULL in a column with a default stays NULL, as in the source' },
  }),
  refused(`${UNWRAP}predicate`, 'Condition of the transform.', 'rows cannot be partly flattened', 'Remove it.'),
  accepted(`${UNWRAP}negate`, 'Turn the condition round.', 'there is no condition', { default: 'false' }),
  supported('transforms.<name>.<option>', TEXT, 'Option of a transform in the chain; counts for the transform of type ExtractNewRecordState under any name.'),
  accepted('predicates', 'Conditions of transforms.', 'a condition has an effect only where a transform names it'),
  accepted('predicates.<rest>', 'Conditions of transforms.', 'a condition has an effect only where a transform names it'),
  accepted('source.key.converter', 'Java class that writes keys.', 'rows go to tables directly'),
  accepted('source.value.converter', 'Java class that writes values.', 'rows go to tables directly'),
  accepted('source.key.converter.<rest>', 'Settings of the key converter.', 'rows go to tables directly'),
  accepted('source.value.converter.<rest>', 'Settings of the value converter.', 'rows go to tables directly'),
  ...(['key', 'value', 'header'] as const).flatMap((part) => [
    accepted(`format.${part}`, `Form of the event ${part} between engine and sink.`, 'rows go to tables directly', { default: 'connect', type: oneOf(['json', 'connect']) }),
    accepted(`format.${part}.schemas.enable`, `Schema with each event ${part}.`, 'rows go to tables directly', { default: 'true', type: BOOLEAN }),
    accepted(`format.${part}.<rest>`, `Settings of the form of the event ${part}.`, 'rows go to tables directly'),
  ]),
  accepted('format.schemas.enable', 'Schema with each event.', 'rows go to tables directly'),
];
