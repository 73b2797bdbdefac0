import { expect, test } from 'vitest';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { computeShutdownGroups } from '../../../src/engine/lifecycle/node-shutdown-groups.ts';

const settings = { shutdownGracePeriodSeconds: 30, shutdownGracePeriodCriticalPodsSeconds: 10, byPodPriority: [] };
const web = makeStaticPod('web');
const etcd = makeStaticPod('etcd', { spec: { priority: 2_000_001_000 } });

test.each([
  ['all of their time', undefined, [20, 10]],
  ['not more than their time', 60, [20, 10]],
  ['their part of the time there is', 6, [4, 2]],
])('groups of pods have %s', (_what, withinSeconds, [others, critical]) => {
  expect(computeShutdownGroups([etcd, web], settings, withinSeconds)).toEqual([
    { priority: 0, seconds: others, pods: [web] },
    { priority: 2_000_000_000, seconds: critical, pods: [etcd] },
  ]);
});
