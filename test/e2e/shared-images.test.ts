import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { Agent, startAgent } from './agent.ts';
import { makePod, shell } from './manifests.ts';
import { imagesFolder } from './program.ts';

const flock = 'localhost/flock:1';

let owner: Agent;
/** An agent on a containerd that it does not manage, with an archive in its root-dir. */
let guest: Agent;

beforeAll(async () => {
  owner = await startAgent({ images: [] });
  guest = await Agent.create({
    images: ['flock.tar'],
    flags: ['--offline'],
    environment: { CONTAINER_RUNTIME_ENDPOINT: managedPaths(owner.rootDir).endpoint },
  });
  const job = makePod('job', { containers: [shell('app', 'exec sleep 3600', { image: flock })] });
  await guest.write('job.json', job);
});
afterAll(async () => {
  await guest.cleanUp();
  await owner.cleanUp();
});

const isPresent = async (): Promise<boolean> => {
  const connection = await owner.connect();
  const { images } = await connection.images.listImages({});
  connection.close();
  return images.some(({ repoTags }) => repoTags.includes(flock));
};

test('the archives of a root-dir are loaded into a containerd that is not managed', async () => {
  await guest.start();
  await guest.untilReady('job');
  expect(await isPresent()).toBe(true);
});

test('an image that was removed is loaded again at the next start, and by images load', async () => {
  await guest.removeAll();
  await guest.stop();
  expect(await guest.cli(['images', 'rm', flock])).toMatchObject({ code: 0 });
  expect(await isPresent()).toBe(false);
  await guest.start();
  expect(await isPresent()).toBe(true);
  await guest.stop();
  expect(await guest.cli(['images', 'rm', flock])).toMatchObject({ code: 0 });
  const load = ['images', 'load', join(imagesFolder, 'flock.tar')];
  expect(await guest.cli(load)).toEqual({ code: 0, stdout: `Loaded image: ${flock}\n`, stderr: '' });
  expect(await isPresent()).toBe(true);
});

test('an images folder that cannot be read is a warning in the log, and the agent runs', async () => {
  const folder = join(guest.rootDir, 'images');
  await rm(folder, { recursive: true });
  await writeFile(folder, '');
  await guest.start();
  expect(guest.logs.filter(({ msg }) => msg === 'No image archive was imported').map(({ err }) => err)).toEqual([
    `Could not read the images folder ${folder}: not a directory`,
  ]);
  await guest.stop();
});
