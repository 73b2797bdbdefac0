import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Late connections that one turn of the event loop closes. Each one takes some 0.1 ms of CPU. */
const closedInTurn = 16;

const statuses: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

const headers = 'Content-Type: text/plain; charset=utf-8\r\nConnection: close';

/**
 * Answers broken and late requests. The text is that of Go's net/http conn.serve. Late ones are answered a few at a
 * time. Node finds all of them in one check: hundreds that were closed at once kept other clients waiting for 24 ms of
 * CPU. Where this process was too busy to read a request that had come, it is answered.
 */
export function answerClientErrors(server: Server): void {
  const unfinished = new WeakMap<Duplex, Set<ServerResponse>>();
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const answers = unfinished.get(socket) ?? new Set();
    unfinished.set(socket, answers.add(response));
    response.once('close', () => answers.delete(response));
  });
  const end = (socket: Duplex, error: NodeJS.ErrnoException): void => {
    // A client would take later bytes for a part of an answer that was begun.
    const isAnswering = [...(unfinished.get(socket) ?? [])].some(({ headersSent }) => headersSent);
    if (socket.writable && !isAnswering) {
      const status = statuses[error.code ?? ''] ?? '400 Bad Request';
      socket.write(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${status}`);
    }
    socket.destroy(error);
  };
  const late = new Map<Duplex, { error: NodeJS.ErrnoException; bytesRead: number }>();
  const endSome = (): void => {
    for (const [socket, { error, bytesRead }] of [...late].slice(0, closedInTurn)) {
      late.delete(socket);
      // From its first byte on, Node limits the time of a request anew.
      if (bytesRead > 0 || bytesReadOf(socket) === 0) end(socket, error);
    }
    if (late.size > 0) setImmediate(endSome);
  };
  // After the next look of Node for bytes that have come.
  const endSoon = (): void => void setImmediate(() => setImmediate(endSome));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') {
      end(socket, error);
      return;
    }
    late.set(socket, { error, bytesRead: bytesReadOf(socket) });
    if (late.size === 1) endSoon();
  });
}

const bytesReadOf = (socket: Duplex): number => (socket instanceof Socket ? socket.bytesRead : 0);
