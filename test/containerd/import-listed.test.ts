import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { ImageStore } from '../../src/containerd/ctr.ts';
import { importListed } from '../../src/containerd/import-listed.ts';
import { withListedImages } from '../../src/containerd/listed-images.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const { signal } = new AbortController();

/** Imports an archive with images of these names into a containerd. `onWait` is called at each wait of a second. */
async function importing(images: readonly string[], onWait: (runtime: FakeRuntime) => void = () => undefined) {
  const folder = await temporaryFolder();
  const [address, ctr, file] = ['c.sock', 'ctr', 'a.tar'].map((part) => join(folder, part)) as [string, string, string];
  const runtime = new FakeRuntime({ clock: systemClock });
  const server = new FakeCriServer(runtime);
  await server.start({ socketPath: address });
  onTestFinished(() => {
    server.stop();
  });
  await writeFile(
    ctr,
    ['#!/bin/sh', ...images.map((name) => `echo "unpacking ${name} (sha256:0a)...done"`)].join('\n'),
    { mode: 0o755 },
  );
  await writeFile(file, '');
  const store: ImageStore = { ctr, ctrVersion: { major: 1, minor: 7 }, address };
  const time = new FakeClock();
  const clock = {
    monotonic: () => time.monotonic(),
    sleep: async () => {
      onWait(runtime);
      await time.advance(1000);
    },
  };
  const names = withListedImages(`unix://${address}`, (isListed) =>
    importListed(store, file, { isListed, clock, signal }),
  );
  return { names, file, runtime, time };
}

test('the names are known when the CRI lists them', async () => {
  const { names, runtime } = await importing(['localhost/app:1'], (containerd) => {
    if (containerd.requestsOf('imageStatus').length === 3) containerd.addImage('localhost/app:1');
  });
  expect(await names).toEqual(['localhost/app:1']);
  expect(runtime.requestsOf('imageStatus')).toHaveLength(4);
});

test.each(['app:1', 'docker.io/app:1', 'team/app:1', 'import-2026-03-01@sha256:0a'])(
  'an image that no CRI finds by its name %s is an error without a wait',
  async (name) => {
    const { names, file, time } = await importing([name]);
    await expect(names).rejects.toMatchObject({
      name: 'UserError',
      message: `Could not import the image archive ${file}: the name of its image is not complete: ${name}`,
      hint: 'Save it with registry and path, such as localhost/app:1.',
    });
    expect(time.monotonic()).toBe(0);
  },
);

test('an incomplete name is not an error if the CRI has an image of its complete name, which may come later', async () => {
  const { names } = await importing(['app:1', 'docker.io/library/app:1'], (containerd) => {
    containerd.addImage('docker.io/library/app:1', { repoTags: ['docker.io/library/app:1', 'app:1'] });
  });
  expect(await names).toEqual(['app:1', 'docker.io/library/app:1']);
});

test.each(['localhost/app:1', 'docker.io/library/app:1', `registry.example:5000/app@sha256:${'a'.repeat(64)}`])(
  'the image %s that the CRI does not list in time is an error',
  async (name) => {
    const { names, file } = await importing([name]);
    await expect(names).rejects.toMatchObject({
      name: 'UserError',
      message: `Could not import the image archive ${file}: the runtime did not list ${name} in 60 s`,
      hint: undefined,
    });
  },
);
