import { WalbergError } from '../../errors/error.js';
import { parseJson } from '../spec/json.js';
import type { NestedField } from '../spec/types.js';
import { openContainer, type Container } from './avro/container.js';
import { AS_WRITTEN } from './avro/decode.js';
import { malformed } from './avro/malformed.js';
import type { AvroNode } from './avro/schema.js';
import { dataFileFromSlots } from './data-file.js';
import { manifestEntryStruct } from './fields.js';
import { STATUS_ADDED, STATUS_DELETED, type EntryStatus, type ManifestEntry, type ManifestFile } from './types.js';
import { RecordValues } from './values.js';

/**
 * Reads a manifest of any writer, format versions 1 and 2, with what entries inherit from the manifest list filled in (spec
 * "Sequence Number Inheritance", "Manifest Entry Fields"): the snapshot id; both sequence numbers for ADDED entries; 0 for
 * entries of format version 1.
 *
 * Partition values come in the order of the spec in the manifest's header, typed as they were written: a partition column
 * promoted from int to long has numbers in older manifests, bigints in newer ones.
 *
 * @throws FILE_MALFORMED, FORMAT_UNSUPPORTED (format version 3, unknown codec)
 */
export function readManifest(bytes: Uint8Array, manifest: ManifestFile): ManifestEntry[] {
  const what = `manifest ${manifest.path}`;
  const container = openContainer(bytes, what);
  requireKnownVersion(container, what);
  const entries: ManifestEntry[] = [];
  for (const slots of container.records(manifestEntryStruct(partitionFields(container, what)))) {
    const values = new RecordValues(slots, what);
    const status = values.requiredInt(0, 'status');
    if (status < 0 || status > STATUS_DELETED) throw malformed(what, 'an entry has an unknown status');
    const inherited = status === STATUS_ADDED || manifest.sequenceNumber === 0n ? manifest.sequenceNumber : null;
    const file = dataFileFromSlots(values.requiredList(4, 'data_file'), manifest.specId, what);
    if ((file.content === 0) !== (manifest.content === 'data')) throw malformed(what, `a file does not belong into a manifest of ${manifest.content}`);
    const sequenceNumber = values.long(2, 'sequence_number') ?? inherited;
    // Which deletes apply to a file depends on its number; a guess could bring deleted rows back.
    if (sequenceNumber === null && status !== STATUS_DELETED) throw malformed(what, 'an existing entry has no sequence number');
    entries.push({
      status: status as EntryStatus,
      snapshotId: values.long(1, 'snapshot_id') ?? manifest.addedSnapshotId,
      sequenceNumber,
      fileSequenceNumber: values.long(3, 'file_sequence_number') ?? inherited,
      file,
    });
  }
  return entries;
}

/** @throws FORMAT_UNSUPPORTED when the header says that the file follows a later format version. */
export function requireKnownVersion(container: Container, what: string): void {
  const version = container.metadata.get('format-version');
  if (version !== undefined && version !== '1' && version !== '2') {
    throw new WalbergError('FORMAT_UNSUPPORTED', `The ${what} follows format version ${version}; versions 1 and 2 are supported.`, { context: { version } });
  }
}

/** The partition fields in spec order: from the header's `partition-spec` where there is one, else as the writer's schema has them. */
function partitionFields(container: Container, what: string): readonly NestedField[] {
  const asWritten = (id: number, name: string): NestedField => ({ id, name, required: false, type: AS_WRITTEN });
  const header = container.metadata.get('partition-spec');
  if (header !== undefined) {
    const parsed = parseJson(header, `partition spec of the ${what}`);
    // Some writers put the whole spec here instead of its fields.
    const fields: unknown = Array.isArray(parsed) ? parsed : (parsed as { fields?: unknown } | null)?.fields;
    if (!Array.isArray(fields)) throw malformed(what, 'its partition spec is no list of fields');
    return fields.map((field: { 'field-id'?: unknown; name?: unknown } | null, index) => {
      // Format version 1 leaves field ids out: they count from 1000.
      const id = field?.['field-id'] ?? 1000 + index;
      if (typeof id !== 'number') throw malformed(what, 'its partition spec has a field id that is no number');
      return asWritten(id, String(field?.name));
    });
  }
  const dataFile = fieldOf(container.schema, 2, 'data_file');
  const partition = dataFile === undefined ? undefined : fieldOf(dataFile, 102, 'partition');
  if (partition?.kind !== 'record') throw malformed(what, 'its schema has no partition record');
  return partition.fields.map((field, index) => asWritten(field.id ?? 1000 + index, field.name));
}

function fieldOf(node: AvroNode, id: number, name: string): AvroNode | undefined {
  if (node.kind !== 'record') return undefined;
  return node.fields.find((field) => (field.id === undefined ? field.name === name : field.id === id))?.node;
}
