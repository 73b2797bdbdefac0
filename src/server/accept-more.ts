import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer, type Server as SocketServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../errors.ts';
import type { Faults } from '../flow/faults.ts';

/**
 * Length of the queue of new connections. With a shorter queue, a flood keeps others out for seconds. The maximum of
 * Linux is 4096.
 */
export const backlog = 4096;
/** Connections that a turn of the event loop accepts in a flood, beside one. */
const maxMore = 63;
/** Time for the other process to return the socket, in milliseconds. */
const limitMs = 10_000;
/** Time for what it sent to be read after its end, in milliseconds. */
const lastMs = 1000;
/** Time until a failed try is repeated, in milliseconds. */
const retryMs = 60_000;

interface Deps {
  faults: Pick<Faults, 'note'>;
  /** The command line of this program. If it is absent, nothing changes in a flood. */
  program: readonly string[] | undefined;
  maxConnections: number;
  /** Milliseconds of a clock that only goes forward. */
  now?: () => number;
}

/**
 * Returns a function to be called in a flood of connections, or before one. Its first call duplicates the descriptor
 * of the socket, and returns a promise of that. Then each turn of the event loop accepts several connections: libuv
 * accepts one for each descriptor and turn (libuv: src/unix/stream.c uv__server_io). Node cannot duplicate a
 * descriptor. So a process gets the socket, returns it several times, and ends.
 */
export function acceptMore(server: Server, deps: Deps): () => Promise<void> | undefined {
  const { faults, program, maxConnections, now = () => performance.now() } = deps;
  // A request is read in the turn after its connection was accepted, which must still be open then.
  const count = Math.min(maxMore, Math.floor(maxConnections / 4));
  let nextTryAt = program === undefined || count === 0 ? Infinity : -Infinity;
  return () => {
    if (now() < nextTryAt) return undefined;
    nextTryAt = Infinity;
    return duplicate(server, program ?? [], count).catch((error: unknown) => {
      faults.note('server', error);
      nextTryAt = now() + retryMs;
    });
  };
}

async function duplicate(server: Server, [command = '', ...words]: readonly string[], count: number): Promise<void> {
  const child = spawn(command, [...words, 'return-socket', String(count)], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // Options for Node in our environment are not for this process.
    env: {},
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  // First, because without descriptors nothing is spawned, and only this listener gets the error.
  const ended = once(child, 'exit');
  // Each descriptor is closed with the server.
  server.setMaxListeners(server.getMaxListeners() + count);
  let missing = count;
  const all = new Promise<void>((resolve) => {
    child.on('message', (_message, more) => {
      // Node leaves out a socket for which no descriptor is left.
      if (more === undefined) return;
      adopt(server, more as RawSocket);
      missing -= 1;
      if (missing === 0) resolve();
    });
  });
  // Not the server itself: the process would accept connections until its end, and lose them.
  if (child.connected) child.send('socket', rawSocketOf(server), () => undefined);
  child.unref();
  child.channel?.unref();
  const [code, signal] = (await ended) as [number | null, string | null];
  if (code !== 0) throw new UserError(`the process that returns a flooded socket ended with ${String(signal ?? code)}`);
  await Promise.race([all, delay(lastMs, undefined, { ref: false })]);
  if (missing === count) throw new UserError('the process that returns a flooded socket returned none');
}

/** A socket as Node hands it to processes and servers. */
type RawSocket = SocketServer & { readonly raw: true };

/** Safe cast: Node sends the handle of a server too (node: lib/internal/child_process.js net.Native). */
const rawSocketOf = (server: Server): RawSocket => (server as unknown as { _handle: RawSocket })._handle;

/** Options of its connections that a server of Node keeps. The delay is in seconds (node: lib/net.js Server). */
interface SocketOptions {
  readonly noDelay: boolean;
  readonly keepAlive: boolean;
  readonly keepAliveInitialDelay: number;
}

/** Makes the connections of one more descriptor those of the server, until the server is closed. */
function adopt(server: Server, socket: RawSocket): void {
  const { noDelay, keepAlive, keepAliveInitialDelay } = server as Server & SocketOptions;
  const more = createServer({
    allowHalfOpen: true,
    noDelay,
    keepAlive,
    keepAliveInitialDelay: keepAliveInitialDelay * 1000,
  });
  const close = (): void => void more.close();
  more.on('error', (error) => server.emit('error', error));
  more.on('connection', (connection) => {
    if (server.listening) server.emit('connection', connection);
    else connection.destroy();
  });
  // The queue is that of the socket, so its length is set anew. For a Unix socket, Node makes another handle of the
  // descriptor, and this one stays idle.
  more.listen(socket, backlog);
  more.unref();
  if (server.listening) server.once('close', close);
  else close();
}
