import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { ProcessIdentity } from '../../src/process/process-identity.ts';
import { findContainerd } from '../../src/containerd/find-containerd.ts';
import type { ContainerdExit } from '../../src/containerd/containerd-exit.ts';
import { ManagedContainerd, type ManagedContainerdOptions } from '../../src/containerd/managed-containerd.ts';
import { ociArchive } from '../../src/containerd/pause/oci-archive.ts';
import {
  computeImageArchitecture,
  earlierPauseImageName,
  pauseImageName,
} from '../../src/containerd/pause/pause-image.ts';
import { openChannel, type Channel } from '../../src/cri/grpc-channel.ts';
import { grpcImageService } from '../../src/cri/grpc-image-service.ts';
import { grpcRuntimeService } from '../../src/cri/grpc-runtime-service.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { containerdReleases } from './containerd-releases.ts';
import { processesOf } from './processes.ts';
import { imagesFolder } from './program.ts';

/** A call that the test waits for. */
function next<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** What `docker save` writes of an image with one empty layer. */
async function dockerArchive(name: string): Promise<Uint8Array> {
  const layer = Buffer.alloc(1024);
  const config = JSON.stringify({
    architecture: computeImageArchitecture(process.arch),
    os: 'linux',
    rootfs: { type: 'layers', diff_ids: [`sha256:${createHash('sha256').update(layer).digest('hex')}`] },
  });
  const archive = pack();
  archive.entry({ name: 'layer.tar' }, layer);
  archive.entry({ name: 'config.json' }, config);
  const manifest = [{ Config: 'config.json', RepoTags: [name], Layers: ['layer.tar'] }];
  archive.entry({ name: 'manifest.json' }, JSON.stringify(manifest));
  archive.finalize();
  return buffer(archive);
}

describe.each(containerdReleases())('managed containerd $release', ({ folder }) => {
  let rootDir: string;
  let containerd: ManagedContainerd;
  let channel: Channel;
  let podSandboxId: string;
  const made: ManagedContainerd[] = [];

  const make = (callbacks: Partial<ManagedContainerdOptions> = {}): ManagedContainerd => {
    const supervisor = new ManagedContainerd({
      rootDir,
      clock: systemClock,
      logger: silentLogger,
      find: () => findContainerd({ path: `${folder ?? ''}:${process.env['PATH'] ?? ''}` }),
      ...callbacks,
    });
    made.push(supervisor);
    return supervisor;
  };
  const runtime = () => grpcRuntimeService(channel);
  const sandboxState = async (): Promise<string | undefined> =>
    (await runtime().podSandboxStatus({ podSandboxId })).status?.state;

  beforeAll(async () => {
    rootDir = await mkdtemp('/tmp/kts-');
    containerd = make();
    channel = openChannel(containerd.endpoint);
  });

  afterAll(async () => {
    channel.close();
    // One that a failed test did not release would start containerd again.
    for (const supervisor of made) supervisor.release();
    await containerd.stop();
    for (const { pid } of await processesOf(rootDir)) process.kill(pid, 'SIGKILL');
    await rm(rootDir, { recursive: true, force: true });
  });

  test('starts, answers Version and Status, and has the pause image', async () => {
    const started = await containerd.start();
    expect(started).toEqual({
      endpoint: `unix://${rootDir}/containerd/containerd.sock`,
      pid: containerd.pid,
      adopted: false,
      warnings: [],
    });
    expect(await runtime().version({})).toMatchObject({ runtimeName: 'containerd', runtimeApiVersion: 'v1' });
    const { status } = await runtime().status({});
    expect(status?.conditions.find(({ type }) => type === 'RuntimeReady')?.status).toBe(true);
    const { image } = await grpcImageService(channel).imageStatus({ image: { image: pauseImageName } });
    expect(image?.repoTags).toEqual([pauseImageName]);
  });

  test('nobody but root may reach it', async () => {
    const modes = ['', 'containerd.sock', 'containerd.log', 'containerd.pid', 'config.toml'].map(async (name) => {
      return ((await stat(join(containerd.paths.base, name))).mode & 0o777).toString(8);
    });
    expect(await Promise.all(modes)).toEqual(['700', '600', '600', '600', '600']);
  });

  test('reads the settings of registries from its own folder, else from that of the machine', async () => {
    expect(await readFile(containerd.paths.configFile, 'utf8')).toContain(
      `config_path = "${rootDir}/containerd/certs.d:/etc/containerd/certs.d"\n`,
    );
  });

  test('runs a pod sandbox with the pause image', async () => {
    const config = {
      metadata: { name: 'web', uid: 'uid-1', namespace: 'default', attempt: 0 },
      logDirectory: join(rootDir, 'logs'),
      linux: { securityContext: { namespaceOptions: { network: 'NODE' as const } } },
    };
    ({ podSandboxId } = await runtime().runPodSandbox({ config }));
    expect(await sandboxState()).toBe('SANDBOX_READY');
  });

  test('applies the edits of CDI devices, unless it is 1.6', async () => {
    const name = `kubelet-ts.test/thing${process.pid}`;
    const edits = { containerEdits: { env: ['CDI=yes'] } };
    const specFile = `/run/cdi/${name.replace('/', '-')}.json`;
    await mkdir('/run/cdi', { recursive: true });
    await writeFile(specFile, JSON.stringify({ cdiVersion: '0.5.0', kind: name, devices: [{ name: 'a', ...edits }] }));
    onTestFinished(() => rm(specFile));
    const { containerId } = await runtime().createContainer({
      podSandboxId,
      config: {
        metadata: { name: 'app', attempt: 0 },
        image: { image: pauseImageName },
        CDIDevices: [{ name: `${name}=a` }],
      },
      sandboxConfig: { metadata: { name: 'web', uid: 'uid-1', namespace: 'default', attempt: 0 } },
    });
    const { info } = await runtime().containerStatus({ containerId, verbose: true });
    const { runtimeVersion } = await runtime().version({});
    expect(info['info']?.includes('CDI=yes')).toBe(!/^v?1\.6\./.test(runtimeVersion));
    await runtime().removeContainer({ containerId });
  });

  test('has the pause image again as soon as a sandbox needs it, and asks no registry', async () => {
    await grpcImageService(channel).removeImage({ image: { image: pauseImageName } });
    const config = {
      metadata: { name: 'other', uid: 'uid-2', namespace: 'default', attempt: 0 },
      logDirectory: join(rootDir, 'logs'),
      linux: { securityContext: { namespaceOptions: { network: 'NODE' as const } } },
    };
    await expect(runtime().runPodSandbox({ config })).rejects.toThrow(/localhost.*connection refused/s);
    const made = await containerd.withPauseImage(runtime()).runPodSandbox({ config });
    await runtime().stopPodSandbox(made);
    await runtime().removePodSandbox(made);
  });

  test('one that an earlier release started has the pause image by the name that it uses', async () => {
    const { configFile } = containerd.paths;
    const config = await readFile(configFile, 'utf8');
    containerd.release();
    await writeFile(configFile, config.replaceAll(pauseImageName, earlierPauseImageName));
    containerd = make();
    expect(await containerd.start()).toMatchObject({ adopted: true });
    const images = grpcImageService(channel);
    const names = async (): Promise<string[]> =>
      (await images.listImages({})).images.flatMap(({ repoTags }) => repoTags).sort();
    expect(await names()).toEqual([earlierPauseImageName, pauseImageName]);
    await images.removeImage({ image: { image: earlierPauseImageName } });
    // It comes back before anybody is asked for it.
    await containerd
      .withPauseImage(runtime())
      .runPodSandbox({})
      .catch(() => undefined);
    expect(await names()).toEqual([earlierPauseImageName, pauseImageName]);
    await images.removeImage({ image: { image: earlierPauseImageName } });
    containerd.release();
    await writeFile(configFile, config);
    containerd = make();
    await containerd.start();
  });

  test('is adopted by the next run, with its pods', async () => {
    const pid = containerd.pid;
    containerd.release();
    containerd = make();
    expect(await containerd.start()).toMatchObject({ pid, adopted: true });
    expect(await sandboxState()).toBe('SANDBOX_READY');
  });

  test('is adopted when a crash came before its pid was recorded', async () => {
    const pid = containerd.pid;
    containerd.release();
    await rm(containerd.paths.pidFile);
    containerd = make();
    expect(await containerd.start()).toMatchObject({ pid, adopted: true });
  });

  test('is restarted for another proxy, with its pods, and then adopted again', async () => {
    vi.stubEnv('HTTPS_PROXY', 'http://proxy.example:3128');
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const pid = containerd.pid;
    for (const adopted of [false, true]) {
      containerd.release();
      containerd = make({ restartsForChanges: true });
      expect(await containerd.start()).toMatchObject({ adopted });
      expect(await sandboxState()).toBe('SANDBOX_READY');
    }
    expect(containerd.pid).not.toBe(pid);
    const environ = await readFile(`/proc/${containerd.pid ?? 0}/environ`, 'utf8');
    expect(environ.split('\0')).toContain('HTTPS_PROXY=http://proxy.example:3128');
  });

  test('is restarted if its folder of network configurations was replaced, and has a network again', async () => {
    const { pid } = containerd;
    containerd.release();
    const { cniConfDir } = containerd.paths;
    await rename(cniConfDir, `${cniConfDir}.damaged`);
    containerd = make({ restartsForChanges: true });
    expect(await containerd.start()).toMatchObject({ adopted: false });
    expect(containerd.pid).not.toBe(pid);
    expect(await sandboxState()).toBe('SANDBOX_READY');
    const { status } = await runtime().status({});
    expect(status?.conditions.find(({ type }) => type === 'NetworkReady')?.status).toBe(true);
  });

  test.each(['adopted', 'started'])('is started again when the one we %s is killed, and keeps its pods', async () => {
    containerd.release();
    const exit = next<ContainerdExit>();
    const restart = next<ProcessIdentity>();
    containerd = make({ onExit: exit.resolve, onRestart: restart.resolve });
    const { pid } = await containerd.start();

    process.kill(pid, 'SIGKILL');
    expect((await exit.promise).pid).toBe(pid);
    const { pid: newPid } = await restart.promise;
    expect(newPid).not.toBe(pid);
    expect(containerd.pid).toBe(newPid);
    expect(await sandboxState()).toBe('SANDBOX_READY');
  });

  test('imports archives of every kind, once, and continues after a bad one', async () => {
    const images = containerd.paths.imagesFolder;
    const app = await ociArchive({
      name: 'localhost/app:1',
      architecture: computeImageArchitecture(process.arch),
      layers: [[{ path: 'hello', type: 'file', content: 'hello' }]],
    });
    await mkdir(images);
    await copyFile(join(imagesFolder, 'busybox.tar'), join(images, 'busybox.tar'));
    await writeFile(join(images, 'app.tar.gz'), gzipSync(app));
    await writeFile(join(images, 'bad.tar'), 'bad');
    await writeFile(join(images, 'bad.tar.gz'), gzipSync(app).subarray(0, 100));
    await writeFile(join(images, 'docker.tar'), await dockerArchive('localhost/docker:1'));

    const { imported, failed } = await containerd.importImages();
    expect(imported).toEqual([
      { file: join(images, 'app.tar.gz'), names: ['localhost/app:1'] },
      { file: join(images, 'busybox.tar'), names: ['localhost/busybox:1'] },
      { file: join(images, 'docker.tar'), names: ['localhost/docker:1'] },
    ]);
    expect(failed.map(({ error }) => error.message)).toEqual(
      ['bad.tar', 'bad.tar.gz'].map(
        (name) => expect.stringContaining(`Could not import the image archive ${join(images, name)}: `) as string,
      ),
    );
    const listed = await grpcImageService(channel).listImages({});
    expect(listed.images.flatMap(({ repoTags }) => repoTags).sort()).toEqual([
      'localhost/app:1',
      'localhost/busybox:1',
      'localhost/docker:1',
      pauseImageName,
    ]);
    const again = await containerd.importImages();
    expect([again.imported, again.unchanged]).toEqual([
      [],
      ['app.tar.gz', 'busybox.tar', 'docker.tar'].map((name) => join(images, name)),
    ]);
  });

  test('a stop leaves no process', async () => {
    await runtime().stopPodSandbox({ podSandboxId });
    await runtime().removePodSandbox({ podSandboxId });
    await containerd.stop();
    expect(await processesOf(rootDir)).toEqual([]);
    expect(await readdir(containerd.paths.base)).toEqual(
      expect.not.arrayContaining(['containerd.sock', 'containerd.pid']),
    );
  });

  test('starts again after a stop, once for all that ask at the same time, with its images', async () => {
    const askers = [make(), make(), make()];
    const started = await Promise.all(askers.map((asker) => asker.start()));
    expect(started.map(({ adopted }) => adopted).sort()).toEqual([false, true, true]);
    expect([...new Set(started.map(({ pid }) => pid))]).toHaveLength(1);
    for (const asker of askers.slice(1)) asker.release();
    containerd = askers[0] ?? make();
    expect((await containerd.importImages()).imported).toEqual([]);
    const { image } = await grpcImageService(channel).imageStatus({ image: { image: 'localhost/app:1' } });
    expect(image?.repoTags).toEqual(['localhost/app:1']);
    await containerd.stop();
  });
});
