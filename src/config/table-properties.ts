import type { Checks } from './checks.js';
import type { Setting, Settings } from './settings.js';

const I = 'debezium.sink.iceberg.';

/** Table properties that would change how files are written, with the values that are written anyway. */
const FIXED: Readonly<Record<string, readonly string[]>> = {
  'format-version': ['2'],
  'write.format.default': ['parquet'],
  'write.delete.format.default': ['parquet'],
  'write.object-storage.enabled': ['false'],
  'write.data.path': [],
  'write.folder-storage.path': [],
  'write.metadata.path': [],
  'write.location-provider.impl': [],
};

/**
 * Properties of new tables. `write.…` and `table-default.…` give way to `table-properties.…`, and all give way to
 * `table-override.…`, as the Java catalog orders default and override.
 */
export function tableProperties(settings: Settings, checks: Checks): Readonly<Record<string, string>> {
  const merged = new Map<string, Setting>();
  for (const [group, keep] of [['table-default.', ''], ['write.', 'write.'], ['table-properties.', ''], ['table-override.', '']] as const) {
    for (const [rest, setting] of settings.withPrefix(I + group)) merged.set(keep + rest, setting);
  }
  for (const [property, setting] of merged) {
    const allowed = FIXED[property];
    if (allowed === undefined || allowed.includes(setting.text.toLowerCase())) continue;
    checks.refusedSetting(setting, 'is refused: files are not written in that way.', allowed.length === 0 ? 'Remove it.' : `Use ${allowed[0]}, or remove it.`);
  }
  return Object.fromEntries([...merged].map(([property, { text }]) => [property, text]));
}

/** Compression that table properties ask for, in the words of walberg.parquet.compression. */
export function compressionOf(properties: Readonly<Record<string, string>>): string | undefined {
  const codec = properties['write.parquet.compression-codec']?.toLowerCase();
  const level = properties['write.parquet.compression-level'];
  return codec === undefined || level === undefined || level === 'null' ? codec : `${codec}:${level}`;
}
