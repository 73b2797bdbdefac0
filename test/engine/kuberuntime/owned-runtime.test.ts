import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { OwnedRuntime, ownerByFiles } from '../../../src/engine/kuberuntime/owned-runtime.ts';
import { startRuntimePod } from '../../builders/runtime-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

let clock: FakeClock;
let runtime: FakeRuntime;

beforeEach(() => {
  clock = new FakeClock();
  runtime = new FakeRuntime({ clock });
  runtime.addImage('app:1');
});

/** One of several that share the runtime, since one second from now. */
function owner(digit: number, { rootDir = `/root${digit}`, podUIDs = [] as string[] } = {}): OwnedRuntime {
  const ended = new AbortController();
  onTestFinished(() => {
    ended.abort();
  });
  return new OwnedRuntime({
    runtime,
    owner: { id: String(digit).repeat(18), rootDir, since: clock.now() + 1000 },
    podUIDs: () => Promise.resolve(podUIDs),
    clock,
    signal: ended.signal,
  });
}

/** A pod of one container with a file below a root-dir. */
async function startPod(owned: OwnedRuntime, uid: string, rootDir: string, attempt = 0): Promise<string> {
  const labels = { 'io.kubernetes.pod.uid': uid };
  const sandboxConfig = { metadata: { name: uid, namespace: 'default', uid, attempt }, labels };
  const { podSandboxId } = await owned.runtime.runPodSandbox({ config: sandboxConfig });
  await owned.runtime.createContainer({
    podSandboxId,
    sandboxConfig,
    config: {
      metadata: { name: 'main' },
      image: { image: 'app:1' },
      labels,
      mounts: [{ hostPath: '/etc/x' }, { hostPath: `${rootDir}/pods/${uid}/etc-hosts` }],
    },
  });
  return podSandboxId;
}

async function seenBy({ runtime: seen }: OwnedRuntime): Promise<{ sandboxes: string[]; containers: string[] }> {
  const [{ items }, { containers }] = await Promise.all([seen.listPodSandbox({}), seen.listContainers({})]);
  return {
    sandboxes: items.map(({ metadata }) => metadata?.uid ?? ''),
    containers: containers.map(({ labels }) => labels['io.kubernetes.pod.uid'] ?? ''),
  };
}

describe('each owner', () => {
  test('sees its own pods alone, whatever their UID', async () => {
    const [one, two] = [owner(1), owner(2, { podUIDs: ['a', 'b'] })];
    await startPod(one, 'a', '/root1');
    await startPod(two, 'b', '/root2');
    expect(await seenBy(one)).toEqual({ sandboxes: ['a'], containers: ['a'] });
    expect(await seenBy(two)).toEqual({ sandboxes: ['b'], containers: ['b'] });
  });

  test('sees them in another life, and when the containers are listed first', async () => {
    await startPod(owner(1), 'a', '/root1');
    await startPod(owner(2), 'b', '/root2');
    const { containers } = await owner(1).runtime.listContainers({});
    expect(containers.map(({ labels }) => labels['io.kubernetes.pod.uid'])).toEqual(['a']);
  });

  test('asks no more than once for what containers belong to', async () => {
    for (const uid of ['a', 'b', 'c']) await startPod(owner(1), uid, '/root1');
    const again = owner(1);
    const before = runtime.calls.length;
    await seenBy(again);
    expect(runtime.calls.slice(before).map(({ method }) => method)).toEqual(['listPodSandbox', 'listContainers']);
  });

  test('sends the same sandbox with each container as was asked for', async () => {
    await startPod(owner(1), 'a', '/root1');
    const [sandbox] = runtime.requestsOf('runPodSandbox');
    const [container] = runtime.requestsOf('createContainer');
    expect(container?.sandboxConfig).toEqual(sandbox?.config);
  });
});

describe('a pod without an owner', () => {
  test('is ours when it is older than the identity of the root-dir, and has a folder there', async () => {
    await startRuntimePod(runtime, 'earlier');
    await startRuntimePod(runtime, 'kubelet');
    const owned = owner(1, { podUIDs: ['earlier', 'later'] });
    await clock.advance(2000);
    await startRuntimePod(runtime, 'later');
    expect(await seenBy(owned)).toEqual({ sandboxes: ['earlier'], containers: ['earlier'] });
    expect(owned.holderOf('kubelet')).toMatch(/^a kubelet, or /);
  });
});

describe('a UID that another one has', () => {
  test('is refused, with the root-dir of who has it', async () => {
    const [one, two] = [owner(1), owner(2)];
    await startPod(one, 'a', '/root1');
    await seenBy(two);
    expect(two.holderOf('a')).toBe('the kubelet-ts of --root-dir /root1');
    await expect(startPod(two, 'a', '/root2', 1)).rejects.toThrow(
      'UID a belongs to a pod of the kubelet-ts of --root-dir /root1; this pod starts when that one is removed',
    );
    expect(await seenBy(one)).toEqual({ sandboxes: ['a'], containers: ['a'] });
  });

  test('is refused in the same words when both asked at the same moment', async () => {
    const [one, two] = [owner(1), owner(2)];
    await startPod(one, 'a', '/root1');
    await expect(startPod(two, 'a', '/root2')).rejects.toThrow('UID a belongs to a pod of the kubelet-ts');
  });

  test('another refusal of the runtime keeps its words', async () => {
    const one = owner(1);
    await startPod(one, 'a', '/root1');
    await expect(startPod(one, 'a', '/root1')).rejects.toThrow('name is reserved');
  });

  test('is reported as free two seconds after it is', async () => {
    const [one, two] = [owner(1), owner(2)];
    const podSandboxId = await startPod(one, 'a', '/root1');
    await seenBy(two);
    let freed = 0;
    two.onFreed(() => freed++);
    two.awaitFreeing('a', () => true);
    await clock.advance(2000);
    await runtime.waitForCall('listPodSandbox');
    await one.runtime.stopPodSandbox({ podSandboxId });
    await one.runtime.removePodSandbox({ podSandboxId });
    expect(freed).toBe(0);
    await clock.advance(2000);
    expect([freed, two.holderOf('a')]).toEqual([1, undefined]);
    const before = runtime.calls.length;
    await clock.advance(60_000);
    expect(runtime.calls.length).toBe(before);
  });

  test('is checked no longer when nobody waits for it any more', async () => {
    const [one, two] = [owner(1), owner(2)];
    for (const uid of ['a', 'b']) await startPod(one, uid, '/root1');
    await seenBy(two);
    let isAwaited = true;
    two.awaitFreeing('a', () => isAwaited);
    two.awaitFreeing('b', () => false);
    const looksIn = async (ms: number): Promise<unknown[]> => {
      const before = runtime.calls.length;
      await clock.advance(ms);
      return runtime.calls.slice(before).map(({ method, request }) => ({ method, request }));
    };
    const look = {
      method: 'listPodSandbox',
      request: { filter: { id: '', labelSelector: { 'io.kubernetes.pod.uid': 'a' } } },
    };
    expect(await looksIn(2000)).toEqual([look]);
    isAwaited = false;
    expect(await looksIn(60_000)).toEqual([]);
    isAwaited = true;
    two.awaitFreeing('a', () => isAwaited);
    expect(await looksIn(2000)).toEqual([look]);
  });
});

test('who has files below a root-dir is found in the runtime', async () => {
  await startRuntimePod(runtime, 'kubelet');
  await startPod(owner(1), 'a', '/root1');
  await startPod(owner(2), 'b', '/root2');
  expect(await ownerByFiles(runtime, '/root2')).toBe('2'.repeat(18));
  expect(await ownerByFiles(runtime, '/root')).toBeUndefined();
});

test('images of all containers are in use, whoever has them', async () => {
  await startPod(owner(1), 'a', '/root1');
  expect((await owner(2).listAllContainers({})).containers).toHaveLength(1);
});
