import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/config/load.js';
import { projectRoot, REFERENCE_FILES } from '../../src/config/write-reference.js';

const root = projectRoot(dirname(fileURLToPath(import.meta.url)));

for (const [name, generate] of Object.entries(REFERENCE_FILES)) {
  test(`conf/${name} is what the schema says`, () => {
    assert.equal(readFileSync(join(root, 'conf', name), 'utf8'), generate(), 'run: node dist/src/config/write-reference.js');
  });
}

test('the example is a configuration without problems', () => {
  const result = loadConfig({ file: join(root, 'conf/application.properties.example'), env: { PGPASSWORD: 'p', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's' } });
  assert.deepEqual(result.problems, []);
  assert.deepEqual(result.notes.filter((n) => n.kind === 'unknown'), []);
  assert.equal(result.config?.sink.catalog.type, 'rest');
  assert.ok(result.config.source.tableInclude.every((r) => r.test('public.orders') && !r.test('private.orders')));
});
