import { expect, test } from 'vitest';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { ApiRig } from './api-rig.ts';

const clock = new FakeClock();

/** A runtime with pod `default/web`, whose init container has ended, and pod `other/pull` without a container. */
async function runtimeWithPods(): Promise<FakeRuntime> {
  const runtime = new FakeRuntime({ clock });
  for (const image of ['setup:1', 'app:1', 'tools:1']) runtime.addImage(image);
  const podSandboxId = await sandboxOf(runtime, 'default', 'web');
  await containerOf(runtime, podSandboxId, 'init', 'setup:1');
  runtime.exitContainer({ pod: 'web', container: 'init' }, 0);
  await containerOf(runtime, podSandboxId, 'proxy', 'app:1');
  await containerOf(runtime, podSandboxId, 'main', 'app:1');
  await containerOf(runtime, podSandboxId, 'debugger', 'tools:1');
  await clock.advance(1);
  await sandboxOf(runtime, 'other', 'pull');
  await runtime.stopPodSandbox({ podSandboxId: await sandboxOf(runtime, 'other', 'ended') });
  return runtime;
}

async function sandboxOf(runtime: FakeRuntime, namespace: string, name: string): Promise<string> {
  const metadata = { name, namespace, uid: `uid-${name}`, attempt: 0 };
  const labels = { 'io.kubernetes.pod.name': name };
  return (await runtime.runPodSandbox({ config: { metadata, labels } })).podSandboxId;
}

async function containerOf(runtime: FakeRuntime, podSandboxId: string, name: string, image: string): Promise<void> {
  const labels = { 'io.kubernetes.pod.uid': 'uid-web', 'io.kubernetes.container.name': name };
  const config = { metadata: { name, attempt: 0 }, image: { image }, labels };
  const { containerId } = await runtime.createContainer({ podSandboxId, config });
  await runtime.startContainer({ containerId });
}

const listed = (name: string, namespace: string, containers: object[] | null): object => ({
  metadata: { name, namespace, uid: `uid-${name}` },
  spec: { containers },
  status: {},
});

test('/runningpods/ has every running container of the runtime, newest pod first', async () => {
  const { listContainers, listPodSandbox } = await runtimeWithPods();
  const rig = await ApiRig.open({ runtime: { listContainers, listPodSandbox } });
  const answer = await rig.short('GET /runningpods/', { client: await rig.authority.issue('carol') });
  expect([answer.slice(0, 4), JSON.parse(answer.slice(4))]).toEqual([
    '200 ',
    {
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: {},
      items: [
        listed('pull', 'other', null),
        listed('web', 'default', [
          { name: 'proxy', image: 'app:1', resources: {} },
          { name: 'main', image: 'app:1', resources: {} },
          { name: 'debugger', image: 'tools:1', resources: {} },
        ]),
      ],
    },
  ]);
});

test('/runningpods/ is refused while the runtime does not answer', async () => {
  const runtime = new FakeRuntime({ clock });
  const { listContainers, listPodSandbox } = runtime;
  runtime.injectError('listContainers', new Refusal(codes.unavailable, 'scripted'));
  const rig = await ApiRig.open({ runtime: { listContainers, listPodSandbox } });
  const answer = await rig.short('GET /runningpods/', { client: await rig.authority.issue('carol') });
  expect(answer).toBe('500 rpc error: code = Unavailable desc = scripted');
});
