import { expect, test } from 'vitest';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import { statsPods } from '../../../src/engine/stats/stats-pods.ts';

const container = (name: string, state: RuntimeContainerStatus['state'], id: string): RuntimeContainerStatus => ({
  ...{ id, name, state, createdAt: 5, startedAt: 6, finishedAt: 0, exitCode: 0, image: '', imageRef: '', hash: 0 },
  ...{ restartCount: 0, reason: '', message: '' },
});

function podStatus(name: string, parts: Partial<RuntimePodStatus>): RuntimePodStatus {
  return {
    uid: `uid-${name}`,
    name,
    namespace: 'default',
    ips: [],
    containerStatuses: [],
    sandboxStatuses: [],
    ...parts,
  };
}

const sandbox = (id: string, state: 'ready' | 'notready', networkMode: 'pod' | 'node' = 'pod') => ({
  ...{ id, attempt: 0, state, createdAt: 3, networkMode, ip: null },
});

test('pods with a ready sandbox or a running container are measured, and their running containers', () => {
  const containerStatuses = [
    container('b', 'running', 'b2'),
    container('b', 'exited', 'b1'),
    container('a', 'running', 'a1'),
  ];
  expect(
    statsPods([
      podStatus('web', { sandboxStatuses: [sandbox('s2', 'notready'), sandbox('s1', 'ready')], containerStatuses }),
      podStatus('done', {
        sandboxStatuses: [sandbox('s3', 'notready')],
        containerStatuses: [container('a', 'exited', 'a2')],
      }),
      podStatus('dns', { sandboxStatuses: [sandbox('s4', 'ready', 'node')] }),
      podStatus('gone', {}),
    ]),
  ).toEqual([
    {
      uid: 'uid-dns',
      name: 'dns',
      namespace: 'default',
      startedAt: 3,
      sandboxID: 's4',
      hasNetwork: false,
      containers: [],
    },
    {
      ...{ uid: 'uid-web', name: 'web', namespace: 'default', startedAt: 3, sandboxID: 's1', hasNetwork: true },
      containers: [
        { id: 'a1', name: 'a', startedAt: 6 },
        { id: 'b2', name: 'b', startedAt: 6 },
      ],
    },
  ]);
});
