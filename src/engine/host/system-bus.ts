import { createClient, type MessageBus } from 'dbus-native';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A connection to the message bus of this machine. */
export interface SystemBus {
  bus: MessageBus;
  socket: Socket;
}

/** Longer than any service takes that still answers. */
const defaultCallTimeoutMs = 25_000;

/**
 * Connects to a message bus; rejects with the error of the socket when there is none. A call, the greeting of the bus included,
 * rejects when it has no answer in `callTimeoutMs`: a bus may stall, and what waits for it must not for ever. Variants come as plain values, 64-bit
 * numbers as bigint. Errors of the connection reach the calls under way and its `close`. An abort ends it at any time.
 */
export async function openSystemBus(
  socketPath: string,
  { signal, callTimeoutMs = defaultCallTimeoutMs }: { signal?: AbortSignal; callTimeoutMs?: number } = {},
): Promise<SystemBus> {
  const socket = connect({ path: socketPath, ...(signal !== undefined && { signal }) });
  await once(socket, 'connect');
  // The library would greet the bus itself, and throw where nobody can catch it when that is refused.
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
