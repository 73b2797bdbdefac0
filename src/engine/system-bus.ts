import { createClient, type MessageBus } from 'dbus-native';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A connection to the message bus of this machine. */
export interface SystemBus {
  bus: MessageBus;
  socket: Socket;
}

/**
 * Connects to a message bus; rejects with the error of the socket when there is none. Variants come as plain values, 64-bit
 * numbers as bigint. Errors of the connection reach the calls under way and its `close`. An abort ends it at any time.
 */
export async function openSystemBus(socketPath: string, signal?: AbortSignal): Promise<SystemBus> {
  const socket = connect({ path: socketPath, ...(signal !== undefined && { signal }) });
  await once(socket, 'connect');
  const bus = createClient({ stream: socket, plainValues: true, returnBigInt: true });
  bus.connection.on('error', () => undefined);
  return { bus, socket };
}
