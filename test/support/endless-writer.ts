import { FileStorage } from '../../src/storage/file.js';

// A process that writes files until it is killed, and tells its parent after each.
const [, , folder] = process.argv;
const storage = new FileStorage();
const body = new Uint8Array(4 * 1024 * 1024).fill(7);
for (let i = 0; ; i++) {
  await storage.write(`${folder}/f${i}`, body, { ifAbsent: i % 2 === 0 });
  process.send?.(i);
}
