import { beforeEach, expect, test } from 'vitest';
import { removeImages } from '../../../src/commands/images/remove-images.ts';
import { pauseImageName } from '../../../src/containerd/pause/pause-image.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeContainer, makeDeps } from '../runtime-listings.ts';

let runtime: FakeRuntime;
let rootDir: string;

const app = `sha256:${'a1'.repeat(32)}`;
const two = `sha256:${'b2'.repeat(32)}`;

beforeEach(async () => {
  runtime = new FakeRuntime({ clock: new FakeClock() });
  rootDir = await temporaryFolder();
  runtime.addImage('localhost/app:1', { id: app });
  runtime.addImage('localhost/two:1', { id: two, repoTags: ['localhost/two:1', 'localhost/two:latest'] });
  runtime.addImage('docker.io/library/busybox:latest');
  runtime.addImage(pauseImageName);
});

/** Removes on the fake runtime, in which one container of a pod uses `busybox`. Resolves with the names that left. */
async function remove(...words: string[]): Promise<{ gone: string[]; stdout: string }> {
  const labels = {
    'io.kubernetes.pod.namespace': 'shop',
    'io.kubernetes.pod.name': 'web',
    'io.kubernetes.container.name': 'app',
  };
  const user = makeContainer({ id: 'c', name: 'app', labels, imageRef: 'docker.io/library/busybox:latest' });
  const listAllContainers = () => Promise.resolve({ containers: [user] });
  const connection = { runtime, images: runtime, listAllContainers, close: () => undefined };
  const { printed, ...deps } = makeDeps(runtime, { connect: () => Promise.resolve(connection) });
  const names = async (): Promise<string[]> =>
    (await runtime.listImages({})).images.flatMap(({ repoTags }) => repoTags);
  const before = await names();
  const flags = { rootDir, force: words.includes('--force') };
  await removeImages(
    words.filter((word) => word !== '--force'),
    flags,
    deps,
  );
  const after = await names();
  return { gone: before.filter((name) => !after.includes(name)), stdout: printed.stdout };
}

const both = ['localhost/two:1', 'localhost/two:latest'];

test.each([
  [['localhost/app:1'], ['localhost/app:1']],
  [['a1a1a1a1'], ['localhost/app:1']],
  [[app], ['localhost/app:1']],
  [['localhost/two:1', 'localhost/two'], both],
  [['b2b2b2b2b2b2b'], both],
  [['b2b2b2b2b2b2b', 'localhost/two:1'], both],
  [['localhost/two:1', '--force'], both],
  [['busybox', '--force'], ['docker.io/library/busybox:latest']],
])('images rm %j removes %j', async (words, gone) => {
  expect(await remove(...words)).toEqual({ gone, stdout: `Removed image: ${gone.join(', ')}\n` });
});

const kept = 'No image was removed. Remove it anyway with --force.';

test.each([
  [['localhost/app:1', 'busybox'], 'image busybox is used by container shop/web/app', kept],
  [[pauseImageName], `image ${pauseImageName} is used by the sandboxes of all pods`, kept],
  [['localhost/ap:1'], 'the runtime has no image localhost/ap:1', 'Did you mean localhost/app:1?'],
  [['cafe12'], 'the runtime has no image cafe12', 'kubelet-ts images list lists the images.'],
])('images rm %j removes nothing, and says why', async (words, message, hint) => {
  await expect(remove(...words)).rejects.toMatchObject({ name: 'UserError', message, hint });
  expect((await runtime.listImages({})).images).toHaveLength(4);
});
