import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Volume } from '../../src/api/types.ts';
import { ConfigObjects } from '../../src/engine/config-objects/config-objects.ts';
import { PathGuard } from '../../src/engine/host/path-guard.ts';
import { PodDirs } from '../../src/engine/host/pod-dirs.ts';
import { VolumeManager } from '../../src/engine/volumes/volume-manager.ts';
import { makeContainer, makePod } from '../builders/pods.ts';
import { makeClaim, makeVolume, makeVolumeClaims } from '../builders/storage-objects.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { hungMount } from '../support/hung-mount.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const claim: Omit<Volume, 'name'> = { persistentVolumeClaim: { claimName: 'data' } };

test.each<[kind: string, volume: (path: string) => Omit<Volume, 'name'>, problem: string]>([
  ['hostPath with a subPath', (path) => ({ hostPath: { path } }), 'volume "data" has a subPath'],
  ['local volume', () => claim, 'path "PATH" of the local volume cannot be checked'],
])('a %s on a file system that hangs fails in time, and other volumes are mounted', async (kind, volume, problem) => {
  const folder = await temporaryFolder();
  const path = join(folder, 'mounted');
  await mkdir(path);
  const mount = await hungMount(path);
  onTestFinished(() => mount.release());
  const podDirs = new PodDirs({ rootDir: folder });
  const objects = new ConfigObjects();
  objects.replace('test', [
    makeClaim('data', { volumeName: 'disk' }),
    makeVolume('disk', { source: { local: { path } } }),
  ]);
  const clock = new FakeClock();
  const manager = new VolumeManager({
    paths: new PathGuard({ maxHung: 1, clock }),
    podDirs,
    configObjects: objects,
    allocatable: {},
    clock: new FakeClock(),
    claims: makeVolumeClaims(podDirs, folder, objects),
  });
  const container = makeContainer({
    volumeMounts: [
      { name: 'data', mountPath: '/data', ...(kind.includes('subPath') && { subPath: 'part' }) },
      { name: 'scratch', mountPath: '/scratch' },
    ],
  });
  const volumes = [
    { name: 'data', ...volume(path) },
    { name: 'scratch', emptyDir: {} },
  ];
  const pod = makePod({ spec: { containers: [container], volumes } });
  const tryMount = async (): Promise<object> => {
    const { mounted, failures } = await manager.mountPodVolumes(pod);
    return { mounted: [...mounted.keys()], failures: [...failures.values()].map(({ message }) => message) };
  };
  const failed = {
    mounted: ['scratch'],
    failures: [`${problem.replace('PATH', path)}: its file system does not answer`],
  };
  const first = tryMount();
  while (clock.pending === 0) await new Promise(setImmediate);
  await clock.advance(5000);
  // The second answer needs no time.
  expect([await first, await tryMount()]).toEqual([failed, failed]);
});
