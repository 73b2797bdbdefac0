import { beforeEach, expect, test } from 'vitest';
import { RuntimePods } from '../../../src/engine/kuberuntime/runtime-pods.ts';
import { ContainerExits } from '../../../src/engine/container/container-exits.ts';
import { ContainerStatus } from '../../../src/cri/generated/cri.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

const start = Date.parse('2025-01-01T00:00:00Z');

let clock: FakeClock;
let runtime: FakeRuntime;
let pods: RuntimePods;

beforeEach(() => {
  clock = new FakeClock(start);
  runtime = new FakeRuntime({ clock });
  runtime.addImage('app:1');
  pods = new RuntimePods({ runtime, readTerminationMessage: ({ exitCode }) => Promise.resolve(`said ${exitCode}`) });
});

async function sandbox(uid: string, attempt = 0): Promise<string> {
  const labels = {
    'io.kubernetes.pod.name': uid,
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': uid,
  };
  const metadata = { name: uid, namespace: 'default', uid, attempt };
  return (await runtime.runPodSandbox({ config: { metadata, labels } })).podSandboxId;
}

async function container(podSandboxId: string, uid: string, attempt: number, annotations = {}): Promise<string> {
  const labels = {
    'io.kubernetes.pod.name': uid,
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': uid,
    'io.kubernetes.container.name': 'main',
  };
  const config = { metadata: { name: 'main', attempt }, image: { image: 'app:1' }, labels, annotations };
  const { containerId } = await runtime.createContainer({ podSandboxId, config });
  await runtime.startContainer({ containerId });
  return containerId;
}

test('a pod is all of its sandboxes and containers, newest first, joined on its UID', async () => {
  const first = await sandbox('a');
  const dead = await container(first, 'a', 0);
  runtime.killSandbox('a');
  await clock.advance(1000);
  const second = await sandbox('a', 1);
  const annotations = {
    'io.kubernetes.container.hash': 'ff',
    'io.kubernetes.container.restartCount': '1',
    'io.kubernetes.pod.terminationGracePeriod': '12',
  };
  const alive = await container(second, 'a', 1, annotations);
  await sandbox('b');
  const status = await pods.getPodStatus('a');
  expect(status).toMatchObject({
    uid: 'a',
    name: 'a',
    namespace: 'default',
    ips: ['10.88.0.3'],
    sandboxStatuses: [
      { id: second, attempt: 1, state: 'ready', createdAt: start + 1000, networkMode: 'pod', ip: '10.88.0.3' },
      { id: first, attempt: 0, state: 'notready', createdAt: start, networkMode: 'pod', ip: '' },
    ],
    containerStatuses: [
      { id: alive, state: 'running', hash: 255, restartCount: 1, terminationGracePeriodSeconds: 12 },
      { id: dead, state: 'exited', exitCode: 137, finishedAt: start, message: 'said 137', hash: 0, restartCount: 0 },
    ],
  });
  expect((await pods.getPods({})).map(({ uid, containers }) => `${uid} ${containers.length}`).sort()).toEqual([
    'a 2',
    'b 0',
  ]);
  expect((await pods.getPods({ uid: 'b' })).map(({ uid }) => uid)).toEqual(['b']);
});

test('what vanishes while it is read counts as absent', async () => {
  const id = await sandbox('a');
  await container(id, 'a', 0);
  runtime.injectError('containerStatus', new Refusal(codes.notFound, 'gone'));
  expect((await pods.getPodStatus('a')).containerStatuses).toEqual([]);
});

test('what cannot be read fails the whole reading', async () => {
  const id = await sandbox('a');
  await container(id, 'a', 0);
  runtime.injectError('podSandboxStatus', new Refusal(codes.unknown, 'no'));
  await expect(pods.getPodStatus('a')).rejects.toThrow('no');
});

test('a pod that the runtime does not have is empty', async () => {
  expect(await pods.getPodStatus('none')).toEqual({
    uid: 'none',
    name: '',
    namespace: '',
    ips: [],
    sandboxStatuses: [],
    containerStatuses: [],
  });
});

test('the newest sandbox alone has addresses, and only while it is ready', async () => {
  await sandbox('a');
  runtime.killSandbox('a');
  expect((await pods.getPodStatus('a')).ips).toEqual([]);
});

test('reads an exited container once, and drops it with its pod', async () => {
  const podSandbox = await sandbox('a');
  const [first, second] = [await container(podSandbox, 'a', 0), await container(podSandbox, 'a', 1)];
  const read = async (): Promise<{ exits: string[]; asked: string[] }> => {
    const before = runtime.requestsOf('containerStatus').length;
    const { containerStatuses } = await pods.getPodStatus('a');
    return {
      exits: containerStatuses.map(({ id, state, message }) => `${id} ${state} ${message}`).sort(),
      asked: runtime
        .requestsOf('containerStatus')
        .slice(before)
        .map(({ containerId }) => containerId)
        .sort(),
    };
  };
  const running = (id: string): string => `${id} running said 0`;
  expect(await read()).toEqual({ exits: [running(first), running(second)].sort(), asked: [first, second].sort() });
  runtime.exitContainer(first, 3);
  const ended = `${first} exited said 3`;
  expect(await read()).toEqual({ exits: [ended, running(second)].sort(), asked: [first, second].sort() });
  expect(await read()).toEqual({ exits: [ended, running(second)].sort(), asked: [second] });
  await runtime.removeContainer({ containerId: first });
  expect(await read()).toEqual({ exits: [running(second)], asked: [second] });
});

test('a container whose exit an event reported is not running, and is dropped once the runtime no longer lists it', async () => {
  const exits = new ContainerExits();
  pods = new RuntimePods({
    runtime,
    exits,
    readTerminationMessage: ({ exitCode }) => Promise.resolve(`said ${exitCode}`),
  });
  const podSandbox = await sandbox('a');
  const id = await container(podSandbox, 'a', 0);
  exits.record(id, { exitCode: 2, finishedAt: start + 5, reason: 'Error' });
  const ended = { id, state: 'exited', exitCode: 2, finishedAt: start + 5, reason: 'Error', message: 'said 2' };
  expect((await pods.getPods({}))[0]?.containers).toMatchObject([{ id, state: 'exited' }]);
  expect((await pods.getPodStatus('a')).containerStatuses).toMatchObject([ended]);
  expect(await pods.getContainerStatus(id, {})).toMatchObject(ended);
  expect(exits.isUnconfirmed(id)).toBe(true);
  runtime.exitContainer(id, 137, { oom: true });
  expect(await pods.getContainerStatus(id, {})).toMatchObject({
    exitCode: 137,
    reason: 'OOMKilled',
    message: 'said 137',
  });
  expect(exits.isUnconfirmed(id)).toBe(false);
  await runtime.removePodSandbox({ podSandboxId: podSandbox });
  await pods.getPods({ uid: 'a' });
  expect(exits.ids()).toEqual([id]);
  await pods.getPods({});
  expect(exits.ids()).toEqual([]);
  expect(await pods.getContainerStatus(id, {})).toBeUndefined();
});

test('a container that ran out of memory keeps that as the reason for its exit', () => {
  const exits = new ContainerExits();
  exits.record('c', { exitCode: 1, finishedAt: 7, reason: 'Error' });
  const running = ContainerStatus.fromPartial({ id: 'c', state: 'CONTAINER_RUNNING', reason: 'OOMKilled' });
  expect(exits.complete(running)).toEqual({
    ...running,
    state: 'CONTAINER_EXITED',
    exitCode: 1,
    finishedAt: 7_000_000n,
  });
  const created = ContainerStatus.fromPartial({ id: 'c', state: 'CONTAINER_CREATED' });
  expect(exits.complete(created)).toEqual(created);
});

test('the runtime may say 4 KiB of a container, and give 1 KiB as its reason', async () => {
  const { containerStatus } = runtime;
  const talkative = Object.assign(runtime, {
    containerStatus: async (...request: Parameters<typeof containerStatus>) => {
      const answer = await containerStatus(...request);
      return { ...answer, status: answer.status && { ...answer.status, reason, message } };
    },
  });
  const [reason, message] = ['r'.repeat(2000), 'm'.repeat(5000)];
  const readTerminationMessage = (status: { message: string }) => Promise.resolve(status.message);
  await container(await sandbox('a'), 'a', 0);
  const { containerStatuses } = await new RuntimePods({ runtime: talkative, readTerminationMessage }).getPodStatus('a');
  expect(containerStatuses.map((status) => [status.reason, status.message])).toEqual([
    [`${'r'.repeat(1024)} … 976 bytes left out`, `${'m'.repeat(4096)} … 904 bytes left out`],
  ]);
});
