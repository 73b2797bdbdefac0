import type { Readable, Writable } from 'node:stream';
import { UserError, errorMessage } from '../../errors.ts';
import { connectStreams } from './connect-streams.ts';
import { parseExecStatus, type ExecStatus } from './exec-status.ts';
import type { StreamConnection, StreamMessage } from './stream-connection.ts';
import { writeFully } from './write-fully.ts';

/** Channel numbers of exec and attach over WebSocket; over SPDY each channel is a stream. */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

/** The caller's streams for a command or a container. */
export interface SessionStreams {
  /** Uses a terminal: stderr is merged into stdout, and the end of input is a byte (^D), not a closed stream. */
  tty?: boolean;
  /** Input of the command; no stdin if absent. Not destroyed if the session ends first. */
  stdin?: Readable;
  stdout: Writable;
  stderr: Writable;
  /** Called before each piece of output. */
  onOutput?: () => void;
  /** Sizes of the terminal, starting with the current one. Read only with `tty`. */
  resize?: AsyncIterable<TerminalSize>;
  signal?: AbortSignal;
}

export interface TerminalSize {
  width: number;
  height: number;
}

/** The streams of a session, named as in a request to the runtime. */
export interface StreamNames {
  tty: boolean;
  stdin: boolean;
  stdout: boolean;
  stderr: boolean;
}

interface SessionRequest {
  /** What the runtime should do, as error messages name it: `run the command`. */
  job: string;
  /** Requests a URL from the runtime that serves these streams. */
  requestURL: (streams: StreamNames) => Promise<string>;
}

/**
 * Connects the caller's streams to a container. Resolves to the runtime's status when the session has ended and
 * `stdout` and `stderr` have accepted all output. If the signal is aborted, rejects at once with its reason, even if
 * the streams accept nothing more.
 */
export async function runSession(request: SessionRequest, options: SessionStreams): Promise<ExecStatus> {
  const connection = await connect(request, options);
  const ended = new AbortController();
  let abandon = (): void => undefined;
  const abandoned = new Promise<never>((_resolve, reject) => {
    abandon = () => {
      connection.close();
      reject(options.signal?.reason as Error);
    };
  });
  options.signal?.addEventListener('abort', abandon, { once: true });
  let inputError: unknown;
  const failInput = (error: unknown): void => {
    inputError ??= error;
    connection.close();
  };
  if (options.stdin !== undefined) forwardInput(options.stdin, connection, ended.signal, failInput);
  if (options.tty === true && options.resize !== undefined) {
    forwardResizes(options.resize, connection, ended.signal).catch(failInput);
  }
  try {
    options.signal?.throwIfAborted();
    return await Promise.race([forwardOutput(connection, options), abandoned]).catch((error: unknown) => {
      options.signal?.throwIfAborted();
      throw inputError === undefined ? error : new UserError(`reading stdin: ${errorMessage(inputError)}`);
    });
  } finally {
    options.signal?.removeEventListener('abort', abandon);
    ended.abort();
    connection.close();
  }
}

/**
 * Of the WebSocket protocols, only v5 can end stdin and keep the rest open, and a containerd without v5 leaks a
 * goroutine for each handshake that it refuses. With a piped stdin we offer nothing older than v5, so that it refuses
 * before the command starts.
 */
function connect(
  { job, requestURL }: SessionRequest,
  { tty = false, stdin, signal }: SessionStreams,
): Promise<StreamConnection> {
  const streams: StreamNames = { tty, stdin: stdin !== undefined, stdout: true, stderr: !tty };
  const isOpened = { error: true, ...streams, resize: tty };
  const opened = (['error', 'stdin', 'stdout', 'stderr', 'resize'] as const).filter((name) => isOpened[name]);
  return connectStreams({
    job,
    requestURL: () => requestURL(streams),
    // From v4 on, the error stream carries a Status with the exit code.
    spdy: {
      protocols: ['v4.channel.k8s.io'],
      streams: opened.map((name) => ({ channel: channels[name], headers: { streamtype: name } })),
    },
    webSocketProtocols: ['v5.channel.k8s.io', ...(streams.stdin && !tty ? [] : ['v4.channel.k8s.io'])],
    signal,
  });
}

/** Forwards the output, one chunk at a time, until the runtime reports the end. */
async function forwardOutput(
  connection: StreamConnection,
  { stdout, stderr, onOutput }: SessionStreams,
): Promise<ExecStatus> {
  const statusParts: Buffer[] = [];
  let statusBytes = 0;
  for await (const message of orLost(connection.messages)) {
    if (message.channel === channels.error && message.type === 'reset') throw connectionLost('the runtime gave up');
    if (message.type !== 'data') continue;
    const { channel, bytes } = message;
    if (bytes.length > 0 && (channel === channels.stdout || channel === channels.stderr)) onOutput?.();
    if (channel === channels.stdout) await writeFully(stdout, bytes);
    else if (channel === channels.stderr) await writeFully(stderr, bytes);
    else if (channel === channels.error) {
      statusParts.push(bytes);
      statusBytes += bytes.length;
      if (statusBytes > maxStatusBytes) throw connectionLost('the status of the runtime is too long');
      const status = parseExecStatus(Buffer.concat(statusParts).toString());
      if (status !== undefined) return status;
    }
  }
  throw connectionLost();
}

/** A status has a few hundred bytes plus the runtime's message. */
const maxStatusBytes = 1024 * 1024;

async function* orLost(messages: AsyncIterable<StreamMessage>): AsyncGenerator<StreamMessage, void> {
  try {
    yield* messages;
  } catch (error) {
    throw connectionLost(errorMessage(error), error);
  }
}

function connectionLost(detail?: string, cause?: unknown): UserError {
  const because = detail === undefined ? '' : `: ${detail}`;
  return new UserError(`lost the connection to the container before the command exited${because}`, {
    hint: 'The container or its runtime may have stopped; the command may still run.',
    cause,
  });
}

/** Sends one chunk at a time, so that a command that does not read blocks the source instead of filling our memory. */
function forwardInput(
  source: Readable,
  connection: StreamConnection,
  ended: AbortSignal,
  fail: (error: unknown) => void,
): void {
  let sending = Promise.resolve();
  const send = async (chunk: Buffer): Promise<void> => {
    try {
      await connection.send(channels.stdin, chunk);
      if (!ended.aborted) source.resume();
    } catch {
      // The command no longer reads, or the connection broke. Its output and status give the reason.
      stop();
    }
  };
  const onData = (chunk: Buffer | string): void => {
    source.pause();
    sending = send(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  };
  // A paused source still emits its end right after its last chunk.
  const onEnd = (): void => {
    void sending.then(() => {
      connection.end(channels.stdin);
    });
  };
  const stop = (): void => {
    source.off('data', onData).off('end', onEnd).off('error', fail);
    source.pause();
  };
  source.on('data', onData).on('end', onEnd).on('error', fail);
  ended.addEventListener('abort', stop, { once: true });
}

async function forwardResizes(
  sizes: AsyncIterable<TerminalSize>,
  connection: StreamConnection,
  ended: AbortSignal,
): Promise<void> {
  for await (const { width, height } of sizes) {
    if (ended.aborted) return;
    const text = JSON.stringify({ Width: width, Height: height });
    await connection.send(channels.resize, Buffer.from(text)).catch(() => {
      // The connection broke: the reading side reports it.
    });
  }
}
