import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

const statuses: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

const headers = 'Content-Type: text/plain; charset=utf-8\r\nConnection: close';

/** Answers broken and late requests. The text is that of Go's net/http conn.serve. */
export function answerClientErrors(server: Server): void {
  const unfinished = new WeakMap<Duplex, Set<ServerResponse>>();
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const answers = unfinished.get(socket) ?? new Set();
    unfinished.set(socket, answers.add(response));
    response.once('close', () => answers.delete(response));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // A client would treat later bytes as part of an answer that was begun.
    const isAnswering = [...(unfinished.get(socket) ?? [])].some(({ headersSent }) => headersSent);
    if (socket.writable && !isAnswering) {
      const status = statuses[error.code ?? ''] ?? '400 Bad Request';
      socket.write(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${status}`);
    }
    socket.destroy(error);
  });
}
