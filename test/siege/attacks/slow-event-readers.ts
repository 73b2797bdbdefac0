import { connect, type Socket } from 'node:net';
import { controlSocketPath } from '../../../src/server/control/socket-paths.ts';
import type { Attack } from '../attack.ts';
import { repeat } from './repeat.ts';

const readers = 50;
const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

/** Readers of the control socket that never read: of its events, and of snapshot after snapshot. */
export const slowEventReaders: Attack = {
  name: 'slow-event-readers',
  carryOn: async (siege) => {
    let sockets: Socket[] = [];
    const drop = (): void => {
      for (const socket of sockets) socket.destroy();
    };
    await repeat(siege, 10_000, () => {
      drop();
      sockets = Array.from({ length: readers }, (_, index) => {
        const socket = connect(controlSocketPath(siege.agent.rootDir));
        socket.on('error', () => undefined);
        socket.pause();
        // A quarter asks for one snapshot after the other over one connection, and takes none of them.
        socket.write(index % 4 === 0 ? request('/v1/snapshot').repeat(20) : request('/v1/events'));
        return socket;
      });
      return Promise.resolve();
    });
    drop();
  },
};
