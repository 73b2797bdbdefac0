import { chown, lstat, mkdir, readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Pod, PodSpec, Volume } from '../../src/api/types.ts';
import type { ConfigObjects } from '../../src/engine/config-objects/config-objects.ts';
import { PodDirs } from '../../src/engine/host/pod-dirs.ts';
import { mountPointsUnder } from '../../src/engine/host/mounts.ts';
import { setVolumeOwnership } from '../../src/engine/volumes/ownership.ts';
import { VolumeManager } from '../../src/engine/volumes/volume-manager.ts';
import { configObjectsOf, makeConfigMap, makeSecret } from '../builders/config-objects.ts';
import { makeContainer, makePod } from '../builders/pods.ts';
import { makeVolumeClaims } from '../builders/storage-objects.ts';
import { lineLogger } from '../fakes/line-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { PathGuard } from '../../src/engine/host/path-guard.ts';
import { FakeClock } from '../fakes/fake-clock.ts';

let folder: string;
let configObjects: ConfigObjects;
let manager: VolumeManager;

beforeEach(async () => {
  folder = await temporaryFolder();
  configObjects = configObjectsOf(makeConfigMap('settings', { mode: 'blue' }), makeSecret('login', { password: 'x' }));
  const podDirs = new PodDirs({ rootDir: folder });
  manager = new VolumeManager({
    paths: new PathGuard({ maxHung: 1 }),
    podDirs,
    configObjects,
    allocatable: { memory: '16Mi' },
    clock: new FakeClock(),
    claims: makeVolumeClaims(podDirs, folder),
  });
  // A failed test may leave something mounted.
  onTestFinished(async () => {
    for (const mountPoint of await mountPointsUnder(folder)) await execa('umount', ['-l', mountPoint]);
  });
});

/** A pod that mounts one volume of every kind that consists of files. */
function podWithAll(spec: Partial<PodSpec> = {}): Pod {
  const volumes: Volume[] = [
    { name: 'map', configMap: { name: 'settings' } },
    { name: 'secret', secret: { secretName: 'login', defaultMode: 0o400 } },
    { name: 'both', projected: { sources: [{ configMap: { name: 'settings' } }, { secret: { name: 'login' } }] } },
    { name: 'pod', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
  ];
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return makePod({
    metadata: { uid: 'u1', labels: { app: 'web' } },
    spec: { containers: [makeContainer({ volumeMounts })], volumes, ...spec },
  });
}

const volumePath = (kind: string, name: string): string =>
  join(folder, 'pods', 'u1', 'volumes', `kubernetes.io~${kind}`, name);

/** Contents that a container would read, by volume and file. */
async function contents(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const volumes = join(folder, 'pods', 'u1', 'volumes');
  for (const kind of await readdir(volumes)) {
    for (const name of await readdir(join(volumes, kind))) {
      for (const file of await readdir(join(volumes, kind, name))) {
        if (!file.startsWith('..')) found[`${name}/${file}`] = await readFile(join(volumes, kind, name, file), 'utf8');
      }
    }
  }
  return found;
}

const modeOf = async (path: string): Promise<string> => {
  const { mode, gid } = await lstat(path);
  return `${(mode & 0o7777).toString(8)} ${gid}`;
};

describe('volumes made of files', () => {
  test('have their files, and only ConfigMaps are on disk', async () => {
    const { mounted, failures } = await manager.mountPodVolumes(podWithAll());
    const readOnly = { readOnly: true, managed: true };
    expect({ mounted, failures }).toEqual({
      mounted: new Map([
        ['map', { hostPath: volumePath('configmap', 'map'), ...readOnly }],
        ['secret', { hostPath: volumePath('secret', 'secret'), ...readOnly }],
        ['both', { hostPath: volumePath('projected', 'both'), ...readOnly }],
        ['pod', { hostPath: volumePath('downward-api', 'pod'), ...readOnly }],
      ]),
      failures: new Map(),
    });
    expect(await contents()).toEqual({
      'map/mode': 'blue',
      'secret/password': 'x',
      'both/mode': 'blue',
      'both/password': 'x',
      'pod/labels': 'app="web"',
    });
    const inMemory = [
      volumePath('downward-api', 'pod'),
      volumePath('projected', 'both'),
      volumePath('secret', 'secret'),
    ];
    expect((await mountPointsUnder(folder)).sort()).toEqual(inMemory);
    const { stdout } = await execa('df', ['--output=fstype,size', ...inMemory]);
    expect(stdout.split(/\s+/)).toEqual(['Type', '1K-blocks', ...inMemory.flatMap(() => ['tmpfs', '16384'])]);
    expect([await modeOf(volumePath('configmap', 'map')), await modeOf(volumePath('secret', 'secret'))]).toEqual([
      '777 0',
      '1777 0',
    ]);
    expect(await modeOf(join(volumePath('secret', 'secret'), '..data', 'password'))).toBe('400 0');
  });

  test('are written again only where something changed', async () => {
    await manager.mountPodVolumes(podWithAll());
    const revisions = async (): Promise<string[]> =>
      Promise.all(
        [volumePath('configmap', 'map'), volumePath('secret', 'secret'), volumePath('downward-api', 'pod')].map(
          (path) => readlink(join(path, '..data')),
        ),
      );
    const before = await revisions();
    await manager.mountPodVolumes(podWithAll());
    expect(await revisions()).toEqual(before);
    configObjects.replace('test', [
      makeConfigMap('settings', { mode: 'green' }),
      makeSecret('login', { password: 'x' }),
    ]);
    await manager.mountPodVolumes(podWithAll());
    const after = await revisions();
    expect(after.map((revision, index) => revision === before[index])).toEqual([false, true, true]);
    expect(await contents()).toMatchObject({ 'map/mode': 'green', 'both/mode': 'green' });
  });

  test('follow the labels of the pod', async () => {
    const pod = podWithAll();
    await manager.mountPodVolumes(pod);
    await manager.mountPodVolumes({ ...pod, metadata: { ...pod.metadata, labels: { app: 'shop' } } });
    expect(await contents()).toMatchObject({ 'pod/labels': 'app="shop"' });
  });

  test('keep what they had when their object is removed, and say so', async () => {
    await manager.mountPodVolumes(podWithAll());
    configObjects.replace('test', []);
    const { mounted, failures } = await manager.mountPodVolumes(podWithAll());
    expect([...mounted.keys()]).toEqual(['map', 'secret', 'both', 'pod']);
    expect([...failures].map(([name, { message }]) => `${name}: ${message}`)).toEqual([
      'map: configmap "settings" not found',
      'secret: secret "login" not found',
      'both: [configmap "settings" not found, secret "login" not found]',
    ]);
    expect(await contents()).toMatchObject({ 'map/mode': 'blue', 'secret/password': 'x' });
  });

  test('are not there without their object, and leave nothing behind', async () => {
    configObjects.replace('test', []);
    const { mounted, failures } = await manager.mountPodVolumes(podWithAll());
    expect({ mounted: [...mounted.keys()], failed: [...failures.keys()] }).toEqual({
      mounted: ['pod'],
      failed: ['map', 'secret', 'both'],
    });
    expect(await readdir(join(folder, 'pods', 'u1', 'volumes'))).toEqual(['kubernetes.io~downward-api']);
  });

  test('that were in memory are made again after a reboot', async () => {
    await manager.mountPodVolumes(podWithAll());
    for (const mountPoint of await mountPointsUnder(folder)) await execa('umount', [mountPoint]);
    await manager.mountPodVolumes(podWithAll());
    expect(await mountPointsUnder(folder)).toHaveLength(3);
    expect(await contents()).toMatchObject({ 'secret/password': 'x' });
    expect(await readdir(volumePath('secret', 'secret'))).toHaveLength(3);
  });

  test('have folders for what is mounted inside', async () => {
    const pod = podWithAll();
    pod.spec.containers[0]?.volumeMounts?.push({ name: 'secret', mountPath: '/map/certs/tls' });
    await manager.mountPodVolumes(pod);
    expect(await readdir(join(volumePath('configmap', 'map'), 'certs'))).toEqual(['tls']);
  });

  test('are not mounted if their first set-up failed halfway', async () => {
    const pod = podWithAll();
    pod.spec.containers[0]?.volumeMounts?.push({ name: 'secret', mountPath: '/map/mode' });
    const { mounted, failures } = await manager.mountPodVolumes(pod);
    expect({
      mounted: [...mounted.keys()],
      failures: [...failures].map(([name, { message }]) => [name, message]),
    }).toEqual({
      mounted: ['secret', 'both', 'pod'],
      failures: [['map', '"mode" is both a file of the volume and the mount point of another volume']],
    });
  });

  test('go with the pod, also those that a crash left mounted without a marker', async () => {
    await manager.mountPodVolumes(podWithAll());
    await execa('rm', ['-r', join(folder, 'pods', 'u1', 'plugins')]);
    await manager.unmountPodVolumes('u1');
    expect(await mountPointsUnder(folder)).toEqual([]);
    expect(await readdir(join(folder, 'pods', 'u1'))).toEqual([]);
  });
});

describe('fsGroup', () => {
  test('owns the files of volumes and may read them; folders pass it on', async () => {
    await manager.mountPodVolumes(podWithAll({ securityContext: { fsGroup: 2000 } }));
    const map = volumePath('configmap', 'map');
    const secret = volumePath('secret', 'secret');
    expect({
      map: await modeOf(map),
      'map/..data': await modeOf(join(map, await readlink(join(map, '..data')))),
      'map/mode': await modeOf(join(map, '..data', 'mode')),
      secret: await modeOf(secret),
      'secret/password': await modeOf(join(secret, '..data', 'password')),
    }).toEqual({
      map: '2777 2000',
      'map/..data': '2755 2000',
      'map/mode': '644 2000',
      secret: '3777 2000',
      'secret/password': '440 2000',
    });
  });

  test('changes nothing about a volume that is up to date', async () => {
    const pod = podWithAll({ securityContext: { fsGroup: 2000 } });
    await manager.mountPodVolumes(pod);
    const before = await readlink(join(volumePath('secret', 'secret'), '..data'));
    await manager.mountPodVolumes(pod);
    expect(await readlink(join(volumePath('secret', 'secret'), '..data'))).toBe(before);
  });

  test('owns emptyDirs once, when they are made', async () => {
    const volumeMounts = ['disk', 'memory'].map((name) => ({ name, mountPath: `/${name}` }));
    const pod = podWithAll({
      securityContext: { fsGroup: 2000, fsGroupChangePolicy: 'OnRootMismatch' },
      containers: [makeContainer({ volumeMounts })],
      volumes: [
        { name: 'disk', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory' } },
      ],
    });
    await manager.mountPodVolumes(pod);
    const paths = ['disk', 'memory'].map((name) => volumePath('empty-dir', name));
    expect(await Promise.all(paths.map(modeOf))).toEqual(['2777 2000', '3777 2000']);
    const [disk = ''] = paths;
    await writeFile(join(disk, 'file'), '');
    await chown(disk, 1, 1);
    await manager.mountPodVolumes(pod);
    expect([await modeOf(disk), (await stat(join(disk, 'file'))).gid]).toEqual(['2777 1', 2000]);
  });

  test('leaves what its file system does not change as it is, with one warning', async () => {
    const volume = join(folder, 'volume');
    await mkdir(join(volume, 'fixed'), { recursive: true });
    await mkdir(join(folder, 'source', 'below'), { recursive: true });
    await writeFile(join(volume, 'file'), '', { mode: 0o600 });
    await execa('mount', ['--bind', '--options', 'ro', join(folder, 'source'), join(volume, 'fixed')]);
    const { logger, lines } = lineLogger();
    await setVolumeOwnership(volume, { fsGroup: 2000, readOnly: false, logger });
    const names = ['volume', 'volume/file', 'volume/fixed'];
    expect(await Promise.all(names.map((name) => modeOf(join(folder, name))))).toEqual([
      '2775 2000',
      '660 2000',
      '755 0',
    ]);
    await setVolumeOwnership(join(volume, 'fixed'), { fsGroup: 2000, readOnly: false, logger });
    const message = 'warn Could not apply fsGroup to some entries of a volume';
    const err = 'EROFS: read-only file system, chown';
    expect(lines.map((line) => line.replaceAll(/ '\/proc\/\d+\/fd\/\d+'/g, ''))).toEqual([
      `${message} ${JSON.stringify({ err, path: volume, first: 'fixed', entries: 1 })}`,
      `${message} ${JSON.stringify({ err, path: join(volume, 'fixed'), first: 'below', entries: 2 })}`,
    ]);
  });

  test('does not reach through links', async () => {
    await mkdir(join(folder, 'volume', 'sub'), { recursive: true });
    await writeFile(join(folder, 'volume', 'sub', 'script'), '', { mode: 0o700 });
    await writeFile(join(folder, 'precious'), '', { mode: 0o600 });
    await execa('ln', ['-s', '../precious', join(folder, 'volume', 'link')]);
    await setVolumeOwnership(join(folder, 'volume'), { fsGroup: 2000, readOnly: false });
    const names = ['volume', 'volume/sub', 'volume/sub/script', 'volume/link', 'precious'];
    expect(await Promise.all(names.map((name) => modeOf(join(folder, name))))).toEqual([
      '2775 2000',
      '2775 2000',
      '760 2000',
      '777 2000',
      '600 0',
    ]);
  });
});
