import type { ConnectionConfig } from '../config/config.js';
import { asWalbergError, WalbergError } from '../errors/error.js';
import { PgOutputDecoder } from '../pgoutput/decoder.js';
import { malformed } from '../pgoutput/malformed.js';
import type { ReplicationHandler } from '../pgoutput/messages.js';
import { Confirmation } from './confirmation.js';
import { classifyPostgresError } from './errors.js';
import { liveness } from './liveness.js';
import { formatLsn } from './lsn.js';
import { standbyStatusFrame } from './standby-status.js';
import { WalsenderService } from './walsender-service.js';

const XLOG_DATA = 0x77; // w
const XLOG_DATA_HEADER = 25;
const KEEPALIVE = 0x6b; // k
const KEEPALIVE_LENGTH = 18;
const COMMIT = 0x43; // C
const COMMIT_LENGTH = 26;
const POSTGRES_EPOCH_MICROS = 946_684_800_000_000n;

/** A confirmation goes out at most this much later, so that many of them share one status. */
const CONFIRM_DELAY_MS = 100;
const DEFAULT_STATUS_INTERVAL_MS = 10_000;

/** Fewer bytes than this since the last look away show that the server is not ahead of us: half of what Node reads at once. */
const ENOUGH_BYTES = 32_768;
/** Over TLS Node stops decrypting once it holds this much. */
const ENOUGH_ENCRYPTED_BYTES = 16_384;
/** Long enough for a few hundred rows, short enough that the kernel's buffer does not fill up. Measured: 1 is best. */
const GATHER_MS = 1;

export interface ReplicationStreamOptions {
  readonly slotName: string;
  readonly publicationNames: readonly string[];
  readonly serverVersionNum: number;
  /** Upper bound between two status messages. */
  readonly statusIntervalMs: number;
  /** The server's wal_sender_timeout as it applies to this role; 0 = none. */
  readonly walSenderTimeoutMs: number;
  readonly applicationName?: string;
  /** Called when the server has accepted the start position. */
  readonly onStart?: () => void;
}

/**
 * One replication connection, from START_REPLICATION to its end. Messages go synchronously to the handler; positions come
 * back through `confirm`. Status messages are sent by a timer, at once when the server asks, and also while paused. An
 * instance serves one `run`.
 */
export class ReplicationStream {
  readonly #service: WalsenderService;
  readonly #decoder = new PgOutputDecoder();
  readonly #confirmation = new Confirmation();
  readonly #statusIntervalMs: number;
  #handler: ReplicationHandler | undefined;
  #failure: WalbergError | undefined;
  #started = false;
  #streaming = false;
  #stopping = false;
  #paused = false;
  #ended: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #statusDueAt = Infinity;
  #heardAt = 0;
  #readSinceGather = 0;
  #askedAt: number | undefined;

  constructor(connection: ConnectionConfig, private readonly options: ReplicationStreamOptions) {
    this.#service = new WalsenderService(connection, options.applicationName ?? 'walberg stream');
    const wanted = options.statusIntervalMs > 0 ? options.statusIntervalMs : DEFAULT_STATUS_INTERVAL_MS;
    this.#statusIntervalMs = options.walSenderTimeoutMs > 0 ? Math.min(wanted, options.walSenderTimeoutMs / 3) : wanted;
  }

  /**
   * Streams from `startLsn` (the server begins at the later of it and the slot's confirmed position; 0 = the latter). Resolves
   * after `stop()`; rejects with a classified error when the stream is lost or a message or the handler fails.
   */
  run(startLsn: bigint, handler: ReplicationHandler): Promise<void> {
    if (this.#started) throw new WalbergError('INTERNAL', 'a replication stream runs once');
    this.#started = true;
    this.#handler = handler;
    const run = this.#run(startLsn);
    this.#ended = run.catch(() => {});
    return run;
  }

  async #run(startLsn: bigint): Promise<void> {
    try {
      await this.#service.client();
      if (this.#stopping) return;
      await this.#service.stream(this.options.slotName, this.options.publicationNames, startLsn, {
        onMessage: (buffer, start, end) => this.#receive(buffer, start, end),
        onChunk: (size) => this.#afterChunk(size),
        onError: (error) => this.#fail(error),
        onStart: () => this.#begin(),
      });
      if (!this.#stopping) throw new WalbergError('SOURCE_SHUTDOWN', 'The server ended the replication stream');
    } catch (error) {
      if (this.#failure !== undefined) throw this.#failure;
      // What happens to the connection after we asked for its end is of no interest.
      if (this.#stopping) return;
      throw classifyPostgresError(error, { slot: this.options.slotName, received: formatLsn(this.receivedLsn) });
    } finally {
      this.#streaming = false;
      clearTimeout(this.#timer);
      await this.#service.close(this.#failure !== undefined);
    }
  }

  /** End of the last commit or keepalive that arrived; 0 before the first. */
  get receivedLsn(): bigint {
    return this.#confirmation.received;
  }

  /** The flush position of the last status message. */
  get reportedLsn(): bigint {
    return this.#confirmation.reported;
  }

  /**
   * Everything before `lsn` is durable. Never goes back; a position beyond what this session has received is held until
   * it has.
   */
  confirm(lsn: bigint): void {
    if (this.#confirmation.request(lsn) && this.#streaming) this.#scheduleStatus(CONFIRM_DELAY_MS);
  }

  /** Stops reading the socket: the server waits. What is already in memory (up to one socket read) still arrives. */
  pause(): void {
    this.#paused = true;
    this.#service.connection?.stream.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#heard();
    this.#service.connection?.stream.resume();
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Makes the server send a keepalive with its current position now. */
  requestReply(): void {
    if (this.#streaming) this.#sendStatus(true);
  }

  /**
   * Ends the stream: final status, CopyDone, Terminate. Nothing reaches the handler any more. Waits at most `timeoutMs` for
   * the server, which may be in the middle of a large transaction, then cuts the connection.
   */
  async stop(finalLsn?: bigint, timeoutMs = 5000): Promise<void> {
    if (finalLsn !== undefined) this.#confirmation.request(finalLsn);
    const first = !this.#stopping;
    this.#stopping = true;
    if (first && this.#streaming) {
      this.#sendStatus(false);
      this.#streaming = false;
      clearTimeout(this.#timer);
      this.#service.finish();
      // The server's own CopyDone comes behind whatever it has already sent.
      this.#service.connection?.stream.resume();
    }
    let timer: NodeJS.Timeout | undefined;
    // A connection that is still being opened is not waited for; it is closed when it is there.
    const patience = new Promise<void>((resolve) => { timer = setTimeout(() => { this.#service.connection?.stream.destroy(); resolve(); }, timeoutMs); });
    await Promise.race([this.#ended, patience]);
    clearTimeout(timer);
  }

  #begin(): void {
    if (this.#stopping) {
      this.#service.finish();
      return;
    }
    this.#streaming = true;
    this.#heard();
    if (this.#paused) this.#service.connection?.stream.pause();
    this.#scheduleStatus(this.#statusIntervalMs);
    this.options.onStart?.();
  }

  #receive(buffer: Buffer, start: number, end: number): void {
    if (this.#stopping) return;
    const kind = buffer[start];
    if (kind === XLOG_DATA) this.#receiveWal(buffer, start, end);
    else if (kind === KEEPALIVE) this.#receiveKeepalive(buffer, start, end);
    else throw malformed(`unknown message kind ${kind} in the replication stream`);
  }

  /** XLogData: start LSN, current end of WAL, clock, then the payload. The header is only read when it is needed. */
  #receiveWal(buffer: Buffer, start: number, end: number): void {
    const payload = start + XLOG_DATA_HEADER;
    if (payload > end) throw malformed('XLogData is cut off');
    if (buffer[payload] === COMMIT && end - payload === COMMIT_LENGTH) {
      this.#confirmation.noteReceived(buffer.readUInt32BE(payload + 10), buffer.readUInt32BE(payload + 14));
    }
    try {
      this.#decoder.decode(buffer, payload, end, this.#handler as ReplicationHandler);
    } catch (error) {
      throw this.#located(error, buffer.readBigUInt64BE(start + 1));
    }
  }

  #receiveKeepalive(buffer: Buffer, start: number, end: number): void {
    if (end - start !== KEEPALIVE_LENGTH) throw malformed(`a keepalive of ${end - start} bytes`);
    this.#confirmation.noteReceived(buffer.readUInt32BE(start + 1), buffer.readUInt32BE(start + 5));
    // The handler first: what it confirms goes out with the reply.
    this.#handler?.keepalive(buffer.readBigUInt64BE(start + 1), buffer.readBigInt64BE(start + 9) + POSTGRES_EPOCH_MICROS);
    if (buffer[start + 17] !== 0 && this.#streaming) this.#sendStatus(false);
  }

  /** Adds the LSN to decoding errors, so that the position of a damaged message is known. */
  #located(error: unknown, lsn: bigint): WalbergError {
    const known = asWalbergError(error);
    if (known.code !== 'PROTOCOL' && known.code !== 'INTERNAL') return known;
    return new WalbergError(known.code, `${known.message} (at LSN ${formatLsn(lsn)})`, { context: { ...known.context, lsn: formatLsn(lsn), slot: this.options.slotName }, hint: known.hint, cause: known.cause ?? known });
  }

  #heard(): void {
    this.#heardAt = performance.now();
    this.#askedAt = undefined;
  }

  /** A flood of data can keep timers waiting; the clock is looked at after every socket read as well. */
  #afterChunk(size: number): void {
    this.#heard();
    if (!this.#streaming) return;
    if (this.#heardAt >= this.#statusDueAt) this.#sendStatus(false);
    this.#readSinceGather += size;
    if (!this.#paused) this.#gather();
  }

  /**
   * A walsender flushes every message, so a reader that keeps up gets one row per read and pays for a system call and an event
   * each: most of the cost of a stream, for both sides. Looking away for a moment lets the kernel gather what comes.
   */
  #gather(): void {
    const stream = this.#service.connection?.stream;
    // Over TLS every record is a chunk of its own, and the next ones may be decrypted already.
    if (stream === undefined || stream.readableLength > 0) return;
    const enough = this.#readSinceGather >= ('encrypted' in stream ? ENOUGH_ENCRYPTED_BYTES : ENOUGH_BYTES);
    this.#readSinceGather = 0;
    if (enough) return;
    stream.pause();
    setTimeout(() => { if (!this.#paused) stream.resume(); }, GATHER_MS);
  }

  #fail(error: unknown): void {
    if (this.#stopping) return;
    this.#failure ??= asWalbergError(error);
    this.#service.connection?.stream.destroy();
  }

  #sendStatus(replyRequested: boolean): void {
    const stream = this.#service.connection?.stream;
    if (stream === undefined || !stream.writable) return;
    stream.write(standbyStatusFrame({ writeLsn: this.receivedLsn, flushLsn: this.#confirmation.report(), replyRequested, nowMs: Date.now() }));
    if (replyRequested) this.#askedAt = performance.now();
    this.#statusDueAt = Infinity;
    this.#scheduleStatus(this.#statusIntervalMs);
  }

  /** One timer: moved forward when something is due earlier, re-armed by every status. */
  #scheduleStatus(inMs: number): void {
    const dueAt = performance.now() + inMs;
    if (dueAt >= this.#statusDueAt) return;
    this.#statusDueAt = dueAt;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tick(), inMs);
  }

  #tick(): void {
    if (!this.#streaming) return;
    const verdict = this.#liveness();
    this.#sendStatus(verdict === 'ask');
    // Timers run before the sockets are read. After a long pause of this process the reply may lie there already, so the
    // sockets get their turn before the verdict is carried out.
    if (verdict === 'dead') setImmediate(() => { if (this.#liveness() === 'dead') this.#fail(this.#silenceError()); });
  }

  #liveness(): ReturnType<typeof liveness> {
    return liveness({ now: performance.now(), heardAt: this.#heardAt, askedAt: this.#askedAt, paused: this.#paused, walSenderTimeoutMs: this.options.walSenderTimeoutMs });
  }

  #silenceError(): WalbergError {
    return new WalbergError('SOURCE_TIMEOUT', `The server has not answered for ${Math.round((performance.now() - this.#heardAt) / 1000)} s`, { context: { slot: this.options.slotName, received: formatLsn(this.receivedLsn) } });
  }
}
