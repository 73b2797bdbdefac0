import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pauseImageName } from '../../src/containerd/pause/pause-image.ts';
import { CertificateAuthority } from '../fakes/certificate-authority.ts';
import { ImageRegistry } from '../fakes/image-registry.ts';
import { Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { busybox, makePod, serve, shell } from './manifests.ts';
import { imagesFolder } from './program.ts';

let folder: string;
/** A node with images, and one without a registry. */
let connected: Agent;
let isolated: Agent;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kts-air-gap-'));
  connected = await startAgent({ images: ['busybox.tar', 'flock.tar'] });
  isolated = await Agent.create({ images: [], flags: ['--offline'] });
});
afterAll(async () => {
  await connected.cleanUp();
  await isolated.cleanUp();
  await rm(folder, { recursive: true, force: true });
});

const web = (image: string): object => makePod('web', { containers: [shell('app', serve, { image })] });

test('a bundle of one node runs on another without a registry', async () => {
  const archive = join(folder, 'app.tar');
  await writeFile(join(folder, 'web.json'), JSON.stringify(web(busybox)));
  const bundled = await connected.cli(['images', 'bundle', '-o', archive, join(folder, 'web.json')]);
  expect(bundled).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^Bundled image: localhost\/busybox:1\nWrote .*app\.tar, 2\.\d+MB, sha256 [0-9a-f]{64}\n$/,
    ) as string,
    stderr: '',
  });
  for (const name of ['app.tar', 'app.tar.sha256'])
    await cp(join(folder, name), join(isolated.rootDir, 'images', name));
  await cp(join(imagesFolder, 'flock.tar'), join(isolated.rootDir, 'images', 'flock.tar'));
  await writeFile(join(isolated.rootDir, 'images', 'flock.tar.sha256'), `${'0'.repeat(64)}  flock.tar\n`);
  await isolated.write('web.json', web(busybox));
  await isolated.start();
  await isolated.untilReady('web');
  expect(isolated.logText()).toContain('flock.tar is damaged: its SHA-256 is ');
  expect(await isolated.cli(['images', 'load', join(isolated.rootDir, 'images/flock.tar')])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('flock.tar is damaged: its SHA-256 is ') as string,
  });
});

test('without manifests a bundle has the images of the agent, in the forms of OCI and of docker', async () => {
  await connected.write('web.json', web(busybox));
  await connected.untilReady('web');
  const archive = join(folder, 'agent.tar');
  const { code, stdout, stderr } = await connected.cli(['images', 'bundle', '--pause', '-o', archive]);
  expect({ code, images: stdout.split('\n').slice(0, -2), stderr }).toEqual({
    code: 0,
    images: [`Bundled image: ${busybox}`, `Bundled image: ${pauseImageName}`],
    stderr: '',
  });
  const files = (await execa('tar', ['-tf', archive])).stdout.split('\n').filter((name) => !name.startsWith('blobs/'));
  expect(files.sort()).toEqual(['index.json', 'manifest.json', 'oci-layout']);
  const { stdout: summed } = await execa('sha256sum', ['--check', 'agent.tar.sha256'], { cwd: folder });
  expect(summed).toBe('agent.tar: OK');
  await connected.removeAll();
});

test.each(containerdReleases().slice(-1))('containerd $release writes and reads a bundle', async (containerd) => {
  const agent = await Agent.create({ containerd, images: [] });
  try {
    const archive = join(folder, `${containerd.release}.tar`);
    const manifest = join(folder, 'bundled.json');
    await writeFile(manifest, JSON.stringify(web(busybox)));
    await agent.cli(['images', 'load', join(imagesFolder, 'busybox.tar')]);
    const bundled = await agent.cli(['images', 'bundle', '-o', archive, manifest]);
    expect(bundled).toMatchObject({ code: 0, stderr: '' });
    expect(bundled.stdout).toMatch(/^Bundled image: localhost\/busybox:1\nWrote .*, sha256 [0-9a-f]{64}\n$/);
    expect(await agent.cli(['images', 'load', archive])).toEqual({
      code: 0,
      stdout: 'Loaded image: localhost/busybox:1\n',
      stderr: '',
    });
  } finally {
    await agent.cleanUp();
  }
});

test('an update whose image is missing keeps the old pod', async () => {
  const before = await isolated.runningContainer('web', 'app');
  await isolated.write('web.json', web('localhost/flock:1'));
  const { waitingUpdate } = await isolated.untilPod('web', (pod) => pod.waitingUpdate?.reason === 'ErrImageNeverPull');
  expect(waitingUpdate?.message).toContain('"localhost/flock:1" is not present, and this node is offline');
  expect(await isolated.runningContainer('web', 'app')).toEqual(before);
});

test('mirrors of a registry are asked, by HTTP and by HTTPS with their own certificate', async () => {
  const authority = await CertificateAuthority.make('mirrors');
  const archive = join(imagesFolder, 'busybox.tar');
  await writeFile(join(folder, 'ca.pem'), authority.own.cert);
  const plain = await ImageRegistry.start(archive);
  const secure = await ImageRegistry.start(archive, await authority.issue('mirror'));
  try {
    for (const [name, mirror] of [
      ['plain.example', plain],
      ['secure.example', secure],
    ] as const) {
      const hosts = join(connected.rootDir, 'containerd/certs.d', name);
      await mkdir(hosts, { recursive: true });
      const text = `server = "${mirror.origin}"\n[host."${mirror.origin}"]\n  ca = "${join(folder, 'ca.pem')}"\n`;
      await writeFile(join(hosts, 'hosts.toml'), text);
    }
    const images = ['plain.example/app:1', 'secure.example/app:1'];
    expect(await connected.cli(['images', 'pull', '--parallel', '1', ...images])).toEqual({
      code: 0,
      stdout: images.map((image) => `Pulled image: ${image}\n`).join(''),
      stderr: '',
    });
  } finally {
    await plain.stop();
    await secure.stop();
  }
});
