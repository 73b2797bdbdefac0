import type { Readable, Writable } from 'node:stream';
import { UserError, errorMessage } from '../../errors.ts';
import type { RuntimeService } from '../runtime-service.ts';
import { exitCodeOf, parseExecStatus, type ExecStatus } from './exec-status.ts';
import { ConnectionRefused } from './connect-errors.ts';
import { channels, type ExecConnection, type ExecMessage } from './exec-connection.ts';
import { openSpdy } from './spdy-connection.ts';
import { openWebSocket } from './websocket-connection.ts';
import { writeFully } from './write-fully.ts';

/** One command to run in a container, and the streams of the side that asked for it. */
export interface ExecOptions {
  containerID: string;
  command: readonly string[];
  /** Run with a terminal: stderr comes merged into stdout, and end of input is a byte (^D), not a closed stream. */
  tty?: boolean;
  /** Read by the command until its end. Left out, the command has no stdin. Not destroyed when the command ends first. */
  stdin?: Readable;
  stdout: Writable;
  stderr: Writable;
  /** Sizes of the terminal, the first one at once. Read only with `tty`. */
  resize?: AsyncIterable<TerminalSize>;
  signal?: AbortSignal;
}

export interface TerminalSize {
  width: number;
  height: number;
}

/**
 * Runs a command in a running container and resolves with its exit code once it ended and all its output was taken by
 * `stdout` and `stderr`. A command that could not start rejects with a `UserError` that holds the runtime's words and
 * the exit code a shell would give: 127 not found, 126 not executable, else 1.
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
 * SPDY/3.1 as kubectl and crictl, else WebSocket, each with a URL of its own since one is good for a single connection.
 * SPDY goes first because every streaming server of today speaks it and it can close stdin alone; of the WebSocket
 * protocols only v5 can, and a containerd that does not know v5 leaks a goroutine for each handshake it refuses. A piped
 * stdin offers nothing older than v5, so that a refusal comes before the command starts.
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

/** Hands out what the command writes, one chunk at a time, until the runtime says how it ended. */
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

/** One chunk on its way at a time, so that a command that does not read holds back the source instead of memory. */
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
      // The command no longer reads, or the connection broke: its output and status tell the rest.
      stop();
    }
  };
  const onData = (chunk: Buffer | string): void => {
    source.pause();
    sending = send(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  };
  // A paused source still tells its end right after its last chunk.
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
