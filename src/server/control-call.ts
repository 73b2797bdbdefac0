import { readlink, rename, rm, symlink } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { hasCode, UserError } from '../errors.ts';
import { holderText, parseHolder } from '../exclusively.ts';
import { needsRoot } from '../needs-root.ts';
import { describeState, isRunning, type ProcessIdentity } from '../process-identity.ts';

/** How long an agent may take, in milliseconds. */
export interface Timings {
  /** To answer who it is, whatever else it does: an agent that does not is stuck. */
  answerMs: number;
  /** Until it is asked that while it works on an answer. */
  pingAfterMs: number;
  /** For a whole body, once it began. */
  bodyMs: number;
}

const defaultTimings: Timings = { answerMs: 2000, pingAfterMs: 500, bodyMs: 10_000 };
/** More than 10,000 pods have. */
const defaultMaxBodyBytes = 256 * 1024 * 1024;
/** An event with the longest message there is. */
const maxLineLength = 4 * 1024 * 1024;

export interface Call {
  socketPath: string;
  method: 'GET' | 'POST';
  path: string;
  timings?: Timings;
  maxBodyBytes?: number;
}

/**
 * Asks the agent behind a socket; resolves to the body, or undefined if no agent runs. It takes as long as the agent works on
 * the answer. Rejects with an `AgentSilentError` if the agent is stuck or gives no whole answer, and with a `UserError` if
 * it refuses.
 */
export async function call(asked: Call): Promise<string | undefined> {
  return whileItLives(asked, async (signal) => {
    const response = await send(asked, signal);
    return response === undefined ? undefined : answered(asked, response);
  });
}

/** The lines of an answer that goes on until the agent ends or the signal is aborted; none if no agent runs. */
export async function* stream(asked: Call, signal: AbortSignal): AsyncGenerator<string, void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    const response = await whileItLives(asked, () => send(asked, either));
    if (response !== undefined) yield* linesOf(response);
  } catch (error) {
    if (!signal.aborted && !isConnectionLost(error)) throw error;
  } finally {
    over.abort();
  }
}

/** Resolves when the agent that serves this socket is gone; at once if none runs. */
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

/** Does `work` while the agent says who it is whenever it is asked. `signal` is aborted when the work is over or in vain. */
async function whileItLives<T>(asked: Call, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  const working = work(over.signal);
  try {
    return await Promise.race([working, untilSilent(asked, over.signal)]);
  } finally {
    over.abort();
    // What it comes to once it is cut is of no interest.
    working.catch(() => undefined);
  }
}

/** Rejects when the agent is stuck. Never resolves. */
async function untilSilent({ socketPath, timings = defaultTimings }: Call, signal: AbortSignal): Promise<never> {
  const forever = new Promise<never>(() => undefined);
  for (;;) {
    try {
      await delay(timings.pingAfterMs, undefined, { signal, ref: false });
    } catch {
      // The work is over.
      return forever;
    }
    const limit = AbortSignal.timeout(timings.answerMs - timings.pingAfterMs);
    const pinged = send({ socketPath, method: 'GET', path: '/v1/agent' }, AbortSignal.any([signal, limit]));
    try {
      const response = await pinged;
      response?.resume();
      // An agent that is gone ends the connection of the work, too.
      if (response === undefined) return await forever;
    } catch (error) {
      if (signal.aborted) return forever;
      if (!limit.aborted) throw error;
      throw await AgentSilentError.of(socketPath);
    }
  }
}

/** Undefined: nobody there, no socket or one that a killed agent left. Rejects with the signal's reason. */
function send({ socketPath, method, path }: Call, signal: AbortSignal): Promise<IncomingMessage | undefined> {
  return new Promise((resolve, reject) => {
    // Connected by hand: by itself Node would work out a name for TLS first, which takes it 10 ms.
    const sent = request({ method, path, createConnection: () => connect(socketPath) }, (response) => {
      // Read or not, an answer that is lost later must not end the process.
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
      // EAGAIN: as many as the kernel lets wait do so already. Anything else is an answer that is none.
      else
        AgentSilentError.of(socketPath, hasCode(error, 'EAGAIN') ? undefined : 'gives no answer').then(reject, reject);
    });
    if (signal.aborted) abort();
    else sent.end();
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
  throw await AgentSilentError.of(asked.socketPath, `answers with status ${status}`);
}

/** Undefined if the agent ended in the middle of it. */
async function wholeBody(
  { socketPath, timings = defaultTimings, maxBodyBytes = defaultMaxBodyBytes }: Call,
  response: IncomingMessage,
): Promise<string | undefined> {
  const limit = AbortSignal.timeout(timings.bodyMs);
  const cut = (): void => {
    response.destroy(limit.reason as Error);
  };
  limit.addEventListener('abort', cut, { once: true });
  // Each part of it has to come in time, and so has all of it.
  response.setTimeout(timings.answerMs, () => {
    response.destroy(new Error('nothing more came'));
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBodyBytes) throw await AgentSilentError.of(socketPath, 'answers without end');
      chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch (error) {
    if (error instanceof AgentSilentError) throw error;
    if (isConnectionLost(error)) return undefined;
    throw await AgentSilentError.of(socketPath, 'gives half an answer');
  } finally {
    limit.removeEventListener('abort', cut);
    response.destroy();
  }
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string, void> {
  response.setEncoding('utf8');
  let rest = '';
  for await (const chunk of response) {
    const lines = (rest + (chunk as string)).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
    if (rest.length > maxLineLength) throw new UserError('kubelet-ts tells of an event without end');
  }
}

/** The agent ended while it was asked, or while it answered. */
function isConnectionLost(error: unknown): boolean {
  return hasCode(error, 'ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE');
}

/** An agent that is there and cannot tell of its pods yet. */
export class AgentStartingError extends UserError {
  constructor(doing: string) {
    super(`kubelet-ts starts: ${doing}`, { hint: 'Ask again in a moment; kubelet-ts wait waits for it.' });
  }
}

/** An agent is there and gives no answer, as one that is stopped. Commands that can do so go on without it. */
export class AgentSilentError extends UserError {
  /** Undefined when nobody can tell which process it is. */
  readonly agent: ProcessIdentity | undefined;

  private constructor(message: string, hint: string, agent: ProcessIdentity | undefined) {
    super(message, { hint });
    this.agent = agent;
  }

  /** What is known of the agent behind this socket. `what` is what it does in place of an answer. */
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
    const goOn = state.startsWith('stopped') ? `Let it go on: kill -CONT ${pid}. Or end` : 'End';
    return new AgentSilentError(
      `kubelet-ts (pid ${pid}, ${state}) ${what}`,
      `${goOn} it: kill -KILL ${pid}, pods run on; kubelet-ts down ends its pods too.`,
      agent,
    );
  }
}

/** Notes beside its control socket that this process is the agent, for those that it will not answer. */
export async function noteAgentProcess(socketPath: string): Promise<void> {
  const link = holderPath(socketPath);
  const unnamed = `${link}.${process.pid}`;
  await rm(unnamed, { force: true });
  await symlink(await holderText(process.pid), unnamed);
  await rename(unnamed, link);
}

/** The process that noted itself last, if it still runs. */
async function readAgentProcess(socketPath: string): Promise<ProcessIdentity | undefined> {
  const text = await readlink(holderPath(socketPath)).catch(() => undefined);
  const agent = text === undefined ? undefined : parseHolder(text);
  return agent !== undefined && (await isRunning(agent)) ? agent : undefined;
}

function holderPath(socketPath: string): string {
  return `${socketPath}.holder`;
}
