/** How a reader reaches an S3 server. */
export interface S3Access {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/**
 * Where a table is.
 *
 * `path`: by the metadata file of one version (path, `file://` or `s3://` URI), no catalog; `location` is the table's folder.
 * `rest`: by an Iceberg REST catalog's base URI; `namespace` is one level.
 */
export type TableSource =
  | { readonly kind: 'path'; readonly location: string; readonly metadataLocation: string; readonly s3?: S3Access }
  | { readonly kind: 'rest'; readonly uri: string; readonly namespace: string; readonly table: string; readonly s3?: S3Access };

export interface ReadOptions {
  /** Columns in this order; default: all. */
  readonly columns?: readonly string[];
  /** A predicate in the SQL that all readers share: `id = 3 and name = 'x'`, `v is null`, `id in (1, 2)`. */
  readonly filter?: string;
  /** Default: the current snapshot of `main`. */
  readonly snapshotId?: bigint;
}

/**
 * One row as text, the same for every engine:
 * boolean `true`/`false`; integers decimal; float and double the 16 hex digits of the double's big-endian IEEE bits (every NaN `7ff8000000000000`);
 * decimal plain, at its scale; timestamps microseconds since 1970 UTC; date days since 1970; time microseconds since midnight; uuid lower-case hyphenated;
 * binary and fixed lower-case hex; string itself. List: JSON array of texts. Map: JSON array of [key, value], ordered by key text. Struct: JSON object in field order.
 */
export type CanonicalRow = Record<string, string | null>;

/** An engine that shares no code with us, in a process of its own. Calls are served one after the other. */
export interface ForeignReader {
  readonly name: string;
  /** Versions of everything involved, as the engine itself reports them. */
  version(): Promise<string>;
  /** @throws ForeignReaderError when the engine refuses */
  readTable(source: TableSource, options?: ReadOptions): Promise<CanonicalRow[]>;
  close(): Promise<void>;
}

/** The engine's own refusal; `message` is its text, unchanged. */
export class ForeignReaderError extends Error {
  override readonly name = 'ForeignReaderError';

  constructor(readonly reader: string, readonly errorType: string, message: string) {
    super(message);
  }

  /** True when the engine says that it cannot read equality deletes (PyIceberg), and for no other reason. */
  get isEqualityDeleteRefusal(): boolean {
    return /not (yet )?support(ed)? equality deletes|equality deletes? (is|are) not (yet )?supported/i.test(this.message);
  }
}

/** Rows in one order whatever the engine's, for comparing two readers with deepEqual. */
export function sortRows(rows: readonly CanonicalRow[]): CanonicalRow[] {
  return rows
    .map((row) => ({ row, key: JSON.stringify(Object.keys(row).sort().map((name) => [name, row[name]])) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ row }) => row);
}
