import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import type { Attack } from '../attack.ts';
import { makeOddFiles } from './odd-files.ts';

const fifos = 3000;

/** Sockets of plugins that say nothing, nonsense or without end, and files with their names that are no sockets. */
export const pluginSockets: Attack = {
  name: 'plugin-sockets',
  carryOn: async ({ agent, peer, hit }) => {
    const folder = join(agent.rootDir, 'plugins_registry/siege');
    await mkdir(join(folder, 'sockets'), { recursive: true });
    await mkdir(join(folder, 'files'));
    const close = await makeOddFiles(folder, '.sock');
    try {
      const names = Array.from({ length: fifos }, (_, index) => `fifo-${index}.sock`);
      await execa('mkfifo', names, { cwd: join(folder, 'files') });
      await peer('plugin-sockets.mjs', { arguments: [join(folder, 'sockets')], onLine: hit });
    } finally {
      close();
      await rm(folder, { recursive: true });
    }
  },
};
