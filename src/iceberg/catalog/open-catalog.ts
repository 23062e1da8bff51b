import type { SinkConfig } from '../../config/config.js';
import type { Storage } from '../../storage/storage.js';
import type { Catalog } from './catalog.js';
import { HadoopCatalog } from './hadoop.js';
import { RestCatalog } from './rest.js';

/** The catalog the configuration names, ready for use. `storage` holds its files where the catalog itself reads or writes any. */
export async function openCatalog(sink: SinkConfig, storage: Storage): Promise<Catalog> {
  const { catalog } = sink;
  if (catalog.type === 'rest') return RestCatalog.connect(catalog);
  return new HadoopCatalog({ name: catalog.name, warehouse: catalog.warehouse, storage });
}
