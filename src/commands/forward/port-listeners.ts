import { type AddressInfo, createServer, isIP, type Server, type Socket } from 'node:net';
import { forwardSocket } from '../../cri/streaming/forward-socket.ts';
import type { StreamConnection } from '../../cri/streaming/stream-connection.ts';
import { errorMessage, hasCode, UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';

/** Maximum connections of one port. More are closed at once. */
const maxConnections = 512;

interface Deps {
  open: (port: number, signal: AbortSignal) => Promise<StreamConnection>;
  /** Prints a line about the progress. */
  print: (text: string) => void;
  /** Prints a line about a failure. The text is safe for a terminal. */
  warn: (text: string) => void;
}

export interface Listening {
  /** Local ports in the order of `ports`. */
  localPorts: number[];
  close(): void;
}

/**
 * Listens on this machine and forwards each connection to a port of the pod. Rejects with a `UserError` if a port
 * cannot be listened on. kubectl: client-go tools/portforward listenOnPort
 */
export async function listenOnPorts(
  deps: Deps,
  addresses: readonly string[],
  ports: readonly { local: number; remote: number }[],
): Promise<Listening> {
  const ended = new AbortController();
  const localPorts: number[] = [];
  const close = (): void => {
    ended.abort(new Error('port forwarding has stopped'));
  };
  try {
    for (const port of ports) localPorts.push(await listenOnPort(deps, addresses, port, ended.signal));
  } catch (error) {
    close();
    throw error;
  }
  return { localPorts, close };
}

/** Returns the local port. All addresses get the same one. */
async function listenOnPort(
  deps: Deps,
  addresses: readonly string[],
  { local, remote }: { local: number; remote: number },
  ended: AbortSignal,
): Promise<number> {
  let localPort = local;
  let isOpen = false;
  let unavailable: unknown;
  for (const { address, isOptional } of addresses.flatMap(hostsOf)) {
    try {
      const server = await listen(address, localPort, ended);
      localPort = (server.address() as AddressInfo).port;
      serve(deps, server, { local: localPort, remote }, ended);
      isOpen = true;
      deps.print(`Forwarding from ${isIP(address) === 6 ? `[${address}]` : address}:${localPort} -> ${remote}`);
    } catch (error) {
      if (!isOptional || !hasCode(error, 'EADDRNOTAVAIL', 'EAFNOSUPPORT')) throw listenFailure(error, local);
      unavailable = error;
    }
  }
  if (!isOpen) throw listenFailure(unavailable, local);
  return localPort;
}

/** `localhost` stands for both families; one of them is enough. */
function hostsOf(address: string): { address: string; isOptional: boolean }[] {
  if (address !== 'localhost') return [{ address, isOptional: false }];
  return ['127.0.0.1', '::1'].map((each) => ({ address: each, isOptional: true }));
}

function listen(host: string, port: number, ended: AbortSignal): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
    server.maxConnections = maxConnections;
    server.once('error', reject);
    server.listen({ host, port, signal: ended }, () => {
      server.off('error', reject);
      resolve(server);
    });
  });
}

function listenFailure(error: unknown, port: number): UserError {
  const hint = hasCode(error, 'EADDRINUSE')
    ? 'Give another local port, such as 18080:80, or :80 for any free one.'
    : 'Addresses of --address are IP addresses of this machine, or localhost.';
  return new UserError(`unable to listen on port ${port}: ${errorMessage(error)}`, { hint, cause: error });
}

function serve(deps: Deps, server: Server, ports: { local: number; remote: number }, ended: AbortSignal): void {
  server.on('error', (error) => {
    deps.warn(visible(`accepting a connection to ${ports.local}: ${errorMessage(error)}`));
  });
  server.on('connection', (socket) => {
    deps.print(`Handling connection for ${ports.local}`);
    forward(deps, socket, ports.remote, ended).catch((error: unknown) => {
      socket.resetAndDestroy();
      if (ended.aborted || isOfClient(error)) return;
      deps.warn(visible(`an error occurred forwarding ${ports.local} -> ${ports.remote}: ${errorMessage(error)}`));
    });
  });
}

async function forward({ open }: Deps, socket: Socket, port: number, ended: AbortSignal): Promise<void> {
  // `forwardSocket` handles an error that happens before it starts.
  socket.on('error', () => undefined);
  const connection = await open(port, ended);
  const close = (): void => {
    connection.close();
  };
  ended.addEventListener('abort', close, { once: true });
  try {
    await forwardSocket(socket, connection);
  } finally {
    ended.removeEventListener('abort', close);
  }
}

/** True if the local program closed the connection, which is no fault. */
function isOfClient(error: unknown): boolean {
  return hasCode(error, 'ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED');
}
