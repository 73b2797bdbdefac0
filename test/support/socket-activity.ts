import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

const sockets = new Set<Socket>();
/** Of sockets that are closed: their bytes, and one for the beginning and the end of each. */
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

/** A number that grows with each byte that a socket of this process reads or writes, and as sockets come and go. */
export function socketActivity(): number {
  let activity = past;
  for (const socket of sockets) activity += bytesOf(socket) + (socket.connecting ? 0 : 1);
  return activity;
}
