import { constants, createServer, type Http2Server, type Http2Session } from 'node:http2';
import type { Server } from 'node:https';
import type { TLSSocket } from 'node:tls';

interface Limits {
  /** Maximum concurrent requests over all connections. More are refused, and clients send them again. */
  maxRequests: number;
  /** Milliseconds without a byte in a request. */
  maxSilenceMs: number;
  /** Milliseconds between two requests of a connection. */
  idleMs: number;
}

/** One connection has few requests at a time, and its unread answers are bounded by the window of the protocol. */
const settings = { maxConcurrentStreams: 16, maxHeaderListSize: 32 * 1024, enablePush: false };
/** Maximum megabytes per connection, and broken frames after which it is closed. */
const sessionLimits = { maxSessionMemory: 1, maxSessionInvalidFrames: 10, maxSessionRejectedStreams: 20 };

/**
 * Serves HTTP/2 next to HTTP/1.1 to clients that choose it in their handshake. The server gets their requests as
 * separate events. The returned function closes all such connections.
 */
export function addHTTP2(server: Server, { maxRequests, maxSilenceMs, idleMs }: Limits): () => void {
  const http2 = createServer({ settings, ...sessionLimits });
  const sessions = new Map<Http2Session, number>();
  let requests = 0;
  http2.on('session', (session) => {
    sessions.set(session, 0);
    session.on('error', () => undefined).once('close', () => sessions.delete(session));
    session.setTimeout(idleMs, () => {
      if (sessions.get(session) === 0) session.destroy();
    });
  });
  http2.on('request', (request, response) => {
    const { stream } = response;
    const { session } = stream;
    if (requests >= maxRequests || session === undefined) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return;
    }
    const count = (change: 1 | -1): void => {
      requests += change;
      const known = sessions.get(session);
      if (known !== undefined) sessions.set(session, known + change);
    };
    count(1);
    stream.once('close', () => {
      count(-1);
    });
    stream
      .on('error', () => undefined)
      .setTimeout(maxSilenceMs, () => {
        stream.close(constants.NGHTTP2_CANCEL);
      });
    server.emit('request', request, response);
  });
  http2.on('sessionError', () => undefined);
  divide(server, http2);
  return () => {
    for (const session of sessions.keys()) session.destroy();
  };
}

/** Passes connections to the server of the protocol that was chosen. */
function divide(server: Server, http2: Http2Server): void {
  const takeHTTP1 = server.listeners('secureConnection');
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') http2.emit('connection', socket);
    else for (const take of takeHTTP1) Reflect.apply(take, server, [socket]);
  });
}
