import type { Property } from './property.js';
import { CAPTURE, LOAD } from './properties/capture.js';
import { CONNECTION } from './properties/connection.js';
import { ENGINE, OFFSET } from './properties/engine.js';
import { OWN } from './properties/own.js';
import { RUNTIME } from './properties/quarkus.js';
import { BATCH, CATALOG, STORAGE, TABLES } from './properties/sink.js';
import { TRANSFORMS } from './properties/transforms.js';
import { VALUES } from './properties/values.js';

/** The one schema: every property, declared once. */
export const PROPERTIES: readonly Property[] = [
  ...CONNECTION, ...CAPTURE, ...LOAD, ...VALUES, ...ENGINE, ...OFFSET, ...CATALOG, ...STORAGE, ...TABLES, ...BATCH, ...TRANSFORMS, ...RUNTIME, ...OWN,
];

export const isPattern = (property: Property): boolean => property.name.includes('<');

const exact = new Map(PROPERTIES.filter((p) => !isPattern(p)).map((p) => [p.name, p]));

interface Pattern { readonly property: Property; readonly test: RegExp }

/** Longest fixed text first, so that the most specific pattern wins. */
const patterns: readonly Pattern[] = PROPERTIES.filter(isPattern)
  .map((property) => ({ property, test: new RegExp(`^${property.name.split(/<[^>]+>/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('(.+)')}$`) }))
  .sort((a, b) => fixedLength(b.property.name) - fixedLength(a.property.name));

function fixedLength(name: string): number {
  return name.replaceAll(/<[^>]+>/g, '').length;
}

/** The declaration of a key: an exact name wins over patterns. `part` is what the (first) placeholder stands for. */
export function findProperty(key: string): { property: Property; part?: string } | undefined {
  const property = exact.get(key);
  if (property !== undefined) return { property };
  for (const { property: candidate, test } of patterns) {
    const match = test.exec(key);
    if (match !== null) return { property: candidate, part: match[1] };
  }
  return undefined;
}

/** The declaration of a name that is known to exist. */
export function propertyNamed(name: string): Property {
  const property = exact.get(name);
  if (property === undefined) throw new Error(`No such property: ${name}`);
  return property;
}
