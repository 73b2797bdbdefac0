import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { PodRemover } from '../../../src/engine/kuberuntime/pod-remover.ts';
import { type RemovalFailure, tearDownPods } from '../../../src/engine/gc/tear-down-pods.ts';
import { RuntimePods } from '../../../src/engine/kuberuntime/runtime-pods.ts';
import { PodDirs } from '../../../src/engine/host/pod-dirs.ts';
import { encodeRevision } from '../../../src/engine/in-place/revision-file.ts';
import { startRuntimePod } from '../../builders/runtime-pod.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { noForeignPods } from '../../fakes/no-foreign-pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { whileTimePasses } from '../config/while-time-passes.ts';

let clock: FakeClock;
let runtime: FakeRuntime;
let podDirs: PodDirs;
let forgotten: unknown[];
let removed: string[];
/** Resolves with the removed pods, sorted, and those that could not be removed. */
let tearDown: () => Promise<{ removed: string[]; failures: RemovalFailure[] }>;

beforeEach(async () => {
  const rootDir = await temporaryFolder();
  const podLogsDir = join(rootDir, 'logs');
  clock = new FakeClock();
  forgotten = [];
  runtime = new FakeRuntime({ clock });
  runtime.addImage('app:1');
  podDirs = new PodDirs({ rootDir });
  for (const name of ['web', 'db']) {
    await startRuntimePod(runtime, name);
    await mkdir(podDirs.podDir(name), { recursive: true });
  }
  tearDown = async () => {
    removed = [];
    const found: string[] = [];
    const removal = tearDownPods({
      runtime,
      runtimePods: new RuntimePods({ runtime, readTerminationMessage: ({ message }) => Promise.resolve(message) }),
      podRemover: new PodRemover({
        runtime,
        foreignPods: noForeignPods(runtime),
        podLogsDir,
        containerLogLinksDir: join(rootDir, 'links'),
      }),
      podDirs,
      removePodCgroup: () => Promise.resolve(),
      dropRestarts: (uid, pod) => {
        forgotten.push({ uid, pod: pod && `${pod.namespace}/${pod.name}` });
        return Promise.resolve();
      },
      onFound: (pods) => void found.push(...pods),
      onRemoved: (pod) => void removed.push(pod),
      clock,
    });
    const failures = await whileTimePasses(clock, removal);
    // What a command waits for: every removed pod was announced.
    expect(removed.filter((pod) => !found.includes(pod))).toEqual([]);
    return { removed: removed.toSorted(), failures };
  };
});

const refusal = new Refusal(codes.unknown, 'failed to stop sandbox: ttrpc: closed');

async function left(): Promise<{ sandboxes: number; folders: string[] }> {
  const { items } = await runtime.listPodSandbox({});
  return { sandboxes: items.length, folders: await podDirs.podUIDs() };
}

test('a pod that the runtime refuses to stop is tried again, and the others go meanwhile', async () => {
  runtime.injectError('stopPodSandbox', refusal, { times: 3 });
  expect(await tearDown()).toEqual({ removed: ['default/db', 'default/web'], failures: [] });
  expect(await left()).toEqual({ sandboxes: 0, folders: [] });
});

test('a pod that cannot be stopped is named, with what the runtime says, and the others are removed', async () => {
  const [web] = (await runtime.listPodSandbox({})).items.filter(({ metadata }) => metadata?.uid === 'web');
  runtime.injectError('stopPodSandbox', refusal, { times: 5, when: ({ podSandboxId }) => podSandboxId === web?.id });
  expect(await tearDown()).toEqual({
    removed: ['default/db'],
    failures: [{ uid: 'web', pod: 'default/web', reason: 'failed to stop sandbox: ttrpc: closed', mayRun: true }],
  });
  expect(await left()).toEqual({ sandboxes: 1, folders: ['web'] });
  expect(await tearDown()).toEqual({ removed: ['default/web'], failures: [] });
});

test('a pod with remains but nothing running is reported as such', async () => {
  runtime.injectError('removePodSandbox', refusal, { times: 10 });
  const failure = { reason: 'failed to stop sandbox: ttrpc: closed', mayRun: false };
  expect(await tearDown()).toEqual({
    removed: [],
    failures: [
      { ...failure, uid: 'web', pod: 'default/web' },
      { ...failure, uid: 'db', pod: 'default/db' },
    ],
  });
});

test('a runtime that does not answer is not waited for again', async () => {
  runtime.injectError('stopPodSandbox', new Refusal(codes.deadlineExceeded, 'deadline exceeded'), { times: 2 });
  expect((await tearDown()).failures).toHaveLength(2);
  expect(runtime.requestsOf('stopPodSandbox')).toHaveLength(2);
});

test('a runtime that does not list its pods is given up after 30 s', async () => {
  runtime.hang('listPodSandbox');
  await expect(tearDown()).rejects.toThrow('the container runtime did not list its pods within 30 s');
  expect(clock.monotonic()).toBeLessThan(60_000);
});

test('a pod whose removal hangs is given up after its grace period and 30 s', async () => {
  const release = runtime.hang('stopPodSandbox');
  const from = clock.now();
  const reason = 'not done after 32s';
  expect(await tearDown()).toEqual({
    removed: [],
    failures: [
      { uid: 'web', pod: 'default/web', reason, mayRun: true },
      { uid: 'db', pod: 'default/db', reason, mayRun: true },
    ],
  });
  expect(clock.now() - from).toBe(32_000);
  release();
});

test('each pod is reported when it is removed, in the order of the removals', async () => {
  const reported: string[] = [];
  const [web] = (await runtime.listPodSandbox({})).items.filter(({ metadata }) => metadata?.uid === 'web');
  clock.after(10_000, runtime.hang('stopPodSandbox', { when: ({ podSandboxId }) => podSandboxId === web?.id }));
  clock.after(9000, () => {
    reported.push(...removed);
  });
  await tearDown();
  expect({ reported, removed }).toEqual({ reported: ['default/db'], removed: ['default/db', 'default/web'] });
});

test('pods that wait for one another in the runtime have their time after each removal', async () => {
  const { items } = await runtime.listPodSandbox();
  for (const name of ['a', 'b', 'c']) {
    items.push({ id: (await startRuntimePod(runtime, name)).sandbox } as (typeof items)[number]);
    await mkdir(podDirs.podDir(name), { recursive: true });
  }
  for (const [index, { id }] of items.entries()) {
    const release = runtime.hang('stopPodSandbox', { when: ({ podSandboxId }) => podSandboxId === id });
    // The last one hangs too long.
    clock.after(index === 4 ? 1e6 : 20_000 * (index + 1), release);
  }
  expect(await tearDown()).toEqual({
    removed: ['default/a', 'default/b', 'default/db', 'default/web'],
    failures: [{ uid: 'c', pod: 'default/c', reason: 'not done after 112s', mayRun: true }],
  });
});

test('what was removed begins with a restart count of 0 again, also when the runtime had lost it', async () => {
  await mkdir(podDirs.podDir('lost'), { recursive: true });
  await tearDown();
  // Two at the same time, in any order.
  expect(new Set(forgotten)).toEqual(
    new Set([
      { uid: 'lost', pod: undefined },
      { uid: 'web', pod: 'default/web' },
      { uid: 'db', pod: 'default/db' },
    ]),
  );
});

test('a pod stops within its grace period and runs its hooks, as its revision or its containers say', async () => {
  const exec = { command: ['flush'] };
  const annotations = {
    'io.kubernetes.pod.terminationGracePeriod': '60',
    'io.kubernetes.container.preStopHandler': JSON.stringify({ exec }),
  };
  await startRuntimePod(runtime, 'annotated', annotations);
  await mkdir(podDirs.podDir('annotated'), { recursive: true });
  const pod = {
    metadata: { uid: 'db', name: 'db', namespace: 'default' },
    spec: { terminationGracePeriodSeconds: 40, containers: [{ name: 'main', lifecycle: { preStop: { exec } } }] },
  };
  await writeFile(
    join(podDirs.podDir('db'), 'revision.json'),
    encodeRevision({ pod, outdated: {}, isResizing: false }),
  );
  await tearDown();
  expect(runtime.requestsOf('execSync').map(({ cmd }) => cmd)).toEqual([['flush'], ['flush']]);
  expect(
    runtime
      .requestsOf('stopContainer')
      .map(({ timeout }) => Number(timeout))
      .sort((a, b) => a - b),
  ).toEqual([2, 40, 60]);
});
