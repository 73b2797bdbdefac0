import type { Readable, Writable } from 'node:stream';
import { UserError, errorMessage } from '../../errors.ts';
import type { RuntimeService } from '../runtime-service.ts';
import { exitCodeOf, parseExecStatus, type ExecStatus } from './exec-status.ts';
import { ConnectionRefused } from './connect-errors.ts';
import { channels, type ExecConnection, type ExecMessage } from './exec-connection.ts';
import { openSpdy } from './spdy-connection.ts';
import { openWebSocket } from './websocket-connection.ts';
import { writeFully } from './write-fully.ts';

/** A command to run in a container, and the caller's streams. */
export interface ExecOptions {
  containerID: string;
  command: readonly string[];
  /** Runs with a terminal. stderr is merged into stdout, and end of input is a byte (^D), not a closed stream. */
  tty?: boolean;
  /** Input of the command; absent for no stdin. Not destroyed if the command ends first. */
  stdin?: Readable;
  stdout: Writable;
  stderr: Writable;
  /** Sizes of the terminal, starting with the current one. Read only with `tty`. */
  resize?: AsyncIterable<TerminalSize>;
  signal?: AbortSignal;
}

export interface TerminalSize {
  width: number;
  height: number;
}

/**
 * Runs a command in a running container. Resolves with its exit code once it has ended and `stdout` and `stderr` have
 * taken all its output. If the command cannot start, rejects with a `UserError` with the runtime's message and a
 * shell's exit code: 127 not found, 126 not executable, else 1.
 */
export async function execInContainer(runtime: Pick<RuntimeService, 'exec'>, options: ExecOptions): Promise<number> {
  const connection = await connect(runtime, options);
  const ended = new AbortController();
  const closeEarly = (): void => {
    connection.close();
  };
  options.signal?.addEventListener('abort', closeEarly, { once: true });
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
    const status = await forwardOutput(connection, options).catch((error: unknown) => {
      options.signal?.throwIfAborted();
      throw inputError === undefined ? error : new UserError(`reading stdin: ${errorMessage(inputError)}`);
    });
    return exitCodeOf(status, options.command);
  } finally {
    options.signal?.removeEventListener('abort', closeEarly);
    ended.abort();
    connection.close();
  }
}

/**
 * Connects over SPDY/3.1, as kubectl and crictl do, else over WebSocket. Each attempt needs a new URL, because a URL is
 * good for one connection. SPDY comes first because every streaming server supports it and it can close stdin alone. Of
 * the WebSocket protocols only v5 can, and a containerd without v5 leaks a goroutine for each handshake that it
 * refuses. With a piped stdin nothing older than v5 is offered, so that a refusal comes before the command starts.
 */
async function connect(runtime: Pick<RuntimeService, 'exec'>, options: ExecOptions): Promise<ExecConnection> {
  const { containerID, command, tty = false, stdin, signal } = options;
  const streams = { stdin: stdin !== undefined, stdout: true, stderr: !tty };
  const requestUrl = async (): Promise<URL> => {
    const request = { containerId: containerID, cmd: [...command], tty, ...streams };
    const { url } = await runtime.exec(request, signal === undefined ? {} : { signal });
    return streamingUrl(url);
  };
  try {
    return await openSpdy(await requestUrl(), { ...streams, resize: tty }, signal);
  } catch (error) {
    if (!(error instanceof ConnectionRefused)) throw error;
  }
  const protocols = ['v5.channel.k8s.io', ...(streams.stdin && !tty ? [] : ['v4.channel.k8s.io'])];
  try {
    return await openWebSocket(await requestUrl(), protocols, signal);
  } catch (error) {
    if (!(error instanceof ConnectionRefused)) throw error;
    throw new UserError(`the container runtime refused to run the command: ${error.message}`, { cause: error });
  }
}

function streamingUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && ['http:', 'https:'].includes(url.protocol)) return url;
  throw new UserError(`the container runtime answered Exec with "${text}", expected an http or https URL`, {
    hint: 'Set the address of the streaming server in the configuration of the container runtime.',
  });
}

/** Forwards the output of the command, one chunk at a time, until the runtime reports its end. */
async function forwardOutput(connection: ExecConnection, { stdout, stderr }: ExecOptions): Promise<ExecStatus> {
  const statusParts: Buffer[] = [];
  for await (const message of orLost(connection.messages)) {
    if (message.channel === channels.stdout) await writeFully(stdout, message.bytes);
    else if (message.channel === channels.stderr) await writeFully(stderr, message.bytes);
    else if (message.channel === channels.error) {
      statusParts.push(message.bytes);
      const status = parseExecStatus(Buffer.concat(statusParts).toString());
      if (status !== undefined) return status;
    }
  }
  throw connectionLost();
}

async function* orLost(messages: AsyncIterable<ExecMessage>): AsyncGenerator<ExecMessage, void> {
  try {
    yield* messages;
  } catch (error) {
    throw connectionLost(error);
  }
}

function connectionLost(cause?: unknown): UserError {
  const detail = cause === undefined ? '' : `: ${errorMessage(cause)}`;
  return new UserError(`lost the connection to the container before the command ended${detail}`, {
    hint: 'The container or its runtime may have stopped; the command may still run.',
    cause,
  });
}

/** Sends one chunk at a time, so a command that does not read blocks the source instead of filling memory. */
function forwardInput(
  source: Readable,
  connection: ExecConnection,
  ended: AbortSignal,
  fail: (error: unknown) => void,
): void {
  let sending = Promise.resolve();
  const send = async (chunk: Buffer): Promise<void> => {
    try {
      await connection.send(channels.stdin, chunk);
      if (!ended.aborted) source.resume();
    } catch {
      // The command no longer reads, or the connection broke. Its output and status report the reason.
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
      connection.closeStdin();
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
  connection: ExecConnection,
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
