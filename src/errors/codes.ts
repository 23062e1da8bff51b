/**
 * Every error code Walberg can raise, with what it means for the process.
 *
 * `policy` is the only place where retry decisions live; call sites just name what happened:
 *  - `retry`: transient; the session restarts from durable state after a jittered back-off
 *  - `restart`: the in-memory state is no longer known to match the tables; drop it and stream again from the slot
 *  - `stop`: a person has to act; exit code 1
 *  - `config`: the configuration is wrong; exit code 2
 */
export type ErrorPolicy = 'retry' | 'restart' | 'stop' | 'config';

export interface ErrorCodeInfo {
  readonly policy: ErrorPolicy;
  /** What happened, as one sentence for the reference page. */
  readonly meaning: string;
  /** What an operator should do, as one sentence. */
  readonly remedy: string;
}

const define = <K extends string>(codes: Record<K, ErrorCodeInfo>): Readonly<Record<K, ErrorCodeInfo>> => codes;

export const ERROR_CODES = define({
  // configuration
  CONFIG_INVALID: { policy: 'config', meaning: 'One or more properties are missing, malformed or contradict each other.', remedy: 'Correct the listed properties; all problems are listed at once.' },
  CONFIG_REFUSED: { policy: 'config', meaning: 'A property asks for something Walberg does not do.', remedy: 'Use the replacement named in the message.' },
  CONFIG_UNREADABLE: { policy: 'config', meaning: 'The properties file could not be read.', remedy: 'Check the path given with -c and the file permissions.' },

  // source
  SOURCE_UNREACHABLE: { policy: 'retry', meaning: 'The connection to Postgres failed or was cut.', remedy: 'Walberg reconnects by itself; check host, port and network if it persists.' },
  SOURCE_AUTH: { policy: 'stop', meaning: 'Postgres refused the login.', remedy: 'Check database.user, database.password, pg_hba.conf and the REPLICATION attribute.' },
  SOURCE_TLS: { policy: 'stop', meaning: 'The TLS handshake or certificate verification failed.', remedy: 'Check database.sslmode, database.sslrootcert and the server certificate.' },
  SOURCE_BUSY: { policy: 'retry', meaning: 'Postgres has no free connection, walsender or slot right now.', remedy: 'Raise max_connections, max_wal_senders or max_replication_slots if it persists.' },
  SOURCE_SHUTDOWN: { policy: 'retry', meaning: 'Postgres is shutting down or starting up.', remedy: 'Walberg reconnects by itself.' },
  SOURCE_TIMEOUT: { policy: 'retry', meaning: 'Postgres sent nothing for longer than the watchdog allows.', remedy: 'Walberg reconnects by itself; check for half-open connections if it persists.' },
  SOURCE_SETTINGS: { policy: 'stop', meaning: 'A server setting makes logical replication impossible.', remedy: 'Apply the setting named in the message and restart Postgres.' },
  SOURCE_PRIVILEGE: { policy: 'stop', meaning: 'The role lacks a privilege.', remedy: 'Run the GRANT or ALTER ROLE named in the message.' },
  SOURCE_OTHER_CLUSTER: { policy: 'stop', meaning: 'The tables were written from another Postgres cluster or database.', remedy: 'Point Walberg at the original source, or at new tables.' },
  SOURCE_BEHIND: { policy: 'stop', meaning: 'The server is behind the position stored in the tables: a restored backup or a promoted standby that lost transactions.', remedy: 'Restore the newer server, or reload the tables into a new namespace.' },
  SLOT_MISSING: { policy: 'stop', meaning: 'The replication slot is gone although the tables hold a position of it, so changes in between are lost.', remedy: 'Reload: drop the Iceberg tables, or use a new namespace and slot.name.' },
  SLOT_LOST: { policy: 'stop', meaning: 'Postgres has invalidated the replication slot and removed WAL it still needed.', remedy: 'Drop the slot, reload the tables, and raise max_slot_wal_keep_size.' },
  SLOT_MOVED: { policy: 'stop', meaning: 'The replication slot does not stand where Walberg left it: it was dropped and created again, or advanced by hand, and changes in between may be lost (walberg.slot.guard=strict).', remedy: 'Reload: drop the Iceberg tables, or use a new namespace and slot.name. If nothing was skipped for certain, start once with walberg.slot.guard=off.' },
  SLOT_TAKEN: { policy: 'retry', meaning: 'Another process is streaming from the replication slot.', remedy: 'Stop the other process, or give this one its own slot.name.' },
  SLOT_INVALID: { policy: 'stop', meaning: 'The slot exists but belongs to another database, plugin or kind.', remedy: 'Choose another slot.name or drop that slot.' },
  PUBLICATION_MISSING: { policy: 'stop', meaning: 'The publication does not exist (any more).', remedy: 'Create it with the SQL in the message; changes made while it was missing need a reload.' },
  PUBLICATION_INCOMPLETE: { policy: 'stop', meaning: 'The publication does not cover the captured tables or operations.', remedy: 'Run the ALTER PUBLICATION in the message.' },
  REPLICA_IDENTITY_MISSING: { policy: 'stop', meaning: 'Publishing a table without a usable replica identity would make the application\'s UPDATE and DELETE on it fail.', remedy: 'Give the table a primary key or REPLICA IDENTITY FULL, exclude it, or add it to the publication by hand.' },
  TABLE_MISSING: { policy: 'config', meaning: 'No table matches the include list.', remedy: 'Check table.include.list; patterns are anchored regular expressions on schema.table.' },
  PROTOCOL: { policy: 'stop', meaning: 'A replication message could not be decoded.', remedy: 'Report this with the LSN in the message; nothing was confirmed past it.' },
  VALUE_INVALID: { policy: 'stop', meaning: 'A value cannot be represented in the column type.', remedy: 'Choose a policy for the column class named in the message.' },
  TABLE_ALTERED: { policy: 'restart', meaning: 'A source table got other columns while its changes were streamed.', remedy: 'Nothing: Walberg commits what came before, brings the Iceberg table into the new shape and goes on.' },
  SCHEMA_CHANGED: { policy: 'stop', meaning: 'A source table changed in a way that is not handled automatically.', remedy: 'See the message for the table and column.' },

  // tables, catalog, storage
  CATALOG_UNREACHABLE: { policy: 'retry', meaning: 'The catalog did not answer.', remedy: 'Walberg retries; check debezium.sink.iceberg.uri if it persists.' },
  CATALOG_AUTH: { policy: 'stop', meaning: 'The catalog refused the credentials.', remedy: 'Check debezium.sink.iceberg.credential or token and the granted rights.' },
  CATALOG_TLS: { policy: 'stop', meaning: 'The certificate of the catalog was not accepted.', remedy: 'Give its certificate authority with NODE_EXTRA_CA_CERTS, or correct debezium.sink.iceberg.uri.' },
  CATALOG_REQUEST: { policy: 'stop', meaning: 'The catalog refused a request as malformed or forbidden.', remedy: 'See the server message.' },
  CATALOG_UNAVAILABLE: { policy: 'retry', meaning: 'The catalog answered with a temporary error.', remedy: 'Walberg retries.' },
  COMMIT_CONFLICT: { policy: 'retry', meaning: 'Another writer changed the table first; the commit was definitely not applied.', remedy: 'Walberg reloads the table and tries again.' },
  COMMIT_UNKNOWN: { policy: 'restart', meaning: 'The outcome of a commit could not be determined.', remedy: 'Walberg re-reads the table and continues from its position; no file is removed.' },
  COMMIT_FENCED: { policy: 'stop', meaning: 'Another Walberg process has written a later position of the same slot.', remedy: 'Run one process per slot.' },
  POSITION_CHANGED: { policy: 'restart', meaning: 'The stored position is not the one this process knows: a request of an earlier process landed late.', remedy: 'Walberg drops its buffers and streams again from the slot.' },
  TABLE_REPLACED: { policy: 'stop', meaning: 'The Iceberg table was dropped or re-created while Walberg was running.', remedy: 'Restart Walberg to load the new table.' },
  TABLE_INCOMPATIBLE: { policy: 'stop', meaning: 'The Iceberg table cannot hold the source table.', remedy: 'See the message for table and column.' },
  FORMAT_UNSUPPORTED: { policy: 'stop', meaning: 'The table uses a format version or feature that Walberg does not write.', remedy: 'Use a format version 2 table.' },
  STORAGE_UNREACHABLE: { policy: 'retry', meaning: 'The object store did not answer.', remedy: 'Walberg retries; check the endpoint if it persists.' },
  STORAGE_AUTH: { policy: 'stop', meaning: 'The object store refused the credentials or the access.', remedy: 'Check the keys and the bucket policy.' },
  STORAGE_REFUSED: { policy: 'stop', meaning: 'The object store cannot be used as configured: bucket, region, address or certificate.', remedy: 'See the message; check debezium.sink.iceberg.warehouse, s3.endpoint and client.region.' },
  STORAGE_FULL: { policy: 'retry', meaning: 'No space left on the target.', remedy: 'Free space; Walberg goes on by itself.' },
  STORAGE_FAILED: { policy: 'retry', meaning: 'Reading or writing a file failed.', remedy: 'See the cause.' },
  FILE_MISSING: { policy: 'stop', meaning: 'A file that table metadata names does not exist.', remedy: 'Restore the file; nothing was changed.' },
  FILE_MALFORMED: { policy: 'stop', meaning: 'A metadata file, manifest list or manifest of the table cannot be decoded.', remedy: 'Restore the file named in the message; nothing was changed.' },
  FILE_EXISTS: { policy: 'retry', meaning: 'A file that must be new exists already.', remedy: 'Walberg retries under another name.' },

  // process
  HTTP_PORT: { policy: 'stop', meaning: 'The status port cannot be opened.', remedy: 'Change quarkus.http.port.' },
  SHUTDOWN_DEADLINE: { policy: 'stop', meaning: 'The clean stop took longer than the deadline; what was committed stays exact.', remedy: 'Raise walberg.shutdown.timeout.ms if it repeats.' },
  DEMO_SERVER: { policy: 'stop', meaning: 'The Postgres server of the demo cannot be created or started.', remedy: 'See the message; the server needs a temporary folder it can write and a free port.' },
  INTERNAL: { policy: 'stop', meaning: 'A defect in Walberg.', remedy: 'Report it with the stack; nothing was confirmed past the last commit.' },
});

export type ErrorCode = keyof typeof ERROR_CODES;
