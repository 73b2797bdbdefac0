import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod } from '../../../src/api/types.ts';
import {
  convertContainerStatuses,
  type ContainerStatusesInput,
} from '../../../src/engine/status/convert-container-statuses.ts';
import { makeContainer, makeContainerStatus, makePod, makePodStatus, NOW } from '../../builders/pods.ts';

const web = makeContainer();

function convert(overrides: Partial<ContainerStatusesInput> = {}, pod: Pod = makePod()) {
  return convertContainerStatuses('regular', {
    pod,
    podStatus: makePodStatus(pod),
    oldStatuses: [],
    startFailures: new Map(),
    runtimeName: 'containerd',
    supportsRecursiveReadOnly: false,
    ...overrides,
  });
}
const noContainers = makePodStatus(makePod(), { containerStatuses: [] });
const wasRunning: ContainerStatus = {
  name: 'web',
  state: { running: { startedAt: '2024-06-01T09:00:00Z' } },
  lastState: {},
  ready: true,
  restartCount: 2,
  image: 'registry.example/web:1',
  imageID: 'sha256:0123',
  containerID: 'containerd://web-old',
};

test('a container that was never created waits', () => {
  expect(convert({ podStatus: noContainers })).toEqual([
    {
      name: 'web',
      state: { waiting: { reason: 'ContainerCreating' } },
      lastState: {},
      ready: false,
      restartCount: 0,
      image: 'registry.example/web:1',
      imageID: '',
    },
  ]);
});

test('a container in a crash loop waits for that reason, and its end is the last state', () => {
  const podStatus = makePodStatus(makePod(), {
    containerStatuses: [
      makeContainerStatus(web, {
        state: 'exited',
        exitCode: 3,
        reason: 'Error',
        message: 'last words',
        restartCount: 4,
      }),
    ],
  });
  const startFailures = new Map([['web', { reason: 'CrashLoopBackOff', message: 'back-off 10s' }]]);
  expect(convert({ podStatus, startFailures })).toMatchObject([
    {
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
      lastState: {
        terminated: {
          exitCode: 3,
          reason: 'Error',
          message: 'last words',
          startedAt: '2024-06-01T10:00:00Z',
          finishedAt: '2024-06-01T10:00:00Z',
          containerID: 'containerd://web-0',
        },
      },
      restartCount: 4,
    },
  ]);
});

test('the instance before the newest is the last state, older ones are not shown', () => {
  const podStatus = makePodStatus(makePod(), {
    containerStatuses: [
      makeContainerStatus(web, { id: 'web-2', restartCount: 2 }),
      makeContainerStatus(web, { id: 'web-1', state: 'exited', exitCode: 1 }),
      makeContainerStatus(web, { id: 'web-0', state: 'exited', exitCode: 7 }),
    ],
  });
  expect(convert({ podStatus })).toMatchObject([
    { containerID: 'containerd://web-2', restartCount: 2, lastState: { terminated: { exitCode: 1 } } },
  ]);
});

test('a container that ran and is gone counts one restart and ended in an unknown way', () => {
  expect(convert({ podStatus: noContainers, oldStatuses: [wasRunning] })).toMatchObject([
    {
      state: { waiting: { reason: 'ContainerCreating' } },
      lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
      restartCount: 3,
    },
  ]);
});

test('an exited container keeps its status when the runtime loses it', () => {
  const ended: ContainerStatus = { ...wasRunning, state: { terminated: { exitCode: 0, reason: 'Completed' } } };
  expect(convert({ podStatus: noContainers, oldStatuses: [ended] })).toEqual([ended]);
});

test('a container that never ran has no times in its end', () => {
  const podStatus = makePodStatus(makePod(), {
    containerStatuses: [makeContainerStatus(web, { state: 'exited', exitCode: 128, startedAt: 0, finishedAt: NOW })],
  });
  expect(convert({ podStatus })[0]?.state).toEqual({
    terminated: { exitCode: 128, finishedAt: '2024-06-01T10:00:00Z', containerID: 'containerd://web-0' },
  });
});

test('volume mounts are shown from the first status on', () => {
  const volumeMounts = [
    { name: 'data', mountPath: '/data' },
    { name: 'config', mountPath: '/etc/web', readOnly: true },
  ];
  const pod = makePod({ spec: { containers: [makeContainer({ volumeMounts })] } });
  const shown = [
    { name: 'data', mountPath: '/data' },
    { name: 'config', mountPath: '/etc/web', readOnly: true, recursiveReadOnly: 'Disabled' },
  ];
  const first = convert({ podStatus: noContainers }, pod);
  expect(first[0]?.volumeMounts).toEqual(shown);
  expect(convert({ oldStatuses: first }, pod)[0]?.volumeMounts).toEqual(shown);
});

describe('an init container that neither the runtime nor the previous status has', () => {
  const setup = makeContainer({ name: 'setup' });
  const proxy = makeContainer({ name: 'proxy', restartPolicy: 'Always' });
  const worker = makeContainer({ name: 'worker' });
  const pod = makePod({ spec: { initContainers: [setup, proxy], containers: [web, worker] } });
  const completed = {
    terminated: {
      exitCode: 0,
      reason: 'Completed',
      message: 'The runtime no longer has it, but it must have completed because the pod is initialized',
    },
  };
  const waiting = { waiting: { reason: 'PodInitializing' } };

  test.each([
    ['waits if no app container came', [], waiting],
    ['waits next to an app container whose state is lost', ['unknown'], waiting],
    ['has completed next to a created one', ['created'], completed],
    ['has completed next to a running one', ['running'], completed],
    ['has completed next to an exited one', ['exited'], completed],
    ['has completed if only one app container came', [undefined, 'running'], completed],
  ] as const)('%s', (_title, states, state) => {
    const containerStatuses = [web, worker].flatMap((container, index) => {
      const its = states[index];
      return its === undefined ? [] : [makeContainerStatus(container, { state: its })];
    });
    const converted = convertContainerStatuses('init', {
      pod,
      podStatus: makePodStatus(pod, { containerStatuses }),
      oldStatuses: [],
      startFailures: new Map(),
      runtimeName: 'containerd',
      supportsRecursiveReadOnly: false,
    });
    // A sidecar runs next to app containers, so it has to start again.
    expect(converted.map(({ name, state: its }) => ({ name, state: its }))).toEqual([
      { name: 'setup', state },
      { name: 'proxy', state: waiting },
    ]);
  });
});

test('a container that is removed to restart with all others keeps its exit code, if it had exited', () => {
  const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [88] } }];
  const pod = makePod({ spec: { containers: [makeContainer({ restartPolicy: 'Never', restartPolicyRules })] } });
  const exited = { exitCode: 88, reason: 'Error', finishedAt: '2024-06-01T09:00:00Z' };
  const lastStateOf = (state: ContainerStatus['state']): ContainerStatus['lastState'] =>
    convert({ podStatus: noContainers, oldStatuses: [{ ...wasRunning, ...(state && { state }) }] }, pod)[0]?.lastState;
  const because = {
    reason: 'RestartingAllContainers',
    message: 'The container was removed because all containers of the pod restart',
  };
  expect(lastStateOf({ terminated: exited })).toEqual({ terminated: { ...exited, ...because } });
  expect(lastStateOf({ running: {} })).toEqual({ terminated: { exitCode: 137, ...because } });
});
