import { UserError, errorMessage } from '../../errors.ts';
import { openSpdy } from '../../cri/streaming/spdy-connection.ts';
import type { StreamConnection } from '../../cri/streaming/stream-connection.ts';
import { writeFully } from '../../cri/streaming/write-fully.ts';
import type { ExecStatus } from '../../cri/streaming/exec-status.ts';
import { dialText } from './forward-stream.ts';
import type { Call } from './route-table.ts';
import { acceptWebSocket } from './websocket-handshake.ts';

/** What a runtime may speak over SPDY; containerd speaks v4. */
const spdyProtocols = ['v5', 'v4', 'v3', 'v2'].map((version) => `${version}.channel.k8s.io`);
const oldestProtocol = 'channel.k8s.io';

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
/** A message that starts with this byte closes the channel whose number follows. */
const closeChannel = 255;
/** A status has a few hundred bytes plus the runtime's message. */
const maxStatusBytes = 1024 * 1024;

interface Streams {
  tty: boolean;
  stdin: boolean;
  stdout: boolean;
  stderr: boolean;
}

/**
 * Answers a client's WebSocket and speaks SPDY with the runtime. Failures after the handshake are a status in the error
 * channel. kubelet: streamtranslator.go ServeHTTP
 */
export async function translateStreams(
  call: Pick<Call, 'request' | 'response'>,
  url: string,
  { protocol, streams, idleTimeoutMs }: { protocol: string; streams: Streams; idleTimeoutMs: number },
): Promise<void> {
  const client = await acceptWebSocket(call, protocol, idleTimeoutMs);
  if (client === undefined) return;
  const { stream } = client;
  const left = new AbortController();
  stream.once('close', () => {
    left.abort(new Error('the client left'));
  });
  const send = (channel: number, bytes: Buffer): Promise<void> =>
    writeFully(stream, Buffer.concat([Buffer.of(channel), bytes]));
  try {
    await send(firstChannel(streams), Buffer.alloc(0));
    const messages = stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer | string>;
    const status = await relay(messages, { url, streams, send, signal: left.signal });
    if (status !== undefined) await send(channels.error, Buffer.from(JSON.stringify(status)));
  } catch {
    // The client left.
  }
  client.close();
}

/** An empty message tells the client that the streams are open. */
const firstChannel = ({ stdout, stderr }: Streams): number =>
  stdout ? channels.stdout : stderr ? channels.stderr : channels.error;

interface Relay {
  url: string;
  streams: Streams;
  send: (channel: number, bytes: Buffer) => Promise<void>;
  signal: AbortSignal;
}

/** Resolves to the status for the client once the command has ended. Undefined if the client ended the connection. */
async function relay(
  client: AsyncIterable<Buffer | string>,
  { url, streams, send, signal }: Relay,
): Promise<object | undefined> {
  let connection: StreamConnection;
  try {
    connection = await connect(url, streams, signal);
  } catch (error) {
    return internalError(`error dialing backend: ${dialText(new URL(url), rootOf(error))}`);
  }
  const stop = (): void => {
    connection.close();
  };
  signal.addEventListener('abort', stop, { once: true });
  const isEnded = { byClient: false };
  const input = forwardInput(client, connection, streams).then((ended) => {
    isEnded.byClient = ended;
    if (ended) connection.close();
  }, stop);
  try {
    return await forwardOutput(connection, send);
  } catch (error) {
    return isEnded.byClient ? undefined : internalError(errorMessage(error));
  } finally {
    signal.removeEventListener('abort', stop);
    connection.close();
    void input;
  }
}

/** The error of the network below ours. */
const rootOf = (error: unknown): unknown =>
  error instanceof UserError && error.cause !== undefined ? error.cause : error;

function connect(url: string, { tty, stdin, stdout, stderr }: Streams, signal: AbortSignal): Promise<StreamConnection> {
  const isOpened = { error: true, stdin, stdout, stderr: stderr && !tty, resize: tty };
  const opened = (['error', 'stdin', 'stdout', 'stderr', 'resize'] as const).filter((name) => isOpened[name]);
  const named = opened.map((name) => ({ channel: channels[name], headers: { streamtype: name } }));
  const protocols = [...spdyProtocols, oldestProtocol];
  // As when the agent only forwards the bytes. kubelet: apimachinery/pkg/util/proxy, without a transport
  return openSpdy(new URL(url), { protocols, streams: named, isVerified: true }, signal);
}

/** Sends what the client types. Resolves to true if the client closed a channel that it may not close. */
async function forwardInput(
  client: AsyncIterable<Buffer | string>,
  connection: StreamConnection,
  { stdin, tty }: Streams,
): Promise<boolean> {
  for await (const message of client) {
    const bytes = typeof message === 'string' ? Buffer.from(message) : message;
    const [channel, closed] = bytes;
    if (channel === closeChannel) {
      if (closed !== channels.stdin) return true;
      if (stdin) connection.end(channels.stdin);
    } else if ((channel === channels.stdin && stdin) || (channel === channels.resize && tty)) {
      await connection.send(channel, bytes.subarray(1));
    }
  }
  return false;
}

/** Sends the output, one chunk at a time, until the runtime reports the end. */
async function forwardOutput(connection: StreamConnection, send: Relay['send']): Promise<object> {
  let text = Buffer.alloc(0);
  for await (const message of connection.messages) {
    if (message.channel === channels.error) {
      if (message.type === 'reset') break;
      if (message.type === 'data') text = Buffer.concat([text, message.bytes]);
      if (text.length > maxStatusBytes) break;
      const status = statusFor(connection.protocol, text.toString(), message.type === 'end');
      if (status !== undefined) return status;
    } else if (message.type === 'data' && message.bytes.length > 0) {
      await send(message.channel, message.bytes);
    }
  }
  throw new Error('lost the connection to the container runtime before the command ended');
}

/** The status for the client by what the runtime wrote. Undefined while that is incomplete. */
function statusFor(protocol: string, text: string, isEnd: boolean): object | undefined {
  const hasStatus = protocol.startsWith('v4.') || protocol.startsWith('v5.');
  if (text === '') return isEnd ? success : undefined;
  if (!hasStatus) return isEnd ? internalError(`error executing remote command: ${text}`) : undefined;
  const status = parsed(text);
  if (status === undefined) return isEnd ? internalError(`error stream protocol error: ${text}`) : undefined;
  if (status.status === 'Success') return success;
  const code = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  if (status.reason !== 'NonZeroExitCode' || code === undefined) return internalError(status.message ?? '');
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: command terminated with exit code ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: code }] },
  };
}

function parsed(text: string): ExecStatus | undefined {
  try {
    return JSON.parse(text) as ExecStatus;
  } catch {
    // The rest has not arrived yet.
    return undefined;
  }
}

const success = { metadata: {}, status: 'Success' };

/** kubelet: apimachinery errors.go NewInternalError */
const internalError = (message: string): object => ({
  metadata: {},
  status: 'Failure',
  message: `Internal error occurred: ${message}`,
  reason: 'InternalError',
  details: { causes: [{ message }] },
  code: 500,
});
