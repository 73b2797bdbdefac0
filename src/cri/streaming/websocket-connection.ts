import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocket } from 'ws';
import { ConnectionRefused, refusedBy, unreachable } from './connect-errors.ts';
import type { StreamConnection, StreamMessage } from './stream-connection.ts';
import { writeFully } from './write-fully.ts';

const handshakeTimeoutMs = 30_000;
/** v5 only: a message that starts with this byte closes the channel whose number follows. */
const closeChannel = 255;

/**
 * Connects with the first of `protocols` that the server supports. Rejects with `ConnectionRefused` if it supports
 * none. Each message is a channel number followed by bytes.
 */
export async function openWebSocket(
  url: URL,
  protocols: readonly string[],
  signal?: AbortSignal,
): Promise<StreamConnection> {
  const { stream, protocol } = await handshake(url, protocols, signal);
  return {
    protocol,
    messages: readMessages(stream),
    send: (channel, bytes) => writeFully(stream, Buffer.concat([Buffer.of(channel), bytes])),
    end: (channel) => {
      if (protocol.startsWith('v5.') && stream.writable) stream.write(Buffer.of(closeChannel, channel));
    },
    close: () => {
      stream.destroy();
    },
  };
}

function handshake(
  url: URL,
  protocols: readonly string[],
  signal?: AbortSignal,
): Promise<{ stream: Duplex; protocol: string }> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const socket = new WebSocket(url, [...protocols], {
      handshakeTimeout: handshakeTimeoutMs,
      perMessageDeflate: false,
      // The URL came over the runtime's own socket, and the runtime signs its certificate itself.
      rejectUnauthorized: false,
    });
    // Created at once, because messages may follow the handshake in the same packet.
    const stream = createWebSocketStream(socket, { readableObjectMode: true });
    // Handles an error after the last message, which would otherwise be uncaught. Earlier errors go to the reader of
    // `messages`.
    stream.on('error', () => undefined);
    const abort = (): void => {
      socket.terminate();
    };
    const release = (): void => {
      signal?.removeEventListener('abort', abort);
    };
    signal?.addEventListener('abort', abort, { once: true });
    let upgraded = false;
    socket.once('upgrade', () => {
      upgraded = true;
    });
    socket.once('unexpected-response', (request, response) => {
      void refusedBy(response).then((error) => {
        release();
        request.destroy();
        reject(error);
      });
    });
    socket.once('error', (error) => {
      release();
      if (signal?.aborted === true) reject(signal.reason as Error);
      // The server upgraded, but chose none of our protocols.
      else if (upgraded) reject(new ConnectionRefused(error.message, { cause: error }));
      else reject(unreachable(url, error));
    });
    socket.once('open', () => {
      release();
      resolve({ stream, protocol: socket.protocol });
    });
  });
}

async function* readMessages(stream: Duplex): AsyncGenerator<StreamMessage, void> {
  for await (const message of stream as AsyncIterable<Buffer | string>) {
    const bytes = typeof message === 'string' ? Buffer.from(message) : message;
    const channel = bytes[0];
    if (channel !== undefined) yield { type: 'data', channel, bytes: bytes.subarray(1) };
  }
}
