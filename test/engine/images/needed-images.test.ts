import { expect, test } from 'vitest';
import type { Image } from '../../../src/cri/types.ts';
import {
  missingImages,
  nameOf,
  neededImages,
  neededText,
  storedName,
  unusedImages,
} from '../../../src/engine/images/needed-images.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

const digest = `sha256:${'a'.repeat(64)}`;

const imageOf = (id: string, changes: Partial<Image> = {}): Image => ({
  id,
  repoTags: [],
  repoDigests: [],
  size: 1n,
  uid: undefined,
  username: '',
  spec: undefined,
  pinned: false,
  ...changes,
});

const web = makePod({
  metadata: { name: 'web' },
  spec: {
    initContainers: [makeContainer({ name: 'init', image: 'init:1' })],
    containers: [
      makeContainer({ image: 'app' }),
      makeContainer({ name: 'same', image: 'docker.io/library/app:latest' }),
    ],
    volumes: [
      { name: 'data', image: { reference: `registry.example/data@${digest}` } },
      { name: 'tmp', emptyDir: {} },
    ],
  },
});
const job = makePod({ metadata: { name: 'job' }, spec: { containers: [makeContainer({ image: 'init:1' })] } });

test('pods need the images of all containers and image volumes, each once', () => {
  expect(neededImages([web, job])).toEqual([
    { image: 'init:1', pods: ['default/web', 'default/job'] },
    { image: 'app', pods: ['default/web'] },
    { image: `registry.example/data@${digest}`, pods: ['default/web'] },
  ]);
});

test('an image is missing if the runtime has it under no name of the manifest', () => {
  const images = [
    imageOf('sha256:1', { repoTags: ['docker.io/library/app:latest'] }),
    imageOf('sha256:2', { repoDigests: [`registry.example/data@${digest}`] }),
  ];
  const missing = missingImages(neededImages([web, job]), images);
  expect(missing).toEqual([{ image: 'init:1', pods: ['default/web', 'default/job'] }]);
  expect(neededText([...missing, { image: 'pause:1', pods: [] }])).toBe(
    '  init:1 (pod default/web, default/job)\n  pause:1',
  );
});

test("an image has the runtime's own name, by tag, digest or id", () => {
  const id = `sha256:${'b'.repeat(64)}`;
  const images = [imageOf(id, { repoTags: ['docker.io/library/app:latest', 'localhost/app:1'], repoDigests: [] })];
  expect(storedName('app', images)).toBe('docker.io/library/app:latest');
  expect(storedName('localhost/app:1', images)).toBe('localhost/app:1');
  expect(storedName(id, images)).toBe('docker.io/library/app:latest');
  expect(storedName('other', images)).toBeUndefined();
});

test('unused images are those that are neither used nor pinned', () => {
  const unused = imageOf('sha256:3', { repoTags: ['localhost/b:1', 'localhost/c:1'] });
  const images = [
    unused,
    imageOf('sha256:1', { repoTags: ['docker.io/library/app:latest'] }),
    imageOf('sha256:2', { repoTags: ['localhost/a:1'], pinned: true }),
    imageOf('sha256:4'),
  ];
  const found = unusedImages(images, new Set(['docker.io/library/app:latest']));
  expect(found.map(nameOf)).toEqual(['localhost/b:1, localhost/c:1', 'sha256:4']);
});
