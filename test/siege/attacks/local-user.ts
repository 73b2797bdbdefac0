import { join } from 'node:path';
import { managedPaths } from '../../../src/containerd/managed-paths.ts';
import { controlSocketPath } from '../../../src/server/control/socket-paths.ts';
import type { Attack } from '../attack.ts';

/** A local user without rights who tries the sockets and the files of the agent. */
export const localUser: Attack = {
  name: 'local-user',
  carryOn: async ({ agent: { rootDir }, peer, hit }) => {
    const { socket, configFile, logFile } = managedPaths(rootDir);
    const files = ['pods', 'manifests-last-good', 'state', 'state/history', 'images'].map((name) =>
      join(rootDir, name),
    );
    const opened: string[] = [];
    await peer('socket-knocker.mjs', {
      arguments: [controlSocketPath(rootDir), socket, `${socket}.ttrpc`, configFile, logFile, ...files],
      isUnprivileged: true,
      onLine: (line) => {
        if (line === 'round') hit();
        else opened.push(line);
      },
    });
    if (opened.length > 0) throw new Error(`a user without rights could ${[...new Set(opened)].join(', ')}`);
  },
};
