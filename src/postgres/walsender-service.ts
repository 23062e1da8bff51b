import { type LogicalReplicationConfig, LogicalReplicationService, PgoutputPlugin } from 'pg-logical-replication';
import type pg from 'pg';
import type { ConnectionConfig } from '../config/config.js';
import { WalbergError } from '../errors/error.js';
import { connect, type SourceClient, type WireConnection } from './client.js';
import { interceptCopyData } from './frame-reader.js';
import { formatLsn } from './lsn.js';
import { quoteIdentifier, quotePublicationList } from './quote.js';

export interface WalsenderCallbacks {
  /** One message inside the stream: XLogData or keepalive in `buffer[start .. end)`. */
  onMessage(buffer: Buffer, start: number, end: number): void;
  onChunk(size: number): void;
  onError(error: unknown): void;
  /** The server has accepted START_REPLICATION. */
  onStart(): void;
}

/** The library's plug-in with the command built anew: the original neither quotes publication names nor the slot's. */
class PgOutputText extends PgoutputPlugin {
  readonly #publicationNames: readonly string[];

  constructor(publicationNames: readonly string[]) {
    super({ protoVersion: 1, publicationNames: [...publicationNames], messages: true });
    this.#publicationNames = publicationNames;
  }

  /** Resolves when the stream has ended by our CopyDone; rejects when the server refuses or cuts it. */
  override start(client: pg.Client, slotName: string, lastLsn: string): Promise<pg.QueryResult> {
    const options = `proto_version '1', publication_names ${quotePublicationList(this.#publicationNames)}, messages 'true'`;
    return client.query(`START_REPLICATION SLOT ${quoteIdentifier(slotName)} LOGICAL ${lastLsn} (${options})`);
  }

  override parse(): never {
    throw new WalbergError('INTERNAL', 'messages are decoded where they lie');
  }
}

/** The members of LogicalReplicationService that its types hide and a subclass must replace. */
interface ServiceInternals {
  _client: SourceClient | null;
  _connection: WireConnection | null;
  _stop: boolean;
  isStop(): boolean;
}

const ServiceBase = LogicalReplicationService as unknown as new (clientConfig: pg.ClientConfig, config: LogicalReplicationConfig) => ServiceInternals;

/**
 * The library's service with its timer, its acknowledgements and its flow control off, and with its receive path replaced:
 *  - its status timer confirms what was received rather than what is durable
 *  - its receive path builds strings and a promise per row, and an exception in it ends the process
 *  - its stop() says nothing to the server and leaves the socket without an error listener
 * One instance serves one connection.
 */
export class WalsenderService extends ServiceBase {
  #release: (() => void) | undefined;

  constructor(private readonly source: ConnectionConfig, private readonly applicationName: string) {
    super({}, { acknowledge: { auto: false, timeoutSeconds: 0 }, flowControl: { enabled: false } });
  }

  get connection(): WireConnection | undefined {
    return this._connection ?? undefined;
  }

  /** Connects as a walsender. */
  async client(): Promise<[SourceClient, WireConnection]> {
    const client = await connect(this.source, { replication: true, applicationName: this.applicationName });
    this._client = client;
    this._connection = client.wire;
    return [client, client.wire];
  }

  /** Streams until `finish()` or an error; see PgOutputText.start. */
  async stream(slotName: string, publicationNames: readonly string[], startLsn: bigint, callbacks: WalsenderCallbacks): Promise<void> {
    if (this._client === null || this._connection === null) throw new WalbergError('INTERNAL', 'stream() before client()');
    this._connection.once('replicationStart', () => { this._stop = false; callbacks.onStart(); });
    this.#release = interceptCopyData(this._connection.stream, { onCopyData: callbacks.onMessage, onChunk: callbacks.onChunk, onError: callbacks.onError });
    await new PgOutputText(publicationNames).start(this._client, slotName, formatLsn(startLsn));
  }

  /** Ends our half of the stream; the server then ends its own. */
  finish(): void {
    this._stop = true;
    this._connection?.endCopyFrom();
  }

  /** Closes the connection; at once when `hard`, else with a Terminate message. */
  async close(hard: boolean): Promise<void> {
    const client = this._client;
    this._stop = true;
    this._client = null;
    this._connection = null;
    if (hard) client?.destroy();
    else {
      this.#release?.();
      await client?.close();
    }
  }
}
