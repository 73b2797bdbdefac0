import { describe, expect, test } from 'vitest';
import type { Container } from '../../../../src/api/types.ts';
import { computePodActions } from '../../../../src/engine/kuberuntime/actions/compute-pod-actions.ts';
import type { ContainerKillReason, PodActions } from '../../../../src/engine/kuberuntime/actions/pod-actions.ts';
import type { RuntimePodStatus } from '../../../../src/engine/container/runtime-pod-status.ts';
import type { ProbeResult, ProbeResults } from '../../../../src/engine/container/probe-results.ts';
import { makeContainer, makeContainerStatus, makePod, makePodStatus, makeSandbox } from '../../../builders/pods.ts';

const web = makeContainer();
const log = makeContainer({ name: 'log' });
const setup = makeContainer({ name: 'setup' });
const proxy = makeContainer({ name: 'proxy', restartPolicy: 'Always' });
const exec = { exec: { command: ['true'] } };

const settled: PodActions = {
  killPod: false,
  createSandbox: false,
  sandboxID: 'sandbox-0',
  attempt: 0,
  initContainersToStart: [],
  containersToStart: [],
  ephemeralContainersToStart: [],
  containersToKill: [],
  containersToReset: [],
};

/** The first container is killed and started again. */
const webRestarted = (message: string, reason: ContainerKillReason = ''): PodActions => ({
  ...settled,
  containersToStart: [0],
  containersToKill: [{ containerID: 'web-0', name: 'web', message, reason }],
});

function probes({ liveness, startup }: { liveness?: [string, ProbeResult]; startup?: [string, ProbeResult] } = {}) {
  const none = new Map<string, ProbeResult>();
  const results: ProbeResults = {
    liveness: liveness ? new Map([liveness]) : none,
    startup: startup ? new Map([startup]) : none,
    readiness: none,
  };
  return results;
}

function statuses(...containerStatuses: RuntimePodStatus['containerStatuses']): Partial<RuntimePodStatus> {
  return { containerStatuses };
}
const running = (container: Container) => makeContainerStatus(container);
const exited = (container: Container, exitCode = 0) => makeContainerStatus(container, { state: 'exited', exitCode });

describe('the sandbox', () => {
  test('of a new pod is created together with all its containers', () => {
    const pod = makePod({ spec: { containers: [web, log] } });
    const podStatus = makePodStatus(pod, { sandboxStatuses: [], containerStatuses: [] });
    expect(computePodActions(pod, podStatus, probes())).toEqual({
      ...settled,
      killPod: true,
      createSandbox: true,
      sandboxID: '',
      containersToStart: [0, 1],
    });
  });

  test('that was removed is replaced by the next attempt, and init containers begin anew', () => {
    const pod = makePod({ spec: { initContainers: [setup] } });
    const podStatus = makePodStatus(pod, {
      sandboxStatuses: [makeSandbox({ state: 'notready', attempt: 2 })],
      ...statuses(exited(web), exited(setup)),
    });
    expect(computePodActions(pod, podStatus, probes())).toEqual({
      ...settled,
      killPod: true,
      createSandbox: true,
      attempt: 3,
      initContainersToStart: [0],
    });
  });

  test('that was removed is replaced even in a pod that runs once, if no container of it has run', () => {
    const pod = makePod({ spec: { restartPolicy: 'Never' } });
    const podStatus = makePodStatus(pod, {
      sandboxStatuses: [makeSandbox({ state: 'notready' })],
      ...statuses(makeContainerStatus(web, { state: 'created' })),
    });
    const replaced = { ...settled, killPod: true, createSandbox: true, attempt: 1, containersToStart: [0] };
    expect(computePodActions(pod, podStatus, probes())).toEqual(replaced);
  });

  test('of a finished pod is not created again', () => {
    const pod = makePod({ spec: { restartPolicy: 'OnFailure' } });
    const podStatus = makePodStatus(pod, {
      sandboxStatuses: [makeSandbox({ state: 'notready' })],
      ...statuses(exited(web)),
    });
    expect(computePodActions(pod, podStatus, probes())).toEqual({ ...settled, killPod: true, attempt: 1 });
  });
});

describe('regular containers', () => {
  test('that run are left alone', () => {
    const pod = makePod();
    expect(computePodActions(pod, makePodStatus(pod), probes())).toEqual(settled);
  });

  test.each([
    { restartPolicy: 'Always', exitCode: 0, restarts: true },
    { restartPolicy: 'Always', exitCode: 1, restarts: true },
    { restartPolicy: 'OnFailure', exitCode: 0, restarts: false },
    { restartPolicy: 'OnFailure', exitCode: 1, restarts: true },
    { restartPolicy: 'Never', exitCode: 1, restarts: false },
  ])('restart after exit code $exitCode under $restartPolicy: $restarts', ({ restartPolicy, exitCode, restarts }) => {
    const pod = makePod({ spec: { restartPolicy, containers: [web, log] } });
    const podStatus = makePodStatus(pod, statuses(exited(web, exitCode), running(log)));
    expect(computePodActions(pod, podStatus, probes()).containersToStart).toEqual(restarts ? [0] : []);
  });

  test('whose image changed are killed and started even if they never restart', () => {
    const pod = makePod({ spec: { restartPolicy: 'Never' } });
    const podStatus = makePodStatus(pod, statuses(makeContainerStatus(web, { hash: 1 })));
    expect(computePodActions(pod, podStatus, probes())).toEqual(
      webRestarted('Container web definition changed, will be restarted'),
    );
  });

  test('that failed their liveness probe are killed and started again', () => {
    const pod = makePod();
    expect(computePodActions(pod, makePodStatus(pod), probes({ liveness: ['web-0', 'failure'] }))).toEqual(
      webRestarted('Container web failed liveness probe, will be restarted', 'LivenessProbe'),
    );
  });

  test('in unknown state are killed before they are started', () => {
    const pod = makePod();
    const podStatus = makePodStatus(pod, statuses(makeContainerStatus(web, { state: 'unknown' })));
    expect(computePodActions(pod, podStatus, probes())).toEqual(
      webRestarted('Container is in "unknown" state, try killing it before restart', 'Unknown'),
    );
  });

  test('that are all done end the pod', () => {
    const pod = makePod({ spec: { restartPolicy: 'Never', containers: [web, log] } });
    const podStatus = makePodStatus(pod, statuses(exited(web), exited(log, 1)));
    expect(computePodActions(pod, podStatus, probes())).toEqual({ ...settled, killPod: true });
  });
});

describe('init containers', () => {
  test('go on after the last one that succeeded', () => {
    const pod = makePod({ spec: { initContainers: [makeContainer({ name: 'first' }), setup] } });
    const podStatus = makePodStatus(pod, statuses(exited(makeContainer({ name: 'first' }))));
    expect(computePodActions(pod, podStatus, probes())).toEqual({ ...settled, initContainersToStart: [1] });
  });

  test('hold the regular containers back while one runs', () => {
    const pod = makePod({ spec: { initContainers: [setup] } });
    expect(computePodActions(pod, makePodStatus(pod, statuses(running(setup))), probes())).toEqual(settled);
  });

  test.each([
    ['without sidecars', [setup], []],
    ['with a sidecar, which alone starts again', [setup, proxy], [1]],
  ])('that the runtime lost do not run again next to a running container, %s', (_pod, initContainers, toStart) => {
    const pod = makePod({ spec: { initContainers } });
    const podStatus = makePodStatus(pod, statuses(running(web)));
    expect(computePodActions(pod, podStatus, probes())).toEqual({ ...settled, initContainersToStart: toStart });
  });

  test('that fail end a pod that never restarts', () => {
    const pod = makePod({ spec: { restartPolicy: 'Never', initContainers: [setup] } });
    const podStatus = makePodStatus(pod, statuses(exited(setup, 1)));
    expect(computePodActions(pod, podStatus, probes())).toEqual({ ...settled, killPod: true });
  });

  test('count as failed when they were out of memory, whatever the exit code', () => {
    const pod = makePod({ spec: { initContainers: [setup] } });
    const podStatus = makePodStatus(pod, statuses({ ...exited(setup), reason: 'OOMKilled' }));
    expect(computePodActions(pod, podStatus, probes())).toEqual({ ...settled, initContainersToStart: [0] });
  });
});

describe('sidecars', () => {
  test('without a startup probe let the next container start as soon as they run', () => {
    const pod = makePod({ spec: { initContainers: [proxy, setup] } });
    const podStatus = makePodStatus(pod, statuses(running(proxy)));
    expect(computePodActions(pod, podStatus, probes())).toEqual({ ...settled, initContainersToStart: [1] });
  });

  test('hold the next container back until their startup probe succeeded', () => {
    const slowProxy = { ...proxy, startupProbe: exec };
    const pod = makePod({ spec: { initContainers: [slowProxy] } });
    const podStatus = makePodStatus(pod, statuses(running(slowProxy)));
    expect(computePodActions(pod, podStatus, probes())).toEqual(settled);
    expect(computePodActions(pod, podStatus, probes({ startup: ['proxy-0', 'success'] }))).toEqual({
      ...settled,
      containersToStart: [0],
    });
  });

  test('are restarted next to regular containers that run', () => {
    const pod = makePod({ spec: { restartPolicy: 'Never', initContainers: [proxy] } });
    const podStatus = makePodStatus(pod, statuses(exited(proxy), running(web)));
    expect(computePodActions(pod, podStatus, probes())).toEqual({ ...settled, initContainersToStart: [0] });
  });

  test('do not keep a finished pod alive', () => {
    const pod = makePod({ spec: { restartPolicy: 'Never', initContainers: [proxy] } });
    const podStatus = makePodStatus(pod, statuses(running(proxy), exited(web)));
    expect(computePodActions(pod, podStatus, probes())).toEqual({ ...settled, killPod: true });
  });
});

describe('ephemeral containers', () => {
  const tools = makeContainer({ name: 'tools' });
  const pod = makePod({ spec: { containers: [web], ephemeralContainers: [tools] } });
  const toStart = (containerStatuses: RuntimePodStatus['containerStatuses'], more: Partial<RuntimePodStatus> = {}) =>
    computePodActions(pod, makePodStatus(pod, { containerStatuses, ...more }), probes()).ephemeralContainersToStart;

  test.each([
    ['start if the runtime has none of this name', [running(web)], [0]],
    ['start if they were only created', [running(web), makeContainerStatus(tools, { state: 'created' })], [0]],
    ['stay while they run', [running(web), running(tools)], []],
    ['never start again', [running(web), exited(tools, 1)], []],
    ['are left in an unknown state', [running(web), makeContainerStatus(tools, { state: 'unknown' })], []],
  ])('%s', (_what, containerStatuses, expected) => {
    expect(toStart(containerStatuses)).toEqual(expected);
  });

  test('wait for a new sandbox', () => {
    expect(toStart([], { sandboxStatuses: [makeSandbox({ state: 'notready' })] })).toEqual([]);
  });

  test('start next to an init container that still runs', () => {
    const starting = makePod({ spec: { initContainers: [setup], containers: [web], ephemeralContainers: [tools] } });
    expect(computePodActions(starting, makePodStatus(starting, statuses(running(setup))), probes())).toEqual({
      ...settled,
      ephemeralContainersToStart: [0],
    });
  });

  test('do not start in a pod that has finished', () => {
    const finished = makePod({ spec: { restartPolicy: 'Never', containers: [web], ephemeralContainers: [tools] } });
    expect(computePodActions(finished, makePodStatus(finished, statuses(exited(web))), probes())).toEqual({
      ...settled,
      killPod: true,
    });
  });
});
