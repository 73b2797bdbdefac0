import type { Socket } from 'node:net';
import { UserError } from '../../errors.ts';
import { portChannels } from './open-port.ts';
import type { StreamConnection } from './stream-connection.ts';
import { writeFully } from './write-fully.ts';

/** The runtime's message is one line. */
const maxErrorBytes = 4096;

/**
 * Milliseconds. The runtime ends the data before it reports an error. So the end of the data waits this long for the
 * end of the errors, and is then passed on without it.
 */
const errorGraceMs = 250;

/**
 * Copies bytes between a socket, which allows half-open connections, and a port until both directions have ended. Holds
 * one chunk per direction. When one side ends its direction, the other direction stays open. Rejects with a `UserError`
 * if the runtime reports an error, and with the socket's or connection's error if one breaks. Closes both.
 */
export async function forwardSocket(socket: Socket, connection: StreamConnection): Promise<void> {
  let clientError: unknown;
  const sent = sendAll(socket, connection).catch((error: unknown) => {
    clientError = error;
    connection.close();
  });
  try {
    await receiveAll(socket, connection);
  } catch (error) {
    const cause = clientError ?? error;
    // The client must not mistake a part for the whole.
    if (!socket.writableEnded) socket.resetAndDestroy();
    throw cause;
  } finally {
    socket.destroySoon();
    connection.close();
    await sent;
  }
}

async function sendAll(socket: Socket, connection: StreamConnection): Promise<void> {
  const chunks = socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of chunks) await connection.send(portChannels.data, chunk);
  connection.end(portChannels.data);
}

/** Resolves when the runtime has ended the forwarding without an error. */
async function receiveAll(socket: Socket, connection: StreamConnection): Promise<void> {
  let errorText = '';
  let hasErrorEnded = false;
  let ending: NodeJS.Timeout | undefined;
  try {
    for await (const message of connection.messages) {
      if (message.channel === portChannels.error) {
        if (message.type === 'data' && errorText.length < maxErrorBytes) errorText += message.bytes.toString();
        if (message.type !== 'data') hasErrorEnded = true;
      } else if (message.type === 'data') await writeFully(socket, message.bytes);
      else if (message.type === 'reset') throw closedByRuntime();
      // The client may still send; the end of its data is passed on.
      else ending = setTimeout(() => socket.end(), errorGraceMs);
      // After an error, some runtimes leave the data stream open.
      if (hasErrorEnded && (ending !== undefined || errorText !== '')) break;
    }
  } finally {
    clearTimeout(ending);
  }
  if (errorText !== '') throw new UserError(errorText.slice(0, maxErrorBytes).trim());
  // Over WebSocket, only the end of the connection ends the data.
  if (ending === undefined && connection.protocol === 'portforward.k8s.io') throw closedByRuntime();
}

const closedByRuntime = (): UserError => new UserError('the container runtime closed the connection');
