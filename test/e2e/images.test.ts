import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { PodSpec } from '../../src/api/types.ts';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { ImageRegistry } from '../fakes/image-registry.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { imagesFolder } from './program.ts';

let folder: string;
let registry: ImageRegistry;
let agent: Agent;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kts-images-'));
  registry = await ImageRegistry.start(join(imagesFolder, 'busybox.tar'));
  agent = await startAgent({ images: [], flags: await credentialProviderFlags() });
});
beforeEach(() => {
  registry.users.clear();
  registry.log.length = 0;
});
afterEach(async () => {
  await agent.removeAll();
  await rm(join(agent.rootDir, 'config.json'), { force: true });
});
afterAll(async () => {
  await agent.cleanUp();
  await registry.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A provider for what is below `cloud/` of the registry. */
async function credentialProviderFlags(): Promise<string[]> {
  const answer = {
    kind: 'CredentialProviderResponse',
    apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
    cacheKeyType: 'Registry',
    auth: { [registry.host]: { username: 'cloud', password: 'cloud-pw' } },
  };
  await writeFile(join(folder, 'login'), `#!/bin/sh\necho '${JSON.stringify(answer)}'\n`);
  await chmod(join(folder, 'login'), 0o755);
  const config = {
    kind: 'CredentialProviderConfig',
    apiVersion: 'kubelet.config.k8s.io/v1',
    providers: [
      {
        name: 'login',
        matchImages: [`${registry.host}/cloud`],
        defaultCacheDuration: '1m',
        apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
      },
    ],
  };
  const file = join(folder, 'providers.json');
  await writeFile(file, JSON.stringify(config));
  return ['--image-credential-provider-config', file, '--image-credential-provider-bin-dir', folder];
}

const podOf = (image: string, spec: Partial<PodSpec> = {}): object =>
  makePod('web', { ...spec, containers: [shell('app', serve, { image })] });

const dockerConfig = (user: string): string =>
  JSON.stringify({ auths: { [registry.host]: { auth: Buffer.from(`${user}:${user}-pw`).toString('base64') } } });

const messages = ({ events }: PodSnapshot, reason: string): string[] =>
  events.flatMap((event) => (event.type === 'Recorded' && event.reason === reason ? [event.message] : []));

/** Whose requests for the manifest of a repository were answered. */
const usersOf = (repository: string): string[] => [
  ...new Set(
    registry.log
      .filter((line) => line.includes(` ${repository}/`) && line.endsWith(' 200'))
      .map((line) => line.replace(/ .*/, '')),
  ),
];

/** Every repository has the same layer, which is not fetched while an image has it. */
async function removePulledImages(): Promise<void> {
  const connection = await agent.connect();
  try {
    for (const { id, repoTags, repoDigests } of (await connection.images.listImages({})).images) {
      const names = [...repoTags, ...repoDigests];
      if (names.some((name) => name.startsWith(registry.host)))
        await connection.images.removeImage({ image: { image: id } });
    }
  } finally {
    connection.close();
  }
}

test('an image comes from a registry, by its tag, with the size of what was pulled', async () => {
  await agent.write('web.yaml', podOf(`${registry.host}/open/app:1`));
  const pod = await agent.untilReady('web');
  expect(messages(pod, 'Pulled').at(-1)).toMatch(
    /^Successfully pulled image ".*\/open\/app:1" in .*s \(.*s including waiting\)\. Image size: [1-9]\d* bytes\.$/,
  );
  expect(usersOf('open/app')).toEqual(['nobody']);
});

test('an image comes by its digest, and is not pulled again', async () => {
  const image = `${registry.host}/digest/app@${registry.digest}`;
  await agent.write('web.yaml', podOf(image));
  await agent.untilReady('web');
  await agent.removeAll();
  const asked = registry.log.length;
  await agent.write('web.yaml', podOf(image));
  const pod = await agent.untilReady('web');
  expect(messages(pod, 'Pulled').at(-1)).toBe(
    `Container image "${image}" already present on machine and can be accessed by the pod`,
  );
  expect(registry.log).toHaveLength(asked);
});

test('a pod brings its credentials along in a Secret', async () => {
  registry.users.set('ada', 'ada-pw');
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'login' },
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': dockerConfig('ada') },
  };
  const pod = podOf(`${registry.host}/pods/app:1`, { imagePullSecrets: [{ name: 'login' }] });
  await agent.write('web.yaml', { apiVersion: 'v1', kind: 'List', items: [secret, pod] });
  await agent.untilReady('web');
  expect(usersOf('pods/app')).toEqual(['ada']);
});

test('a private image is only for pods with its credentials, also after a kill of the agent', async () => {
  registry.users.set('ada', 'ada-pw');
  const image = `${registry.host}/private/app:1`;
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'login' },
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': dockerConfig('ada') },
  };
  const owner = {
    apiVersion: 'v1',
    kind: 'List',
    items: [secret, podOf(image, { imagePullSecrets: [{ name: 'login' }] })],
  };
  const stranger = makePod('stranger', {
    containers: [shell('app', serve, { image, imagePullPolicy: 'IfNotPresent' })],
  });
  await agent.write('owner.yaml', owner);
  await agent.untilReady('web');
  await agent.write('stranger.yaml', stranger);
  const refused = await agent.untilPod('stranger', (pod) => messages(pod, 'BackOff').length > 0);
  expect(messages(refused, 'Failed')[0]).toMatch(/^Failed to pull image ".*\/private\/app:1": .*401 Unauthorized/);
  expect((await agent.cli(['explain', 'stranger'])).stdout).toContain(
    `${image} is on this node, but no credentials of this pod pulled it before`,
  );

  await agent.remove('owner.yaml');
  await agent.until(({ pods }) => pods.length === 1);
  await agent.kill9();
  const pullsBefore = registry.log.filter((line) => line.startsWith('ada ')).length;
  await agent.start();
  await agent.write('owner.yaml', owner);
  const admitted = await agent.untilReady('web');
  expect(messages(admitted, 'Pulled')).toEqual([
    `Container image "${image}" already present on machine and can be accessed by the pod`,
  ]);
  expect(registry.log.filter((line) => line.startsWith('ada '))).toHaveLength(pullsBefore);
  const stillRefused = await agent.untilPod('stranger', (pod) => messages(pod, 'Failed').length > 0);
  expect(stillRefused.pod.status?.phase).toBe('Pending');
  const { stdout: records } = await execa('grep', ['-rh', '.', join(agent.rootDir, 'image_manager')]);
  expect(records).toContain('"kind":"ImagePulledRecord"');
  expect(records).not.toMatch(/-pw|YWRhOmFkYS1wdw/);
});

test('the node has credentials in a file, which count as soon as they are there', async () => {
  registry.users.set('node', 'node-pw');
  await agent.write('web.yaml', podOf(`${registry.host}/node/app:1`));
  const waiting = await agent.untilPod('web', (pod) => messages(pod, 'Failed').length > 0);
  expect(messages(waiting, 'Failed')[0]).toMatch(/^Failed to pull image ".*\/node\/app:1": .*401 Unauthorized/);
  await writeFile(join(agent.rootDir, 'config.json'), dockerConfig('node'), { mode: 0o600 });
  await agent.untilReady('web');
  expect(usersOf('node/app')).toEqual(['node']);
});

test('a credential provider is asked for the images it is for', async () => {
  registry.users.set('cloud', 'cloud-pw');
  await agent.write('web.yaml', podOf(`${registry.host}/cloud/app:1`));
  await agent.untilReady('web');
  expect(usersOf('cloud/app')).toEqual(['cloud']);
});

test('credentials that are refused leave the pod waiting, and are in no log', async () => {
  registry.users.set('ada', 'another');
  await writeFile(join(agent.rootDir, 'config.json'), dockerConfig('ada'), { mode: 0o600 });
  await agent.write('web.yaml', podOf(`${registry.host}/refused/app:1`));
  const { pod } = await agent.untilPod('web', (snapshot) => messages(snapshot, 'BackOff').length > 0);
  expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.reason).toMatch(/^(ErrImagePull|ImagePullBackOff)$/);
  expect(agent.logText()).not.toMatch(/-pw|YWRhOmFkYS1wdw/);
});

test('a pull shows how far it has come, until it is done', async () => {
  await removePulledImages();
  const release = registry.holdLayers();
  const image = `${registry.host}/held/app:1`;
  try {
    await agent.write('web.yaml', podOf(image));
    // containerd writes a layer in pieces of 1 MiB.
    const pulling = await agent.untilPod('web', ({ pulls }) => (pulls?.[0]?.receivedBytes ?? 0) >= 1024 * 1024);
    const [pull] = pulling.pulls ?? [];
    expect(pull).toMatchObject({ container: 'app', image });
    expect(pull?.receivedBytes).toBeLessThan(pull?.totalBytes ?? 0);
    expect((await agent.cli(['ps', '-o', 'wide'])).stdout).toMatch(
      /sync, pulling \d+% 1\.\d\/2\.\d MB +\w+: pulls \S+, \d+% 1\.\d\/2\.\d MB\n/,
    );
    expect((await agent.cli(['describe', 'web'])).stdout).toMatch(/^Pulling: +app: .*\/held\/app:1 \d+% 1\./m);
    await agent.waitForLog((entry) => entry.msg === 'Pulling image' && entry['image'] === image);
  } finally {
    release();
  }
  expect((await agent.untilReady('web')).pulls).toBeUndefined();
});

test('a pull whose connection breaks off continues in the middle of the layer', async () => {
  await removePulledImages();
  const image = `${registry.host}/cut/app:1`;
  registry.layerOffsets.length = 0;
  registry.cutLayers(1);
  expect(await agent.cli(['images', 'pull', image])).toEqual({
    code: 0,
    stdout: `Pulled image: ${image}\n`,
    stderr: '',
  });
  const [first, second] = registry.layerOffsets;
  expect({ first, isContinued: (second ?? 0) > 0 }).toEqual({ first: 0, isContinued: true });
});

test('images pull pulls as many images at a time as --parallel says', async () => {
  const count = 2;
  await removePulledImages();
  const images = ['a', 'b', 'c', 'd'].map((name) => `${registry.host}/${name}/app:1`);
  const release = registry.holdLayers();
  const pulling = agent.cli(['images', 'pull', '--parallel', String(count), ...images]);
  await registry.waitForRepositories(count);
  const asked = images.filter((_image, index) => registry.log.some((line) => line.includes(` ${'abcd'[index]}/app/`)));
  release();
  expect(asked).toEqual(images.slice(0, count));
  const { stdout, ...rest } = await pulling;
  expect(rest).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n').sort()).toEqual(['', ...images.map((image) => `Pulled image: ${image}`)]);
});

test('images pull reports all failures at the end', async () => {
  const [good, refused, invalid] = [`${registry.host}/good/app:1`, '127.0.0.1:1/refused:1', '127.0.0.1:1/away:1'];
  const { code, stdout, stderr } = await agent.cli(['images', 'pull', refused, good, invalid]);
  expect({ code, stdout, stderr: stderr.replaceAll(/:1: .*/g, ':1: …') }).toEqual({
    code: 1,
    stdout: `Pulled image: ${good}\n`,
    stderr:
      `error: these images could not be pulled:\n  ${refused}: …\n  ${invalid}: …\n` +
      'hint: Correct the names, log in, or load the images from an archive: kubelet-ts images load FILE\n',
  });
});

test('images tag moves a name of another image', async () => {
  const archives = ['busybox.tar', 'flock.tar'].map((name) => join(imagesFolder, name));
  expect(await agent.cli(['images', 'load', ...archives])).toMatchObject({ code: 0 });
  const tagsOf = async (name: string): Promise<string[]> => {
    const { images } = JSON.parse((await agent.cli(['images', 'list', '-o', 'json'])).stdout) as {
      images: { repoTags: string[] }[];
    };
    return images.find(({ repoTags }) => repoTags.includes(name))?.repoTags ?? [];
  };
  for (const image of ['localhost/busybox:1', 'localhost/flock:1']) {
    expect(await agent.cli(['images', 'tag', image, 'localhost/moves:1'])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await tagsOf('localhost/moves:1')).toContain(image);
  }
  expect(await agent.cli(['images', 'rm', 'localhost/moves:1'])).toMatchObject({ code: 0 });
});

test('images load takes several archives, and images list shows them', async () => {
  const archives = ['busybox.tar', 'flock.tar'].map((name) => join(imagesFolder, name));
  const loaded = await agent.cli(['images', 'load', ...archives]);
  expect(loaded).toEqual({
    code: 0,
    stdout: 'Loaded image: localhost/busybox:1\nLoaded image: localhost/flock:1\n',
    stderr: '',
  });
  const listed = await agent.cli(['images', 'list']);
  const names = listed.stdout.split('\n').map((line) => line.split(' ')[0]);
  expect(names).toEqual(expect.arrayContaining(['IMAGE', 'localhost/busybox:1', 'localhost/flock:1']));
});

test('images load reads an archive from stdin', async () => {
  const input = await readFile(join(imagesFolder, 'flock.tar'));
  expect(await agent.cli(['images', 'load', '-'], { input })).toEqual({
    code: 0,
    stdout: 'Loaded image: localhost/flock:1\n',
    stderr: '',
  });
  expect(await agent.cli(['images', 'load', '-'], { input: '' })).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: Could not import the image archive stdin: unrecognized image format\n' +
      'hint: An archive is what `docker save`, `podman save` or `ctr images export` writes.\n',
  });
});

test('images rm refuses an image that a declared pod uses, and names the pod', async () => {
  const image = `${registry.host}/rm/app:1`;
  expect(await agent.cli(['images', 'pull', image])).toMatchObject({ code: 0 });
  const starts = { image, imagePullPolicy: 'Never' };
  await agent.write('rm.yaml', makePod('rm', { containers: [shell('app', serve, starts)] }));
  await agent.untilReady('rm');
  expect(await agent.cli(['images', 'rm', image])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      `error: image ${image} is used by pod default/rm-edge1\n` +
      'hint: No image was removed. Remove it anyway with --force.\n',
  });
  // Several names here are of this image.
  const { code, stdout } = await agent.cli(['images', 'rm', '--force', image]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(`^Removed image: .*${image}`) as string });
  expect((await agent.cli(['images', 'list'])).stdout).not.toContain(image);
});

test('images rm of one of several names removes that name alone, unless a declared pod uses it', async () => {
  const image = `${registry.host}/names/app:1`;
  const [one, two] = ['localhost/names:1', 'localhost/names:2'];
  expect(await agent.cli(['images', 'pull', image])).toMatchObject({ code: 0 });
  for (const name of [one, two]) expect(await agent.cli(['images', 'tag', image, name])).toMatchObject({ code: 0 });
  await agent.write(
    'names.yaml',
    makePod('names', { containers: [shell('app', serve, { image: one, imagePullPolicy: 'Never' })] }),
  );
  await agent.untilReady('names');
  expect(await agent.cli(['images', 'rm', one, two])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      `error: image ${one} is used by pod default/names-edge1\n` +
      'hint: No image was removed. Remove it anyway with --force.\n',
  });
  expect(await agent.cli(['images', 'rm', two])).toEqual({ code: 0, stdout: `Untagged: ${two}\n`, stderr: '' });
  const { stdout } = await agent.cli(['images', 'list', '-o', 'json']);
  const tags = (JSON.parse(stdout) as { images: { repoTags: string[] }[] }).images.flatMap(({ repoTags }) => repoTags);
  expect([image, one, two].map((name) => tags.includes(name))).toEqual([true, true, false]);
});
