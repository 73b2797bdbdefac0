import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { PodRemover } from '../../../src/engine/gc/pod-remover.ts';
import { tearDownPods } from '../../../src/engine/gc/tear-down-pods.ts';
import { RuntimePods } from '../../../src/engine/kuberuntime/runtime-pods.ts';
import { PodDirs } from '../../../src/engine/pod-dirs.ts';
import { startRuntimePod } from '../../builders/runtime-pod.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { whileTimePasses } from '../config/while-time-passes.ts';

let clock: FakeClock;
let runtime: FakeRuntime;
let podDirs: PodDirs;
let tearDown: () => Promise<string[]>;

beforeEach(async () => {
  const rootDir = await temporaryFolder();
  const podLogsDir = join(rootDir, 'logs');
  clock = new FakeClock();
  runtime = new FakeRuntime({ clock });
  runtime.addImage('app:1');
  podDirs = new PodDirs({ rootDir });
  for (const name of ['web', 'db']) {
    await startRuntimePod(runtime, name);
    await mkdir(podDirs.podDir(name), { recursive: true });
  }
  tearDown = () => {
    const removal = tearDownPods({
      runtime,
      runtimePods: new RuntimePods({ runtime, readTerminationMessage: ({ message }) => Promise.resolve(message) }),
      podRemover: new PodRemover({ runtime, podLogsDir, containerLogLinksDir: join(rootDir, 'links') }),
      podDirs,
      removePodCgroup: () => Promise.resolve(),
      clock,
    });
    return whileTimePasses(clock, removal);
  };
});

const refusal = new Refusal(codes.unknown, 'failed to stop sandbox: ttrpc: closed');

async function left(): Promise<{ sandboxes: number; folders: string[] }> {
  const { items } = await runtime.listPodSandbox({});
  return { sandboxes: items.length, folders: await podDirs.podUIDs() };
}

test('a pod that the runtime refuses to stop is tried again, and the others go meanwhile', async () => {
  runtime.injectError('stopPodSandbox', refusal, { times: 3 });
  const from = clock.now();
  expect(await tearDown()).toEqual(['default/db', 'default/web']);
  expect({ ...(await left()), ms: clock.now() - from }).toEqual({ sandboxes: 0, folders: [], ms: 750 });
});

test('a pod that cannot be stopped is told by name, with what the runtime says, and the others are gone', async () => {
  const [web] = (await runtime.listPodSandbox({})).items.filter(({ metadata }) => metadata?.uid === 'web');
  runtime.injectError('stopPodSandbox', refusal, { times: 5, when: ({ podSandboxId }) => podSandboxId === web?.id });
  await expect(tearDown()).rejects.toMatchObject({
    name: 'UserError',
    message: 'not everything could be removed: pod default/web: failed to stop sandbox: ttrpc: closed',
    hint: 'Run it again; it goes on with what is left.',
  });
  expect(await left()).toEqual({ sandboxes: 1, folders: ['web'] });
  expect(await tearDown()).toEqual(['default/web']);
});

test('a runtime that does not answer is not waited for again', async () => {
  runtime.injectError('stopPodSandbox', new Refusal(codes.deadlineExceeded, 'deadline exceeded'), { times: 2 });
  await expect(tearDown()).rejects.toMatchObject({ name: 'UserError' });
  expect(runtime.requestsOf('stopPodSandbox')).toHaveLength(2);
});
