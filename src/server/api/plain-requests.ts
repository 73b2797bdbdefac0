import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { hasCode } from '../../errors.ts';

const answer = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

/** Answers clients that do not use TLS. kubelet: Go's net/http conn.serve */
export function answerPlainRequests(server: Server): void {
  server.on('tlsClientError', (error, socket: TLSSocket) => {
    const plain = plainSocketOf(socket);
    if (!hasCode(error, 'ERR_SSL_HTTP_REQUEST') || plain === undefined || plain.destroyed) return;
    plain.write(answer);
    // A client may never close its side.
    plain.destroySoon();
  });
}

/** The socket below one of a server. Node does not document it (node: lib/internal/tls/wrap.js TLSSocket). */
const plainSocketOf = (socket: TLSSocket): Socket | undefined => (socket as TLSSocket & { _parent?: Socket })._parent;
