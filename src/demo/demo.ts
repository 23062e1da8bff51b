/** What `walberg demo` was asked for. */
export interface DemoOptions {
  /** Warehouse of the tables; default: a new temporary folder. */
  readonly directory?: string;
  /** Orders that exist before Walberg starts. */
  readonly orders: number;
  /** Seconds of live changes. */
  readonly seconds: number;
}

/**
 * Starts a Postgres of its own with a shop in it, streams it into local Iceberg tables under live changes, and compares them.
 *
 * @returns the exit code
 */
export async function runDemo(options: DemoOptions): Promise<number> {
  void options;
  return 1;
}
