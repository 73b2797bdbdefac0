import { beforeEach, describe, expect, test } from 'vitest';
import { RpcError } from '../../src/errors.ts';
import { isDeadlineExceeded, isNotFound, isUnimplemented } from '../../src/cri/errors.ts';
import {
  ContainerState,
  NamespaceMode,
  PodSandboxState,
  type ContainerEventResponse,
} from '../../src/cri/generated/cri.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../src/cri/types.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeRuntime } from './fake-runtime.ts';

const startMs = 1_000_000;
const atNs = (ms: number): bigint => BigInt(startMs + ms) * 1_000_000n;

let clock: FakeClock;
let runtime: FakeRuntime;

beforeEach(() => {
  clock = new FakeClock(startMs);
  runtime = new FakeRuntime({ clock });
  runtime.addImage('app:1');
});

const podConfig = (name: string, attempt = 0): PodSandboxConfig => ({
  metadata: { name, namespace: 'default', uid: `uid-of-${name}`, attempt },
  labels: { 'io.kubernetes.pod.name': name },
});

const containerConfig = (name: string, attempt = 0): ContainerConfig => ({
  metadata: { name, attempt },
  image: { image: 'app:1' },
  labels: { 'io.kubernetes.container.name': name },
});

async function runPod(name: string): Promise<string> {
  return (await runtime.runPodSandbox({ config: podConfig(name) })).podSandboxId;
}

async function createContainer(podSandboxId: string, name: string, attempt = 0): Promise<string> {
  return (await runtime.createContainer({ podSandboxId, config: containerConfig(name, attempt) })).containerId;
}

async function runContainer(podSandboxId: string, name: string, attempt = 0): Promise<string> {
  const containerId = await createContainer(podSandboxId, name, attempt);
  await runtime.startContainer({ containerId });
  return containerId;
}

async function statusOf(containerId: string) {
  const { status } = await runtime.containerStatus({ containerId });
  return { state: status?.state, exitCode: status?.exitCode, reason: status?.reason };
}

describe('sandboxes', () => {
  test('are ready with their own address, and lose it when they stop', async () => {
    const podSandboxId = await runPod('web');
    const { status: before } = await runtime.podSandboxStatus({ podSandboxId });
    await runtime.stopPodSandbox({ podSandboxId });
    const { status: after } = await runtime.podSandboxStatus({ podSandboxId });
    expect([before?.state, before?.network?.ip]).toEqual([PodSandboxState.SANDBOX_READY, '10.88.0.1']);
    expect([after?.state, after?.network?.ip]).toEqual([PodSandboxState.SANDBOX_NOTREADY, '']);
  });

  test('have no address on the host network', async () => {
    const linux = { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } };
    const { podSandboxId } = await runtime.runPodSandbox({ config: { ...podConfig('web'), linux } });
    const { status } = await runtime.podSandboxStatus({ podSandboxId });
    expect(status?.network).toEqual({ ip: '', additionalIps: [] });
  });

  test('kill their containers when they stop and take them along when they are removed', async () => {
    const podSandboxId = await runPod('web');
    const containerId = await runContainer(podSandboxId, 'main');
    await runtime.stopPodSandbox({ podSandboxId });
    expect(await statusOf(containerId)).toEqual({
      state: ContainerState.CONTAINER_EXITED,
      exitCode: 137,
      reason: 'Error',
    });
    await runtime.removePodSandbox({ podSandboxId });
    expect(await runtime.listContainers()).toEqual({ containers: [] });
    expect(await runtime.listPodSandbox()).toEqual({ items: [] });
  });

  test('may be stopped and removed again and again', async () => {
    expect(await runtime.stopPodSandbox({ podSandboxId: 'gone' })).toEqual({});
    expect(await runtime.removePodSandbox({ podSandboxId: 'gone' })).toEqual({});
  });

  test('are refused when one of the same name and attempt is there', async () => {
    await runPod('web');
    await expect(runPod('web')).rejects.toThrow('name is reserved for "sandbox1"');
    expect(await runtime.runPodSandbox({ config: podConfig('web', 1) })).toEqual({ podSandboxId: 'sandbox2' });
  });
});

describe('containers', () => {
  test('go from created to running to exited, with the times of the clock', async () => {
    const podSandboxId = await runPod('web');
    await clock.advance(10);
    const containerId = await createContainer(podSandboxId, 'main');
    await clock.advance(10);
    await runtime.startContainer({ containerId });
    await clock.advance(10);
    runtime.exitContainer({ pod: 'web', container: 'main' }, 3);
    const { status } = await runtime.containerStatus({ containerId });
    expect(status).toMatchObject({
      id: containerId,
      state: ContainerState.CONTAINER_EXITED,
      createdAt: atNs(10),
      startedAt: atNs(20),
      finishedAt: atNs(30),
      exitCode: 3,
      reason: 'Error',
      image: { image: 'app:1' },
    });
  });

  test('are not found once they are dropped', async () => {
    const containerId = await runContainer(await runPod('web'), 'main');
    runtime.dropContainer(containerId);
    await expect(runtime.containerStatus({ containerId })).rejects.toSatisfy(isNotFound);
    expect(await runtime.stopContainer({ containerId, timeout: 1n })).toEqual({});
  });

  test('need their image', async () => {
    const podSandboxId = await runPod('web');
    await runtime.removeImage({ image: { image: 'app:1' } });
    await expect(createContainer(podSandboxId, 'main')).rejects.toSatisfy(isNotFound);
  });

  test('cannot start twice', async () => {
    const containerId = await runContainer(await runPod('web'), 'main');
    await expect(runtime.startContainer({ containerId })).rejects.toThrow('is in CONTAINER_RUNNING state');
  });

  test('are counted when two instances run at once', async () => {
    const podSandboxId = await runPod('web');
    await runContainer(podSandboxId, 'main', 0);
    expect(runtime.maxConcurrentRunning('web', 'main')).toBe(1);
    await runContainer(podSandboxId, 'main', 1);
    runtime.exitContainer({ pod: 'web', container: 'main' }, 0);
    expect(runtime.running()).toEqual(['web/main#0']);
    expect(runtime.maxConcurrentRunning('web', 'main')).toBe(2);
  });

  test.each([
    { it: 'stops at once by default', script: {}, timeout: 30n, tookMs: 0, exitCode: 143 },
    { it: 'takes its time', script: { stopAfterMs: 5000, stopExitCode: 0 }, timeout: 30n, tookMs: 5000, exitCode: 0 },
    {
      it: 'is killed when the time is over',
      script: { stopAfterMs: Infinity },
      timeout: 2n,
      tookMs: 2000,
      exitCode: 137,
    },
    { it: 'is killed at once without a timeout', script: { stopAfterMs: 5000 }, timeout: 0n, tookMs: 0, exitCode: 137 },
  ])('$it', async ({ script, timeout, tookMs, exitCode }) => {
    runtime.script('main', script);
    const containerId = await runContainer(await runPod('web'), 'main');
    const stopped = runtime.stopContainer({ containerId, timeout });
    await clock.advance(60_000);
    await stopped;
    const { status } = await runtime.containerStatus({ containerId });
    expect([status?.exitCode, msOf(status?.finishedAt) - msOf(status?.startedAt)]).toEqual([exitCode, tookMs]);
    expect(clock.pending).toBe(0);
  });

  test('end by themselves as their script says', async () => {
    runtime.script('init', { exitAfterMs: 100 });
    const containerId = await runContainer(await runPod('web'), 'init');
    await clock.advance(100);
    expect(await statusOf(containerId)).toEqual({
      state: ContainerState.CONTAINER_EXITED,
      exitCode: 0,
      reason: 'Completed',
    });
  });
});

describe('lists', () => {
  test('are filtered by id, state, sandbox and labels', async () => {
    const web = await runPod('web');
    const db = await runPod('db');
    const main = await runContainer(web, 'main');
    const idle = await createContainer(web, 'idle');
    const store = await runContainer(db, 'main');
    const ids = async (filter: NonNullable<Parameters<typeof runtime.listContainers>[0]>['filter']) =>
      (await runtime.listContainers({ filter })).containers.map(({ id }) => id);

    expect(await ids(undefined)).toEqual([main, idle, store]);
    expect(await ids({ id: idle })).toEqual([idle]);
    expect(await ids({ podSandboxId: web })).toEqual([main, idle]);
    expect(await ids({ state: { state: ContainerState.CONTAINER_CREATED } })).toEqual([idle]);
    expect(await ids({ podSandboxId: db, labelSelector: { 'io.kubernetes.container.name': 'main' } })).toEqual([store]);
    const { items } = await runtime.listPodSandbox({ filter: { labelSelector: { 'io.kubernetes.pod.name': 'db' } } });
    expect(items.map(({ id }) => id)).toEqual([db]);
  });
});

describe('images', () => {
  test('can be pulled and are then found by id, tag and digest', async () => {
    const digest = `app@sha256:${'0'.repeat(64)}`;
    const { imageRef } = await runtime.pullImage({ image: { image: digest } });
    const { image: byId } = await runtime.imageStatus({ image: { image: imageRef } });
    const { image: byDigest } = await runtime.imageStatus({ image: { image: digest } });
    expect(byId?.repoDigests).toEqual([digest]);
    expect(byDigest).toEqual(byId);
    expect((await runtime.listImages()).images).toHaveLength(2);
  });

  test('cannot be pulled when others were named', async () => {
    runtime.images.addPullable('known:1', { uid: { value: 1000n } });
    await runtime.pullImage({ image: { image: 'known:1' } });
    await expect(runtime.pullImage({ image: { image: 'unknown:1' } })).rejects.toSatisfy(isNotFound);
    const { image } = await runtime.imageStatus({ image: { image: 'known:1' } });
    expect(image?.uid).toEqual({ value: 1000n });
  });
});

describe('exec', () => {
  test('answers as scripted for the container it runs in', async () => {
    runtime.scriptExec(({ pod, container, cmd }) => ({
      exitCode: 1,
      stdout: Buffer.from([pod, container, ...cmd].join(' ')),
    }));
    const containerId = await runContainer(await runPod('web'), 'main');
    expect(await runtime.execSync({ containerId, cmd: ['true'] })).toEqual({
      exitCode: 1,
      stdout: Buffer.from('web main true'),
      stderr: Buffer.alloc(0),
    });
  });

  test('exceeds its deadline when it takes longer than its timeout', async () => {
    runtime.scriptExec(async () => {
      await clock.sleep(5000);
      return {};
    });
    const containerId = await runContainer(await runPod('web'), 'main');
    const answer = expect(runtime.execSync({ containerId, timeout: 1n })).rejects.toSatisfy(isDeadlineExceeded);
    await clock.advance(1000);
    await answer;
  });
});

describe('events', () => {
  test('tell every step of a pod to those who listen', async () => {
    const steps: string[] = [];
    const listening = collect(runtime.getContainerEvents(), steps);
    await runtime.waitForCall('getContainerEvents');
    const podSandboxId = await runPod('web');
    const containerId = await runContainer(podSandboxId, 'main');
    await runtime.stopContainer({ containerId });
    await runtime.removePodSandbox({ podSandboxId });
    runtime.endEventStreams();
    await listening;
    expect(steps).toEqual([
      'sandbox1 CREATED, containers: ',
      'sandbox1 STARTED, containers: ',
      'container2 CREATED, containers: container2 CONTAINER_CREATED',
      'container2 STARTED, containers: container2 CONTAINER_RUNNING',
      'container2 STOPPED, containers: container2 CONTAINER_EXITED',
      'sandbox1 STOPPED, containers: container2 CONTAINER_EXITED',
      'container2 DELETED, containers: ',
      'sandbox1 DELETED, containers: ',
    ]);
  });

  test('end with the reason of the signal, or with the error the test gives', async () => {
    const controller = new AbortController();
    const aborted = collect(runtime.getContainerEvents({}, { signal: controller.signal }), []);
    await runtime.waitForCall('getContainerEvents');
    const reason = new Error('stop');
    controller.abort(reason);
    await expect(aborted).rejects.toBe(reason);

    const broken = collect(runtime.getContainerEvents(), []);
    await runtime.waitForCall('getContainerEvents');
    const error = new RpcError('GetContainerEvents', 14, 'connection lost');
    runtime.endEventStreams(error);
    await expect(broken).rejects.toBe(error);
  });
});

describe('controls', () => {
  test('record complete requests with the time of the clock', async () => {
    await clock.advance(5);
    await runtime.stopContainer({ containerId: 'c1' });
    expect(runtime.calls).toEqual([
      { method: 'stopContainer', request: { containerId: 'c1', timeout: 0n }, at: startMs + 5 },
    ]);
  });

  test('fail the given number of matching calls', async () => {
    const refused = new RpcError('RunPodSandbox', 2, 'no network');
    runtime.injectError('runPodSandbox', refused, { times: 2, when: ({ config }) => config?.metadata?.name === 'web' });
    await expect(runPod('web')).rejects.toBe(refused);
    await runPod('db');
    await expect(runPod('web')).rejects.toBe(refused);
    expect(await runPod('web')).toBe('sandbox2');
  });

  test('keep calls in flight until they are released', async () => {
    const release = runtime.hang('version');
    const answer = runtime.version();
    await runtime.waitForCall('version');
    release();
    expect(await answer).toMatchObject({ version: '0.1.0', runtimeName: 'fake' });
  });

  test('let a held call go without effect when its caller gives up', async () => {
    const release = runtime.hang('runPodSandbox');
    const controller = new AbortController();
    const call = runtime.runPodSandbox({ config: podConfig('web') }, { signal: controller.signal });
    const reason = new Error('pod is gone');
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    release();
    await clock.advance(0);
    expect(await runtime.listPodSandbox()).toEqual({ items: [] });
  });

  test('hold the answer only, so that the deadline of a call passes after it took effect', async () => {
    runtime.hang('runPodSandbox', { answersOnly: true });
    const call = runtime.runPodSandbox({ config: podConfig('web') }, { deadlineMs: 1000 });
    const failed = expect(call).rejects.toSatisfy(isDeadlineExceeded);
    await clock.advance(1000);
    await failed;
    expect((await runtime.listPodSandbox()).items).toHaveLength(1);
  });

  test('make calls take their time on the clock', async () => {
    runtime.latency('runPodSandbox', 250);
    const call = runPod('web');
    await clock.advance(249);
    expect(await runtime.listPodSandbox()).toEqual({ items: [] });
    await clock.advance(1);
    expect(await call).toBe('sandbox1');
  });

  test('set the conditions that the runtime reports', async () => {
    runtime.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'no CNI configuration');
    expect((await runtime.status()).status?.conditions).toEqual([
      { type: 'RuntimeReady', status: true, reason: '', message: '' },
      { type: 'NetworkReady', status: false, reason: 'NetworkPluginNotReady', message: 'no CNI configuration' },
    ]);
  });

  test('kill the newest sandbox of a pod', async () => {
    const podSandboxId = await runPod('web');
    await runContainer(podSandboxId, 'main');
    runtime.killSandbox('web');
    const { status } = await runtime.podSandboxStatus({ podSandboxId });
    expect(status?.state).toBe(PodSandboxState.SANDBOX_NOTREADY);
    expect(runtime.running()).toEqual([]);
  });
});

test('says so when it does not have a method', async () => {
  await expect(runtime.checkpointPod()).rejects.toSatisfy(isUnimplemented);
  await expect(collect(runtime.streamContainers(), [])).rejects.toSatisfy(isUnimplemented);
});

const msOf = (ns = 0n): number => Number(ns / 1_000_000n);

async function collect(stream: AsyncIterable<unknown>, steps: string[]): Promise<void> {
  for await (const message of stream) steps.push(stepOf(message as ContainerEventResponse));
}

function stepOf({ containerId, containerEventType, containersStatuses }: ContainerEventResponse): string {
  const step = containerEventType.replace('CONTAINER_', '').replace('_EVENT', '');
  return `${containerId} ${step}, containers: ${containersStatuses.map(({ id, state }) => `${id} ${state}`).join()}`;
}
