import { describe, expect, test } from 'vitest';
import { generatePodStatus, type PodStatusInput } from '../../../src/engine/status/generate-pod-status.ts';
import { makeContainer, makeContainerStatus, makePod, makePodStatus, makeSandbox, NOW } from '../../builders/pods.ts';

const noProbes = { liveness: new Map(), readiness: new Map(), startup: new Map() };
const later = NOW + 60_000;

function generate(overrides: Partial<PodStatusInput> = {}) {
  const pod = overrides.pod ?? makePod();
  return generatePodStatus({
    pod,
    podStatus: makePodStatus(pod),
    oldStatus: undefined,
    probes: noProbes,
    startFailures: new Map(),
    podIsTerminal: false,
    now: NOW,
    runtimeName: 'containerd',
    ...overrides,
  });
}

test('a running pod is shown as the kubelet shows it', () => {
  const lastTransitionTime = '2024-06-01T10:00:00Z';
  expect(generate()).toEqual({
    phase: 'Running',
    conditions: [
      { type: 'PodReadyToStartContainers', status: 'True', lastTransitionTime },
      { type: 'Initialized', status: 'True', lastTransitionTime },
      { type: 'Ready', status: 'True', lastTransitionTime },
      { type: 'ContainersReady', status: 'True', lastTransitionTime },
      { type: 'PodScheduled', status: 'True', lastTransitionTime },
    ],
    podIP: '10.88.0.2',
    podIPs: [{ ip: '10.88.0.2' }],
    containerStatuses: [
      {
        name: 'web',
        state: { running: { startedAt: '2024-06-01T10:00:00Z' } },
        lastState: {},
        ready: true,
        started: true,
        restartCount: 0,
        image: 'registry.example/web:1',
        imageID: 'sha256:0123',
        containerID: 'containerd://web-0',
        resources: {},
      },
    ],
    qosClass: 'BestEffort',
    resources: {},
    startTime: '2024-06-01T10:00:00Z',
  });
});

describe('times', () => {
  test('of the start and of conditions stay while nothing changes', () => {
    const oldStatus = generate();
    expect(generate({ oldStatus, now: later })).toEqual(oldStatus);
  });

  test('of a condition change with its status only', () => {
    const pod = makePod();
    const podStatus = makePodStatus(pod, {
      containerStatuses: [makeContainerStatus(makeContainer(), { state: 'exited', exitCode: 1 })],
    });
    const { conditions = [] } = generate({ pod, podStatus, oldStatus: generate(), now: later });
    expect(conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
      ['PodReadyToStartContainers', '2024-06-01T10:00:00Z'],
      ['Initialized', '2024-06-01T10:00:00Z'],
      ['Ready', '2024-06-01T10:01:00Z'],
      ['ContainersReady', '2024-06-01T10:01:00Z'],
      ['PodScheduled', '2024-06-01T10:00:00Z'],
    ]);
  });
});

describe('the phase', () => {
  test('never leaves Failed, and keeps its reason', () => {
    const { phase, reason, message } = generate({
      oldStatus: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory' },
    });
    expect({ phase, reason, message }).toEqual({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'The node was low on memory',
    });
  });

  test('is Failed once the active deadline passed', () => {
    const pod = makePod({ spec: { activeDeadlineSeconds: 60 } });
    const oldStatus = generate({ pod });
    expect(generate({ pod, oldStatus, now: later - 1 }).phase).toBe('Running');
    const { phase, reason } = generate({ pod, oldStatus, now: later });
    expect({ phase, reason }).toEqual({ phase: 'Failed', reason: 'DeadlineExceeded' });
  });
});

describe('addresses', () => {
  test('are one of each family, that of the node first', () => {
    const pod = makePod();
    const podStatus = makePodStatus(pod, { ips: ['10.88.0.2', 'fd00::2', '10.88.0.3'] });
    expect(generate({ pod, podStatus, nodeIPFamily: 'IPv6' })).toMatchObject({
      podIP: 'fd00::2',
      podIPs: [{ ip: 'fd00::2' }, { ip: '10.88.0.2' }],
    });
  });

  test('are absent without a sandbox', () => {
    const pod = makePod();
    const podStatus = makePodStatus(pod, { ips: [], containerStatuses: [], sandboxStatuses: [] });
    const status = generate({ pod, podStatus });
    expect([status.podIP, status.podIPs]).toEqual([undefined, undefined]);
  });
});

describe('a probed container', () => {
  const probe = { exec: { command: ['true'] } };
  const pod = makePod({ spec: { containers: [makeContainer({ readinessProbe: probe, startupProbe: probe })] } });
  const fields = (overrides: Partial<PodStatusInput>) =>
    generate({ pod, ...overrides }).containerStatuses?.map(({ started, ready }) => ({ started, ready }));

  test('is neither started nor ready before its probes ran', () => {
    expect(fields({})).toEqual([{ started: false, ready: false }]);
  });

  test('is ready when both succeeded', () => {
    const success = new Map([['web-0', 'success' as const]]);
    expect(fields({ probes: { ...noProbes, startup: success } })).toEqual([{ started: true, ready: false }]);
    expect(fields({ probes: { ...noProbes, startup: success, readiness: success } })).toEqual([
      { started: true, ready: true },
    ]);
  });

  test('counts as started when nobody probes it any more', () => {
    const probeWorkers = { startup: new Set<string>(), readiness: new Set(['web']) };
    expect(fields({ probeWorkers })).toEqual([{ started: true, ready: false }]);
  });
});

test('conditions name the containers that hold the pod back', () => {
  const setup = makeContainer({ name: 'setup' });
  const pod = makePod({ spec: { initContainers: [setup] } });
  const podStatus = makePodStatus(pod, {
    sandboxStatuses: [makeSandbox({ state: 'notready' })],
    containerStatuses: [makeContainerStatus(setup)],
  });
  const { conditions = [] } = generate({ pod, podStatus });
  expect(conditions.map(({ lastTransitionTime: _, ...condition }) => condition)).toEqual([
    { type: 'PodReadyToStartContainers', status: 'False' },
    {
      type: 'Initialized',
      status: 'False',
      reason: 'ContainersNotInitialized',
      message: 'containers with incomplete status: [setup]',
    },
    { type: 'Ready', status: 'False', reason: 'ContainersNotReady', message: 'containers with unready status: [web]' },
    {
      type: 'ContainersReady',
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [web]',
    },
    { type: 'PodScheduled', status: 'True' },
  ]);
});
