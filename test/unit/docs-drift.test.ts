import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/config/load.js';
import { PROPERTIES } from '../../src/config/properties.js';
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

test('the configuration of the compose file has no problems and nothing unknown', () => {
  const result = loadConfig({ file: join(root, 'docker/application.properties'), env: { PGPASSWORD: 'p', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's' } });
  assert.deepEqual(result.problems, []);
  assert.deepEqual(result.notes.filter((n) => n.kind !== 'default'), []);
  assert.equal(result.config?.sink.upsert, true);
});

test('the environment of the Kubernetes sidecar is a configuration without problems and nothing unknown', () => {
  const text = readFileSync(join(root, 'conf/kubernetes-sidecar.yaml'), 'utf8');
  const given = [...text.matchAll(/^ *- \{ name: ([A-Z0-9_]+), value: (?:"([^"]*)"|'([^']*)') \}$/gm)].map((m) => [m[1], m[2] ?? m[3]] as const);
  const secret = [...text.matchAll(/^ *- name: ((?:DEBEZIUM|WALBERG)_[A-Z0-9_]+)\n *valueFrom: \{ secretKeyRef:/gm)].map((m) => [m[1], 'x'] as const);
  const env = Object.fromEntries([...given, ...secret].filter(([name]) => name !== 'WALBERG_PASSWORD'));
  assert.ok(Object.keys(env).length >= 24);
  const result = loadConfig({ env });
  assert.deepEqual(result.problems, []);
  assert.deepEqual(result.notes.filter((n) => n.kind !== 'default'), []);
  assert.ok(result.config?.source.tableInclude[0].test('public.outbox'));
  assert.deepEqual(result.config?.source.skippedOperations, ['u', 'd', 't']);
});

test('the unit names the exit code of a wrong configuration, and waits for a clean stop', () => {
  const unit = readFileSync(join(root, 'conf/walberg.service'), 'utf8');
  assert.match(unit, /^RestartPreventExitStatus=2$/m);
  const stop = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1]);
  const shutdown = PROPERTIES.find((p) => p.name === 'walberg.shutdown.timeout.ms')!.default;
  assert.ok(stop * 1000 > Number(shutdown));
});
