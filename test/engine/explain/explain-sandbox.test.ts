import { expect, test } from 'vitest';
import { explainPod } from '../../../src/engine/explain/explain-pod.ts';
import { reasons } from '../../../src/engine/view/reasons.ts';
import { makePod, NOW } from '../../builders/pods.ts';

const runtime = { endpoint: 'unix:///c.sock', chosenBecause: '', name: 'containerd', version: '1' };

function waysOf(more: object, reason: string, message: string): string[] {
  return explainPod({
    pod: makePod({ status: { phase: 'Pending' } }),
    worker: { working: false, pending: false, state: 'sync', lastSyncError: message },
    node: { runtime: { ...runtime, ...more }, pressures: [], sources: [], pods: [] },
    history: [
      { kind: 'event', podUID: '', eventType: 'Warning', reason, message, count: 1, firstAt: NOW, lastAt: NOW },
    ],
  }).ways;
}

const hostNetwork = 'Or set hostNetwork: true for a pod that may use the network of this machine.';
const withoutName = 'Or use the managed containerd, which has a network: kubelet-ts down, then start kubelet-ts again';

test.each([
  [
    'a runtime that the user named',
    { named: true, networkCommands: ['apt-get install plugins', 'kubelet-ts images pull pause'] },
    [
      'Make the runtime ready for pods: apt-get install plugins',
      'Make the runtime ready for pods: kubelet-ts images pull pause',
      `${withoutName} without --container-runtime-endpoint and $CONTAINER_RUNTIME_ENDPOINT.`,
    ],
  ],
  [
    'a runtime that was found',
    { named: false, networkCommands: ['apt-get install plugins'] },
    ['Make the runtime ready for pods: apt-get install plugins', `${withoutName}.`],
  ],
  [
    'the managed containerd',
    { managed: true, networkCommands: ['apt-get install plugins'] },
    [
      'Install the CNI plugins: apt-get install containernetworking-plugins',
      'Then restart the managed containerd: kubelet-ts down --all, and start kubelet-ts again.',
    ],
  ],
])('without a network, the ways fit %s', (_what, more, ways) => {
  const message = 'network is not ready: NetworkPluginNotReady: cni plugin not initialized';
  expect(waysOf(more, reasons.networkNotReady, message)).toEqual([...ways, hostNetwork]);
});

test('a pause image that cannot be pulled is named', () => {
  const message = 'failed to get sandbox image "registry.k8s.io/pause:3.6": failed to pull image';
  expect(waysOf({}, reasons.failedCreatePodSandBox, message)).toEqual([
    'Pull it: kubelet-ts images pull registry.k8s.io/pause:3.6',
    'Correct sandbox_image in the configuration of the container runtime, or load the image into it.',
  ]);
});
