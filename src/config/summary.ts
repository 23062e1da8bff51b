import type { WalbergConfig } from './config.js';
import type { Settings } from './settings.js';

const S = 'debezium.source.';

/** What a configuration means, in two lines: what is read and where it goes. No secrets: neither passwords nor keys, and no user part of an address. */
export function summarize(settings: Settings, config: WalbergConfig): string[] {
  const { connection: c, slotName, publicationName } = config.source;
  return [
    `Source: ${c.user}@${c.host}:${c.port}/${c.database}, slot ${slotName}, publication ${publicationName}, ${captured(settings)}`,
    `Target: ${target(config)}, commit every ${words(config.pipeline.commitIntervalMs)}`,
  ];
}

/** The filters as they were written. */
function captured(settings: Settings): string {
  const text = (name: string): string | undefined => settings.setting(S + name)?.text.split(',').map((item) => item.trim()).filter((item) => item !== '').join(', ');
  const parts = [];
  for (const kind of ['schema', 'table', 'column']) {
    const [only, without] = [text(`${kind}.include.list`), text(`${kind}.exclude.list`)];
    if (only !== undefined) parts.push(`${kind}s ${only}`);
    else if (without !== undefined) parts.push(`without ${kind}s ${without}`);
    else if (kind === 'table') parts.push('all tables');
  }
  return parts.join(', ');
}

function target({ sink }: WalbergConfig): string {
  const { catalog, s3, namespace } = sink;
  const place = catalog.type === 'hadoop' ? `hadoop ${bare(catalog.warehouse)}` : `rest ${bare(catalog.uri ?? '')}${catalog.warehouse === '' ? '' : `, warehouse ${bare(catalog.warehouse)}`}`;
  const store = s3.endpoint === undefined ? '' : `, S3 at ${bare(s3.endpoint)}`;
  const mode = !sink.upsert ? 'one row per change' : sink.upsertKeepDeletes ? "mirror of rows (soft deletes: deleted rows stay, with __deleted = 'true')" : 'mirror of rows (hard deletes)';
  return `${place}${store}, namespace ${namespace.join('.')}, ${mode}`;
}

/** An address without user, password and query. */
function bare(address: string): string {
  return address.replace(/^([^:/?#]+:\/\/)[^/?#]*@/, '$1').replace(/[?#].*$/, '');
}

function words(ms: number): string {
  return ms % 60_000 === 0 ? `${ms / 60_000} min` : ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`;
}
