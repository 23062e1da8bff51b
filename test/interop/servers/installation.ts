import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The source tree: tests run from a build folder, but scripts and Java sources are read where they are kept. */
export function repositoryRoot(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'test', 'interop', 'setup.sh'))) return folder;
    if (folder === dirname(folder)) throw new Error('the tests do not run inside the repository: no test/interop/setup.sh above them');
  }
}

/** Path of a file kept in test/interop. */
export function interopFile(...parts: string[]): string {
  return join(repositoryRoot(), 'test', 'interop', ...parts);
}

/** What setup.sh installed. */
export interface Installation {
  readonly python: string;
  readonly java: string;
  readonly versitygw: string;
  /** Java class path of the REST catalog. */
  readonly catalogClassPath: string;
  /** What Spark needs beyond its own: Iceberg's runtime and the helper of the tests, the S3 client, SQLite for the catalog of path tables. */
  readonly sparkClassPath: string;
}

/** @throws Error when test/interop/setup.sh has not been run */
export function installation(): Installation {
  const root = process.env.WALBERG_INTEROP_DIR ?? join(repositoryRoot(), '.build', 'interop');
  const missing = ['venv.stamp', 'jars.stamp', 's3.stamp'].filter((name) => !existsSync(join(root, name)));
  if (missing.length > 0) throw new Error(`foreign readers and servers are not installed in ${root} (${missing.join(', ')} missing): run test/interop/setup.sh`);
  return {
    python: join(root, 'venv', 'bin', 'python'),
    java: process.env.JAVA_HOME === undefined ? 'java' : join(process.env.JAVA_HOME, 'bin', 'java'),
    versitygw: join(root, 'bin', 'versitygw'),
    catalogClassPath: [join(root, 'classes'), join(root, 'jars', '*')].join(':'),
    sparkClassPath: [join(root, 'spark', 'classes'), ...jars(join(root, 'spark')), ...jars(join(root, 'jars')).filter((jar) => /iceberg-aws-bundle|sqlite-jdbc/.test(jar))].join(':'),
  };
}

function jars(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.jar')).map((name) => join(folder, name));
}
