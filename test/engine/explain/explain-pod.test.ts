import { describe, expect, test } from 'vitest';
import { explainPod } from '../../../src/engine/explain/explain-pod.ts';
import type { Subject } from '../../../src/engine/explain/subject.ts';
import { makeAPIContainerStatus, makeContainer, makePod, NOW } from '../../builders/pods.ts';
import { node, worker as idle } from './explained-node.ts';

const finishedAt = new Date(NOW).toISOString();

test.each([
  ['with the end of the back-off of a crash', { exitCode: 1, reason: 'Error' }, 'back-off', 300_000],
  [
    'with the end of the back-off of a failed start',
    { exitCode: 128, reason: 'StartError', message: 'exec: "x": executable file not found in $PATH' },
    'start',
    300_000,
  ],
  ['with the sync after it, if that is later', { exitCode: 1, reason: 'Error' }, 'back-off', 5000],
])('the next try is %s, not with the next sync', (_what, terminated, stage, backOffMs) => {
  const status = makeAPIContainerStatus({
    restartCount: 9,
    state: { waiting: { reason: 'CrashLoopBackOff', message: 'a message' } },
    lastState: { terminated: { ...terminated, finishedAt } },
  });
  const pod = makePod({ status: { phase: 'Running', containerStatuses: [status] } });
  const worker = { ...idle, nextSyncAt: NOW + 10_000 };
  const backOffUntil = { web: NOW + backOffMs };
  const nextTryAt = NOW + Math.max(backOffMs, 10_000);
  expect(explainPod({ pod, worker, node, backOffUntil })).toMatchObject({ stage, nextTryAt });
});

describe('of several steps that fail, the earliest is the answer:', () => {
  const waiting = (name: string, reason: string) => makeAPIContainerStatus({ name, state: { waiting: { reason } } });
  const pod = makePod({
    spec: { containers: ['web', 'side'].map((name) => makeContainer({ name })) },
    status: {
      phase: 'Pending',
      containerStatuses: [waiting('web', 'CrashLoopBackOff'), waiting('side', 'ErrImagePull')],
    },
  });
  const silent = { ...node, runtime: { ...node.runtime, error: 'no answer' } };

  test.each<[what: string, subject: Omit<Subject, 'pod'>, answer: object]>([
    ['the image, not the back-off', { node, worker: idle }, { stage: 'image', container: 'side' }],
    [
      'the runtime, not the image',
      { node: silent, worker: idle },
      { stage: 'runtime', cause: 'the container runtime is not ready: no answer' },
    ],
    [
      'the agent, if none runs',
      {},
      { stage: 'agent', cause: 'no kubelet-ts runs on this root-dir: nothing starts or restarts the pod' },
    ],
  ])('%s', (_what, subject, answer) => {
    expect(explainPod({ pod, ...subject })).toMatchObject(answer);
  });
});

test('without an agent the evidence is the status of the pod that ps shows', () => {
  const status = makeAPIContainerStatus({ state: { terminated: { exitCode: 1, reason: 'Error', finishedAt } } });
  const pod = makePod({ status: { phase: 'Running', containerStatuses: [status] } });
  expect(explainPod({ pod }).evidence).toEqual([{ from: 'container runtime', text: 'its status is Error' }]);
});

test('a pod whose UID another pod has shows that, until one ends', () => {
  const message = 'UID 1 belongs to a pod of another kubelet; this pod starts when that one is removed';
  const rejection = { reason: 'PodUIDTaken', message, retryOn: 'podEnd' } as const;
  expect(explainPod({ pod: makePod(), node, worker: idle, rejection })).toMatchObject({
    stage: 'admission',
    cause: message,
    evidence: [{ from: 'admission', text: `PodUIDTaken: ${message}` }],
    nextTryWhen: 'a pod stops',
  });
});

test('a pod whose containers are about to end is stopping', () => {
  const pod = makePod({ spec: { terminationGracePeriodSeconds: 7 }, status: { phase: 'Running' } });
  expect(explainPod({ pod, node, worker: { ...idle, state: 'terminating' } })).toEqual({
    namespace: 'default',
    name: 'web-node1',
    stage: 'stopping',
    cause: 'its containers have up to 7s to stop',
    evidence: [],
    fixes: ['Wait for it: kubelet-ts wait web-node1 --for deleted'],
  });
});

test('a next try that waits for something has its event in place of a time', () => {
  const status = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory. ' };
  const explanation = explainPod({ pod: makePod({ status }), node, worker: { ...idle, state: 'finished' } });
  expect([explanation.nextTryAt, explanation.nextTryWhen]).toEqual([undefined, 'the node accepts pods again']);
});

test('a pod that waits for its turn in a rollout is held, not refused', () => {
  const message = 'the rollout of Deployment web is paused; revision 1 runs';
  const waitingUpdate = { reason: 'RollOut', message };
  const containerStatuses = [makeAPIContainerStatus({ ready: true, state: { running: { startedAt: finishedAt } } })];
  const pod = makePod({ status: { phase: 'Running', containerStatuses } });
  expect(explainPod({ pod, node, worker: idle, waitingUpdate })).toMatchObject({
    stage: 'held',
    cause: message,
    fixes: [
      'Find the pod that is not available yet: kubelet-ts get all',
      'If the rollout is paused: kubelet-ts rollout resume deploy/NAME',
    ],
  });
});
