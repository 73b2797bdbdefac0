import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { contentStore, contentStoreProgress } from '../../../src/engine/images/content-store.ts';
import { unlessStalled } from '../../../src/engine/images/stalled-pull.ts';
import type { RuntimeService } from '../../../src/cri/runtime-service.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const signal = new AbortController().signal;

/** A pull that ends only by being given up. */
const endless = (bounded: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    bounded.addEventListener('abort', () => {
      reject(bounded.reason as Error);
    });
  });

const fetching = { receivedBytes: 7, isFetching: true };
const unpacking = { receivedBytes: 7, isFetching: false };

test('a pull that waits for data for four minutes is given up', async () => {
  const clock = new FakeClock();
  const pull = unlessStalled(endless, { progress: () => Promise.resolve(fetching), clock, signal });
  const failure = expect(pull).rejects.toThrow('no progress for 240 seconds');
  await clock.advance(250_000);
  await failure;
});

/** A pull that ends by `done` or by being given up. */
const endingWith =
  (done: AbortSignal) =>
  (bounded: AbortSignal): Promise<string> =>
    new Promise((resolve, reject) => {
      bounded.addEventListener('abort', () => {
        reject(bounded.reason as Error);
      });
      done.addEventListener('abort', () => {
        resolve('pulled');
      });
    });

test('a slow pull may take as long as it likes while it gets on', async () => {
  const clock = new FakeClock();
  let receivedBytes = 0;
  const done = new AbortController();
  const progress = () => Promise.resolve({ receivedBytes: (receivedBytes += 1), isFetching: true });
  const pull = unlessStalled(endingWith(done.signal), { progress, clock, signal });
  await clock.advance(3_600_000);
  done.abort();
  await expect(pull).resolves.toBe('pulled');
});

test('a pull whose data has come may unpack for most of an hour, and then waits for more', async () => {
  const clock = new FakeClock();
  const done = new AbortController();
  let now = unpacking;
  const pull = unlessStalled(endingWith(done.signal), { progress: () => Promise.resolve(now), clock, signal });
  await clock.advance(3_500_000);
  now = fetching;
  await clock.advance(200_000);
  done.abort();
  await expect(pull).resolves.toBe('pulled');
});

test('a pull that does nothing for an hour is given up', async () => {
  const clock = new FakeClock();
  const pull = unlessStalled(endless, { progress: () => Promise.resolve(unpacking), clock, signal });
  const failure = expect(pull).rejects.toThrow('no progress for 3600 seconds');
  await clock.advance(3_610_000);
  await failure;
});

test('a failed read of the progress is skipped, even the first', async () => {
  const clock = new FakeClock();
  let looks = 0;
  const progress = () =>
    (looks += 1) % 2 === 1 ? Promise.reject(new Error('EMFILE: too many open files')) : Promise.resolve(fetching);
  const pull = unlessStalled(endless, { progress, clock, signal });
  const failure = expect(pull).rejects.toThrow('no progress for 240 seconds');
  await clock.advance(270_000);
  await failure;
});

test('a pull that cannot be watched has no deadline', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const pull = unlessStalled(endless, { progress: () => Promise.resolve(undefined), clock, signal: stop.signal });
  const failure = expect(pull).rejects.toThrow('asked to stop');
  await clock.advance(3_600_000);
  stop.abort(new Error('asked to stop'));
  await failure;
});

/** A containerd whose content store has this blob and files in folders of ingests, last changed after 7 seconds. */
async function makeStore(ingests: Record<string, Record<string, string>>) {
  const root = await temporaryFolder();
  const store = join(root, 'io.containerd.content.v1.content');
  await mkdir(join(store, 'blobs', 'sha256'), { recursive: true });
  await writeFile(join(store, 'blobs', 'sha256', 'aaaa'), 'whole');
  await mkdir(join(store, 'ingest'));
  for (const [name, files] of Object.entries(ingests)) {
    await mkdir(join(store, 'ingest', name));
    for (const [file, text] of Object.entries(files)) await writeFile(join(store, 'ingest', name, file), text);
    if ('data' in files) await utimes(join(store, 'ingest', name, 'data'), 7, 7);
  }
  const runtime = {
    status: () => Promise.resolve({ info: { config: JSON.stringify({ containerdRootDir: root }) } }),
  } as unknown as RuntimeService;
  return { store, progress: contentStoreProgress(contentStore(runtime)) };
}

test.each([
  ['a layer lacks data', { one: { ref: 'k8s.io/1/layer-sha256:aa', data: 'half', total: '9' } }, 9, true],
  ['a manifest lacks data', { one: { ref: 'k8s.io/1/manifest-sha256:aa', data: '', total: '9' } }, 5, true],
  ['a layer of unknown size is written', { one: { ref: 'k8s.io/1/layer-sha256:aa', data: 'half' } }, 9, true],
  ['all data of a layer has come', { one: { ref: 'k8s.io/1/layer-sha256:aa', data: 'done', total: '4' } }, 9, false],
  ['another client fetches', { one: { ref: 'moby/1/layer-sha256:aa', data: 'half', total: '9' } }, 9, false],
  ['a layer becomes a blob', { one: { ref: 'k8s.io/1/layer-sha256:aa' } }, 5, false],
  ['nothing is fetched', {}, 5, false],
])('containerd progresses as its content store does: %s', async (_, ingests, receivedBytes, isFetching) => {
  const { progress } = await makeStore(ingests);
  expect(await progress(7000)).toEqual({ receivedBytes, isFetching });
});

test('a layer that an earlier pull left is not being fetched', async () => {
  const { progress } = await makeStore({ one: { ref: 'k8s.io/1/layer-sha256:aa', data: 'half', total: '9' } });
  expect(await progress(8000)).toEqual({ receivedBytes: 9, isFetching: false });
});

test('a content store that cannot be read now is not another runtime', async () => {
  const { store, progress } = await makeStore({});
  await rm(join(store, 'ingest'), { recursive: true });
  await writeFile(join(store, 'ingest'), 'no folder');
  await expect(progress(7000)).rejects.toThrow('ENOTDIR');
});

test('a runtime other than containerd reports no progress', async () => {
  const runtime = { status: () => Promise.resolve({ info: {} }) } as unknown as RuntimeService;
  expect(await contentStoreProgress(contentStore(runtime))(0)).toBeUndefined();
});

test('a runtime that does not say how it is, or says it in another form, is asked again and tells no progress', async () => {
  const answers = [
    () => Promise.reject(new Error('down')),
    () => Promise.resolve({ info: { config: 'no JSON' } }),
    () => Promise.resolve({ info: {} }),
  ];
  const runtime = { status: () => answers.shift()?.() } as unknown as RuntimeService;
  const progress = contentStoreProgress(contentStore(runtime));
  expect(await progress(0)).toBeUndefined();
  expect(await progress(0)).toBeUndefined();
  expect(await progress(0)).toBeUndefined();
  expect(answers).toEqual([]);
});
