import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';

/** A message of the runtime. In protocols of base64 the channel is a digit and the text is base64. */
export interface Frame {
  binary: boolean;
  channel: number | string;
  text: string;
}

interface Recorded {
  status?: number;
  headers?: Record<string, string> | [string, string][];
  body?: string;
  negotiated?: string;
  sent?: string[];
  frames?: Frame[];
  close?: number;
}

/** The streaming server of a runtime, which answers one stream as it was recorded. */
export class RecordedRuntime {
  readonly #server: Server;
  readonly #recorded: Recorded;

  private constructor(recorded: Recorded) {
    this.#recorded = recorded;
    this.#server = createServer();
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => undefined);
      if (recorded.negotiated === undefined) socket.end(this.#head());
      else this.#accept(request, socket, head);
    });
  }

  static async open(recorded: Recorded): Promise<RecordedRuntime> {
    const runtime = new RecordedRuntime(recorded);
    runtime.#server.listen(0, '127.0.0.1');
    await once(runtime.#server, 'listening');
    return runtime;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/stream/token`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #head(): string {
    const { status = 0, headers = {}, body = '' } = this.#recorded;
    const pairs = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
    const length = status === 101 || 'Content-Length' in headers ? [] : [`Content-Length: ${body.length}`];
    return `${[`HTTP/1.1 ${status} recorded`, ...pairs, ...length].join('\r\n')}\r\n\r\n${body}`;
  }

  #accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { negotiated = '', sent = [] } = this.#recorded;
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => negotiated });
    sockets.handleUpgrade(request, socket, head, (client) => {
      const got: string[] = [];
      client.on('message', (data: Buffer) => {
        got.push(data.toString('hex'));
        if (got.length === sent.length && got.join() === sent.join()) this.#answer(client);
      });
      if (sent.length === 0) this.#answer(client);
    });
  }

  #answer(client: WebSocket): void {
    const { frames = [], close = 1000 } = this.#recorded;
    for (const { binary, channel, text } of frames) {
      if (binary) client.send(Buffer.concat([Buffer.from([Number(channel)]), Buffer.from(text)]));
      else client.send(`${channel}${text}`);
    }
    // Without a message of the end.
    if (close === 1006) (client as unknown as { _socket: Duplex })._socket.end();
    else client.close(close);
  }
}

export function frameOf(data: Buffer, binary: boolean): Frame {
  const channel = binary ? (data[0] ?? 0) : String.fromCharCode(data[0] ?? 0);
  return { binary, channel, text: data.subarray(1).toString() };
}
