import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Attack } from '../attack.ts';
import { makeOddFiles, oddFiles } from './odd-files.ts';
import { repeat } from './repeat.ts';

/** Things in images/ that are no archives, before the agent starts; others are given to `images load`. */
export const oddImageArchives: Attack = {
  name: 'odd-archives',
  prepare: async ({ agent, folder }) => {
    const images = join(agent.rootDir, 'images');
    (await makeOddFiles(images, '.tar'))();
    await mkdir(join(folder, 'archives'));
    (await makeOddFiles(join(folder, 'archives'), '.tar'))();
    await writeFile(join(folder, 'archives/bomb.tar.gz'), gzipSync(Buffer.alloc(100 * 1024 * 1024)));
    await truncate(join(images, 'sparse.tar'), 1024);
    return [];
  },
  carryOn: async (siege) => {
    const { agent, folder, random, signal } = siege;
    const files = [...oddFiles.filter((name) => name !== 'sparse').map((name) => `${name}.tar`), 'bomb.tar.gz'];
    await repeat(siege, 12_000, async () => {
      const load = agent.spawn(['images', 'load', join(folder, 'archives', random.pick(files))]);
      signal.addEventListener('abort', () => load.kill('SIGKILL'), { once: true });
      await load;
    });
  },
};
