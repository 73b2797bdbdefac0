import type { RuntimeService } from '../runtime-service.ts';
import { connectStreams } from './connect-streams.ts';
import type { StreamConnection, StreamMessage } from './stream-connection.ts';

/** Channel numbers of a forwarded port over WebSocket; over SPDY each channel is a stream. */
export const portChannels = { data: 0, error: 1 } as const;

/** A port inside the network namespace of a sandbox. */
export interface SandboxPort {
  sandboxID: string;
  port: number;
}

/**
 * Opens a TCP connection to a port of localhost inside a sandbox. Each one uses a separate connection to the runtime,
 * because streams of one SPDY connection have no flow control: a reader that stops would block all others.
 */
export async function openPort(
  runtime: Pick<RuntimeService, 'portForward'>,
  { sandboxID, port }: SandboxPort,
  signal?: AbortSignal,
): Promise<StreamConnection> {
  const headers = { port: String(port), requestid: '0' };
  const connection = await connectStreams({
    job: 'forward the port',
    requestURL: async () =>
      (await runtime.portForward({ podSandboxId: sandboxID, port: [port] }, signal && { signal })).url,
    spdy: {
      protocols: ['portforward.k8s.io'],
      streams: [
        { channel: portChannels.error, headers: { ...headers, streamtype: 'error' } },
        { channel: portChannels.data, headers: { ...headers, streamtype: 'data' } },
      ],
    },
    webSocketProtocols: [webSocketProtocol],
    signal,
  });
  const isWebSocket = connection.protocol === webSocketProtocol;
  // kubectl ends its side of this stream too, because only the server writes to it.
  connection.end(portChannels.error);
  return isWebSocket ? { ...connection, messages: withoutPortNumbers(connection.messages) } : connection;
}

const webSocketProtocol = 'v4.channel.k8s.io';

/** Over WebSocket, each channel begins with the port number in two bytes. */
async function* withoutPortNumbers(messages: AsyncIterable<StreamMessage>): AsyncGenerator<StreamMessage, void> {
  const begun = new Set<number>();
  for await (const message of messages) {
    if (message.type === 'data' && !begun.has(message.channel)) {
      begun.add(message.channel);
      if (message.bytes.length > 2) yield { ...message, bytes: message.bytes.subarray(2) };
    } else yield message;
  }
}
