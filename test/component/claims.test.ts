import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Pod, PodSpec, Volume } from '../../src/api/types.ts';
import { ConfigObjects } from '../../src/engine/config-objects/config-objects.ts';
import { mountPointsUnder, mountTmpfs } from '../../src/engine/host/mounts.ts';
import { PodDirs } from '../../src/engine/host/pod-dirs.ts';
import { claimsWithFolder, removeClaimFolders } from '../../src/engine/persistent-volumes/claim-folders.ts';
import { VolumeManager } from '../../src/engine/volumes/volume-manager.ts';
import type { MountedVolume } from '../../src/engine/volumes/volume-mounter.ts';
import { makeContainer, makePod } from '../builders/pods.ts';
import { makeClaim, makeVolume, makeVolumeClaims } from '../builders/storage-objects.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { PathGuard } from '../../src/engine/host/path-guard.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let folder: string;
let objects: ConfigObjects;
let manager: VolumeManager;
let freed: string[];

beforeEach(async () => {
  folder = await temporaryFolder();
  objects = new ConfigObjects();
  freed = [];
  manager = open();
});

/** A manager as a new agent makes it: it knows what is on the disk. */
function open(): VolumeManager {
  const podDirs = new PodDirs({ rootDir: folder });
  return new VolumeManager({
    paths: new PathGuard({ maxHung: 1 }),
    podDirs,
    configObjects: objects,
    allocatable: {},
    clock: new FakeClock(),
    claims: makeVolumeClaims(podDirs, folder, objects),
    onClaimFreed: (uid) => freed.push(uid),
  });
}

const declare = (...all: Parameters<ConfigObjects['replace']>[1]): unknown => objects.replace('test', all);

/** A pod whose container mounts one volume. */
function podWith(volume: Omit<Volume, 'name'>, uid = 'u1', spec: Partial<PodSpec> = {}): Pod {
  const container = makeContainer({ volumeMounts: [{ name: 'data', mountPath: '/data' }] });
  return makePod({
    metadata: { uid, name: uid },
    spec: { containers: [container], volumes: [{ name: 'data', ...volume }], ...spec },
  });
}

const podOf = (claimName: string, uid = 'u1', spec: Partial<PodSpec> = {}): Pod =>
  podWith({ persistentVolumeClaim: { claimName } }, uid, spec);

/** Mounts the pod's volume. Resolves with the mounted volume, or with the reason of the failure. */
async function mountData(pod: Pod, by = manager): Promise<MountedVolume | string | undefined> {
  const { mounted, failures } = await by.mountPodVolumes(pod);
  return failures.get('data')?.message ?? mounted.get('data');
}

const claimPath = (): string => join(folder, 'volumes', 'default', 'data');
const mountedClaim = () => ({ hostPath: claimPath(), readOnly: false, managed: true, persistent: true });

describe('a claim without a declared volume', () => {
  test('is a folder that every user may write to', async () => {
    declare(makeClaim('data'));
    expect(await mountData(podOf('data'))).toEqual(mountedClaim());
    expect((await stat(claimPath())).mode & 0o7777).toBe(0o777);
    expect((await stat(join(folder, 'volumes'))).mode & 0o7777).toBe(0o700);
    expect(await readdir(join(folder, 'volumes', 'default'))).toEqual(['data']);
  });

  test('removes the folders that an interrupted one left unfinished, and no others', async () => {
    declare(makeClaim('data'));
    const others = join(folder, 'volumes', 'default');
    for (const path of ['.new-empty', '.new-full/row', 'more']) await mkdir(join(others, path), { recursive: true });
    await mountData(podOf('data'));
    expect((await readdir(others)).sort()).toEqual(['.new-full', 'data', 'more']);
  });

  test('keeps its data and its mode over pods and agents', async () => {
    declare(makeClaim('data'));
    await mountData(podOf('data'));
    await writeFile(join(claimPath(), 'row'), '1');
    await chmod(claimPath(), 0o750);
    await manager.unmountPodVolumes('u1');
    await rm(join(folder, 'pods'), { recursive: true });
    expect(await mountData(podOf('data', 'u2'), open())).toEqual(mountedClaim());
    expect(await readFile(join(claimPath(), 'row'), 'utf8')).toBe('1');
    expect((await stat(claimPath())).mode & 0o7777).toBe(0o750);
  });

  test('is measured as its folder, also when a volume that fits is declared later', async () => {
    declare(makeClaim('data'));
    await mountData(podOf('data'));
    const measured = {
      name: 'data',
      specName: 'data',
      path: claimPath(),
      method: 'files',
      driver: '',
      pvcRef: { name: 'data', namespace: 'default' },
    };
    declare(makeClaim('data'), makeVolume('disk'));
    expect(manager.measuredVolumes(podOf('data'))).toEqual([measured]);
    const next = open();
    await mountData(podOf('data'), next);
    expect(next.measuredVolumes(podOf('data'))).toEqual([measured]);
  });

  test('has the volume that fits, and is measured as that, after its folder was removed', async () => {
    await mkdir(join(folder, 'disk'));
    declare(makeClaim('data'));
    await mountData(podOf('data'));
    await manager.unmountPodVolumes('u1');
    await rm(claimPath(), { recursive: true });
    declare(makeClaim('data'), makeVolume('disk', { source: { local: { path: join(folder, 'disk') } } }));
    await mountData(podOf('data', 'u2'));
    expect(manager.measuredVolumes(podOf('data', 'u2'))).toMatchObject([
      { path: join(folder, 'disk'), method: 'disk' },
    ]);
  });

  test('that is not declared makes its pod wait, and makes nothing', async () => {
    expect(await mountData(podOf('data'))).toBe('persistentvolumeclaim "data" not found');
    expect(await readdir(folder)).toEqual([]);
  });

  test('stays mounted in a pod when it is no longer declared, with an error', async () => {
    declare(makeClaim('data'));
    await mountData(podOf('data'));
    declare();
    const { mounted, failures } = await open().mountPodVolumes(podOf('data'));
    expect(mounted.get('data')).toEqual(mountedClaim());
    expect(failures.get('data')?.message).toBe('persistentvolumeclaim "data" not found');
    expect(await mountData(podOf('data', 'u2'))).toBe('persistentvolumeclaim "data" not found');
  });

  test('is given to the fsGroup of each pod when it is first mounted there', async () => {
    declare(makeClaim('data'));
    const securityContext = { fsGroup: 4321 };
    await mountData(podOf('data'));
    await mkdir(join(claimPath(), 'sub'));
    await writeFile(join(claimPath(), 'sub', 'row'), '1', { mode: 0o600 });
    await symlink('/etc/passwd', join(claimPath(), 'link'));
    await mountData(podOf('data', 'u2', { securityContext }));
    const owned = async (path: string): Promise<string> => {
      const { gid, mode } = await stat(path);
      return `${gid} ${(mode & 0o7777).toString(8)}`;
    };
    expect(await owned(join(claimPath(), 'sub', 'row'))).toBe('4321 660');
    expect(await owned(join(claimPath(), 'sub'))).toBe('4321 2775');
    expect(await owned(claimPath())).toBe('4321 2777');
    expect((await stat('/etc/passwd')).gid).toBe(0);
    await writeFile(join(claimPath(), 'later'), '', { mode: 0o600 });
    await mountData(podOf('data', 'u2', { securityContext }));
    expect(await owned(join(claimPath(), 'later'))).toBe('4321 600');
  });

  test('with OnRootMismatch is only given to a group that its folder does not have', async () => {
    declare(makeClaim('data'));
    const spec: Partial<PodSpec> = { securityContext: { fsGroup: 4321, fsGroupChangePolicy: 'OnRootMismatch' } };
    await mountData(podOf('data', 'u1', spec));
    await writeFile(join(claimPath(), 'private'), '', { mode: 0o600 });
    await mountData(podOf('data', 'u2', spec));
    expect((await stat(join(claimPath(), 'private'))).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['a claim for readers alone', ['ReadOnlyMany'], undefined],
    ['a pod that only reads', ['ReadWriteOnce'], true],
  ])('is read-only for %s', async (_title, accessModes, readOnly) => {
    declare(makeClaim('data', { accessModes }));
    const pod = podWith({ persistentVolumeClaim: { claimName: 'data', ...(readOnly && { readOnly }) } });
    expect(await mountData(pod)).toEqual({ ...mountedClaim(), readOnly: true, managed: false });
  });

  test('is not mounted as a device', async () => {
    declare(makeClaim('data'));
    const container = makeContainer({ volumeDevices: [{ name: 'data', devicePath: '/dev/xvda' }] });
    expect(await mountData(podOf('data', 'u1', { containers: [container] }))).toBe(
      'volume data has volumeMode Filesystem, but is specified in volumeDevices',
    );
  });
});

describe('ReadWriteOncePod', () => {
  const conflict = 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode';

  test('is refused to a second pod until the first one has ended, also by the next agent', async () => {
    declare(makeClaim('data', { accessModes: ['ReadWriteOncePod'] }));
    expect(await mountData(podOf('data'))).toEqual(mountedClaim());
    expect(await mountData(podOf('data'))).toEqual(mountedClaim());
    expect(await mountData(podOf('data', 'u2'))).toBe(conflict);
    manager = open();
    expect(await mountData(podOf('data', 'u2'))).toBe(conflict);
    await manager.unmountPodVolumes('u1');
    expect(freed).toEqual(['u2']);
    expect(await mountData(podOf('data', 'u2'))).toEqual(mountedClaim());
  });

  test('is refused to a second pod while the volumes of the first one cannot be unmounted', async () => {
    declare(makeClaim('data', { accessModes: ['ReadWriteOncePod'] }));
    await mountData(podOf('data'));
    const busy = join(folder, 'pods', 'u1', 'volumes', 'kubernetes.io~empty-dir', 'busy');
    await mkdir(busy, { recursive: true });
    await mountTmpfs(busy, undefined);
    const user = execa('sleep', ['1000'], { cwd: busy, reject: false });
    onTestFinished(async () => {
      user.kill();
      await user;
      for (const mountPoint of await mountPointsUnder(folder)) await execa('umount', ['-l', mountPoint]);
    });
    await expect(manager.unmountPodVolumes('u1')).rejects.toThrow(/busy/);
    expect(await mountData(podOf('data', 'u2'))).toBe(conflict);
    user.kill();
    await user;
    await manager.unmountPodVolumes('u1');
    expect(await readdir(join(folder, 'pods', 'u1'))).toEqual([]);
    expect(await mountData(podOf('data', 'u2'))).toEqual(mountedClaim());
  });

  test('is free while its pod is stopped, and the data of the pod stay', async () => {
    declare(makeClaim('data', { accessModes: ['ReadWriteOncePod'] }));
    const volumeMounts = ['data', 'cache'].map((name) => ({ name, mountPath: `/${name}` }));
    const pod = podOf('data', 'u1', { containers: [makeContainer({ volumeMounts })] });
    pod.spec.volumes?.push({ name: 'cache', emptyDir: {} });
    await mountData(pod);
    const [podDir, cache] = [join(folder, 'pods', 'u1'), manager.emptyDirPath('u1', 'cache')];
    await writeFile(join(cache, 'row'), '1');
    const mounts = ['volumes/kubernetes.io~nfs/share', 'volume-subpaths/data/main/0'].map((path) => join(podDir, path));
    onTestFinished(async () => {
      for (const mountPoint of await mountPointsUnder(folder)) await execa('umount', ['-l', mountPoint]);
    });
    for (const path of mounts) {
      await mkdir(path, { recursive: true });
      await mountTmpfs(path, undefined);
    }
    expect(await mountData(podOf('data', 'u2'))).toBe(conflict);

    await manager.unmountStoppedPod('u1');
    expect({ freed, mounts: await mountPointsUnder(folder), files: await readdir(cache) }).toEqual({
      freed: ['u2'],
      mounts: [],
      files: ['row'],
    });
    expect(await mountData(podOf('data', 'u2'))).toEqual(mountedClaim());
    expect(await mountData(pod)).toBe(conflict);
    await manager.unmountPodVolumes('u2');
    expect({ mounted: await mountData(pod), files: await readdir(cache) }).toEqual({
      mounted: mountedClaim(),
      files: ['row'],
    });
  });

  test('goes to one of two pods that start at the same time', async () => {
    declare(makeClaim('data', { accessModes: ['ReadWriteOncePod'] }));
    const results = await Promise.all([mountData(podOf('data')), mountData(podOf('data', 'u2'))]);
    expect(results).toEqual([mountedClaim(), conflict]);
  });
});

describe('a declared volume', () => {
  const local = (name: string) => makeVolume(name, { source: { local: { path: join(folder, name) } } });

  test('of kind local must be there, and stays that of its claim', async () => {
    declare(makeClaim('data'), local('disk'));
    expect(await mountData(podOf('data'))).toBe(`path "${join(folder, 'disk')}" of the local volume does not exist`);
    await mkdir(join(folder, 'disk'));
    const mounted = { hostPath: join(folder, 'disk'), readOnly: false, managed: true, persistent: true };
    expect(await mountData(podOf('data'))).toEqual(mounted);
    declare(makeClaim('data'), makeClaim('more'), local('another'), local('disk'));
    manager = open();
    expect(await mountData(podOf('data', 'u2'))).toEqual(mounted);
    await mkdir(join(folder, 'another'));
    expect(await mountData(podOf('more', 'u3'))).toEqual({ ...mounted, hostPath: join(folder, 'another') });
    expect(await claimsWithFolder(folder)).toEqual([]);
  });

  test.each([undefined, 'OnRootMismatch'])(
    'whose path is a link is given to the fsGroup where the link leads to, with the policy %s',
    async (fsGroupChangePolicy) => {
      await mkdir(join(folder, 'disk-1'));
      await writeFile(join(folder, 'disk-1', 'row'), '1');
      await symlink('disk-1', join(folder, 'disk'));
      declare(makeClaim('data'), local('disk'));
      const securityContext = { fsGroup: 4321, ...(fsGroupChangePolicy !== undefined && { fsGroupChangePolicy }) };
      expect(await mountData(podOf('data', 'u1', { securityContext }))).toEqual({
        hostPath: join(folder, 'disk'),
        readOnly: false,
        managed: true,
        persistent: true,
      });
      const owned = ['disk-1', 'disk-1/row'].map(async (path) => (await stat(join(folder, path))).gid);
      expect(await Promise.all(owned)).toEqual([4321, 4321]);
    },
  );

  test('goes to one of two claims', async () => {
    await mkdir(join(folder, 'disk'));
    declare(makeClaim('a', { storageClassName: '' }), makeClaim('b', { storageClassName: '' }), local('disk'));
    const results = await Promise.all([mountData(podOf('a')), mountData(podOf('b', 'u2'))]);
    expect(results[1]).toBe(
      'persistentvolumeclaim "b" is not bound: no persistent volume fits: disk: belongs to claim default/a',
    );
  });

  test('whose record is damaged goes to no claim', async () => {
    await mkdir(join(folder, 'persistent-volumes', 'disk'), { recursive: true });
    await writeFile(join(folder, 'persistent-volumes', 'disk', 'claim.json'), '{');
    declare(makeClaim('data', { storageClassName: '' }), local('disk'));
    expect(await mountData(podOf('data'))).toBe(
      'persistentvolumeclaim "data" is not bound: no persistent volume fits: disk: the record of its claim is damaged',
    );
  });

  test('of kind hostPath is checked by its type and keeps its owner', async () => {
    const path = join(folder, 'made');
    declare(makeClaim('data'), makeVolume('disk', { source: { hostPath: { path, type: 'DirectoryOrCreate' } } }));
    expect(await mountData(podOf('data', 'u1', { securityContext: { fsGroup: 4321 } }))).toEqual({
      hostPath: path,
      readOnly: false,
      managed: false,
      persistent: true,
    });
    expect((await stat(path)).gid).not.toBe(4321);
  });
});

describe('an ephemeral volume', () => {
  const ephemeral = (storageClassName?: string): Omit<Volume, 'name'> => ({
    ephemeral: {
      volumeClaimTemplate: {
        spec: {
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: '1Gi' } },
          ...(storageClassName !== undefined && { storageClassName }),
        },
      },
    },
  });
  const path = (): string => join(folder, 'pods', 'u1', 'volumes', 'kubernetes.io~local-volume', 'data');

  test('is a folder of its pod: it keeps its content, and goes with the pod', async () => {
    expect(await mountData(podWith(ephemeral()))).toEqual({ hostPath: path(), readOnly: false, managed: true });
    expect((await stat(path())).mode & 0o7777).toBe(0o777);
    await writeFile(join(path(), 'row'), '1');
    await mountData(podWith(ephemeral()), open());
    expect(await readdir(path())).toEqual(['row']);
    await manager.unmountPodVolumes('u1');
    await mountData(podWith(ephemeral()));
    expect(await readdir(path())).toEqual([]);
    expect(await claimsWithFolder(folder)).toEqual([]);
  });

  test('binds no declared volume', async () => {
    declare(makeVolume('disk', { storageClassName: 'fast' }));
    expect(await mountData(podWith(ephemeral('fast')))).toBe(
      'an ephemeral volume is a folder of its pod and cannot bind a declared volume',
    );
  });
});

test('the folders of claims are listed without unfinished ones, and removed on request', async () => {
  declare(makeClaim('data'), makeClaim('logs', { namespace: 'web' }));
  await mountData(podOf('data'));
  await mkdir(join(folder, 'volumes', 'default', '.new-x'));
  expect(await claimsWithFolder(folder)).toEqual([{ namespace: 'default', name: 'data' }]);
  await removeClaimFolders(folder);
  expect(await claimsWithFolder(folder)).toEqual([]);
});
