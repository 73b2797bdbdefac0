import { chmod, mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Pod, Volume } from '../../src/api/types.ts';
import { ConfigObjects } from '../../src/engine/config-objects/config-objects.ts';
import { readMounts } from '../../src/engine/host/mount-points.ts';
import { PodDirs } from '../../src/engine/host/pod-dirs.ts';
import { checkHostPath } from '../../src/engine/volumes/host-path.ts';
import { mountPointsUnder, mountTmpfs } from '../../src/engine/host/mounts.ts';
import { removeTree } from '../../src/engine/host/remove-tree.ts';
import { VolumeManager } from '../../src/engine/volumes/volume-manager.ts';
import type { MountedVolume } from '../../src/engine/volumes/volume-mounter.ts';
import { makeContainer, makePod } from '../builders/pods.ts';
import { makeVolumeClaims } from '../builders/storage-objects.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { PathGuard } from '../../src/engine/host/path-guard.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let folder: string;
let podDirs: PodDirs;
let manager: VolumeManager;

beforeEach(async () => {
  folder = await temporaryFolder();
  ({ podDirs, manager } = openRoot(folder));
});

function openRoot(rootDir: string): { podDirs: PodDirs; manager: VolumeManager } {
  const podDirs = new PodDirs({ rootDir });
  const allocatable = { memory: '8Mi' };
  return {
    podDirs,
    manager: new VolumeManager({
      paths: new PathGuard({ maxHung: 1 }),
      ...{ podDirs, allocatable, claims: makeVolumeClaims(podDirs, rootDir) },
      configObjects: new ConfigObjects(),
      clock: new FakeClock(),
    }),
  };
}

/** Mounts the pod's volume. Resolves with the mounted volume, or with the reason of the failure. */
async function mountData(pod: Pod, volumeManager = manager): Promise<MountedVolume | string | undefined> {
  const { mounted, failures } = await volumeManager.mountPodVolumes(pod);
  return failures.get('data')?.message ?? mounted.get('data');
}

/** A pod with one volume that its container mounts. */
function podWith(volume: Omit<Volume, 'name'>): Pod {
  const container = makeContainer({ volumeMounts: [{ name: 'data', mountPath: '/data' }] });
  return makePod({
    metadata: { uid: 'u1' },
    spec: { containers: [container], volumes: [{ name: 'data', ...volume }] },
  });
}

const emptyDirPath = (): string => join(folder, 'pods', 'u1', 'volumes', 'kubernetes.io~empty-dir', 'data');

/** Unmounts at the end of the test, because a remaining mount would be deleted with the folder. */
function unmountedAtEnd(path: string): void {
  onTestFinished(async () => {
    for (const mountPoint of await mountPointsUnder(path)) await execa('umount', ['-l', mountPoint]);
  });
}

describe('an emptyDir', () => {
  test('is a folder that every user may write to, and keeps what is in it', async () => {
    const pod = podWith({ emptyDir: {} });
    expect(await mountData(pod)).toEqual({ hostPath: emptyDirPath(), readOnly: false, managed: true });
    expect((await stat(emptyDirPath())).mode & 0o7777).toBe(0o777);
    await writeFile(join(emptyDirPath(), 'kept'), '');
    await chmod(emptyDirPath(), 0o700);
    await manager.mountPodVolumes(pod);
    expect(await readdir(emptyDirPath())).toEqual(['kept']);
    expect((await stat(emptyDirPath())).mode & 0o7777).toBe(0o700);
  });

  test('is made again when the pod runs again under its UID', async () => {
    const pod = podWith({ emptyDir: {} });
    await manager.mountPodVolumes(pod);
    await writeFile(join(emptyDirPath(), 'gone'), '');
    await manager.unmountPodVolumes('u1');
    await manager.mountPodVolumes(pod);
    expect(await readdir(emptyDirPath())).toEqual([]);
  });

  test('in memory is a tmpfs of its size, mounted once, and removed with the pod', async () => {
    unmountedAtEnd(folder);
    const pod = podWith({ emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } });
    await manager.mountPodVolumes(pod);
    await manager.mountPodVolumes(pod);
    expect(await mountPointsUnder(folder)).toEqual([emptyDirPath()]);
    const { stdout } = await execa('df', ['--output=fstype,size', emptyDirPath()]);
    expect(stdout.split('\n')[1]?.split(/\s+/)).toEqual(['tmpfs', '1024']);
    expect((await stat(emptyDirPath())).mode & 0o7777).toBe(0o1777);
    await manager.unmountPodVolumes('u1');
    expect(await mountPointsUnder(folder)).toEqual([]);
    expect(await podDirs.podUIDs()).toEqual(['u1']);
    await podDirs.removePodDir('u1');
    expect(await podDirs.podUIDs()).toEqual([]);
  });

  test('in memory is mounted once when the root-dir is a link', async () => {
    unmountedAtEnd(folder);
    await mkdir(join(folder, 'real'));
    await symlink('real', join(folder, 'root'));
    const linked = openRoot(join(folder, 'root'));
    const pod = podWith({ emptyDir: { medium: 'Memory' } });
    await linked.manager.mountPodVolumes(pod);
    await linked.manager.mountPodVolumes(pod);
    expect(await mountPointsUnder(folder)).toHaveLength(1);
    await linked.podDirs.removePodDir('u1');
    expect(await mountPointsUnder(folder)).toEqual([]);
  });

  test('of huge pages is a hugetlbfs with pages of the size that the pod asks for', async () => {
    unmountedAtEnd(folder);
    const sizes = (await readdir('/sys/kernel/mm/hugepages')).map((name) =>
      parseInt(name.replace('hugepages-', ''), 10),
    );
    const bytes = Math.min(...sizes) * 1024;
    const pod = podWith({ emptyDir: { medium: 'HugePages' } });
    for (const container of pod.spec.containers) {
      container.resources = { requests: { [`hugepages-${bytes}`]: String(bytes) } };
    }
    await manager.mountPodVolumes(pod);
    await manager.mountPodVolumes(pod);
    expect(await mountPointsUnder(folder)).toEqual([emptyDirPath()]);
    const { stdout } = await execa('stat', ['-f', '-c', '%T %S', emptyDirPath()]);
    expect(stdout).toBe(`hugetlbfs ${bytes}`);
  });

  test('of an unknown medium is refused and leaves nothing', async () => {
    expect(await mountData(podWith({ emptyDir: { medium: 'Paper' } }))).toBe('unknown storage medium "Paper"');
    expect(await podDirs.podUIDs()).toEqual([]);
  });
});

describe('volumes of a pod', () => {
  test('that no container mounts are not set up', async () => {
    const pod = makePod({ metadata: { uid: 'u1' }, spec: { volumes: [{ name: 'data', emptyDir: {} }] } });
    expect(await manager.mountPodVolumes(pod)).toEqual({ mounted: new Map(), failures: new Map() });
  });

  test('of other kinds are refused by name', async () => {
    expect(await mountData(podWith({ iscsi: { iqn: 'a', lun: 0, targetPortal: 'b' } }))).toBe(
      'iscsi: volumes of this kind are not supported',
    );
  });

  test('have a place where they are mounted from, and of other kinds none', () => {
    const place = { hostPath: emptyDirPath(), readOnly: false, managed: true };
    expect(manager.mountPoints(podWith({ emptyDir: {} }))).toEqual(new Map([['data', place]]));
    const claim = podWith({ persistentVolumeClaim: { claimName: 'c' } });
    expect(() => manager.mountPoints(claim)).toThrow('persistentvolumeclaim "c" not found');
  });

  test('are removed without complaint when there are none', async () => {
    await manager.unmountPodVolumes('u2');
    await podDirs.removePodDir('u2');
    expect(await podDirs.podUIDs()).toEqual([]);
  });
});

describe('a volume that passes mounts on', () => {
  const propagating = (mountPropagation: string): Pod => {
    const pod = podWith({ emptyDir: {} });
    const volumeMounts = [{ name: 'data', mountPath: '/data', mountPropagation }];
    return { ...pod, spec: { ...pod.spec, containers: [makeContainer({ volumeMounts })] } };
  };

  /** Makes the folder a mount with this propagation and mounts the volume. Returns the mounts below with their kind. */
  async function mountedBelow(propagation: 'private' | 'shared', mountPropagation: string): Promise<string[]> {
    unmountedAtEnd(folder);
    await execa('mount', ['--bind', folder, folder]);
    await execa('mount', [`--make-${propagation}`, folder]);
    const pod = propagating(mountPropagation);
    await manager.mountPodVolumes(pod);
    await manager.mountPodVolumes(pod);
    const mounts = (await readMounts()).filter(({ mountPoint }) => mountPoint.startsWith(`${folder}/`));
    return mounts.map(({ mountPoint, isShared }) => `${mountPoint} ${isShared ? 'shared' : 'private'}`);
  }

  test.each(['HostToContainer', 'Bidirectional'])(
    'as %s has its own shared mount if the machine shares none, removed with the volume',
    async (mountPropagation) => {
      expect(await mountedBelow('private', mountPropagation)).toEqual([`${emptyDirPath()} shared`]);
      await writeFile(join(emptyDirPath(), 'gone'), '');
      await manager.unmountPodVolumes('u1');
      expect(await mountPointsUnder(folder)).toEqual([folder]);
      expect(await readdir(join(folder, 'pods/u1'))).toEqual([]);
    },
  );

  test('needs no extra mount if the machine shares its mounts', async () => {
    expect(await mountedBelow('shared', 'Bidirectional')).toEqual([]);
  });

  test('is none when its containers keep their mounts to themselves', async () => {
    expect(await mountedBelow('private', 'None')).toEqual([]);
  });
});

describe('a hostPath', () => {
  test('is the path itself', async () => {
    expect(await mountData(podWith({ hostPath: { path: '/srv/data' } }))).toEqual({
      hostPath: '/srv/data',
      readOnly: false,
      managed: false,
    });
  });

  test('is made when its type says so, with its folders', async () => {
    await checkHostPath({ path: join(folder, 'a', 'b'), type: 'DirectoryOrCreate' });
    await checkHostPath({ path: join(folder, 'file'), type: 'FileOrCreate' });
    expect((await stat(join(folder, 'a', 'b'))).mode & 0o777).toBe(0o755);
    expect((await stat(join(folder, 'file'))).mode & 0o777).toBe(0o644);
  });

  test('that is there already is left as it is by an …OrCreate type', async () => {
    await writeFile(join(folder, 'file'), 'content', { mode: 0o600 });
    await checkHostPath({ path: join(folder, 'file'), type: 'FileOrCreate' });
    expect(await readFile(join(folder, 'file'), 'utf8')).toBe('content');
    expect((await stat(join(folder, 'file'))).mode & 0o777).toBe(0o600);
  });

  test('is not made where a link of that name leads to', async () => {
    await symlink(join(folder, 'elsewhere'), join(folder, 'link'));
    await expect(checkHostPath({ path: join(folder, 'link'), type: 'FileOrCreate' })).rejects.toThrow(
      `hostPath type check failed: ${join(folder, 'link')} is not a file`,
    );
    await expect(checkHostPath({ path: join(folder, 'link'), type: 'DirectoryOrCreate' })).rejects.toThrow();
    expect(await readdir(folder)).toEqual(['link']);
  });

  test('has to be what its type says', async () => {
    await writeFile(join(folder, 'file'), '');
    await mkdir(join(folder, 'folder'));
    const server = createServer().listen(join(folder, 'socket'));
    onTestFinished(() => {
      server.close();
    });
    const types = ['', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket', 'CharDevice', 'BlockDevice'];
    const accepted = async (path: string): Promise<string[]> => {
      const answers = await Promise.allSettled(types.map((type) => checkHostPath({ path, type })));
      return types.filter((_type, index) => answers[index]?.status === 'fulfilled');
    };
    expect({
      file: await accepted(join(folder, 'file')),
      folder: await accepted(join(folder, 'folder')),
      socket: await accepted(join(folder, 'socket')),
      device: await accepted('/dev/null'),
    }).toEqual({
      file: ['', 'File', 'FileOrCreate'],
      folder: ['', 'Directory', 'DirectoryOrCreate'],
      socket: ['', 'Socket'],
      device: ['', 'CharDevice'],
    });
    await expect(checkHostPath({ path: join(folder, 'none'), type: 'File' })).rejects.toThrow(
      `hostPath type check failed: ${join(folder, 'none')} is not a file`,
    );
  });
});

describe('removeTree', () => {
  test('unmounts what is mounted inside, deepest first, and deletes nothing through a mount', async () => {
    unmountedAtEnd(folder);
    const precious = join(folder, 'precious');
    await mkdir(precious);
    await writeFile(join(precious, 'file'), 'still here');
    const tree = join(folder, 'tree');
    await mkdir(join(tree, 'memory'), { recursive: true });
    await mountTmpfs(join(tree, 'memory'), undefined);
    await mkdir(join(tree, 'memory', 'bound'));
    await execa('mount', ['--bind', precious, join(tree, 'memory', 'bound')]);
    expect(await mountPointsUnder(tree)).toEqual([join(tree, 'memory', 'bound'), join(tree, 'memory')]);
    await removeTree(tree);
    expect(await readdir(folder)).toEqual(['precious']);
    expect(await readFile(join(precious, 'file'), 'utf8')).toBe('still here');
  });

  test('deletes nothing when something is in use', async () => {
    unmountedAtEnd(folder);
    const tree = join(folder, 'tree');
    await mkdir(join(tree, 'memory'), { recursive: true });
    await mountTmpfs(join(tree, 'memory'), undefined);
    await writeFile(join(tree, 'memory', 'file'), '');
    const user = execa('sleep', ['60'], { cwd: join(tree, 'memory'), reject: false });
    await expect(removeTree(tree)).rejects.toThrow(/busy/);
    expect(await readdir(join(tree, 'memory'))).toEqual(['file']);
    user.kill();
    await user;
    await removeTree(tree);
    expect(await readdir(folder)).toEqual([]);
  });

  test('finds the mounts of a tree that is reached through a link', async () => {
    unmountedAtEnd(folder);
    await mkdir(join(folder, 'real', 'tree', 'bound'), { recursive: true });
    await symlink('real', join(folder, 'link'));
    await mkdir(join(folder, 'precious'));
    await writeFile(join(folder, 'precious', 'file'), '');
    await execa('mount', ['--bind', join(folder, 'precious'), join(folder, 'real', 'tree', 'bound')]);
    await removeTree(join(folder, 'link', 'tree'));
    expect(await readdir(join(folder, 'precious'))).toEqual(['file']);
    expect(await readdir(join(folder, 'real'))).toEqual([]);
  });

  test('deletes links, not what they lead to', async () => {
    await mkdir(join(folder, 'precious'));
    await writeFile(join(folder, 'precious', 'file'), '');
    await mkdir(join(folder, 'tree'));
    await execa('ln', ['-s', join(folder, 'precious'), join(folder, 'tree', 'link')]);
    await removeTree(join(folder, 'tree'));
    expect(await readdir(join(folder, 'precious'))).toEqual(['file']);
  });
});

test('mount points are found whatever their names are, each also when several are mounted on one place', async () => {
  unmountedAtEnd(folder);
  const names = ['with space', 'tab\there', 'line\nbreak', 'back\\slash', 'größe', 'octal\\040text', '#hash'];
  for (const name of names) {
    await mkdir(join(folder, name));
    await mountTmpfs(join(folder, name), 65_536n);
  }
  expect(await mountPointsUnder(folder)).toEqual(names.map((name) => join(folder, name)).reverse());
  await execa('mount', ['-t', 'tmpfs', 'tmpfs', join(folder, '#hash')]);
  await removeTree(folder);
  expect(await mountPointsUnder(folder)).toEqual([]);
});

test('mount points of a sibling whose name only begins alike do not count', async () => {
  unmountedAtEnd(folder);
  await mkdir(join(folder, 'pod-2'));
  await mountTmpfs(join(folder, 'pod-2'), 65_536n);
  expect(await mountPointsUnder(join(folder, 'pod'))).toEqual([]);
});
