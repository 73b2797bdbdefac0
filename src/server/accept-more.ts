import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Server as SocketServer } from 'node:net';
import type { Faults } from '../flow/faults.ts';

/** Connections that a turn of the event loop accepts in a flood, beside one. */
const maxMore = 31;
/** Time for the other process to return the socket, in milliseconds. */
const limitMs = 10_000;
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
 * Returns a function to be called in a flood of connections. From its first call on, each turn of the event loop
 * accepts several connections. The returned promise is that of a try. Otherwise every client waits a turn for each
 * connection of the flood, because libuv accepts one for each descriptor and turn (libuv: src/unix/stream.c
 * uv__server_io). Node cannot duplicate a descriptor. So a process gets the socket, returns it several times, and ends.
 */
export function acceptMore(server: Server, deps: Deps): () => Promise<void> | undefined {
  const { faults, program, maxConnections, now = () => performance.now() } = deps;
  // A request is read in the turn after its connection was accepted, which must still be open then.
  const count = Math.min(maxMore, Math.floor(maxConnections / 8));
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
  const all = new Promise<void>((resolve) => {
    let missing = count;
    child.on('message', (_message, more) => {
      adopt(server, more as SocketServer);
      missing -= 1;
      if (missing === 0) resolve();
    });
  });
  child.send('socket', server, () => undefined);
  child.unref();
  child.channel?.unref();
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (code !== 0) throw new Error(`the process that returns a flooded socket ended with ${String(signal ?? code)}`);
  await all;
}

/** Makes the connections of one socket those of the server, until the server is closed. */
function adopt(server: Server, more: SocketServer): void {
  const close = (): void => void more.close();
  more.unref();
  more.on('error', (error) => server.emit('error', error));
  more.on('connection', (socket) => {
    if (server.listening) server.emit('connection', socket);
    else socket.destroy();
  });
  if (server.listening) server.once('close', close);
  else close();
}
