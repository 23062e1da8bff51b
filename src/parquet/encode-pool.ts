import { Worker } from 'node:worker_threads';
import { WalbergError } from '../errors/error.js';
import { type EncodeAnswer, fromPlain, owned } from './encode-messages.js';
import type { EncodedFile, EncodeRequest, Encoder } from './encode-types.js';

export interface EncodePoolOptions {
  /** Threads, started when first needed. */
  readonly workers: number;
  /** A thread whose WebAssembly memory has grown beyond this is replaced after its job; the memory never shrinks by itself. */
  readonly maxWasmBytes?: number;
  /** The script of a thread; for tests. */
  readonly script?: URL;
}

const DEFAULT_MAX_WASM_BYTES = 96 << 20;

/** Encoding makes few objects, so a small young generation costs nothing and keeps a thread about 30 MB smaller. */
const YOUNG_GENERATION_MB = 6;

interface Job {
  readonly request: EncodeRequest;
  readonly resolve: (file: EncodedFile) => void;
  readonly reject: (error: WalbergError) => void;
}

/**
 * Encodes files in worker threads, so that the thread that talks to Postgres is never busy for long. At most `workers` jobs
 * run; further ones wait here, in the order they came. Threads do not keep the process alive while they are idle.
 */
export class EncodePool implements Encoder {
  readonly #idle: Worker[] = [];
  readonly #running = new Map<Worker, Job>();
  readonly #waiting: Job[] = [];
  readonly #maxWasmBytes: number;
  readonly #script: URL;
  #closed = false;
  #drained: (() => void) | undefined;

  constructor(private readonly options: EncodePoolOptions) {
    this.#maxWasmBytes = options.maxWasmBytes ?? DEFAULT_MAX_WASM_BYTES;
    this.#script = options.script ?? new URL('./encode-worker.js', import.meta.url);
  }

  /**
   * As `encodeFile`, on another thread. `arena` and `rowOffsets` are transferred (detached here) when they own their whole
   * buffer and copied otherwise, at the moment the job starts. Rejects with INTERNAL when the thread dies or the pool is closed.
   */
  encode(request: EncodeRequest): Promise<EncodedFile> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(new WalbergError('INTERNAL', `a file of ${request.tableName} was to be encoded after the encoder was closed`, { context: { table: request.tableName } }));
        return;
      }
      this.#waiting.push({ request, resolve, reject });
      this.#startWaiting();
    });
  }

  /** Lets all accepted jobs finish, then ends the threads. May be called more than once. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#running.size > 0) await new Promise<void>((resolve) => {
      const earlier = this.#drained;
      this.#drained = () => {
        earlier?.();
        resolve();
      };
    });
    await Promise.all(this.#idle.splice(0).map((worker) => worker.terminate()));
  }

  #startWaiting(): void {
    while (this.#waiting.length > 0 && this.#running.size < Math.max(this.options.workers, 1)) {
      const job = this.#waiting.shift();
      if (job === undefined) return;
      const worker = this.#idle.pop() ?? this.#startWorker();
      this.#running.set(worker, job);
      worker.ref();
      try {
        const arena = owned(job.request.arena);
        const rowOffsets = owned(job.request.rowOffsets);
        const transfer = [...new Set([arena.buffer as ArrayBuffer, rowOffsets.buffer as ArrayBuffer])];
        worker.postMessage({ ...job.request, arena, rowOffsets }, transfer);
      } catch (error) {
        this.#finish(worker, true);
        job.reject(new WalbergError('INTERNAL', `a request of ${job.request.tableName} cannot be passed to an encoding thread`, { context: { table: job.request.tableName }, cause: error }));
      }
    }
    if (this.#running.size === 0) this.#drained?.();
  }

  #startWorker(): Worker {
    const worker = new Worker(this.#script, { name: 'walberg-encode', resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB } });
    worker.on('message', (answer: EncodeAnswer) => {
      const job = this.#finish(worker, answer.wasmBytes <= this.#maxWasmBytes);
      if (job === undefined) return;
      if ('file' in answer) job.resolve(answer.file);
      else job.reject(fromPlain(answer.error));
      this.#startWaiting();
    });
    worker.on('error', (error) => this.#died(worker, error));
    worker.on('messageerror', (error) => this.#died(worker, error));
    worker.on('exit', (code) => this.#died(worker, new Error(`the thread ended with code ${code}`)));
    return worker;
  }

  /** Takes the job from a thread; the thread waits for the next one, or ends when it is not to be kept. */
  #finish(worker: Worker, keep: boolean): Job | undefined {
    const job = this.#running.get(worker);
    this.#running.delete(worker);
    if (keep) {
      worker.unref();
      this.#idle.push(worker);
    } else {
      void worker.terminate();
    }
    return job;
  }

  #died(worker: Worker, cause: unknown): void {
    const idle = this.#idle.indexOf(worker);
    if (idle >= 0) this.#idle.splice(idle, 1);
    const job = this.#running.get(worker);
    if (job === undefined) return;
    this.#finish(worker, false);
    const table = job.request.tableName;
    job.reject(new WalbergError('INTERNAL', `the thread that encoded a file of ${table} died`, { context: { table }, cause }));
    this.#startWaiting();
  }
}
