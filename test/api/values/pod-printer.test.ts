import { describe, expect, test } from 'vitest';
import {
  ageText,
  lastExitText,
  podStatusText,
  readyText,
  restartCount,
  restartsText,
} from '../../../src/api/values/pod-printer.ts';
import type { Container, ContainerState, ContainerStatus, Pod, PodStatus } from '../../../src/api/types.ts';

const now = Date.parse('2025-03-01T12:00:00Z');
const running: ContainerState = { running: { startedAt: '2025-03-01T11:00:00Z' } };
const waiting = (reason?: string): ContainerState => ({ waiting: reason === undefined ? {} : { reason } });
const ended = (exitCode: number, reason?: string): ContainerState => ({
  terminated: { exitCode, ...(reason !== undefined && { reason }), finishedAt: '2025-03-01T11:57:00Z' },
});

function makeStatus(name: string, state: ContainerState, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: 'busybox', imageID: '', ready: state === running, restartCount: 0, state, ...more };
}

function makePod(status: PodStatus, spec: { containers?: string[]; init?: string[]; sidecars?: string[] } = {}): Pod {
  const sidecars = (spec.sidecars ?? []).map((name): Container => ({ name, restartPolicy: 'Always' }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-edge1', namespace: 'default', uid: 'u1' },
    spec: {
      containers: (spec.containers ?? ['main']).map((name) => ({ name })),
      initContainers: [...(spec.init ?? []).map((name) => ({ name })), ...sidecars],
    },
    status,
  };
}

const initialized = [{ type: 'Initialized', status: 'True' }];
const ready = [...initialized, { type: 'Ready', status: 'True' }];

describe('podStatusText', () => {
  test.each<[title: string, expected: string, status: PodStatus, worker?: string]>([
    ['is Pending before there is a status', 'Pending', {}],
    [
      'is the phase of a pod whose containers run',
      'Running',
      { phase: 'Running', containerStatuses: [makeStatus('main', running)] },
    ],
    ['is the reason of the pod when it has one', 'Evicted', { phase: 'Failed', reason: 'Evicted' }],
    ['is the phase when the reason is empty', 'Failed', { phase: 'Failed', reason: '' }],
    [
      'is the reason a container waits for',
      'CrashLoopBackOff',
      { phase: 'Running', containerStatuses: [makeStatus('main', waiting('CrashLoopBackOff'))] },
    ],
    [
      'is the phase when a container waits for no reason',
      'Pending',
      { phase: 'Pending', containerStatuses: [makeStatus('main', waiting())] },
    ],
    [
      'is the reason of an end',
      'Error',
      { phase: 'Failed', containerStatuses: [makeStatus('main', ended(1, 'Error'))] },
    ],
    [
      'is the exit code of an end without a reason',
      'ExitCode:3',
      { phase: 'Failed', containerStatuses: [makeStatus('main', ended(3))] },
    ],
    [
      'is the signal of an end without a reason',
      'Signal:9',
      { phase: 'Failed', containerStatuses: [makeStatus('main', { terminated: { exitCode: 137, signal: 9 } })] },
    ],
    [
      'is that of the first container which does not run',
      'ErrImagePull',
      {
        phase: 'Pending',
        containerStatuses: [
          makeStatus('a', running),
          makeStatus('b', waiting('ErrImagePull')),
          makeStatus('c', ended(1, 'Error')),
        ],
      },
    ],
    [
      'is Running when one container completed and the pod is ready',
      'Running',
      {
        phase: 'Running',
        conditions: ready,
        containerStatuses: [makeStatus('a', ended(0, 'Completed')), makeStatus('b', running)],
      },
    ],
    [
      'is NotReady when one container completed and the pod is not ready',
      'NotReady',
      { phase: 'Running', containerStatuses: [makeStatus('a', ended(0, 'Completed')), makeStatus('b', running)] },
    ],
    ['is Terminating while the worker terminates the pod', 'Terminating', { phase: 'Running' }, 'terminating'],
    [
      'is Terminating while the worker ends a stopped pod',
      'Terminating',
      { phase: 'Failed', reason: 'Stopped' },
      'terminating',
    ],
    [
      'is Stopped once it has ended',
      'Stopped',
      { phase: 'Failed', reason: 'Stopped', containerStatuses: [makeStatus('main', ended(137, 'Error'))] },
      'finished',
    ],
    ['is Terminating while the worker cleans up', 'Terminating', { phase: 'Running' }, 'terminated'],
    [
      'is Completed while the worker terminates a pod that succeeded',
      'Completed',
      { phase: 'Succeeded', containerStatuses: [makeStatus('main', ended(0, 'Completed'))] },
      'terminating',
    ],
  ])('%s', (_title, expected, status, worker) => {
    expect(podStatusText(makePod(status), worker === undefined ? undefined : { state: worker })).toBe(expected);
  });

  test('is Terminating for a pod with a deletion timestamp', () => {
    const pod = makePod({ phase: 'Running' });
    expect(podStatusText({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2025-03-01T12:00:00Z' } })).toBe(
      'Terminating',
    );
  });

  const two = { init: ['one', 'two'] };
  test.each<[title: string, expected: string, initStatuses: ContainerStatus[]]>([
    [
      'counts init containers that are done',
      'Init:1/2',
      [makeStatus('one', ended(0, 'Completed')), makeStatus('two', running)],
    ],
    ['does not count one that waits for its turn', 'Init:0/2', [makeStatus('one', waiting('PodInitializing'))]],
    ['tells why an init container waits', 'Init:ImagePullBackOff', [makeStatus('one', waiting('ImagePullBackOff'))]],
    ['tells how an init container failed', 'Init:Error', [makeStatus('one', ended(1, 'Error'))]],
    ['tells the exit code of one that failed without a reason', 'Init:ExitCode:2', [makeStatus('one', ended(2))]],
    [
      'goes on to the containers when all are done',
      'PodInitializing',
      [makeStatus('one', ended(0)), makeStatus('two', ended(0))],
    ],
  ])('%s', (_title, expected, initContainerStatuses) => {
    const containerStatuses = [makeStatus('main', waiting('PodInitializing'))];
    expect(podStatusText(makePod({ phase: 'Pending', initContainerStatuses, containerStatuses }, two))).toBe(expected);
  });

  test('passes by a sidecar that started, and waits for one that has not', () => {
    const sidecar = (started: boolean) =>
      makePod(
        {
          phase: 'Pending',
          initContainerStatuses: [makeStatus('proxy', running, { started })],
          containerStatuses: [makeStatus('main', waiting('PodInitializing'))],
        },
        { sidecars: ['proxy'] },
      );
    expect([sidecar(true), sidecar(false)].map((pod) => podStatusText(pod))).toEqual(['PodInitializing', 'Init:0/1']);
  });

  test('reports the containers of an initialized pod whose sidecar failed', () => {
    const pod = makePod(
      {
        phase: 'Running',
        conditions: initialized,
        initContainerStatuses: [makeStatus('proxy', ended(1, 'Error'))],
        containerStatuses: [makeStatus('main', waiting('CrashLoopBackOff'))],
      },
      { sidecars: ['proxy'] },
    );
    expect(podStatusText(pod)).toBe('CrashLoopBackOff');
  });
});

describe('readyText', () => {
  test('counts running containers that are ready and started sidecars, of all that have to be', () => {
    const pod = makePod(
      {
        initContainerStatuses: [makeStatus('init', ended(0)), makeStatus('proxy', running, { started: true })],
        containerStatuses: [makeStatus('a', running), makeStatus('b', running, { ready: false })],
      },
      { containers: ['a', 'b'], init: ['init'], sidecars: ['proxy'] },
    );
    expect(readyText(pod)).toBe('2/3');
  });

  test('is 0 of the containers of the spec before there is a status', () => {
    expect(readyText(makePod({}, { containers: ['a', 'b'] }))).toBe('0/2');
  });
});

describe('lastExitText', () => {
  test.each<[title: string, expected: string, status: PodStatus]>([
    ['is empty before anything ended', '', { containerStatuses: [makeStatus('main', running)] }],
    ['is the reason', 'OOMKilled', { containerStatuses: [makeStatus('main', ended(137, 'OOMKilled'))] }],
    ['has the exit code of an error', 'Error (3)', { containerStatuses: [makeStatus('main', ended(3, 'Error'))] }],
    [
      'is that of the run before the one that runs',
      'Error (1)',
      { containerStatuses: [makeStatus('main', running, { lastState: ended(1, 'Error') })] },
    ],
    [
      'is the newest of several',
      'Error (2)',
      {
        initContainerStatuses: [
          makeStatus('init', { terminated: { exitCode: 0, reason: 'Completed', finishedAt: '2025-03-01T11:00:00Z' } }),
        ],
        containerStatuses: [makeStatus('main', ended(2, 'Error'))],
      },
    ],
  ])('%s', (_title, expected, status) => {
    expect(lastExitText(makePod(status))).toBe(expected);
  });
});

describe('restartsText', () => {
  const restarted = (name: string, restarts: number, finishedAt: string) =>
    makeStatus(name, running, { restartCount: restarts, lastState: { terminated: { exitCode: 1, finishedAt } } });

  test('is 0 without restarts', () => {
    expect(restartsText(makePod({ containerStatuses: [makeStatus('main', running)] }), now)).toBe('0');
  });

  test('adds the containers up and reports when the last of them ended', () => {
    const containerStatuses = [restarted('a', 2, '2025-03-01T11:00:00Z'), restarted('b', 1, '2025-03-01T11:55:30Z')];
    expect(restartsText(makePod({ containerStatuses }, { containers: ['a', 'b'] }), now)).toBe('3 (4m30s ago)');
  });

  test('is only the number when no earlier end is known, or the clock was set back since', () => {
    const unknown = makePod({ containerStatuses: [makeStatus('main', running, { restartCount: 4 })] });
    const later = makePod({ containerStatuses: [restarted('main', 4, '2025-03-01T13:00:00Z')] });
    expect([unknown, later].map((pod) => restartsText(pod, now))).toEqual(['4', '4']);
  });

  test('counts init containers only until they are done', () => {
    const pod = (initState: ContainerState) =>
      makePod(
        {
          initContainerStatuses: [makeStatus('init', initState, { restartCount: 5 })],
          containerStatuses: [makeStatus('main', running, { restartCount: 1 })],
        },
        { init: ['init'] },
      );
    expect([pod(running), pod(ended(0))].map(restartCount)).toEqual([5, 1]);
  });
});

describe('ageText', () => {
  test('counts from the start, else from the moment the pod was seen, not from its creation in a cluster', () => {
    const pod = makePod({});
    const started = makePod({ startTime: '2025-03-01T11:59:00Z' });
    const creationTimestamp = '2025-02-27T11:59:00Z';
    const annotations = { 'kubernetes.io/config.seen': '2025-03-01T11:59:30.000000000Z' };
    const pods = [
      pod,
      { ...pod, metadata: { ...pod.metadata, creationTimestamp } },
      { ...pod, metadata: { ...pod.metadata, creationTimestamp, annotations } },
      { ...started, metadata: { ...pod.metadata, creationTimestamp, annotations } },
    ];
    expect(pods.map((one) => ageText(one, now))).toEqual(['<unknown>', '2d', '30s', '60s']);
  });
});
