import Table from 'cli-table3';
import { createLogUpdate } from 'log-update';
import type { PipelineListener } from '../observe/events.js';
import { SourceLag } from '../observe/source-lag.js';
import { bytes, count, seconds } from './text.js';

/** What is shown of one table. */
interface TableState {
  changes: number;
  snapshots: number;
  files: number;
  bytes: number;
  /** A transaction that is being received has changed it. */
  touched: boolean;
  readonly lag: SourceLag;
}

/** Total changes at a moment, newest last; rates are over the window. */
interface Sample {
  readonly atMs: number;
  readonly changes: readonly number[];
}

const DRAW_MS = 250;
const LINE_MS = 3000;
const WINDOW_MS = 2000;

/** Shows what flows into each table while it happens: a table redrawn in a terminal, a line every few seconds elsewhere. */
export class LiveTable {
  readonly #tables: Map<string, TableState>;
  readonly #draw: ReturnType<typeof createLogUpdate> | undefined;
  #samples: Sample[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param names `schema.table` of each source table, in the order shown */
  constructor(private readonly out: NodeJS.WriteStream, names: readonly string[]) {
    this.#tables = new Map(names.map((name) => [name, { changes: 0, snapshots: 0, files: 0, bytes: 0, touched: false, lag: new SourceLag() }]));
    if (out.isTTY) this.#draw = createLogUpdate(out);
  }

  readonly listener: PipelineListener = {
    sessionStarted: (info) => { for (const { lag } of this.#tables.values()) lag.listener.sessionStarted!(info); },
    rowsAccepted: (name, { inserts, updates, deletes, truncates }) => {
      const table = this.#tables.get(name);
      if (table === undefined) return;
      table.changes += inserts + updates + deletes + truncates;
      table.touched = true;
    },
    transactionAccepted: (info) => {
      for (const table of this.#tables.values()) {
        if (table.touched) table.lag.listener.transactionAccepted!(info);
        table.touched = false;
      }
    },
    commitFinished: ({ table: name, endLsn, dataFiles, deleteFiles, bytes: written }) => {
      const table = this.#tables.get(name);
      if (table === undefined) return;
      table.snapshots++;
      table.files += dataFiles + deleteFiles;
      table.bytes += written;
      table.lag.listener.confirmed!(endLsn);
    },
    // Also past transactions that left nothing to commit.
    confirmed: (lsn) => { for (const { lag } of this.#tables.values()) lag.listener.confirmed!(lsn); },
  };

  /** Begins to draw. */
  start(): void {
    this.#sample();
    this.#timer = setInterval(() => this.#show(), this.#draw === undefined ? LINE_MS : DRAW_MS);
  }

  /** Draws once more and leaves the terminal as it was. */
  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#show();
    this.#draw?.done();
  }

  #show(): void {
    const rates = this.#sample();
    if (this.#draw === undefined) this.out.write(`  ${this.#line(rates)}\n`);
    else this.#draw(this.#text(rates));
  }

  /** @returns changes per second of each table since the window began */
  #sample(): number[] {
    const now = performance.now();
    const changes = [...this.#tables.values()].map((t) => t.changes);
    this.#samples = [...this.#samples.filter((s) => now - s.atMs <= Math.max(WINDOW_MS, this.#draw === undefined ? LINE_MS * 1.5 : 0)), { atMs: now, changes }];
    const first = this.#samples[0];
    const elapsed = (now - first.atMs) / 1000;
    return changes.map((n, i) => (elapsed === 0 ? 0 : (n - first.changes[i]) / elapsed));
  }

  #text(rates: readonly number[]): string {
    const table = new Table({ head: ['table', 'rows/s', 'changes', 'lag', 'behind', 'snapshots', 'files', 'size'], colAligns: ['left', ...Array<'right'>(7).fill('right')], style: { head: [], border: [], compact: true } });
    [...this.#tables].forEach(([name, t], i) => {
      table.push([name, count(rates[i]), count(t.changes), seconds(t.lag.ms), bytes(Number(t.lag.bytes)), count(t.snapshots), count(t.files), bytes(t.bytes)]);
    });
    return table.toString();
  }

  #line(rates: readonly number[]): string {
    const all = [...this.#tables.values()];
    const flows = [...this.#tables].map(([name, t], i) => `${name.slice(name.indexOf('.') + 1)} ${count(t.changes)} (${count(rates[i])}/s)`).join(', ');
    const lag = all.reduce((a, b) => (b.lag.ms > a.lag.ms ? b : a)).lag;
    return `${flows}; lag ${seconds(lag.ms)}, ${bytes(Number(lag.bytes))}; ${count(all.reduce((n, t) => n + t.snapshots, 0))} snapshots, ${count(all.reduce((n, t) => n + t.files, 0))} files`;
  }
}
