import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { after, describe, it } from 'node:test';
import { openDemoFolder } from '../../src/demo/demo-folder.js';
import { Interrupt } from '../../src/demo/interrupt.js';
import { LiveTable } from '../../src/demo/live-table.js';
import { LoadProgress } from '../../src/demo/load-progress.js';
import { openLines } from '../../src/demo/open-lines.js';
import { bytes, count, seconds } from '../../src/demo/text.js';
import { isWalbergError } from '../../src/errors/error.js';

/** Collects what is written, as a terminal or as a pipe. */
function output(isTTY: boolean): { stream: NodeJS.WriteStream; text: () => string } {
  let text = '';
  const stream = new Writable({ write(chunk, _encoding, done) { text += String(chunk); done(); } });
  return { stream: Object.assign(stream, { isTTY, columns: 120, rows: 40 }) as unknown as NodeJS.WriteStream, text: () => text };
}

const HIDE = '\u001b[?25l';
const SHOW = '\u001b[?25h';
const ROWS = { customers: 10, orders: 100, order_lines: 200, outbox: 0 };

describe('what the demo shows', () => {
  it('numbers', () => {
    assert.deepEqual([count(1234567.4), seconds(849), bytes(812), bytes(3400), bytes(1_234_567)], ['1,234,567', '0.8 s', '812 B', '3.4 kB', '1.2 MB']);
  });

  it('a line per loaded table where there is no terminal', () => {
    const { stream, text } = output(false);
    const progress = new LoadProgress(stream, ROWS);
    progress.listener.loadStarted!({ table: 'shop.orders', estimatedRows: 90, estimatedBytes: 1 });
    progress.listener.loadProgress!({ table: 'shop.orders', rows: 50, bytes: 1, chunksDone: 0, chunksTotal: 1 });
    progress.listener.loadFinished!({ table: 'shop.orders', rows: 100, durationMs: 1234, lsn: 1n });
    progress.stop();
    assert.equal(text(), '  shop.orders: 100 rows in 1.2 s\n');
  });

  it('bars in a terminal, which is left with its cursor, and once only', () => {
    const { stream, text } = output(true);
    const progress = new LoadProgress(stream, ROWS);
    progress.listener.loadStarted!({ table: 'shop.orders', estimatedRows: 90, estimatedBytes: 1 });
    progress.listener.loadFinished!({ table: 'shop.orders', rows: 100, durationMs: 1234, lsn: 1n });
    assert.ok(text().includes(HIDE));
    progress.stop();
    assert.match(text(), /shop\.orders +█{30} 100 rows/);
    assert.ok(text().lastIndexOf(SHOW) > text().lastIndexOf(HIDE));
    const before = text();
    progress.stop();
    assert.equal(text(), before);
  });

  it('what flowed into each table, and its lag until it is committed', () => {
    const { stream, text } = output(false);
    const live = new LiveTable(stream, ['shop.orders', 'shop.outbox']);
    const { listener } = live;
    live.start();
    listener.sessionStarted!({ slot: 's', publication: 'p', startLsn: 10n, tables: [] });
    listener.rowsAccepted!('shop.orders', { inserts: 1000, updates: 200, deletes: 34, truncates: 0 });
    listener.transactionAccepted!({ endLsn: 2010n, commitTimeMs: Date.now() - 60_000 });
    live.stop();
    assert.match(text(), /orders 1,234 \([\d,]+\/s\), outbox 0 \(0\/s\); lag [6-9]\d\.\d s, 2\.0 kB; 0 snapshots, 0 files/);
    live.start();
    listener.commitFinished!({ table: 'shop.orders', snapshotId: 1n, sequenceNumber: 1n, endLsn: 2010n, dataFiles: 2, deleteFiles: 1, bytes: 5000, records: 1000, deletes: 10, durationMs: 1, attempts: 1 });
    live.stop();
    assert.match(text().trimEnd().split('\n').at(-1)!, /lag 0\.0 s, 0 B; 1 snapshots, 3 files$/);
  });

  it('a table in a terminal, drawn a last time when it stops and never again', () => {
    const { stream, text } = output(true);
    const live = new LiveTable(stream, ['shop.orders']);
    live.start();
    live.listener.rowsAccepted!('shop.orders', { inserts: 4321, updates: 0, deletes: 0, truncates: 0 });
    live.stop();
    assert.match(text(), /│ shop\.orders │[^\n]*│ +4,321 │/);
    const before = text();
    live.stop();
    assert.equal(text(), before);
  });

  it('how to open the tables, and which of them PyIceberg can', () => {
    const table = (name: string, hasEqualityDeletes: boolean): Parameters<typeof openLines>[1][number] => ({ name, sourceRows: 1, tableRows: 1, equal: true, hasEqualityDeletes, metadataLocation: `file:///a/b'c/${name.replace('.', '/')}/metadata/v3.metadata.json` });
    const lines = openLines("/a/b'c", [table('shop.orders', true), table('shop.outbox', false)]);
    assert.equal(lines.length, 4);
    assert.ok(lines[0].includes("iceberg_scan('/a/b''c/shop/orders/metadata/v3.metadata.json')"));
    assert.ok(lines[3].includes('shop/outbox/metadata/v3.metadata.json') && lines[3].includes('shop.outbox only'));
    assert.match(openLines('/a', [table('shop.orders', true)])[3], /compact/);
  });
});

describe('signals during the demo', () => {
  for (const [name, exitCode] of [['SIGINT', 130], ['SIGTERM', 143]] as const) {
    it(`${name} aborts and means exit code ${exitCode}; an echo at once changes nothing; closed, it has its usual effect`, () => {
      const before = process.listenerCount(name);
      const interrupt = new Interrupt();
      assert.equal(interrupt.exitCode, undefined);
      process.emit(name, name);
      process.emit('SIGINT', 'SIGINT');
      assert.ok(interrupt.signal.aborted);
      assert.equal(interrupt.exitCode, exitCode);
      interrupt.close();
      assert.equal(process.listenerCount(name), before);
    });
  }
});

describe('folder of the demo', () => {
  const root = mkdtempSync(join(tmpdir(), 'walberg-test-'));
  after(() => rmSync(root, { recursive: true, force: true }));

  it('is a new one when none is named', () => {
    const folder = openDemoFolder(undefined, 1);
    assert.ok(existsSync(folder.path) && folder.logFile.startsWith(folder.path));
    folder.remove();
    assert.ok(!existsSync(folder.path));
  });

  it('is made with its parents, and removed with those it made', () => {
    const folder = openDemoFolder(join(root, 'a', 'b'), 1);
    writeFileSync(folder.logFile, '');
    folder.remove();
    assert.deepEqual(readdirSync(root), []);
  });

  it('may exist when it is empty, and is emptied again', () => {
    const path = join(root, 'mine');
    mkdirSync(path);
    const folder = openDemoFolder(path, 1);
    mkdirSync(join(path, 'shop'));
    folder.remove();
    assert.deepEqual(readdirSync(path), []);
  });

  it('is refused when it holds something, is a file, or has too little space', () => {
    const full = join(root, 'full');
    mkdirSync(full);
    writeFileSync(join(full, 'x'), '');
    assert.throws(() => openDemoFolder(full, 1), (error) => isWalbergError(error, 'CONFIG_INVALID') && error.message.includes(full));
    assert.throws(() => openDemoFolder(join(full, 'x'), 1), (error) => isWalbergError(error, 'STORAGE_FAILED'));
    assert.throws(() => openDemoFolder(join(root, 'big'), Number.MAX_SAFE_INTEGER / 1e5), (error) => isWalbergError(error, 'STORAGE_FULL'));
    assert.ok(!existsSync(join(root, 'big')));
    assert.ok(existsSync(join(full, 'x')));
  });
});
