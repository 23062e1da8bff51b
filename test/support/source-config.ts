import type { ConnectionConfig, SourceConfig } from '../../src/config/config.js';

/** A complete source configuration with plain values, for tests that vary one or two of them. */
export function sourceConfig(connection: ConnectionConfig, changes: Partial<SourceConfig> = {}): SourceConfig {
  return {
    connection,
    topicPrefix: 'test',
    slotName: 'walberg',
    slotDropOnStop: false,
    slotMaxRetries: 6,
    slotRetryDelayMs: 10_000,
    publicationName: 'walberg',
    publicationAutocreate: 'filtered',
    publishViaPartitionRoot: false,
    schemaInclude: [],
    schemaExclude: [],
    tableInclude: [],
    tableExclude: [],
    columnInclude: [],
    columnExclude: [],
    snapshotMode: 'initial',
    snapshotMaxThreads: 1,
    skippedOperations: [],
    statusIntervalMs: 10_000,
    types: { decimalMode: 'precise', timeMode: 'native', binaryMode: 'bytes', arrayMode: 'list', hstoreMode: 'text', intervalMode: 'text', specialValues: 'fail' },
    ...changes,
  };
}
