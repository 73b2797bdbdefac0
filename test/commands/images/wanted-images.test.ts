import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { bundledNames } from '../../../src/commands/images/bundle-images.ts';
import type { CommandDeps } from '../../../src/commands/io/deps.ts';
import { pullImages, wantedImages } from '../../../src/commands/images/pull-images.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

const web = makePod({ spec: { containers: [makeContainer({ image: 'app' }), makeContainer({ image: 'web:1' })] } });

test('each image is pulled once, the named ones first, with the pods whose credentials it needs', () => {
  const { wanted, never } = wantedImages(['docker.io/library/app:latest'], [web]);
  expect(never).toEqual([]);
  expect(wanted.map(({ image, pods }) => [image, pods.map(({ metadata }) => metadata.name)])).toEqual([
    ['docker.io/library/app:latest', ['']],
    ['web:1', ['web-node1']],
  ]);
});

test('an image that is never to be pulled is not wanted, unless it is named or another container pulls it', () => {
  const containers = ['app', 'web:1', 'db:1'].map((image) => makeContainer({ image, imagePullPolicy: 'Never' }));
  const volumes = [{ name: 'model', image: { reference: 'model:1', pullPolicy: 'Never' } }];
  const local = makePod({ spec: { containers, volumes } });
  const { wanted, never } = wantedImages(['db:1'], [local, web]);
  expect([wanted.map(({ image }) => image), never]).toEqual([['db:1', 'app:latest', 'web:1'], ['model:1']]);
  expect(wantedImages([], [local])).toEqual({ wanted: [], never: ['app:latest', 'web:1', 'db:1', 'model:1'] });
});

test('images that are never to be pulled are named, without a runtime', async () => {
  const file = join(await temporaryFolder(), 'web.yaml');
  await writeFile(
    file,
    'apiVersion: v1\nkind: Pod\nmetadata: { name: web }\n' +
      'spec: { containers: [{ name: web, image: "web:1", imagePullPolicy: Never }] }\n',
  );
  const stdout = new PassThrough();
  await pullImages([], { filename: [file], parallel: 3, rootDir: '/missing' }, { stdout } as unknown as CommandDeps);
  expect(String(stdout.read())).toBe('Not pulled, imagePullPolicy Never: web:1\n');
});

test('a name that is not valid is refused before the first pull', () => {
  expect(() => wantedImages(['app:1', 'APP:1:2'], [])).toThrow('"APP:1:2" is not an image name');
});

test('a bundle has the names of the runtime, and names all that is missing', () => {
  const runtime = new FakeRuntime({ clock: new FakeClock() });
  const images = [runtime.addImage('docker.io/library/app:latest')];
  expect(bundledNames([{ image: 'app', pods: ['default/web'] }], images)).toEqual(['docker.io/library/app:latest']);
  const needed = ['app', 'web:1', 'init:1'].map((image) => ({ image, pods: ['default/web'] }));
  expect(() => bundledNames(needed, images)).toThrow(
    'nothing was written, because the runtime lacks these images:\n  web:1 (pod default/web)\n  init:1 (pod default/web)',
  );
  expect(() => bundledNames([], images)).toThrow('the manifests need no image');
});
