import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

const sockets = new Set<Socket>();
/** Counts for closed sockets: their bytes, plus one for opening and one for closing each. */
let past = 0;

subscribe('net.client.socket', (message) => {
  follow((message as { socket: Socket }).socket);
});
subscribe('net.server.socket', (message) => {
  follow((message as { socket: Socket }).socket);
});

function follow(socket: Socket): void {
  sockets.add(socket);
  past += 1;
  socket.once('close', () => {
    sockets.delete(socket);
    past += 1 + bytesOf(socket);
  });
}

const bytesOf = (socket: Socket): number => socket.bytesRead + socket.bytesWritten;

/**
 * Returns a number that grows with each byte that a socket of this process reads or writes, and when sockets open and
 * close.
 */
export function socketActivity(): number {
  let activity = past;
  for (const socket of sockets) activity += bytesOf(socket) + (socket.connecting ? 0 : 1);
  return activity;
}
