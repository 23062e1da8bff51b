import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { S3Access } from '../readers/reader.js';
import { answers, freePort, RestartableServer } from './guarded-process.js';
import { installation } from './installation.js';

export interface RestCatalogOptions {
  /** Where tables without a location of their own go: `s3://bucket/path`, a path or a `file://` URI. */
  readonly warehouse: string;
  /** The S3 server that it writes metadata files to; clients bring their own credentials, it hands none out. */
  readonly s3?: S3Access;
}

/** Iceberg's reference REST catalog (java/RestCatalog.java); tables are kept in a SQLite file. No authentication, no prefix. */
export interface RestCatalog {
  readonly uri: string;
  /** Ends it and removes its list of tables (the tables' files stay). */
  stop(): Promise<void>;
  /** SIGKILL; tables stay. */
  kill(): Promise<void>;
  /** Same address, same tables; also after kill(). */
  restart(): Promise<void>;
  /** SIGSTOP and SIGCONT: a catalog that hangs. */
  suspend(): void;
  resume(): void;
  log(): string;
}

/** Takes about two seconds. */
export async function startRestCatalog(options: RestCatalogOptions): Promise<RestCatalog> {
  const { java, catalogClassPath } = installation();
  const folder = mkdtempSync(join(tmpdir(), 'walberg-rest-'));
  const port = await freePort();
  const uri = `http://127.0.0.1:${port}`;
  const properties: Record<string, string> = { uri: `jdbc:sqlite:${join(folder, 'catalog.db')}`, warehouse: options.warehouse, 'io-impl': 'org.apache.iceberg.io.ResolvingFileIO' };
  if (options.s3 !== undefined) {
    Object.assign(properties, {
      's3.endpoint': options.s3.endpoint, 's3.path-style-access': 'true', 's3.access-key-id': options.s3.accessKeyId,
      's3.secret-access-key': options.s3.secretAccessKey, 'client.region': options.s3.region,
    });
  }
  const server = new RestartableServer({
    name: 'rest-catalog',
    command: java,
    args: ['-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', `-Djava.io.tmpdir=${folder}`, '-cp', catalogClassPath,
      'RestCatalog', String(port), ...Object.entries(properties).map(([name, value]) => `${name}=${value}`)],
    folder,
    logFile: join(folder, 'server.log'),
    ready: () => answers(`${uri}/v1/config`, (status) => status === 200),
  });
  await server.start();
  return {
    uri,
    stop: () => server.stop(),
    kill: () => server.kill(),
    restart: () => server.restart(),
    suspend: () => server.suspend(),
    resume: () => server.resume(),
    log: () => server.log(),
  };
}
