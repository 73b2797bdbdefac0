import { beforeEach, expect, test } from 'vitest';
import { withPauseImage } from '../../../src/containerd/pause/with-pause-image.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

const missing = new Refusal(codes.unknown, 'failed to get sandbox image "localhost/kubelet-ts-pause:1"');

let runtime: FakeRuntime;
let isThere: boolean;
let looks: number;
let isAskedOutside: boolean;

beforeEach(() => {
  runtime = new FakeRuntime();
  isThere = true;
  looks = 0;
  isAskedOutside = false;
});

function guarded(ensure = load) {
  return withPauseImage(runtime, {
    ensure,
    isAskedOutside: () => Promise.resolve(isAskedOutside),
    logger: silentLogger,
  });
}

function load(): Promise<boolean> {
  looks++;
  const wasMissing = !isThere;
  isThere = true;
  return Promise.resolve(wasMissing);
}

function remove(times: number): void {
  isThere = false;
  runtime.injectError('runPodSandbox', missing, { times });
}

const sandbox = (name: string) => ({ config: { metadata: { name, namespace: 'default', uid: name } } });

test('the image is not checked while sandboxes are created', async () => {
  expect(await guarded().runPodSandbox(sandbox('a'))).toEqual({ podSandboxId: 'sandbox1' });
  expect(looks).toBe(0);
});

test('an image that was removed is loaded, and the sandbox is made', async () => {
  remove(1);
  expect(await guarded().runPodSandbox(sandbox('a'))).toEqual({ podSandboxId: 'sandbox1' });
});

test('it is loaded once for all sandboxes that failed', async () => {
  remove(3);
  const shared = guarded();
  const made = await Promise.all(['a', 'b', 'c'].map((name) => shared.runPodSandbox(sandbox(name))));
  expect(made).toHaveLength(3);
  expect(runtime.requestsOf('runPodSandbox')).toHaveLength(6);
});

test('a sandbox that fails for another reason is not tried again', async () => {
  runtime.injectError('runPodSandbox', missing, { times: 1 });
  await expect(guarded().runPodSandbox(sandbox('a'))).rejects.toThrow('failed to get sandbox image');
  expect(runtime.requestsOf('runPodSandbox')).toHaveLength(1);
});

test('an image that cannot be loaded leaves the error of the sandbox', async () => {
  remove(1);
  const failing = guarded(() => Promise.reject(new Error('no ctr')));
  await expect(failing.runPodSandbox(sandbox('a'))).rejects.toThrow('failed to get sandbox image');
});

test('who would ask the internet has it before the sandbox is asked for', async () => {
  isAskedOutside = true;
  isThere = false;
  await guarded().runPodSandbox(sandbox('a'));
  expect([looks, isThere, runtime.requestsOf('runPodSandbox').length]).toEqual([1, true, 1]);
});
