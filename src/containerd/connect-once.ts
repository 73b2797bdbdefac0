import { connect } from 'node:net';

/** Resolves when a connection to the socket is made, which is closed again. */
export function connectOnce(socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath, () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
