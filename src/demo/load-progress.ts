import { MultiBar, type SingleBar } from 'cli-progress';
import type { PipelineListener } from '../observe/events.js';
import type { ShopRows } from './shop.js';
import { count, seconds } from './text.js';

/** Shows the load of each table: bars in a terminal, a line per table elsewhere. */
export class LoadProgress {
  #bars: MultiBar | undefined;
  readonly #inTerminal: boolean;
  readonly #byTable = new Map<string, SingleBar>();

  constructor(private readonly out: NodeJS.WriteStream, private readonly rows: ShopRows) {
    this.#inTerminal = out.isTTY;
    if (this.#inTerminal) {
      this.#bars = new MultiBar({ stream: out, format: '  {table} {bar} {shown} rows', hideCursor: true, gracefulExit: false, barsize: 30, barCompleteChar: '█', barIncompleteChar: '░' });
    }
  }

  readonly listener: PipelineListener = {
    loadStarted: ({ table }) => {
      const bar = this.#bars?.create(this.#total(table), 0, { table: table.padEnd(16), shown: '0' });
      if (bar !== undefined) this.#byTable.set(table, bar);
    },
    loadProgress: ({ table, rows }) => { this.#byTable.get(table)?.update(rows, { shown: count(rows) }); },
    loadFinished: ({ table, rows, durationMs }) => {
      this.#byTable.get(table)?.update(rows, { shown: count(rows) });
      if (!this.#inTerminal) this.out.write(`  ${table}: ${count(rows)} rows in ${seconds(durationMs)}\n`);
    },
  };

  /** Leaves the terminal as it was. */
  stop(): void {
    this.#bars?.stop();
    // Once only: it moves the cursor.
    this.#bars = undefined;
  }

  /** At least 1: an empty table is loaded at once. */
  #total(table: string): number {
    return Math.max(1, (this.rows as Readonly<Record<string, number>>)[table.slice(table.indexOf('.') + 1)] ?? 1);
  }
}
