import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  /** Path with query, as it came over the wire. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Which request to this server it is, counted from 1. */
  readonly index: number;
}

export interface ScriptedReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Send only so many bytes of the announced body, then cut the connection. */
  readonly cutAfter?: number;
}

/** `reset`: the connection is cut without a reply. `hang`: no reply ever comes. */
export type Scripted = ScriptedReply | 'reset' | 'hang';
export type Handler = (request: SeenRequest) => Scripted | Promise<Scripted>;

/** A server on the local host that answers as a test says, and remembers what it was asked. */
export class ScriptedHttp {
  readonly seen: SeenRequest[] = [];
  handler: Handler;
  readonly #server: Server;
  readonly #scheme: string;

  private constructor(handler: Handler, tls: { key: string; cert: string } | undefined) {
    this.handler = handler;
    this.#scheme = tls === undefined ? 'http' : 'https';
    const listener = (request: IncomingMessage, response: ServerResponse): void => void this.#serve(request, response);
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  }

  static async start(handler: Handler = () => ({ status: 404 }), tls?: { key: string; cert: string }): Promise<ScriptedHttp> {
    const started = new ScriptedHttp(handler, tls);
    await new Promise<void>((resolve) => started.#server.listen(0, '127.0.0.1', resolve));
    return started;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** "METHOD /path" of everything asked. */
  get asked(): string[] {
    return this.seen.map(({ method, path }) => `${method} ${path}`);
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // The client went away.
    }
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const seen: SeenRequest = { method: request.method!, path: request.url!, headers, body: Buffer.concat(chunks).toString('utf8'), index: this.seen.length + 1 };
    this.seen.push(seen);
    const reply = await this.handler(seen);
    if (reply === 'hang') return;
    if (reply === 'reset') return void request.socket.resetAndDestroy();
    const body = Buffer.from(reply.body ?? '');
    response.writeHead(reply.status, { ...(seen.method === 'HEAD' || reply.status === 204 ? {} : { 'content-length': body.length }), ...reply.headers });
    if (reply.cutAfter === undefined) response.end(seen.method === 'HEAD' ? undefined : body);
    else response.write(body.subarray(0, reply.cutAfter), () => request.socket.destroy());
  }
}

/** A reply with a JSON body; a string is sent as it is, so that 64-bit numbers stay what the test wrote. */
export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): ScriptedReply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: typeof body === 'string' ? body : JSON.stringify(body) };
}
