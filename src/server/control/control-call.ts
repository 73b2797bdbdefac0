import { StringDecoder } from 'node:string_decoder';
import { hasCode, UserError } from '../../errors.ts';
import { needsRoot } from '../../process/needs-root.ts';
import { refuseForeignSocket } from '../../files/own-paths.ts';
import { type ProcessIdentity, ProgressWatch } from '../../process/process-identity.ts';
import { AgentSilentError, AgentStartingError } from './agent-errors.ts';
import { readAgentProcess } from './agent-process.ts';
import { Exchange, type Request } from './exchange.ts';

/** Time limits for an agent, in milliseconds. */
export interface Timings {
  /** For its identity. An agent that takes longer is stuck, whatever else it does. */
  answerMs: number;
  /** Until its identity is asked for while it works on an answer. */
  pingAfterMs: number;
  /** For the whole body, from its first byte. */
  bodyMs: number;
  /** For an agent that works but does not answer, if the caller is patient. */
  busyMs: number;
}

const defaultTimings: Timings = { answerMs: 2000, pingAfterMs: 500, bodyMs: 10_000, busyMs: 60_000 };
/** More than a snapshot of 10,000 pods. */
export const defaultMaxBodyBytes = 256 * 1024 * 1024;
/** More than an event with the longest message. */
const defaultMaxLineLength = 4 * 1024 * 1024;

export interface Call extends Omit<Request, 'clientName'> {
  /**
   * Makes the caller patient: it waits while the agent is too busy to answer. Called at each check that finds it busy.
   */
  onBusy?: ((agent: ProcessIdentity) => void) | undefined;
  timings?: Timings;
  maxBodyBytes?: number;
  maxLineLength?: number;
}

/**
 * Sends a request to the agent behind a socket. Resolves to the body. Resolves to undefined if no agent runs. Waits as
 * long as the agent works on the answer. Rejects with an `AgentSilentError` if the agent is stuck or its answer is
 * incomplete, and with a `UserError` if the agent refuses or another user may listen on the socket.
 */
export async function call(asked: Call): Promise<string | undefined> {
  const exchange = startTrusted(asked);
  try {
    return await whileAgentResponds(asked, exchange, async () => {
      const status = await statusOf(asked, exchange);
      return status === undefined ? undefined : await answered(asked, status, exchange);
    });
  } finally {
    exchange.destroy();
  }
}

/**
 * Yields the lines of an endless answer, until the agent exits or the signal is aborted. Yields none if no agent runs.
 * Rejects like `call`.
 */
export async function* stream(asked: Call, signal: AbortSignal): AsyncGenerator<string, void> {
  const exchange = startTrusted(asked);
  const abort = (): void => {
    exchange.destroy(signal.reason as Error);
  };
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    const status = await whileAgentResponds(asked, exchange, () => statusOf(asked, exchange));
    if (status === undefined) return;
    if (status === 200) yield* linesOf(asked, exchange);
    else await answered(asked, status, exchange);
  } catch (error) {
    if (!signal.aborted && !isConnectionLost(error)) throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    exchange.destroy();
  }
}

/** Resolves when the agent that serves this socket has exited; at once if none runs. */
export async function untilExited(asked: Call): Promise<void> {
  const exchange = startTrusted(asked);
  try {
    await whileAgentResponds(asked, exchange, async () => {
      if ((await statusOf(asked, exchange)) !== undefined) await untilClosed(exchange);
    });
  } finally {
    exchange.destroy();
  }
}

async function untilClosed(exchange: Exchange): Promise<void> {
  const parts = exchange.body();
  try {
    while ((await parts.next()).done !== true);
  } catch (error) {
    // Only the agent is of interest, not its answer.
    if (error instanceof UserError) throw error;
  }
}

/** Throws a `UserError` if another user may listen on the socket: requests contain secrets, and answers are trusted. */
function startTrusted(asked: Call): Exchange {
  refuseForeignSocket(asked.socketPath);
  return start(asked);
}

function start({ socketPath, method, path, body }: Call): Exchange {
  return new Exchange({ socketPath, method, path, body, clientName: clientName() });
}

/** Runs `work` while the agent keeps answering identity requests. Aborts the exchange if the agent is stuck. */
async function whileAgentResponds<T>(asked: Call, exchange: Exchange, work: () => Promise<T>): Promise<T> {
  const watch = new AgentWatch(asked, (error) => {
    exchange.destroy(error);
  });
  try {
    return await work();
  } finally {
    watch.stop();
  }
}

/** Polls the agent for its identity. Reports when it is stuck. */
class AgentWatch {
  private readonly timings: Timings;
  private timer: NodeJS.Timeout;
  private ping: Exchange | undefined;
  private isOver = false;
  private progress: ProgressWatch | undefined;
  private busySinceMs: number | undefined;

  constructor(
    private readonly asked: Call,
    private readonly onSilent: (error: Error) => void,
  ) {
    this.timings = asked.timings ?? defaultTimings;
    this.timer = this.later();
  }

  stop(): void {
    this.isOver = true;
    clearTimeout(this.timer);
    this.ping?.destroy();
  }

  /** A method, because the compiler does not know that it changes during a wait. */
  private stopped(): boolean {
    return this.isOver;
  }

  private later(): NodeJS.Timeout {
    return setTimeout(() => void this.check(), this.timings.pingAfterMs).unref();
  }

  private async check(): Promise<void> {
    const { socketPath } = this.asked;
    const agent = await readAgentProcess(socketPath);
    this.progress ??= agent && new ProgressWatch(agent);
    await this.progress?.hasProgressed();
    if (this.stopped()) return;
    const ping = start({ socketPath, method: 'GET', path: '/v1/agent' });
    this.ping = ping;
    const late = new Error('no answer in time');
    // On a busy machine this process may be late, not the agent: an answer that has arrived is read first.
    const giveUp = (): void =>
      void setImmediate(() => {
        ping.destroy(late);
      });
    this.timer = setTimeout(giveUp, this.timings.answerMs - this.timings.pingAfterMs);
    try {
      const status = await statusOf({ socketPath }, ping);
      // If the agent has exited, the connection of the work is closed too.
      this.busySinceMs = undefined;
      if (!this.isOver && status !== undefined) this.timer = this.later();
    } catch (error) {
      if (this.isOver) return;
      if (error !== late) this.onSilent(error as Error);
      else await this.late(agent);
    } finally {
      ping.destroy();
    }
  }

  /** The agent has not sent its identity. It may be stuck, or busy on a busy machine. */
  private async late(agent: ProcessIdentity | undefined): Promise<void> {
    const { socketPath, onBusy } = this.asked;
    const isBusy = (await this.progress?.hasProgressed()) === true;
    const now = performance.now();
    this.busySinceMs ??= now;
    if (this.isOver) return;
    if (!isBusy || agent === undefined || onBusy === undefined || now - this.busySinceMs > this.timings.busyMs) {
      this.onSilent(await AgentSilentError.of(socketPath, { isBusy }));
      return;
    }
    onBusy(agent);
    this.timer = this.later();
  }
}

/**
 * The status of an answer. Returns undefined if there is no agent: no socket, or one that a killed agent left. Rejects
 * with the error that ended the exchange.
 */
async function statusOf({ socketPath }: Pick<Call, 'socketPath'>, exchange: Exchange): Promise<number | undefined> {
  try {
    return await exchange.status();
  } catch (error) {
    if (error === exchange.reason) throw error;
    if (isConnectionLost(error) || hasCode(error, 'ENOENT', 'ENOTDIR', 'ECONNREFUSED')) return undefined;
    if (hasCode(error, 'EACCES', 'EPERM')) throw needsRoot(socketPath, error);
    // EAGAIN means that the kernel's queue of connections is full. Any other error is an invalid answer.
    throw await AgentSilentError.of(socketPath, hasCode(error, 'EAGAIN') ? {} : { what: 'sends an invalid answer' });
  }
}

async function answered(asked: Call, status: number, exchange: Exchange): Promise<string | undefined> {
  const body = await wholeBody(asked, exchange);
  if (status === 200 || body === undefined) return body;
  if (status === 202) throw new AgentStartingError(body.trim());
  if (status === 503) {
    throw new UserError(`kubelet-ts waits for its runtime: ${body.trim()}`, { hint: 'Start the runtime.' });
  }
  if (status >= 400 && status < 500) throw refusalOf(body);
  throw await AgentSilentError.of(asked.socketPath, { what: `answers with status ${status}` });
}

/** The refusal in an answer: a sentence, and its hint on a second line. */
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

/** Returns undefined if the agent exited before the body was complete. */
async function wholeBody(
  { socketPath, timings = defaultTimings, maxBodyBytes = defaultMaxBodyBytes, onBusy }: Call,
  exchange: Exchange,
): Promise<string | undefined> {
  const limit = setTimeout(
    () => {
      exchange.destroy(new Error('the answer took too long'));
    },
    onBusy === undefined ? timings.bodyMs : timings.busyMs,
  );
  // Limits the time of each part and of the whole body.
  exchange.setTimeout(onBusy === undefined ? timings.answerMs : timings.bodyMs);
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of exchange.body()) {
      bytes += part.length;
      if (bytes > maxBodyBytes) throw await AgentSilentError.of(socketPath, { what: 'sends an endless answer' });
      parts.push(part);
    }
    return Buffer.concat(parts).toString('utf8');
  } catch (error) {
    if (error instanceof UserError) throw error;
    if (isConnectionLost(error)) return undefined;
    throw await AgentSilentError.of(socketPath, { what: 'sent an incomplete answer' });
  } finally {
    clearTimeout(limit);
  }
}

async function* linesOf(
  { maxLineLength = defaultMaxLineLength }: Call,
  exchange: Exchange,
): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8');
  let parts: string[] = [];
  let length = 0;
  for await (const part of exchange.body()) {
    const [first = '', ...others] = decoder.write(part).split('\n');
    parts.push(first);
    length += first.length;
    const rest = others.pop();
    if (rest !== undefined) {
      // Joined once, because a long line arrives in many parts.
      yield parts.join('');
      yield* others;
      parts = [rest];
      length = rest.length;
    }
    if (length > maxLineLength) throw new UserError('kubelet-ts sent a line that is too long');
  }
}

/** True if the agent exited during the request or the answer. */
function isConnectionLost(error: unknown): boolean {
  return hasCode(error, 'ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE');
}
