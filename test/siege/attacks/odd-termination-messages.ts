import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makePod, shell } from '../../e2e/manifests.ts';
import type { Attack } from '../attack.ts';
import { besiegingPods, revised } from './besieging-pods.ts';
import { makeOddFiles } from './odd-files.ts';

/** What a pod mounts where its termination message is read. */
const mounted = ['fifo', 'socket', 'to-zero', 'sparse', 'noise'] as const;

/** Containers that end with a FIFO, a socket, a device or gigabytes where their termination message is read. */
export const oddTerminationMessages: Attack = {
  name: 'odd-messages',
  carryOn: async (siege) => {
    const folder = join(siege.folder, 'messages');
    await mkdir(folder);
    const close = await makeOddFiles(folder);
    const pods = mounted.map((name) => [
      `message-${name}`,
      (revision: number) =>
        makePod(`message-${name}`, {
          ...revised(revision),
          volumes: [{ name: 'odd', hostPath: { path: join(folder, name) } }],
          containers: [
            shell('main', 'echo last words; exit 1', {
              terminationMessagePath: '/message',
              terminationMessagePolicy: 'FallbackToLogsOnError',
              volumeMounts: [{ name: 'odd', mountPath: '/message' }],
            }),
          ],
        }),
    ]);
    await besiegingPods(siege, 7000, Object.fromEntries(pods) as Record<string, (revision: number) => object>);
    close();
  },
};
