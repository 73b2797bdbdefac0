import { expect, test } from 'vitest';
import type { Container } from '../../../src/api/types.ts';
import { getPodPhase } from '../../../src/engine/status/get-pod-phase.ts';
import { makeContainer } from '../../builders/pods.ts';

test('an init container that was removed to restart all containers does not make the pod fail', () => {
  const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [7] } };
  const init: Container = makeContainer({ name: 'init', restartPolicy: 'Never', restartPolicyRules: [rule] });
  const removed = { terminated: { exitCode: 137, reason: 'RestartingAllContainers' } };
  const status = { image: '', imageID: '', ready: false, restartCount: 1, lastState: {} };
  const waiting = { waiting: { reason: 'RestartingAllContainers' } };
  const statuses = [
    { ...status, name: 'init', state: waiting, lastState: removed },
    { ...status, name: 'web', state: { waiting: { reason: 'PodInitializing' } } },
  ];
  const spec = { restartPolicy: 'Always', initContainers: [init], containers: [makeContainer()] };
  expect(getPodPhase({ spec }, statuses, false, false)).toBe('Pending');
});
