import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { contentStore, contentStoreProgress } from '../../../src/engine/images/content-store.ts';
import { unlessStalled } from '../../../src/engine/images/stalled-pull.ts';
import type { RuntimeService } from '../../../src/cri/runtime-service.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const signal = new AbortController().signal;

/** A pull that ends only by being given up. */
const endless = (bounded: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    bounded.addEventListener('abort', () => {
      reject(bounded.reason as Error);
    });
  });

test('a pull that brings nothing for four minutes is given up', async () => {
  const clock = new FakeClock();
  const pull = unlessStalled(endless, { progress: () => Promise.resolve(7), clock, signal });
  const failure = expect(pull).rejects.toThrow('no progress for 240 seconds');
  await clock.advance(250_000);
  await failure;
});

test('a slow pull may take as long as it likes while it gets on', async () => {
  const clock = new FakeClock();
  let bytes = 0;
  const done = new AbortController();
  const pull = unlessStalled(
    (bounded) =>
      new Promise<string>((resolve, reject) => {
        bounded.addEventListener('abort', () => {
          reject(bounded.reason as Error);
        });
        done.signal.addEventListener('abort', () => {
          resolve('pulled');
        });
      }),
    { progress: () => Promise.resolve((bytes += 1)), clock, signal },
  );
  await clock.advance(3_600_000);
  done.abort();
  await expect(pull).resolves.toBe('pulled');
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

test('the progress of a containerd is what its content store holds', async () => {
  const root = await temporaryFolder();
  const store = join(root, 'io.containerd.content.v1.content');
  await mkdir(join(store, 'ingest', 'one'), { recursive: true });
  await mkdir(join(store, 'blobs', 'sha256'), { recursive: true });
  await writeFile(join(store, 'ingest', 'one', 'data'), 'half');
  await writeFile(join(store, 'blobs', 'sha256', 'aaaa'), 'whole');
  const runtime = {
    status: () => Promise.resolve({ info: { config: JSON.stringify({ containerdRootDir: root }) } }),
  } as unknown as RuntimeService;
  expect(await contentStoreProgress(contentStore(runtime))()).toBe(9);
});

test('a runtime that is no containerd tells no progress', async () => {
  const runtime = { status: () => Promise.resolve({ info: {} }) } as unknown as RuntimeService;
  expect(await contentStoreProgress(contentStore(runtime))()).toBeUndefined();
});

test('a runtime that does not say how it is, or says it in another form, is asked again and tells no progress', async () => {
  const answers = [
    () => Promise.reject(new Error('down')),
    () => Promise.resolve({ info: { config: 'no JSON' } }),
    () => Promise.resolve({ info: {} }),
  ];
  const runtime = { status: () => answers.shift()?.() } as unknown as RuntimeService;
  const progress = contentStoreProgress(contentStore(runtime));
  expect(await progress()).toBeUndefined();
  expect(await progress()).toBeUndefined();
  expect(await progress()).toBeUndefined();
  expect(answers).toEqual([]);
});
