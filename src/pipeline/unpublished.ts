import { targetTableName } from '../config/naming.js';
import type { WalbergConfig } from '../config/config.js';
import { WalbergError } from '../errors/error.js';
import type { Catalog } from '../iceberg/catalog/catalog.js';
import { readPosition } from '../iceberg/commit/position.js';
import type { SourceClient } from '../postgres/client.js';
import { readPublication } from '../postgres/publication.js';
import { readSlot } from '../postgres/slot.js';
import type { SystemIdentity } from '../postgres/system.js';
import type { TableRef } from '../postgres/table-selection.js';
import { targetName } from './table-target.js';

/**
 * Refuses to publish tables that were followed before: PUBLICATION_MISSING, PUBLICATION_INCOMPLETE. Since they left the
 * publication their changes were not sent, and nothing that Walberg could do now would bring these back; publishing them again
 * as if they were new would hide that. `reload`: everything is loaded anew anyway.
 */
export async function refuseUnpublished(config: WalbergConfig, client: SourceClient, identity: SystemIdentity, refs: readonly TableRef[], catalog: Catalog, loaded: boolean): Promise<void> {
  const { publicationName, snapshotMode, slotName } = config.source;
  if (snapshotMode === 'always' && !loaded) return;
  const publication = await readPublication(client, publicationName);
  const lacking = refs.filter((t) => publication?.tables.some((p) => p.schema === t.schema && p.name === t.name) !== true);
  if (lacking.length === 0 || (snapshotMode === 'when_needed' && await readSlot(client, slotName) === undefined)) return;
  for (const ref of lacking) {
    const identifier = { namespace: config.sink.namespace, name: targetTableName(config, ref.schema, ref.name) };
    const table = await catalog.loadTable(identifier);
    const stored = table === undefined ? undefined : readPosition(table);
    // Before anything is created on a server that is not the tables' own.
    if (stored?.systemId !== undefined && stored.systemId !== identity.systemId) throw otherCluster(targetName(identifier), stored.systemId, identity);
    // Positions of another slot are refused later, for what they are.
    if (stored === undefined || (stored.slot ?? slotName) !== slotName) continue;
    const context = { publication: publicationName, table: `${ref.schema}.${ref.name}` };
    const hint = `Changes made meanwhile were not published. Drop ${targetName(identifier)} and every other Iceberg table whose source was left out, so that they are loaded anew; or load into another namespace through another slot.name.`;
    if (publication === undefined) throw new WalbergError('PUBLICATION_MISSING', `Publication ${publicationName} does not exist any more, but table ${targetName(identifier)} holds a position`, { context, hint });
    throw new WalbergError('PUBLICATION_INCOMPLETE', `Publication ${publicationName} leaves out ${ref.schema}.${ref.name}, but table ${targetName(identifier)} holds a position`, { context, hint });
  }
}

/** SOURCE_OTHER_CLUSTER: the table's position means nothing on this server. */
export function otherCluster(table: string, systemId: string, identity: SystemIdentity): WalbergError {
  return new WalbergError('SOURCE_OTHER_CLUSTER', `Table ${table} was written from another Postgres cluster`, { context: { table, systemId, connectedTo: identity.systemId } });
}
