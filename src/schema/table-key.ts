import type { SourceTable } from './source-table.js';

/** The columns that identify a row in the log, in key order, or the reason why there are none. */
export type TableKey = { readonly columns: readonly string[] } | { readonly columns?: undefined; readonly reason: string };

/**
 * The key by which changes of a table can be applied: every UPDATE and DELETE must carry its old value, it must be unique,
 * and it must not be NULL (engines disagree on NULL in equality deletes). PostgreSQL manual, ALTER TABLE, REPLICA IDENTITY.
 */
export function tableKey(source: SourceTable): TableKey {
  switch (source.replicaIdentity) {
    case 'd':
      if (source.primaryKey.length === 0) return { reason: 'it has no primary key' };
      // Postgres does not use a deferrable key as the default identity; UPDATE and DELETE fail at the source
      if (source.primaryKeyDeferrable) return { reason: 'its primary key is deferrable, which REPLICA IDENTITY DEFAULT does not use' };
      return { columns: source.primaryKey };
    case 'f':
      // without a key equal rows may repeat, and a change means one of them
      return source.primaryKey.length === 0 ? { reason: 'it has no primary key, so that equal rows may repeat' } : { columns: source.primaryKey };
    case 'i': {
      const columns = source.identityIndexColumns;
      if (columns.length === 0) return { reason: 'the index of its replica identity does not exist any more' };
      const nullable = columns.find((name) => source.columns.find((c) => c.name === name)?.notNull === false);
      return nullable === undefined ? { columns } : { reason: `column ${nullable} of its replica identity index may be NULL` };
    }
    case 'n':
      return { reason: 'its replica identity is NOTHING' };
  }
}
