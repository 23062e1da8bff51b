#!/usr/bin/env node
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorsReference, exampleFile, propertiesReference } from './reference.js';

/** Generated files by name inside conf/. */
export const REFERENCE_FILES: Readonly<Record<string, () => string>> = {
  'PROPERTIES.md': propertiesReference,
  'ERRORS.md': errorsReference,
  'application.properties.example': exampleFile,
};

/** The folder with package.json above `from`. */
export function projectRoot(from: string): string {
  if (existsSync(join(from, 'package.json'))) return from;
  const parent = dirname(from);
  if (parent === from) throw new Error('No package.json above this file');
  return projectRoot(parent);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = projectRoot(dirname(fileURLToPath(import.meta.url)));
  for (const [name, generate] of Object.entries(REFERENCE_FILES)) writeFileSync(join(root, 'conf', name), generate());
}
