import { expect, test } from 'vitest';
import { PodRemains } from '../../../src/engine/gc/pod-remains.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

test('a pod whose manifest comes while the folders are read is no orphan', async () => {
  const warnings: unknown[] = [];
  const known = new Set<string>();
  const container = { id: 'c1', name: 'main', state: 'running' };
  const running = { uid: 'u1', namespace: 'default', name: 'web', sandboxes: [], containers: [container] };
  let orphans = 0;
  let cleanUp: Promise<unknown> = Promise.resolve();
  const remains = new PodRemains({
    listedPods: () => [running],
    podDirs: {
      podUIDs: () => {
        known.add('u1');
        return Promise.resolve(['u1']);
      },
    },
    isKnown: (uid: string) => known.has(uid),
    onOrphans: () => {
      orphans += 1;
    },
    runtimePods: { getPods: () => Promise.resolve([running]) },
    faults: {
      watch: (_name: string, work: Promise<unknown>) => {
        cleanUp = work;
      },
    },
    logger: { ...silentLogger, warn: (...words: unknown[]) => warnings.push(words) },
  } as unknown as ConstructorParameters<typeof PodRemains>[0]);
  remains.startOrphanCleanUp(() => false);
  await cleanUp;
  expect({ warnings, orphans }).toEqual({ warnings: [], orphans: 0 });
});
