import type { Socket } from 'node:net';
import { ChannelCredentials, credentials } from '@grpc/grpc-js';
import { systemClock } from '../clock.ts';
import { guardedSocket } from './guarded-socket.ts';

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/** If a server breaks an established connection, @grpc/grpc-js reconnects at once, 500 times a second. */
const betweenConnectionsMs = 1000;

/**
 * Unencrypted credentials for one channel to an untrusted server. They keep track of its connections, because
 * @grpc/grpc-js leaves a connection open if the server sends nothing on it, and leaves others to the server to close.
 */
export class OwnConnections extends ChannelCredentials {
  private readonly plain = credentials.createInsecure();
  private readonly sockets = new Set<Socket>();
  private hasEnded = false;
  private connectedAtMonotonic = -Infinity;
  private endRest: (() => void) | undefined;

  /** Closes all connections, including later ones. */
  end(): void {
    this.hasEnded = true;
    this.endRest?.();
    for (const socket of this.sockets) socket.destroy();
  }

  /** Resolves when the next connection may be opened. */
  private async rest(): Promise<void> {
    const restMs = this.connectedAtMonotonic + betweenConnectionsMs - systemClock.monotonic();
    if (restMs <= 0 || this.hasEnded) return;
    await new Promise<void>((resolve) => {
      const cancel = systemClock.after(restMs, resolve);
      this.endRest = () => {
        cancel();
        resolve();
      };
    });
  }

  override _isSecure(): boolean {
    return false;
  }

  /** Channels with equal credentials share connections. */
  override _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  override _createSecureConnector(...arguments_: Parameters<ChannelCredentials['_createSecureConnector']>) {
    const connector = this.plain._createSecureConnector(...arguments_);
    const waitForReady = async (): Promise<void> => {
      await this.rest();
      this.connectedAtMonotonic = systemClock.monotonic();
    };
    const connect: SecureConnector['connect'] = (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
      if (this.hasEnded) socket.destroy();
      // Node can read HTTP/2 from any stream. Only the type demands a socket.
      return connector.connect(guardedSocket(socket) as unknown as Socket);
    };
    return { ...connector, waitForReady, connect };
  }
}
