/** The parsed configuration, grouped by the part that uses it. Filled by `load.ts` from the one property schema. */
export interface WalbergConfig {
  readonly source: SourceConfig;
  readonly sink: SinkConfig;
  readonly pipeline: PipelineConfig;
  readonly observe: ObserveConfig;
}

export type SslMode = 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

export interface ConnectionConfig {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  readonly sslMode: SslMode;
  /** Paths to PEM files. */
  readonly sslRootCert?: string;
  readonly sslCert?: string;
  readonly sslKey?: string;
  readonly sslKeyPassword?: string;
  readonly tcpKeepAlive: boolean;
  /** Time limit of one catalog query, not of copies; 0 = none. */
  readonly queryTimeoutMs: number;
}

export type SnapshotMode = 'always' | 'initial' | 'initial_only' | 'no_data' | 'when_needed';

export interface SourceConfig {
  readonly connection: ConnectionConfig;
  readonly topicPrefix: string;
  readonly slotName: string;
  readonly slotDropOnStop: boolean;
  readonly slotMaxRetries: number;
  readonly slotRetryDelayMs: number;
  readonly publicationName: string;
  readonly publicationAutocreate: 'all_tables' | 'disabled' | 'filtered' | 'no_tables';
  readonly publishViaPartitionRoot: boolean;
  /** Anchored regular expressions; include and exclude are mutually exclusive per kind. */
  readonly schemaInclude: readonly RegExp[];
  readonly schemaExclude: readonly RegExp[];
  readonly tableInclude: readonly RegExp[];
  readonly tableExclude: readonly RegExp[];
  readonly columnInclude: readonly RegExp[];
  readonly columnExclude: readonly RegExp[];
  readonly snapshotMode: SnapshotMode;
  readonly snapshotMaxThreads: number;
  readonly skippedOperations: readonly ('c' | 'u' | 'd' | 't')[];
  readonly statusIntervalMs: number;
  readonly types: TypeConfig;
}

/** How Postgres types map where Debezium offers a choice. Defaults are the exact native Iceberg types. */
export interface TypeConfig {
  readonly decimalMode: 'precise' | 'double' | 'string';
  readonly timeMode: 'native' | 'isostring';
  readonly binaryMode: 'bytes' | 'base64' | 'base64-url-safe' | 'hex';
  /** Lists of what the elements are, or the text of the array. */
  readonly arrayMode: 'list' | 'text';
  /** The text of the hstore, a JSON object as a string, or a map of strings. */
  readonly hstoreMode: 'text' | 'json' | 'map';
  /** The text of the interval, or its ISO 8601 form. */
  readonly intervalMode: 'text' | 'string';
  /** infinity, NaN numeric, out of range, 24:00, arrays of several dimensions in a list. */
  readonly specialValues: 'fail' | 'null' | 'clamp';
}

export interface S3Config {
  readonly endpoint?: string;
  readonly region?: string;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
  readonly pathStyleAccess: boolean;
  /** Bodies larger than this use multipart upload, in parts of this size. */
  readonly multipartBytes: number;
}

export interface CatalogConfig {
  readonly type: 'rest' | 'hadoop';
  readonly name: string;
  readonly warehouse: string;
  readonly uri?: string;
  readonly prefix?: string;
  readonly token?: string;
  /** `client-id:client-secret` */
  readonly credential?: string;
  readonly oauth2ServerUri?: string;
  readonly scope: string;
  /** Extra HTTP headers (`header.*`). */
  readonly headers: Readonly<Record<string, string>>;
  /** Everything else under debezium.sink.iceberg.* that goes to the catalog unchanged. */
  readonly properties: Readonly<Record<string, string>>;
}

export interface SinkConfig {
  readonly catalog: CatalogConfig;
  readonly s3: S3Config;
  readonly namespace: readonly string[];
  readonly tablePrefix: string;
  readonly destinationRegexp?: RegExp;
  readonly destinationReplace: string;
  readonly tableNameCase: 'keep' | 'upper' | 'lower';
  readonly upsert: boolean;
  readonly upsertKeepDeletes: boolean;
  readonly createIdentifierFields: boolean;
  readonly preserveRequired: boolean;
  /** Iceberg tables follow the columns of their source; false = a difference stops. */
  readonly allowFieldAddition: boolean;
  readonly excludedColumns: readonly string[];
  /** Metadata fields to add, Debezium field syntax resolved: field and column name (`__op`). undefined = the mode's default. */
  readonly metaFields?: readonly { readonly field: string; readonly column: string }[];
  /** Properties of tables that Walberg creates (`debezium.sink.iceberg.table-properties.*`, `write.*`). */
  readonly tableProperties: Readonly<Record<string, string>>;
  readonly concurrentUploads: number;
}

export interface PipelineConfig {
  readonly commitIntervalMs: number;
  /** All buffered bytes together; reading pauses above it. */
  readonly bufferMaxBytes: number;
  /** One table's open segment is sealed at this size. */
  readonly segmentBytes: number;
  readonly encodeWorkers: number;
  readonly rowGroupRows: number;
  readonly compression: { readonly codec: 'zstd' | 'snappy' | 'gzip' | 'none'; readonly level?: number };
  /** Load: pages of the source table per COPY chunk. */
  readonly loadChunkPages: number;
  /** strict: refuse a slot that does not stand where it was left. */
  readonly slotGuard: 'off' | 'strict';
  readonly shutdownTimeoutMs: number;
  readonly retryInitialMs: number;
  readonly retryMaxMs: number;
  /** Attempts of one catalog commit before the session restarts. */
  readonly commitRetries: number;
}

export interface ObserveConfig {
  readonly httpPort: number;
  readonly httpHost: string;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  readonly logJson: boolean;
}
