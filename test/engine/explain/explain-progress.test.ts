import { describe, expect, test } from 'vitest';
import type { Container, ContainerStatus, PodStatus } from '../../../src/api/types.ts';
import { explainPod } from '../../../src/engine/explain/explain-pod.ts';
import type { Subject } from '../../../src/engine/explain/subject.ts';
import { makeAPIContainerStatus, makeContainer, makePod, NOW } from '../../builders/pods.ts';
import { node, worker } from './explained-node.ts';

const startedAt = new Date(NOW).toISOString();
const running = { running: { startedAt } };
const waiting = (reason: string, message?: string) => ({ waiting: { reason, ...(message && { message }) } });
const ended = (exitCode: number) => ({
  terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt: startedAt },
});
const initializing = waiting('PodInitializing');
const probe = { exec: { command: ['true'] } };
const postStart = { postStart: { exec: { command: ['true'] } } };

const ref = { uid: 'u', namespace: 'default', name: 'web-node1' };

type Given = [container: Partial<Container> & { name: string }, status?: Partial<ContainerStatus>];

function explained(inits: Given[], apps: Given[], subject: Partial<Subject> = {}): object {
  const statuses = (given: Given[]): ContainerStatus[] =>
    given.flatMap(([{ name }, status]) => (status === undefined ? [] : makeAPIContainerStatus({ name, ...status })));
  const status: PodStatus = {
    phase: 'Pending',
    initContainerStatuses: statuses(inits),
    containerStatuses: statuses(apps),
  };
  const pod = makePod({
    spec: {
      initContainers: inits.map(([container]) => makeContainer(container)),
      containers: apps.map(([container]) => makeContainer(container)),
    },
    status,
  });
  const { stage, container, cause, evidence, fixes } = explainPod({ pod, worker, node, ...subject });
  return { stage, container, cause, evidence, fixes };
}

const start = { from: 'container wait', at: NOW, text: 'started' };
const readOutput = (name: string): string => `Read its output: kubelet-ts logs web-node1 -c ${name}`;
const app: Given = [{ name: 'app' }, { state: initializing }];
const setup: Given = [{ name: 'setup' }, { state: ended(0) }];
const wait: Given = [{ name: 'wait' }, { state: running }];

describe('the container that runs now explains why the others wait:', () => {
  test.each<[what: string, inits: Given[], apps: Given[], subject: Partial<Subject>, expected: object]>([
    [
      'an init container',
      [setup, wait, [{ name: 'later' }, { state: initializing }]],
      [app],
      {},
      {
        stage: 'start',
        container: 'wait',
        cause: 'wait: init container 2 of 3 is still running; later starts after it',
        evidence: [start],
        fixes: [readOutput('wait')],
      },
    ],
    [
      'an init container, whatever is pulled meanwhile, with its last lines',
      [wait],
      [app],
      {
        logTails: { wait: 'nc: bad address\nwaiting\n' },
        pulls: [{ container: 'app', image: 'app:1', receivedBytes: 1 }],
      },
      {
        stage: 'start',
        container: 'wait',
        cause: 'wait: init container 1 of 1 is still running; app starts after it',
        evidence: [start, { from: 'log of wait', text: 'nc: bad address\nwaiting' }],
        fixes: [readOutput('wait')],
      },
    ],
    [
      'an init container that failed before',
      [[{ name: 'wait' }, { state: running, lastState: ended(3), restartCount: 5 }]],
      [app],
      {},
      {
        stage: 'start',
        container: 'wait',
        cause: 'wait: init container 1 of 1 is still running; app starts after it',
        evidence: [start, { from: 'container wait', at: NOW, text: 'exited with code 3 (Error), 5 restarts' }],
        fixes: [readOutput('wait')],
      },
    ],
    [
      'an init container after a sidecar that has started',
      [
        [
          { name: 'proxy', restartPolicy: 'Always' },
          { state: running, started: true, ready: true },
        ],
        wait,
      ],
      [app],
      {},
      {
        stage: 'start',
        container: 'wait',
        cause: 'wait: init container 2 of 2 is still running; app starts after it',
        evidence: [start],
        fixes: [readOutput('wait')],
      },
    ],
    [
      'a sidecar whose startup probe has not succeeded',
      [
        [
          { name: 'wait', restartPolicy: 'Always', startupProbe: probe },
          { state: running, started: false },
        ],
      ],
      [app],
      { logTails: { wait: 'loading' } },
      {
        stage: 'probe',
        container: 'wait',
        cause: 'wait: its startup probe has not succeeded yet; app starts after it',
        evidence: [{ from: 'log of wait', text: 'loading' }],
        fixes: ['Wait for it: kubelet-ts ps -w', readOutput('wait')],
      },
    ],
    [
      'a sidecar whose postStart hook runs',
      [
        [
          { name: 'wait', restartPolicy: 'Always', lifecycle: postStart },
          { state: running, started: false },
        ],
      ],
      [app],
      {},
      {
        stage: 'start',
        container: 'wait',
        cause: 'wait: its postStart hook is still running; app starts after it',
        evidence: [start],
        fixes: [readOutput('wait')],
      },
    ],
    [
      'a container whose postStart hook runs, also with a readiness probe',
      [],
      [
        [
          { name: 'wait', lifecycle: postStart, readinessProbe: probe },
          { state: running, started: false },
        ],
        app,
      ],
      {},
      {
        stage: 'start',
        container: 'wait',
        cause: 'wait: its postStart hook is still running; app starts after it',
        evidence: [start],
        fixes: [readOutput('wait')],
      },
    ],
    [
      'a container whose postStart hook the sync under way waits for',
      [],
      [
        [{ name: 'first' }, { state: waiting('ContainerCreating') }],
        [{ name: 'wait', lifecycle: postStart }, { state: waiting('ContainerCreating') }],
        app,
      ],
      {
        worker: { ...worker, working: true },
        events: [
          { type: 'SyncFinished', pod: ref, durationMs: 1, nextSyncAt: 0, at: NOW },
          ...['first', 'wait'].map((containerName) => ({
            ...{
              type: 'Recorded' as const,
              eventType: 'Normal' as const,
              reason: 'Started',
              message: '',
              containerName,
            },
            ...{ at: NOW, pod: ref },
          })),
        ],
      },
      {
        stage: 'start',
        container: 'wait',
        cause: 'wait: its postStart hook is still running; app starts after it',
        evidence: [{ from: 'container wait', text: 'started' }],
        fixes: [readOutput('wait')],
      },
    ],
    [
      'the last container whose postStart hook runs',
      [],
      [
        [{ name: 'app' }, { state: running, started: true, ready: true }],
        [
          { name: 'wait', lifecycle: postStart },
          { state: running, started: false },
        ],
      ],
      {},
      {
        stage: 'start',
        container: 'wait',
        cause: 'wait: its postStart hook is still running',
        evidence: [start],
        fixes: [readOutput('wait')],
      },
    ],
  ])('%s', (_what, inits, apps, subject, expected) => {
    expect(explained(inits, apps, subject)).toEqual(expected);
  });
});

describe('an init container that waits or fails explains it too:', () => {
  test.each<[what: string, inits: Given[], subject: Partial<Subject>, expected: object]>([
    [
      'it waits for its image',
      [setup, [{ name: 'wait', image: 'acme/wait:1' }, { state: waiting('ErrImagePull', 'not found') }]],
      {},
      { stage: 'image', container: 'wait', cause: 'wait: its registry has no image acme/wait:1' },
    ],
    [
      'its image is pulled',
      [[{ name: 'wait' }, { state: initializing }]],
      { pulls: [{ container: 'wait', image: 'wait:1', receivedBytes: 1_000_000 }] },
      { stage: 'image', container: 'wait', cause: 'wait: pulls wait:1, 1.0 MB' },
    ],
    [
      'it is in back-off',
      [[{ name: 'wait' }, { state: waiting('CrashLoopBackOff'), lastState: ended(1), restartCount: 3 }]],
      { logTails: { wait: 'no such table' } },
      { stage: 'back-off', container: 'wait', cause: 'wait: exits with code 1' },
    ],
    [
      'it ended a moment ago',
      [[{ name: 'wait' }, { state: ended(1) }]],
      {},
      { stage: 'back-off', container: 'wait', cause: 'wait: exits with code 1' },
    ],
    [
      'it has not started',
      [setup, [{ name: 'wait' }]],
      {},
      { stage: 'start', container: 'wait', cause: 'wait is being started' },
    ],
    [
      'the last sync failed',
      [wait],
      { worker: { ...worker, lastSyncError: 'cannot mount data' } },
      { stage: 'start', container: 'app', cause: 'cannot mount data' },
    ],
    ['all have succeeded', [setup], {}, { stage: 'start', container: 'app', cause: 'app is being started' }],
  ])('%s', (_what, inits, subject, expected) => {
    expect(explained(inits, [app], subject)).toMatchObject(expected);
  });
});

test('an init container that failed for good is shown with its output', () => {
  const pod = makePod({
    spec: {
      restartPolicy: 'Never',
      initContainers: [makeContainer({ name: 'wait' })],
      containers: [makeContainer({ name: 'app' })],
    },
    status: {
      phase: 'Failed',
      initContainerStatuses: [makeAPIContainerStatus({ name: 'wait', state: ended(2) })],
      containerStatuses: [makeAPIContainerStatus({ name: 'app', state: initializing })],
    },
  });
  const logTails = { wait: 'no database' };
  expect(explainPod({ pod, node, logTails, worker: { ...worker, state: 'finished' } })).toEqual({
    namespace: 'default',
    name: 'web-node1',
    stage: 'finished',
    container: 'wait',
    cause: 'wait failed with exit code 2 (Error), and restartPolicy Never does not start it again',
    evidence: [
      { from: 'container wait', at: NOW, text: 'exited with code 2 (Error)' },
      { from: 'log of wait', text: 'no database' },
    ],
    fixes: [readOutput('wait'), 'Run it again: kubelet-ts retry web-node1'],
  });
});
