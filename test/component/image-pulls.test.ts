import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import { makeSecret } from '../builders/config-objects.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const image = 'r.example/app:1';
const login = makeSecret(
  'login',
  { '.dockerconfigjson': '{"auths": {"r.example": {"username": "ada", "password": "ada-pw"}}}' },
  { type: 'kubernetes.io/dockerconfigjson' },
);
const podOf = (name: string, spec: Partial<Pod['spec']> = {}): Pod =>
  makeStaticPod(name, {
    uid: `u-${name}`,
    spec: { containers: [{ name: 'main', image, imagePullPolicy: 'IfNotPresent' }], ...spec },
  });
const owner = podOf('owner', { imagePullSecrets: [{ name: 'login' }] });
const stranger = podOf('stranger');

/** A machine whose registry needs the credentials of the Secret. */
async function makeWorld(): Promise<World> {
  const world = await World.make();
  world.runtime.injectError('pullImage', new Refusal(codes.unknown, '401 Unauthorized'), {
    times: Infinity,
    when: ({ auth }) => auth?.password !== 'ada-pw',
  });
  return world;
}

async function boot(world: World, ...pods: Pod[]): Promise<Engine> {
  const source = new ManualSource();
  source.setConfigObjects(login);
  source.set(...pods);
  return world.boot({ sources: [source] });
}

const pulls = (world: World): string[] =>
  world.runtime.requestsOf('pullImage').map(({ auth }) => auth?.username ?? 'nobody');

const recordFiles = async (world: World): Promise<string[]> =>
  (await readdir(join(world.rootDir, 'image_manager'), { recursive: true, withFileTypes: true })).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );

test('a private image that one pod pulled is for pods with its Secret only, also after the agent is killed', async () => {
  const world = await makeWorld();
  const first = await boot(world, owner);
  await world.until(() => first.isReady('owner-edge1'));
  first.crash();
  const second = await boot(world, owner, stranger);
  await world.until(() => second.waitingReason('stranger-edge1') === 'ImagePullBackOff');
  world.runtime.exitContainer({ pod: 'owner-edge1', container: 'main' }, 1);
  await world.until(() => second.messages('Started').length > 0);
  expect(pulls(world)).toEqual(['ada', 'nobody']);
  const files = await recordFiles(world);
  expect(files.map((path) => path.replace(/.*image_manager\/(\w+)\/.*/, '$1'))).toEqual(['pulled']);
  expect(await Promise.all(files.map((path) => readFile(path, 'utf8')))).toEqual([
    expect.not.stringContaining('ada-pw'),
  ]);
});

test('an image whose pull the agent did not survive is not for every pod', async () => {
  const world = await makeWorld();
  const release = world.runtime.hang('pullImage', { answersOnly: true });
  const first = await boot(world, owner);
  await world.until(() => pulls(world).length === 1);
  first.crash();
  release();
  expect(world.runtime.images.list()).toHaveLength(1);
  const second = await boot(world, owner, stranger);
  await world.until(
    () => second.isReady('owner-edge1') && second.waitingReason('stranger-edge1') === 'ImagePullBackOff',
  );
  expect(pulls(world).toSorted()).toEqual(['ada', 'ada', 'nobody']);
});

test('a damaged record gives an image to nobody, and the next pull repairs it', async () => {
  const world = await makeWorld();
  const first = await boot(world, owner);
  await world.until(() => first.isReady('owner-edge1'));
  await first.kill();
  for (const path of await recordFiles(world)) await writeFile(path, '{"kind":');
  const second = await boot(world, owner, stranger);
  await world.until(() => second.waitingReason('stranger-edge1') === 'ImagePullBackOff');
  world.runtime.exitContainer({ pod: 'owner-edge1', container: 'main' }, 1);
  await world.until(() => second.messages('Started').length > 0);
  expect(pulls(world)).toEqual(['ada', 'nobody', 'ada']);
  expect(await recordFiles(world)).toHaveLength(1);
});

test('an image that was there before the agent is for every pod', async () => {
  const world = await makeWorld();
  world.runtime.addImage(image);
  const engine = await boot(world, owner, stranger);
  await world.until(() => engine.isReady('owner-edge1') && engine.isReady('stranger-edge1'));
  expect(pulls(world)).toEqual([]);
});

test('the record of an image goes when the image is collected', async () => {
  const world = await makeWorld();
  const source = new ManualSource();
  source.setConfigObjects(login);
  source.set(owner);
  const engine = await world.boot({ sources: [source] });
  await world.until(() => engine.isReady('owner-edge1'));
  source.setNothing();
  await world.until(() => engine.pod('owner-edge1') === undefined);
  world.stats.amounts.diskAvailable = 0;
  await world.until(() => world.runtime.images.list().length === 0);
  await world.until(async () => (await recordFiles(world)).length === 0);
});
