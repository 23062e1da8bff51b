export * from './types.js';
export { addedEntry, deletedEntry, existingEntry, isLive } from './entries.js';
export { readManifestList, writeManifestList } from './manifest-list.js';
export { readManifest } from './read-manifest.js';
export { toManifestFile, writeManifest } from './write-manifest.js';
