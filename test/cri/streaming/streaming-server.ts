import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { constants, inflateSync } from 'node:zlib';
import { WebSocketServer, type WebSocket } from 'ws';
import { dataFrame, pingFrame, SpdyFrameReader } from '../../../src/cri/streaming/spdy-frames.ts';

const execNames = ['stdin', 'stdout', 'stderr', 'error', 'resize'];

/** One exec session as the runtime sees it. */
export interface Session {
  readonly protocol: string;
  /** Names of the streams the client opened; over WebSocket all exist. */
  readonly streams: readonly string[];
  send(stream: 'stdout' | 'stderr' | 'error' | 'data', bytes: string | Buffer): void;
  /** Ends one direction of a stream, only over SPDY. */
  end(stream: 'error' | 'data'): void;
  /** Sends the status of the command and closes the connection. */
  exit(code: number): void;
  /** Drops the connection. */
  drop(): void;
  /** Told of each chunk of stdin and resize, and of the end of stdin. */
  received: (stream: string, bytes: Buffer | 'end') => void;
}

export interface StreamingServer {
  /** Path of each request, in order, with what it asked for. */
  readonly requests: string[];
  readonly port: number;
  close(): Promise<void>;
}

/** A runtime's streaming server that speaks what it is told to, and gives every session to `onSession`. */
export async function startStreamingServer(
  speaks: { spdy?: boolean; webSocket?: readonly string[]; names?: readonly string[] },
  onSession: (session: Session) => void,
): Promise<StreamingServer> {
  const requests: string[] = [];
  const sockets = new Set<Duplex>();
  const server = createServer((_request, response) => {
    response.writeHead(400).end('no upgrade\n');
  });
  const webSockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => speaks.webSocket?.find((protocol) => offered.has(protocol)) ?? false,
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const wanted = String(request.headers.upgrade);
    requests.push(`${request.url ?? ''} ${wanted}`);
    if (wanted === 'SPDY/3.1' && speaks.spdy === true) {
      serveSpdy(request, socket, onSession);
    } else if (wanted === 'websocket' && speaks.webSocket !== undefined) {
      const offered = request.headers['sec-websocket-protocol']?.split(',').map((text) => text.trim()) ?? [];
      if (!offered.some((protocol) => speaks.webSocket?.includes(protocol) === true)) {
        socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\nno such protocol');
        return;
      }
      webSockets.handleUpgrade(request, socket, head, (webSocket) => {
        serveWebSocket(webSocket, speaks.names ?? execNames, onSession);
      });
    } else {
      socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nunable to upgrade');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    requests,
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const statusOf = (code: number): string =>
  JSON.stringify(
    code === 0
      ? { metadata: {}, status: 'Success' }
      : {
          metadata: {},
          status: 'Failure',
          reason: 'NonZeroExitCode',
          message: `command terminated with exit code ${String(code)}`,
          details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
        },
  );

function serveWebSocket(webSocket: WebSocket, names: readonly string[], onSession: (session: Session) => void): void {
  const session: Session = {
    protocol: webSocket.protocol,
    streams: names,
    send: (stream, bytes) => {
      webSocket.send(Buffer.concat([Buffer.of(names.indexOf(stream)), Buffer.from(bytes)]));
    },
    end: () => undefined,
    exit: (code) => {
      session.send('error', statusOf(code));
      webSocket.close();
    },
    drop: () => {
      webSocket.terminate();
    },
    received: () => undefined,
  };
  webSocket.on('message', (message: Buffer) => {
    if (message[0] === 255) session.received(names[message[1] ?? 9] ?? '', 'end');
    else session.received(names[message[0] ?? 9] ?? '', message.subarray(1));
  });
  onSession(session);
  // Servers send an empty message to say that they are there.
  if (names === execNames) session.send('stdout', '');
}

/**
 * Accepts the streams only after a round trip, and drops data that came before, as the library in every runtime's
 * streaming server does.
 */
function serveSpdy(request: IncomingMessage, socket: Duplex, onSession: (session: Session) => void): void {
  const offered = String(request.headers['x-stream-protocol-version']).split(', ');
  const protocol = offered.find((one) => one.startsWith('v4.')) ?? offered[0] ?? '';
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
  const streamNames = new Map<number, string>();
  const headerBlocks: Buffer[] = [];
  const idOf = (name: string): number => [...streamNames].find(([, known]) => known === name)?.[0] ?? 0;
  const session: Session = {
    protocol,
    get streams() {
      return [...streamNames.values()];
    },
    send: (stream, bytes) => {
      socket.write(dataFrame(idOf(stream), Buffer.from(bytes)));
    },
    end: (stream) => {
      socket.write(dataFrame(idOf(stream), Buffer.alloc(0), true));
    },
    exit: (code) => {
      session.send('error', statusOf(code));
      socket.end(goAwayFrame);
    },
    drop: () => {
      socket.destroy();
    },
    received: () => undefined,
  };
  const frames = new SpdyFrameReader();
  let bytesLeft = Buffer.alloc(0);
  let accepted = false;
  socket.on('data', (chunk: Buffer) => {
    bytesLeft = Buffer.concat([bytesLeft, chunk]);
    // The header blocks are read here by hand, so that they are checked with a real inflater.
    while (bytesLeft.length >= 8 && bytesLeft.readUInt32BE(0) === synStream) {
      const end = 8 + bytesLeft.readUIntBE(5, 3);
      if (bytesLeft.length < end) return;
      if (streamNames.size === 0) socket.write(pingFrame(pingID));
      headerBlocks.push(bytesLeft.subarray(18, end));
      streamNames.set(bytesLeft.readUInt32BE(8), lastHeaderValue(headerBlocks));
      bytesLeft = bytesLeft.subarray(end);
    }
    for (const frame of frames.read(bytesLeft)) {
      if (frame.type === 'ping' && frame.id === pingID) {
        accepted = true;
        for (const streamID of streamNames.keys()) socket.write(synReplyFrame(streamID));
        onSession(session);
      }
      if (frame.type !== 'data' || !accepted) continue;
      const name = streamNames.get(frame.streamID) ?? '';
      if (frame.bytes.length > 0) session.received(name, frame.bytes);
      if (frame.fin) session.received(name, 'end');
    }
    bytesLeft = Buffer.alloc(0);
  });
}

/** The first word of a frame that opens a stream. */
const synStream = 0x80030001;
/** Pings of a server have even numbers. */
const pingID = 2;

function synReplyFrame(streamID: number): Buffer {
  const frame = Buffer.of(0x80, 3, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0);
  frame.writeUInt32BE(streamID, 8);
  return frame;
}

const goAwayFrame = Buffer.of(0x80, 3, 0, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0);

/** The blocks of a connection are one zlib stream. The value of the last header names the stream. */
function lastHeaderValue(headerBlocks: readonly Buffer[]): string {
  const text = inflateSync(Buffer.concat(headerBlocks), { finishFlush: constants.Z_SYNC_FLUSH });
  let at = 0;
  let value = '';
  while (at < text.length) {
    const parts = 2 * text.readUInt32BE(at);
    at += 4;
    for (let part = 0; part < parts; part++) {
      const length = text.readUInt32BE(at);
      value = text.toString('utf8', at + 4, at + 4 + length);
      at += 4 + length;
    }
  }
  return value;
}
