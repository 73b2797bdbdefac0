import { createClient, type MessageBus } from 'dbus-native';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A connection to the message bus of this machine. */
export interface SystemBus {
  bus: MessageBus;
  socket: Socket;
}

/** Longer than a working service takes to answer. */
const defaultCallTimeoutMs = 25_000;

/**
 * Connects to a message bus. Rejects with the socket's error if there is none. Each call, including the greeting,
 * rejects after `callTimeoutMs` without an answer, because a bus may stall. Variants arrive as plain values, 64-bit
 * numbers as bigint. If the connection fails, all pending calls reject. Aborting the signal closes the connection at
 * any time.
 */
export async function openSystemBus(
  socketPath: string,
  { signal, callTimeoutMs = defaultCallTimeoutMs }: { signal?: AbortSignal; callTimeoutMs?: number } = {},
): Promise<SystemBus> {
  const socket = connect({ path: socketPath, ...(signal !== undefined && { signal }) });
  await once(socket, 'connect');
  // The library's own greeting would throw an uncatchable error if the bus refused it.
  const bus = createClient({
    stream: socket,
    direct: true,
    plainValues: true,
    returnBigInt: true,
    timeout: callTimeoutMs,
  });
  bus.connection.on('error', () => undefined);
  try {
    bus.name = await bus.invokeDbus<string>({ member: 'Hello' });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return { bus, socket };
}
