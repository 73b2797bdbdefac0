import { once } from 'node:events';
import { chmod, rename, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { UserError } from '../errors.ts';
import type { Faults } from '../flow/faults.ts';
import { makeFolder } from '../files/make-folder.ts';
import { maxSocketPathBytes } from '../files/max-socket-path-bytes.ts';
import type { GrpcService } from './grpc-server.ts';

interface UnixGrpcServer {
  close(): void;
}

interface Deps {
  services: readonly GrpcService[];
  faults: Pick<Faults, 'record'>;
  /** Time until a connection without a call is closed, in milliseconds. */
  idleMs?: number;
}

/** Limits the connections of all clients together. A new one replaces the one that has been idle the longest. */
const maxConnections = 64;

/**
 * Serves gRPC on a socket that only its owner may open. The server is loaded at the first connection, so a socket
 * without clients costs nothing. Replaces an older socket at once. Rejects with the system error.
 */
export async function serveUnixGrpc(path: string, { services, faults, idleMs }: Deps): Promise<UnixGrpcServer> {
  const sockets = new IdleClients<Socket>();
  let server: Promise<{ serve: (socket: Socket) => void; close: () => void }> | undefined;
  const listener = createServer((socket) => {
    // Runs before the new client is added, which has not sent anything yet.
    if (sockets.size >= maxConnections) sockets.evictLongestSilent()?.destroy();
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
    });
    // A client that resets its connection is not our fault.
    socket.on('error', () => socket.destroy());
    server ??= import('./grpc-server.ts').then(({ grpcServer }) => grpcServer(services, { idleMs }));
    server.then(
      ({ serve }) => {
        if (!socket.destroyed) serve(socket);
      },
      (error: unknown) => {
        server = undefined;
        socket.destroy();
        faults.record('plugin sockets', error);
      },
    );
  });
  const made = `${path}.new`;
  if (Buffer.byteLength(made) > maxSocketPathBytes)
    throw new UserError(`the path of the socket is too long: ${path}`, { hint: 'Choose a shorter --root-dir.' });
  await makeFolder(dirname(path), 0o750);
  await rm(made, { force: true });
  listener.listen(made);
  await once(listener, 'listening');
  listener.on('error', (error) => {
    faults.record('plugin sockets', error);
  });
  listener.unref();
  try {
    await chmod(made, 0o600);
    await rename(made, path);
  } catch (error) {
    // Otherwise each new attempt would leave another listener.
    listener.close();
    throw error;
  }
  return {
    close: () => {
      listener.close();
      for (let socket = sockets.evictLongestSilent(); socket !== undefined; socket = sockets.evictLongestSilent())
        socket.destroy();
      void server?.then(({ close }) => {
        close();
      });
    },
  };
}

/**
 * Tracks how long the clients of a server have been idle. Every eviction checks all of them, so use it for a few dozen
 * at most.
 */
export class IdleClients<Client extends Pick<Socket, 'bytesRead'>> {
  /** Bytes that each client had sent at the last check, longest idle first. */
  private readonly bytes = new Map<Client, number>();

  get size(): number {
    return this.bytes.size;
  }

  add(client: Client): void {
    this.bytes.set(client, client.bytesRead);
  }

  delete(client: Client): void {
    this.bytes.delete(client);
  }

  /** Removes and returns the client that has been idle the longest. */
  evictLongestSilent(): Client | undefined {
    for (const [client, bytes] of [...this.bytes]) {
      if (client.bytesRead === bytes) continue;
      this.bytes.delete(client);
      this.bytes.set(client, client.bytesRead);
    }
    const [first] = this.bytes.keys();
    if (first !== undefined) this.bytes.delete(first);
    return first;
  }
}
