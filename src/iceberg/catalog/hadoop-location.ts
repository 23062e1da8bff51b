import { WalbergError } from '../../errors/error.js';
import type { TableIdentifier } from './catalog.js';

/**
 * A warehouse as the absolute URI that goes into table metadata. Plain paths and every spelling of a file URI become
 * `file:///…`; `s3a://` and `s3n://` become `s3://`, which every reader takes. Nothing is percent-encoded: Iceberg's
 * engines take what follows the scheme as the path itself.
 */
export function warehouseLocation(warehouse: string): string {
  const trimmed = warehouse.replace(/\/+$/, '');
  const path = trimmed.replace(/^file:(?:\/\/(?:localhost(?=\/|$))?)?/i, '');
  if (path !== trimmed || path.startsWith('/') || warehouse === '/') {
    if (path !== '' && !path.startsWith('/')) throw invalid(warehouse);
    return `file://${path}`;
  }
  const located = trimmed.replace(/^s3[an]:\/\//, 's3://');
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(located)) throw invalid(warehouse);
  return located;
}

/** Folder of a table: warehouse, one folder per namespace level, table name. */
export function tableLocation(warehouse: string, identifier: TableIdentifier): string {
  const parts = [...identifier.namespace, identifier.name];
  for (const part of parts) {
    if (part === '' || part === '.' || part === '..' || /[/\\\0]/.test(part)) {
      throw new WalbergError('CATALOG_REQUEST', `Not a name for a folder: ${JSON.stringify(part)} of table ${parts.join('.')}`, { hint: 'Choose another table name or namespace.' });
    }
  }
  return [warehouse, ...parts].join('/');
}

/** The file that holds the newest version as decimal digits, without newline; a hint only. */
export function hintLocation(table: string): string {
  return `${table}/metadata/version-hint.text`;
}

/** Names a metadata file of version `version` can have: as written here, and as Java writes it when the table asks for gzip. */
export function metadataLocations(table: string, version: number): readonly [plain: string, gzip: string] {
  return [`${table}/metadata/v${version}.metadata.json`, `${table}/metadata/v${version}.gz.metadata.json`];
}

/** The version a metadata file's name tells, or undefined for any other file. */
export function versionOf(location: string): number | undefined {
  const found = /\/v(\d+)(?:\.gz)?\.metadata\.json(?:\.gz)?$/.exec(location);
  return found === null ? undefined : Number(found[1]);
}

function invalid(warehouse: string): WalbergError {
  return new WalbergError('CONFIG_INVALID', `Not an absolute warehouse location: ${warehouse}`, { hint: 'Expected: s3://bucket/path, file:///path or /path.' });
}
