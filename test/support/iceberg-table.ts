import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What tests look at in a table's newest metadata file. */
export interface TableState {
  readonly version: number;
  readonly properties: Readonly<Record<string, string>>;
  readonly refs: Readonly<Record<string, { readonly 'snapshot-id': number }>>;
  readonly snapshots: readonly { readonly 'sequence-number': number; readonly summary: Readonly<Record<string, string>> }[];
  readonly schema: readonly { readonly id: number; readonly name: string; readonly type: unknown; readonly required: boolean }[];
  readonly identifierFieldIds: readonly number[];
}

interface Metadata {
  properties?: Record<string, string>;
  refs?: TableState['refs'];
  snapshots?: TableState['snapshots'];
  schemas: { 'schema-id': number; fields: TableState['schema']; 'identifier-field-ids'?: number[] }[];
  'current-schema-id': number;
}

/** Newest state of a table of the hadoop catalog in a local folder; undefined when there is no table. */
export function readTableState(folder: string): TableState | undefined {
  const metadata = join(folder, 'metadata');
  if (!existsSync(metadata)) return undefined;
  const versions = readdirSync(metadata).flatMap((name) => /^v(\d+)\.metadata\.json$/.exec(name)?.[1] ?? []).map(Number);
  if (versions.length === 0) return undefined;
  const version = Math.max(...versions);
  const read = JSON.parse(readFileSync(join(metadata, `v${version}.metadata.json`), 'utf8')) as Metadata;
  const schema = read.schemas.find((s) => s['schema-id'] === read['current-schema-id'])!;
  return { version, properties: read.properties ?? {}, refs: read.refs ?? {}, snapshots: read.snapshots ?? [], schema: schema.fields, identifierFieldIds: schema['identifier-field-ids'] ?? [] };
}

/** Whether the initial load of a table is readable: it and its position are one commit. A table whose source was empty has no rows. */
export function isLoaded(folder: string): boolean {
  return readTableState(folder)?.properties['walberg.lsn'] !== undefined;
}
