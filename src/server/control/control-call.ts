import { readlink } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { hasCode, UserError } from '../../errors.ts';
import { noteHolder, parseHolder } from '../../exclusively.ts';
import { needsRoot } from '../../needs-root.ts';
import { describeState, isRunning, type ProcessIdentity } from '../../process-identity.ts';

/** Time limits for an agent, in milliseconds. */
export interface Timings {
  /** For its identity. An agent that takes longer is stuck, whatever else it does. */
  answerMs: number;
  /** Until its identity is asked for while it works on an answer. */
  pingAfterMs: number;
  /** For the whole body, from its first byte. */
  bodyMs: number;
}

const defaultTimings: Timings = { answerMs: 2000, pingAfterMs: 500, bodyMs: 10_000 };
/** More than a snapshot of 10,000 pods. */
export const defaultMaxBodyBytes = 256 * 1024 * 1024;
/** More than an event with the longest message. */
const defaultMaxLineLength = 4 * 1024 * 1024;

export interface Call {
  socketPath: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  body?: Uint8Array | undefined;
  timings?: Timings;
  maxBodyBytes?: number;
  maxLineLength?: number;
}

/**
 * Asks the agent behind a socket. Resolves to the body, or to undefined if no agent runs. Waits as long as the agent
 * works on the answer. Rejects with an `AgentSilentError` if the agent is stuck or its answer is incomplete, and with a
 * `UserError` if the agent refuses.
 */
export async function call(asked: Call): Promise<string | undefined> {
  return whileItLives(asked, async (signal) => {
    const response = await send(asked, signal);
    return response === undefined ? undefined : answered(asked, response);
  });
}

/**
 * Yields the lines of an endless answer, until the agent ends or the signal is aborted. Yields none if no agent runs.
 * Rejects as `call`.
 */
export async function* stream(asked: Call, signal: AbortSignal): AsyncGenerator<string, void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    const response = await whileItLives(asked, () => send(asked, either));
    if (response === undefined) return;
    if (response.statusCode === 200) yield* linesOf(asked, response);
    else await answered(asked, response);
  } catch (error) {
    if (!signal.aborted && !isConnectionLost(error)) throw error;
  } finally {
    over.abort();
  }
}

/** Resolves when the agent that serves this socket has ended, at once if none runs. */
export async function untilGone(asked: Call): Promise<void> {
  await whileItLives(asked, async (signal) => {
    const response = await send(asked, signal);
    if (response === undefined) return;
    await new Promise<void>((resolve) => {
      response.on('error', () => undefined).once('close', resolve);
      response.resume();
    });
  });
}

/**
 * Runs `work` while the agent keeps answering identity requests. `signal` is aborted when the work has ended or the
 * agent is stuck.
 */
async function whileItLives<T>(asked: Call, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  const working = work(over.signal);
  try {
    return await Promise.race([working, untilSilent(asked, over.signal)]);
  } finally {
    over.abort();
    // The result no longer matters once the work is aborted.
    working.catch(() => undefined);
  }
}

/** Rejects if the agent is stuck. Never resolves. */
async function untilSilent({ socketPath, timings = defaultTimings }: Call, signal: AbortSignal): Promise<never> {
  const forever = new Promise<never>(() => undefined);
  for (;;) {
    try {
      await delay(timings.pingAfterMs, undefined, { signal, ref: false });
    } catch {
      // The work has ended.
      return forever;
    }
    const limit = AbortSignal.timeout(timings.answerMs - timings.pingAfterMs);
    const pinged = send({ socketPath, method: 'GET', path: '/v1/agent' }, AbortSignal.any([signal, limit]));
    try {
      const response = await pinged;
      response?.resume();
      // If the agent has ended, so has the connection of the work.
      if (response === undefined) return await forever;
    } catch (error) {
      if (signal.aborted) return forever;
      if (!limit.aborted) throw error;
      throw await AgentSilentError.of(socketPath);
    }
  }
}

/**
 * Returns undefined if there is no agent: no socket, or one that a killed agent left. Rejects with the signal's reason.
 */
function send({ socketPath, method, path, body }: Call, signal: AbortSignal): Promise<IncomingMessage | undefined> {
  return new Promise((resolve, reject) => {
    // Connects by hand, because Node would spend 10 ms on a TLS server name first.
    const headers = { 'user-agent': clientName(), ...(body && { 'content-length': body.length }) };
    const sent = request({ method, path, headers, createConnection: () => connect(socketPath) }, (response) => {
      // An error of the answer must not end the process, even if nothing reads it.
      response.on('error', () => undefined);
      resolve(response);
    });
    const abort = (): void => {
      sent.destroy(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    sent.once('close', () => {
      signal.removeEventListener('abort', abort);
    });
    sent.on('error', (error) => {
      if (signal.aborted) reject(signal.reason as Error);
      else if (isConnectionLost(error) || hasCode(error, 'ENOENT', 'ENOTDIR', 'ECONNREFUSED')) resolve(undefined);
      else if (hasCode(error, 'EACCES', 'EPERM')) reject(needsRoot(socketPath, error));
      // EAGAIN means that the kernel's queue of connections is full. Any other error is an invalid answer.
      else
        AgentSilentError.of(socketPath, hasCode(error, 'EAGAIN') ? undefined : 'sends an invalid answer').then(
          reject,
          reject,
        );
    });
    if (signal.aborted) abort();
    else sent.end(body);
  });
}

async function answered(asked: Call, response: IncomingMessage): Promise<string | undefined> {
  const body = await wholeBody(asked, response);
  const { statusCode: status = 0 } = response;
  if (status === 200 || body === undefined) return body;
  if (status === 202) throw new AgentStartingError(body.trim());
  if (status === 503) {
    throw new UserError(`kubelet-ts waits for its runtime: ${body.trim()}`, { hint: 'Start the runtime.' });
  }
  if (status >= 400 && status < 500) throw refusalOf(body);
  throw await AgentSilentError.of(asked.socketPath, `answers with status ${status}`);
}

/** The refusal in an answer: a sentence, and in a second line its hint. */
function refusalOf(body: string): UserError {
  const [message = '', hint = ''] = body.trim().split('\n');
  return new UserError(message, hint === '' ? {} : { hint });
}

/** How a client names itself in the log of the agent, such as `pid 12 uid 0 (sudo ada)`. */
function clientName(): string {
  const { SUDO_USER: user = '' } = process.env;
  const because = /^[\w.-]+$/.test(user) ? ` (sudo ${user})` : '';
  return `pid ${process.pid} uid ${process.getuid?.() ?? 'unknown'}${because}`;
}

/** Returns undefined if the agent ended before the body was complete. */
async function wholeBody(
  { socketPath, timings = defaultTimings, maxBodyBytes = defaultMaxBodyBytes }: Call,
  response: IncomingMessage,
): Promise<string | undefined> {
  const limit = AbortSignal.timeout(timings.bodyMs);
  const cut = (): void => {
    response.destroy(limit.reason as Error);
  };
  limit.addEventListener('abort', cut, { once: true });
  // Limits the time of each part and of the whole body.
  response.setTimeout(timings.answerMs, () => {
    response.destroy(new Error('no further data arrived'));
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBodyBytes) throw await AgentSilentError.of(socketPath, 'sends an endless answer');
      chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch (error) {
    if (error instanceof AgentSilentError) throw error;
    if (isConnectionLost(error)) return undefined;
    throw await AgentSilentError.of(socketPath, 'sent an incomplete answer');
  } finally {
    limit.removeEventListener('abort', cut);
    response.destroy();
  }
}

async function* linesOf(
  { maxLineLength = defaultMaxLineLength }: Call,
  response: IncomingMessage,
): AsyncGenerator<string, void> {
  response.setEncoding('utf8');
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of response) {
    const [first = '', ...others] = (chunk as string).split('\n');
    parts.push(first);
    length += first.length;
    const rest = others.pop();
    if (rest !== undefined) {
      // Joined once, because a long line comes in many chunks.
      yield parts.join('');
      yield* others;
      parts = [rest];
      length = rest.length;
    }
    if (length > maxLineLength) throw new UserError('kubelet-ts sent a line that is too long');
  }
}

/** True if the agent ended during the request or the answer. */
function isConnectionLost(error: unknown): boolean {
  return hasCode(error, 'ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE');
}

/** The agent runs but cannot report its pods yet. */
export class AgentStartingError extends UserError {
  constructor(doing: string) {
    super(`kubelet-ts starts: ${doing}`, { hint: 'Ask again in a moment; kubelet-ts wait waits for it.' });
  }
}

/** The agent runs but does not answer, for example because it is stopped. Commands that can work without it do so. */
export class AgentSilentError extends UserError {
  /** Undefined if the process is unknown. */
  readonly agent: ProcessIdentity | undefined;

  private constructor(message: string, hint: string, agent: ProcessIdentity | undefined) {
    super(message, { hint });
    this.agent = agent;
  }

  /** Makes the error for the agent behind this socket. `what` is what the agent does instead of answering. */
  static async of(socketPath: string, what = 'does not answer'): Promise<AgentSilentError> {
    const agent = await readAgentProcess(socketPath);
    if (agent === undefined) {
      return new AgentSilentError(
        `kubelet-ts ${what} on ${socketPath}`,
        'Look for its process (`ps -e`), and end it.',
        undefined,
      );
    }
    const { pid } = agent;
    const state = (await describeState(agent)) ?? 'gone';
    const advice = state.startsWith('stopped') ? `Continue it: kill -CONT ${pid}. Or end` : 'End';
    return new AgentSilentError(
      `kubelet-ts (pid ${pid}, ${state}) ${what}`,
      `${advice} it: kill -KILL ${pid}, pods keep running; kubelet-ts down ends its pods too.`,
      agent,
    );
  }
}

/** Records beside the control socket that this process is the agent, for clients that get no answer. */
export async function noteAgentProcess(socketPath: string): Promise<void> {
  await noteHolder(holderPath(socketPath));
}

/** The last recorded agent process, if it still runs. */
async function readAgentProcess(socketPath: string): Promise<ProcessIdentity | undefined> {
  const text = await readlink(holderPath(socketPath)).catch(() => undefined);
  const agent = text === undefined ? undefined : parseHolder(text);
  return agent !== undefined && (await isRunning(agent)) ? agent : undefined;
}

function holderPath(socketPath: string): string {
  return `${socketPath}.holder`;
}
