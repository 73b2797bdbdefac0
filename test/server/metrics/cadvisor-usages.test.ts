import { expect, test } from 'vitest';
import type { ContainerStatus, Pod } from '../../../src/api/types.ts';
import type { MeasuredCgroup } from '../../../src/engine/stats/measured-cgroups.ts';
import type { Summary } from '../../../src/engine/stats/summary.ts';
import { usagesOf } from '../../../src/server/metrics/cadvisor-usages.ts';

const time = '2026-01-02T03:04:05.000Z';
const podRef = { name: 'web', namespace: 'default', uid: 'u' };

const statusOf = (name: string): ContainerStatus => ({
  name,
  image: `${name}:1`,
  imageID: '',
  ready: true,
  restartCount: 0,
  containerID: `containerd://id-${name}`,
});

/** A pod with a container of each kind, and one without a status. */
const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: { containers: [] },
  status: {
    initContainerStatuses: [statusOf('init')],
    containerStatuses: [statusOf('main')],
    ephemeralContainerStatuses: [statusOf('tools')],
  },
};

const summary: Summary = {
  node: { nodeName: 'edge1', startTime: time },
  pods: [
    {
      podRef,
      startTime: time,
      containers: ['init', 'main', 'tools', 'new'].map((name) => ({ name, startTime: time })),
    },
  ],
};

test('containers of each kind have their image and their ID as the name', () => {
  const usages = usagesOf(summary, [], [pod]).filter(({ labels }) => labels.container !== '');
  expect(usages.map(({ labels: { container, image, name } }) => [container, image, name])).toEqual([
    ['init', 'init:1', 'id-init'],
    ['main', 'main:1', 'id-main'],
    ['tools', 'tools:1', 'id-tools'],
    ['new', '', ''],
  ]);
});

test('the name is that of the measured container, also while the status has an earlier one or none', () => {
  const details = { cpu: {}, memory: { limitBytes: 0, swapLimitBytes: 0 }, devices: [] };
  const cgroups = ['main', 'new'].map((container): MeasuredCgroup => ({
    ...{
      of: 'container',
      path: `/${container}`,
      pod: podRef,
      container,
      runtimeID: `next-${container}`,
      time,
      details,
    },
  }));
  const usages = usagesOf(summary, cgroups, [pod]).filter(({ cgroup }) => cgroup !== undefined);
  expect(usages.map(({ labels: { container, image, name } }) => [container, image, name])).toEqual([
    ['main', 'main:1', 'next-main'],
    ['new', '', 'next-new'],
  ]);
});
