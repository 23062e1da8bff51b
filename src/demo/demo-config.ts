import type { WalbergConfig } from '../config/config.js';
import { loadConfig } from '../config/load.js';
import { describeProblems } from '../config/report.js';
import { WalbergError } from '../errors/error.js';
import type { TableIdentifier } from '../iceberg/catalog/catalog.js';
import type { PostgresServer } from './postgres-server.js';

const NAMESPACE = 'shop';

/** The Iceberg table that mirrors `shop.<name>`. */
export const shopIdentifier = (name: string): TableIdentifier => ({ namespace: [NAMESPACE], name });

/** What an operator would write into application.properties to mirror the shop into a local folder. */
export function demoConfig(server: PostgresServer, warehouse: string): WalbergConfig {
  const { config, problems } = loadConfig({
    env: {},
    overrides: {
      'debezium.source.database.hostname': server.host,
      'debezium.source.database.port': String(server.port),
      'debezium.source.database.user': server.user,
      'debezium.source.database.password': server.password,
      'debezium.source.database.dbname': server.database,
      'debezium.source.database.sslmode': 'disable',
      'debezium.source.topic.prefix': 'demo',
      'debezium.source.slot.name': 'walberg_demo',
      'debezium.source.publication.name': 'walberg_demo',
      'debezium.source.status.update.interval.ms': '1000',
      'debezium.source.schema.include.list': NAMESPACE,
      'debezium.sink.type': 'iceberg',
      'debezium.sink.iceberg.type': 'hadoop',
      'debezium.sink.iceberg.warehouse': warehouse,
      'debezium.sink.iceberg.table-namespace': NAMESPACE,
      'debezium.sink.iceberg.destination-regexp': 'demo\\.shop\\.(.*)',
      'debezium.sink.iceberg.destination-regexp-replace': '$1',
      'debezium.sink.iceberg.upsert': 'true',
      'debezium.sink.iceberg.upsert-keep-deletes': 'false',
      'walberg.commit.interval.ms': '1000',
      'walberg.shutdown.timeout.ms': '10000',
      'quarkus.http.port': '0',
      'quarkus.log.console.json': 'false',
    },
  });
  if (config === undefined) throw new WalbergError('INTERNAL', `The demo's own configuration is refused:\n${describeProblems(problems)}`);
  return config;
}
