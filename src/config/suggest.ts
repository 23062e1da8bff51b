import { isPattern, PROPERTIES } from './properties.js';
import type { Property } from './property.js';

/** Beginnings of names, the longest first. A slip is judged by what comes after them, or all short names would be alike. */
const FAMILIES = ['debezium.transforms.unwrap.', 'debezium.sink.iceberg.', 'debezium.sink.batch.', 'debezium.source.', 'debezium.sink.', 'debezium.', 'walberg.'];

/** Where the rest of a name may be put by mistake. */
const PLACES = [...FAMILIES, 'debezium.iceberg.', 'transforms.unwrap.', 'sink.iceberg.', 'sink.batch.', 'iceberg.', 'source.', 'sink.', ''].sort((a, b) => b.length - a.length);

interface Name { readonly property: Property; readonly normal: string; readonly tail: string }

/** Supported names come first, so that of two that are equally near the one with an effect is meant. */
const names: readonly Name[] = PROPERTIES.filter((p) => !isPattern(p))
  .sort((a, b) => Number(a.status.kind === 'accepted') - Number(b.status.kind === 'accepted'))
  .map((property) => ({ property, normal: normal(property.name), tail: tailOf(normal(property.name)) }));

const effective = names.filter(({ property }) => property.status.kind !== 'accepted');

/**
 * The declaration that an unknown `key` was probably meant for: a slip of the keyboard, the right name in the wrong place
 * (`debezium.table.include.list`), or a name that ends too early (`debezium.source.table.include`). Of another name of a property
 * it is the property itself.
 */
export function nearestProperty(key: string): Property | undefined {
  const wanted = normal(key);
  const found = slip(wanted) ?? misplaced(wanted) ?? cutShort(wanted);
  return found?.aliasOf === undefined ? found : PROPERTIES.find((p) => p.name === found.aliasOf);
}

/** Whether `key`, which has no family of ours at its beginning, is a name of ours without that beginning. */
export function lacksFamily(key: string): boolean {
  return misplaced(normal(key)) !== undefined;
}

function slip(wanted: string): Property | undefined {
  let best: Property | undefined;
  let bestDistance = Math.min(3, Math.ceil(tailOf(wanted).length / 5)) + 1;
  for (const name of names) {
    if (Math.abs(name.normal.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(wanted, name.normal);
    if (distance < bestDistance) [best, bestDistance] = [name.property, distance];
  }
  return best;
}

function misplaced(wanted: string): Property | undefined {
  for (const place of PLACES) {
    if (!wanted.startsWith(place)) continue;
    const tail = wanted.slice(place.length);
    // A single word alone is more likely somebody's own variable.
    if (place === '' && !tail.includes('.')) return undefined;
    const found = effective.find((name) => name.tail === tail && name.tail !== name.normal);
    if (found !== undefined) return found.property;
  }
  return undefined;
}

function cutShort(wanted: string): Property | undefined {
  if (tailOf(wanted) === wanted) return undefined;
  const longer = effective.filter((name) => name.normal.startsWith(`${wanted}.`));
  return longer.length === 1 ? longer[0].property : undefined;
}

/** Dots, hyphens and underscores are the usual mistake, so they count as equal; so do letters of both cases. */
function normal(name: string): string {
  return name.toLowerCase().replaceAll(/[._-]/g, '.');
}

function tailOf(wanted: string): string {
  return wanted.slice(FAMILIES.find((family) => wanted.startsWith(family))?.length ?? 0);
}

/** Levenshtein distance in one row. */
function editDistance(a: string, b: string): number {
  const row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    let diagonal = row[0];
    row[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const above = row[j];
      row[j] = Math.min(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] === b[j - 1] ? 0 : 1));
      diagonal = above;
    }
  }
  return row[b.length];
}
