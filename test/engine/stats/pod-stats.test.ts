import { expect, test } from 'vitest';
import { podStats } from '../../../src/engine/stats/pod-stats.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';

const time = '2025-01-01T00:00:00.000Z';
const unread = { time, cgroup: undefined, usageNanoCores: undefined, isIdle: false };
const web = {
  ...{ uid: 'u1', name: 'web-edge1', namespace: 'default', startedAt: 0, sandboxID: 's1', hasNetwork: false },
  containers: [],
};

test('storage has the writable layers and logs of containers, but no volume in memory', () => {
  const [layer, logs] = [
    { time, usedBytes: 10, inodesUsed: 1 },
    { time, usedBytes: 20, inodesUsed: 2 },
  ];
  const inMemory = { name: 'fast', emptyDir: { medium: 'Memory' } } as const;
  const pod = makeStaticPod('web', { uid: 'u1', spec: { containers: [], volumes: [inMemory] } });
  const containers = ['a', 'b'].map((name) => ({ name, startTime: time, rootfs: layer, logs }));
  const stats = podStats(web, containers, unread, {
    ...{ runtime: undefined, network: undefined, pod, rootFs: undefined, driverVolumes: [] },
    disk: {
      logs: new Map(),
      terminationLogs: new Map(),
      volumes: [{ name: 'fast', time, usedBytes: 500, inodesUsed: 5 }],
    },
  });
  expect(stats['ephemeral-storage']).toEqual({ time, usedBytes: 60, inodesUsed: 6 });
});

test('volumes of drivers and claims are listed, and the hosts file counts with what is on the disk of the node', () => {
  const pod = makeStaticPod('web', { uid: 'u1', spec: { containers: [], volumes: [{ name: 'cache', emptyDir: {} }] } });
  const onDisk = { name: 'cache', time, usedBytes: 100, inodesUsed: 10 };
  const ofDriver = { name: 'data', time, usedBytes: 5, pvcRef: { name: 'data', namespace: 'default' } };
  const stats = podStats(web, [], unread, {
    ...{ runtime: undefined, network: undefined, pod, rootFs: undefined },
    disk: {
      logs: new Map(),
      terminationLogs: new Map(),
      volumes: [onDisk],
      hostsFile: { time, usedBytes: 4096, inodesUsed: 1 },
    },
    driverVolumes: [ofDriver],
  });
  expect(stats).toEqual({
    podRef: { name: 'web-edge1', namespace: 'default', uid: 'u1' },
    startTime: '1970-01-01T00:00:00.000Z',
    containers: [],
    volume: [ofDriver, onDisk],
    'ephemeral-storage': { time, usedBytes: 4196, inodesUsed: 11 },
  });
});
