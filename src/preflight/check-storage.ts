import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { WalbergConfig } from '../config/config.js';
import { warehouseLocation } from '../iceberg/catalog/hadoop-location.js';
import { filePath, isFileLocation } from '../storage/file-location.js';
import type { Storage } from '../storage/storage.js';
import type { TargetFacts } from './check-targets.js';
import { type Finding, note, ok, problem, problemOf } from './finding.js';

/**
 * Can files be written. A file-system warehouse that exists gets a small file directly in its folder, which is read back and
 * removed; of one that does not exist yet, the folder above decides. With a catalog server, which alone knows where new tables
 * go, a file of an existing table is looked up.
 */
export async function checkStorage({ sink }: WalbergConfig, storage: Storage, targets: readonly TargetFacts[]): Promise<Finding[]> {
  if (sink.catalog.type !== 'hadoop') return readable(storage, targets);
  try {
    const warehouse = warehouseLocation(sink.catalog.warehouse);
    if (isFileLocation(warehouse) && !await exists(filePath(warehouse))) return [await creatable(filePath(warehouse))];
    return [await probe(storage, warehouse)];
  } catch (error) {
    return [problemOf(error)];
  }
}

async function probe(storage: Storage, warehouse: string): Promise<Finding> {
  const location = `${warehouse}/walberg-check-${randomBytes(6).toString('hex')}`;
  const body = randomBytes(16);
  try {
    await storage.write(location, body, { ifAbsent: true });
    const read = await storage.read(location);
    if (Buffer.compare(read, body) !== 0) return problem(`${warehouse} does not give back what was written`, 'Check the storage: other writers, caches or gateways in between.');
    return ok(`${warehouse} can be written and read`);
  } finally {
    await storage.remove([location]);
  }
}

async function creatable(path: string): Promise<Finding> {
  let above = dirname(path);
  while (!await exists(above)) above = dirname(above);
  try {
    await access(above, constants.W_OK | constants.X_OK);
    return ok(`${path} does not exist and will be created`);
  } catch {
    return problem(`${path} does not exist and cannot be created in ${above}`, `Create it, and let the user of this process write there: mkdir -p ${path}`);
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(() => true, (error: NodeJS.ErrnoException) => error.code !== 'ENOENT');
}

async function readable(storage: Storage, targets: readonly TargetFacts[]): Promise<Finding[]> {
  for (const { found } of targets) {
    const metadata = found?.existing?.metadata;
    const list = metadata?.snapshots.find((s) => String(s['snapshot-id']) === String(metadata['current-snapshot-id']))?.['manifest-list'];
    if (list === undefined) continue;
    try {
      return [(await storage.size(list)) === undefined ? problem(`${list} does not exist, though the newest snapshot of its table names it`, 'Check debezium.sink.iceberg.s3.endpoint, or restore the file.') : ok('The files of the tables can be read; whether they can be written was not tried')];
    } catch (error) {
      return [problemOf(error)];
    }
  }
  return [note('Whether files can be written was not tried: the catalog says where when tables are created')];
}
