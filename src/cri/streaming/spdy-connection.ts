import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Readable, type Duplex } from 'node:stream';
import { ConnectionRefused, refusedBy, unreachable } from './connect-errors.ts';
import {
  dataFrame,
  HeaderBlockWriter,
  pingFrame,
  resetFrame,
  SpdyFrameReader,
  synStreamFrame,
  type SpdyFrame,
} from './spdy-frames.ts';
import type { StreamConnection, StreamMessage } from './stream-connection.ts';
import { writeFully } from './write-fully.ts';

const handshakeTimeoutMs = 30_000;
const maxDataBytes = 64 * 1024;
/** RST_STREAM status that refuses streams opened by the server. */
const refusedStream = 3;

/** The streams of a connection, in the order in which they are opened. The runtime begins when all of them are open. */
export interface SpdyStreams {
  /** Values of X-Stream-Protocol-Version, preferred first. The server chooses. */
  protocols: readonly string[];
  streams: readonly { channel: number; headers: Readonly<Record<string, string>> }[];
  /** True to verify the certificate of an https server. By default, any is accepted: see `upgrade`. */
  isVerified?: boolean;
}

/**
 * Connects over SPDY/3.1 and opens a stream for each channel. Rejects with `ConnectionRefused` if the server does not
 * speak SPDY/3.1. Deliberately ignores flow-control windows: so does the library in every runtime's streaming server,
 * and waiting for one would stop after 64 KiB. TCP slows down the faster side.
 */
export async function openSpdy(
  url: URL,
  { protocols, streams, isVerified = false }: SpdyStreams,
  signal?: AbortSignal,
): Promise<StreamConnection> {
  const { socket, protocol } = await upgrade(url, { protocols, isVerified }, signal);
  const headerBlocks = new HeaderBlockWriter();
  // A client's streams have odd numbers.
  const streamIDs = new Map(streams.map(({ channel }, index) => [channel, 2 * index + 1]));
  for (const { channel, headers } of streams) {
    socket.write(synStreamFrame(streamIDs.get(channel) ?? 0, headerBlocks.write(headers)));
  }
  const { opened, messages } = receive(
    socket,
    new Map([...streamIDs].map(([channel, streamID]) => [streamID, channel])),
  );
  return {
    protocol,
    messages,
    send: async (channel, bytes) => {
      await opened;
      for (let start = 0; start < bytes.length; start += maxDataBytes) {
        const part = bytes.subarray(start, start + maxDataBytes);
        await writeFully(socket, dataFrame(streamIDs.get(channel) ?? 0, part));
      }
    },
    end: (channel) => {
      const streamID = streamIDs.get(channel);
      void opened.then(() => {
        if (streamID !== undefined && socket.writable) socket.write(dataFrame(streamID, Buffer.alloc(0), true));
      });
    },
    close: () => {
      socket.destroy();
    },
  };
}

function upgrade(
  url: URL,
  { protocols, isVerified }: Required<Pick<SpdyStreams, 'protocols' | 'isVerified'>>,
  signal?: AbortSignal,
): Promise<{ socket: Duplex; protocol: string }> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      headers: { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': [...protocols] },
      timeout: handshakeTimeoutMs,
      agent: false,
      // The URL came over the runtime's own socket, and the runtime signs its certificate itself.
      ...(url.protocol === 'https:' ? { rejectUnauthorized: isVerified } : {}),
    });
    const abort = (): void => {
      request.destroy(signal?.reason as Error);
    };
    const release = (): void => {
      signal?.removeEventListener('abort', abort);
    };
    signal?.addEventListener('abort', abort, { once: true });
    request.on('timeout', () => {
      request.destroy(new Error('no answer to the handshake'));
    });
    request.on('error', (error) => {
      release();
      reject(signal?.aborted === true ? (signal.reason as Error) : unreachable(url, error));
    });
    request.on('response', (response) => {
      void refusedBy(response).then((error) => {
        release();
        request.destroy();
        reject(error);
      });
    });
    request.on('upgrade', (response, socket, head) => {
      release();
      // Handles an error after the last message, which would otherwise be uncaught. Earlier errors go to the reader of
      // `messages`.
      socket.on('error', () => undefined);
      socket.setTimeout(0);
      if (head.length > 0) socket.unshift(head);
      const protocol = String(response.headers['x-stream-protocol-version']);
      if (protocols.includes(protocol)) {
        resolve({ socket, protocol });
        return;
      }
      socket.destroy();
      reject(new ConnectionRefused(`the streaming server speaks ${protocol}, not ${protocols.join(', ')}`));
    });
    request.end();
  });
}

interface Received {
  /**
   * Resolves when the server has accepted or refused every stream, or the connection has ended. The library in every
   * runtime's streaming server drops data that arrives before it accepts a stream.
   */
  readonly opened: Promise<void>;
  readonly messages: AsyncIterable<StreamMessage>;
}

/** Reads the socket, and pauses it while messages wait. */
function receive(socket: Duplex, channelOfStream: ReadonlyMap<number, number>): Received {
  const frames = new SpdyFrameReader();
  const messages = new Readable({
    objectMode: true,
    read: () => {
      socket.resume();
    },
  });
  const unanswered = new Set(channelOfStream.keys());
  let failure: Error | undefined;
  const opened = new Promise<void>((resolve) => {
    const timeout = setTimeout(() => {
      socket.destroy(new Error('the streaming server did not open the streams'));
    }, handshakeTimeoutMs);
    const finish = (): void => {
      clearTimeout(timeout);
      resolve();
    };
    const take = (chunk: Buffer): void => {
      for (const frame of frames.read(chunk)) {
        answer(socket, frame);
        if (frame.type === 'synReply' || frame.type === 'reset') unanswered.delete(frame.streamID);
        for (const message of messagesOf(frame, channelOfStream)) if (!messages.push(message)) socket.pause();
      }
      if (unanswered.size === 0) finish();
    };
    socket.on('data', (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.on('close', finish);
  });
  socket.on('error', (error) => {
    failure = error;
  });
  socket.on('close', () => {
    messages.push(null);
  });
  socket.on('end', () => {
    socket.destroy();
  });
  return { opened, messages: untilFailure(messages, () => failure) };
}

/**
 * Yields the messages that arrived before an error: if the command leaves input unread, the server resets the
 * connection right after it sends the status.
 */
async function* untilFailure(
  messages: AsyncIterable<StreamMessage>,
  failure: () => Error | undefined,
): AsyncGenerator<StreamMessage, void> {
  yield* messages;
  const error = failure();
  if (error !== undefined) throw error;
}

function messagesOf(frame: SpdyFrame, channelOfStream: ReadonlyMap<number, number>): StreamMessage[] {
  const channel = 'streamID' in frame ? channelOfStream.get(frame.streamID) : undefined;
  if (channel === undefined) return [];
  if (frame.type === 'reset') return [{ type: 'reset', channel }];
  if (frame.type !== 'data') return [];
  return [
    ...(frame.bytes.length > 0 ? [{ type: 'data', channel, bytes: frame.bytes } as const] : []),
    ...(frame.fin ? [{ type: 'end', channel } as const] : []),
  ];
}

function answer(socket: Duplex, frame: SpdyFrame): void {
  // A server's pings have even numbers. An odd one would be the echo of ours.
  if (frame.type === 'ping' && frame.id % 2 === 0) socket.write(pingFrame(frame.id));
  else if (frame.type === 'synStream') socket.write(resetFrame(frame.streamID, refusedStream));
}
