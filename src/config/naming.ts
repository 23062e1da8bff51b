import type { SinkConfig, SourceConfig } from './config.js';

/** The part of the configuration that decides names. */
export interface NamingConfig {
  readonly source: Pick<SourceConfig, 'topicPrefix'>;
  readonly sink: Pick<SinkConfig, 'tablePrefix' | 'destinationRegexp' | 'destinationReplace' | 'tableNameCase'>;
}

/**
 * Debezium's destination of a source table: `topic.prefix.schema.table`, where characters that a Kafka topic cannot have
 * become underscores (io.debezium.schema.SchemaTopicNamingStrategy).
 */
export function destinationName(topicPrefix: string, schema: string, table: string): string {
  return `${topicPrefix}.${schema}.${table}`.replaceAll(/[^A-Za-z0-9._-]/gu, '_');
}

/**
 * Name of the Iceberg table of a source table, as the Java sink forms it: the destination, with `destination-regexp` replaced
 * and dots as underscores, behind `table-prefix`; then the case. Several source tables may get the same name.
 */
export function targetTableName(config: NamingConfig, schema: string, table: string): string {
  const { tablePrefix, destinationRegexp, destinationReplace, tableNameCase } = config.sink;
  const destination = destinationName(config.source.topicPrefix, schema, table);
  const replaced = destinationRegexp === undefined ? destination : destination.replace(destinationRegexp, destinationReplace);
  const name = tablePrefix + replaced.replaceAll('.', '_');
  return tableNameCase === 'upper' ? name.toUpperCase() : tableNameCase === 'lower' ? name.toLowerCase() : name;
}
