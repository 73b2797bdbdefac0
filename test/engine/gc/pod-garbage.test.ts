import { expect, test } from 'vitest';
import { PodGarbage } from '../../../src/engine/gc/pod-garbage.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

test('a cgroup of a removed pod that the runtime made late is removed, too', async () => {
  const clock = new FakeClock();
  const cgroups = new Set(['u1', 'u2']);
  const known = new Set<string>();
  let cleanUp: Promise<unknown> = Promise.resolve();
  const garbage = new PodGarbage({
    listedPods: () => [],
    podDirs: { podUIDs: () => Promise.resolve([]), removePodDir: () => Promise.resolve() },
    podRemover: { removePod: () => Promise.resolve() },
    podCgroups: {
      list: () => Promise.resolve([]),
      remove: (uid: string) => {
        cgroups.delete(uid);
        return Promise.resolve();
      },
    },
    foreignPods: { holderOf: () => undefined },
    unmountVolumes: () => Promise.resolve(),
    undeclaredRecords: { release: () => Promise.resolve() },
    runtimePods: { getPods: () => Promise.resolve([]) },
    isKnown: (uid: string) => known.has(uid),
    onPodRemoved: () => undefined,
    onPodChanged: () => undefined,
    faults: {
      watch: (_name: string, work: Promise<unknown>) => {
        cleanUp = work;
      },
    },
    clock,
    logger: silentLogger,
  } as unknown as ConstructorParameters<typeof PodGarbage>[0]);
  const afterCleanUp = async (): Promise<string[]> => {
    garbage.startOrphanCleanUp(() => false);
    await cleanUp;
    await garbage.settled();
    return [...cgroups];
  };
  await garbage.removeUnworked('u1');
  await garbage.removeUnworked('u2');
  cgroups.add('u1').add('u2').add('of another agent');
  known.add('u2');
  expect(await afterCleanUp()).toEqual(['u2', 'of another agent']);
  await clock.advance(120_001);
  cgroups.add('u1');
  expect(await afterCleanUp()).toEqual(['u2', 'of another agent', 'u1']);
});

test('a pod whose manifest comes while the folders are read is not an orphan', async () => {
  const warnings: unknown[] = [];
  const known = new Set<string>();
  const container = { id: 'c1', name: 'main', state: 'running' };
  const running = { uid: 'u1', namespace: 'default', name: 'web', sandboxes: [], containers: [container] };
  let orphans = 0;
  let cleanUp: Promise<unknown> = Promise.resolve();
  const garbage = new PodGarbage({
    listedPods: () => [running],
    podDirs: {
      podUIDs: () => {
        known.add('u1');
        return Promise.resolve(['u1']);
      },
    },
    podCgroups: { list: () => Promise.resolve([]) },
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
    clock: new FakeClock(),
    logger: { ...silentLogger, warn: (...words: unknown[]) => warnings.push(words) },
  } as unknown as ConstructorParameters<typeof PodGarbage>[0]);
  garbage.startOrphanCleanUp(() => false);
  await cleanUp;
  expect({ warnings, orphans }).toEqual({ warnings: [], orphans: 0 });
});
