import { mkdir, readdir, readFile, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Pod, PodSpec, Volume } from '../../src/api/types.ts';
import { ConfigObjects } from '../../src/engine/config-objects/config-objects.ts';
import type { CSIDrivers } from '../../src/engine/csi/csi-drivers.ts';
import { mountPointsUnder } from '../../src/engine/host/mounts.ts';
import { PodDirs } from '../../src/engine/host/pod-dirs.ts';
import { newCSI } from '../../src/engine/build/new-volumes.ts';
import { VolumeManager } from '../../src/engine/volumes/volume-manager.ts';
import type { MountedVolume } from '../../src/engine/volumes/volume-mounter.ts';
import { RpcError } from '../../src/errors.ts';
import { connectCSINode } from '../../src/plugins/plugin-connections.ts';
import { makeSecret } from '../builders/config-objects.ts';
import { makeContainer, makePod } from '../builders/pods.ts';
import { makeClaim, makeCSIDriver, makeVolume, makeVolumeClaims } from '../builders/storage-objects.ts';
import { systemClock } from '../../src/clock.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeCSIDriver, namesBelow } from '../fakes/fake-csi-driver.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { PathGuard } from '../../src/engine/host/path-guard.ts';
import { hungMount } from '../support/hung-mount.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let folder: string;
let objects: ConfigObjects;
let driver: FakeCSIDriver;
/** The removal of unused volumes after a registration. */
let cleanUp: Promise<unknown>;
let node: { drivers: CSIDrivers; manager: VolumeManager };

const driverName = 'csi.example.com';
const socket = (): string => join(folder, 'csi.sock');

beforeEach(async () => {
  folder = await temporaryFolder();
  objects = new ConfigObjects();
  driver = new FakeCSIDriver(join(folder, 'store'));
  onTestFinished(async () => {
    driver.crash();
    for (const mountPoint of (await mountPointsUnder(folder)).toReversed()) await execa('umount', ['-l', mountPoint]);
  });
  await driver.listen(socket());
  node = open();
  await register();
  driver.takeCalls();
});

/** The parts of a new agent, without a registered driver. */
function open(): typeof node {
  const rootDir = join(folder, 'root');
  const podDirs = new PodDirs({ rootDir });
  const { drivers, volumes } = newCSI({
    paths: new PathGuard({ maxHung: 1 }),
    connect: (path) => connectCSINode(path, systemClock),
    node: { rootDir, nodeName: 'edge1' },
    podDirs,
    configObjects: objects,
    onRegistered: () => undefined,
    faults: {
      watch: (_name, work) => {
        cleanUp = work;
      },
    },
    logger: silentLogger,
  });
  const manager = new VolumeManager({
    paths: new PathGuard({ maxHung: 1 }),
    podDirs,
    configObjects: objects,
    allocatable: {},
    clock: new FakeClock(),
    claims: makeVolumeClaims(podDirs, rootDir, objects),
    csi: volumes,
  });
  return { drivers, manager };
}

async function register(): Promise<void> {
  const plugin = { name: driverName, endpoint: socket(), supportedVersions: ['1.2.3'] };
  await node.drivers.register(plugin, new AbortController().signal);
}

const declare = (...all: Parameters<ConfigObjects['replace']>[1]): unknown => objects.replace('test', all);

function podWith(volume: Omit<Volume, 'name'>, uid = 'u1', spec: Partial<PodSpec> = {}): Pod {
  const container = makeContainer({ volumeMounts: [{ name: 'data', mountPath: '/data' }] });
  return makePod({
    metadata: { uid, name: 'web', namespace: 'default' },
    spec: { containers: [container], volumes: [{ name: 'data', ...volume }], ...spec },
  });
}

const inline = (uid = 'u1', more: Partial<NonNullable<Volume['csi']>> = {}, spec: Partial<PodSpec> = {}): Pod =>
  podWith({ csi: { driver: driverName, ...more } }, uid, spec);
const claiming = (uid = 'u1', spec: Partial<PodSpec> = {}): Pod =>
  podWith({ persistentVolumeClaim: { claimName: 'data' } }, uid, spec);

async function mountData(pod: Pod): Promise<MountedVolume | string | undefined> {
  const { mounted, failures } = await node.manager.mountPodVolumes(pod);
  return failures.get('data')?.message ?? mounted.get('data');
}

const inRoot = (...names: string[]): string => join(folder, 'root', ...names);
const target = (name = 'data', uid = 'u1'): string =>
  inRoot('pods', uid, 'volumes', 'kubernetes.io~csi', name, 'mount');
const stagedNames = (): Promise<string[]> => namesBelow(inRoot('plugins', 'kubernetes.io', 'csi', driverName));
const mounted = (path: string) => ({ hostPath: path, readOnly: false, managed: true, persistent: true });

/** The volume `disk` of the driver, with a claim. */
function declareDisk(source: object = {}, claim = {}): void {
  const csi = { driver: driverName, volumeHandle: 'disk-1', ...source };
  declare(
    makeClaim('data', { storageClassName: '', ...claim }),
    makeVolume('disk', { source: { csi }, mountOptions: ['noatime'], accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] }),
  );
}

describe('the usage of a volume', () => {
  const usage = (name: string): Promise<unknown> => node.manager.driverUsage('u1', name, new AbortController().signal);

  test('is what its driver reports, without figures that cannot be true', async () => {
    driver.capabilities = ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS'];
    driver.answers['nodeGetVolumeStats'] = () => ({
      usage: [
        { unit: 'BYTES', total: 100n, available: 60n, used: 40n },
        { unit: 'INODES', total: 10n, available: -1n, used: 3n },
        { unit: 'UNKNOWN', total: 7n },
      ],
    });
    declareDisk();
    await mountData(claiming());
    const [measured] = node.manager.measuredVolumes(claiming());
    expect(await usage(measured?.specName ?? '')).toEqual({
      ...{ capacityBytes: 100, availableBytes: 60, usedBytes: 40 },
      ...{ inodes: 10, inodesUsed: 3 },
    });
    const { request } = await driver.calls.next(({ call }) => call === 'nodeGetVolumeStats');
    expect(request).toEqual({ volumeId: 'disk-1', volumePath: target('disk'), stagingTargetPath: '' });
  });

  test('is unknown for a driver that reports none, and for a volume that is not mounted', async () => {
    declareDisk();
    await mountData(claiming());
    expect([await usage('disk'), await usage('other')]).toEqual([undefined, undefined]);
    expect(driver.calls.items.map(({ call }) => call)).not.toContain('nodeGetVolumeStats');
  });

  test('of a driver that fails is rejected in its words', async () => {
    driver.capabilities = ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS'];
    driver.answers['nodeGetVolumeStats'] = () => {
      throw new RpcError('NodeGetVolumeStats', 5, 'no such volume');
    };
    declareDisk();
    await mountData(claiming());
    await expect(usage('disk')).rejects.toThrow('no such volume');
  });
});

describe('a volume in the pod', () => {
  test('is published with its data in the format of the kubelet, once, and unpublished with the pod', async () => {
    declare(makeCSIDriver(driverName));
    expect(await mountData(inline())).toEqual(mounted(target()));
    expect(await mountData(inline())).toEqual(mounted(target()));
    expect(driver.takeCalls()).toEqual(['nodePublishVolume']);
    const data: unknown = JSON.parse(await readFile(join(target(), '..', 'vol_data.json'), 'utf8'));
    expect(data).toEqual({
      attachmentID: expect.stringMatching(/^csi-[0-9a-f]{64}$/) as string,
      driverName,
      nodeName: 'edge1',
      specVolID: 'data',
      volumeHandle: expect.stringMatching(/^csi-[0-9a-f]{64}$/) as string,
      volumeLifecycleMode: 'Ephemeral',
    });
    await node.manager.unmountPodVolumes('u1');
    expect(driver.takeCalls()).toEqual(['nodeUnpublishVolume']);
    expect(await mountPointsUnder(folder)).toEqual([]);
    expect(await readdir(inRoot('pods', 'u1'))).toEqual([]);
  });

  test('gets the attributes, the Secret, and facts about the pod where its driver wants them', async () => {
    declare(makeCSIDriver(driverName, { podInfoOnMount: true }), makeSecret('login', { user: 'a', password: 'b' }));
    await mountData(
      inline('u1', {
        fsType: 'ext4',
        readOnly: true,
        volumeAttributes: { size: '1' },
        nodePublishSecretRef: { name: 'login' },
      }),
    );
    const { request } = await driver.calls.next(({ call }) => call === 'nodePublishVolume');
    expect(request).toEqual({
      volumeId: expect.stringMatching(/^csi-/) as string,
      publishContext: {},
      stagingTargetPath: '',
      targetPath: target(),
      volumeCapability: {
        mount: { fsType: 'ext4', mountFlags: [], volumeMountGroup: '' },
        accessMode: { mode: 'SINGLE_NODE_WRITER' },
      },
      readonly: true,
      secrets: { user: 'a', password: 'b' },
      volumeContext: {
        size: '1',
        'csi.storage.k8s.io/pod.name': 'web',
        'csi.storage.k8s.io/pod.namespace': 'default',
        'csi.storage.k8s.io/pod.uid': 'u1',
        'csi.storage.k8s.io/serviceAccount.name': '',
        'csi.storage.k8s.io/ephemeral': 'true',
      },
    });
  });

  test.each([
    [
      'a driver that did not register',
      inline('u1', { driver: 'other' }),
      [makeCSIDriver('other')],
      'driver name other not found in the list of registered CSI drivers',
    ],
    [
      'a driver without a CSIDriver',
      inline(),
      [],
      `kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver ${driverName} (no CSIDriver object)`,
    ],
    [
      'a driver of other volumes',
      inline(),
      [makeCSIDriver(driverName, { volumeLifecycleModes: ['Persistent'] })],
      `kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver ${driverName} (only supports ["Persistent"])`,
    ],
    [
      'a Secret that nobody declares',
      inline('u1', { nodePublishSecretRef: { name: 'gone' } }),
      [makeCSIDriver(driverName)],
      'fetching NodePublishSecretRef default/gone failed: secrets "gone" not found',
    ],
  ])('waits for %s', async (_what, pod, declared, message) => {
    declare(...declared);
    expect(await mountData(pod)).toBe(message);
    expect(driver.takeCalls()).toEqual([]);
  });

  test('stays published while its pod is stopped, unlike a declared volume', async () => {
    const csi = { driver: driverName, volumeHandle: 'disk-1' };
    declare(
      makeCSIDriver(driverName),
      makeClaim('more', { storageClassName: '' }),
      makeVolume('disk', { source: { csi } }),
    );
    const pod = inline();
    pod.spec.containers[0]?.volumeMounts?.push({ name: 'more', mountPath: '/more' });
    pod.spec.volumes?.push({ name: 'more', persistentVolumeClaim: { claimName: 'more' } });
    const paths = new Map([
      ['data', mounted(target('data'))],
      ['more', mounted(target('disk'))],
    ]);
    expect(await node.manager.mountPodVolumes(pod)).toEqual({ mounted: paths, failures: new Map() });
    driver.takeCalls();
    await node.manager.unmountStoppedPod('u1');
    expect({ calls: driver.takeCalls(), mounts: await mountPointsUnder(folder), staged: await stagedNames() }).toEqual({
      calls: ['nodeUnpublishVolume', 'nodeUnstageVolume'],
      mounts: [target('data')],
      staged: [],
    });
    expect(await node.manager.mountPodVolumes(pod)).toEqual({ mounted: paths, failures: new Map() });
    expect(driver.takeCalls()).toEqual(['nodeStageVolume', 'nodePublishVolume']);
  });

  test('is published again at every sync where its driver wants that', async () => {
    declare(makeCSIDriver(driverName, { requiresRepublish: true }));
    await mountData(inline());
    await mountData(inline());
    expect(driver.takeCalls()).toEqual(['nodePublishVolume', 'nodePublishVolume']);
    driver.answers['nodePublishVolume'] = () => {
      throw new RpcError('NodePublishVolume', 13, 'no new token');
    };
    const { mounted: kept, failures } = await node.manager.mountPodVolumes(inline());
    expect(kept.get('data')).toEqual(mounted(target()));
    expect(failures.get('data')?.message).toBe('rpc error: code = Internal desc = no new token');
    expect(await mountPointsUnder(folder)).toEqual([target()]);
  });

  test.each([
    ['None', 'ext4', 0],
    ['File', '', 4321],
    ['ReadWriteOnceWithFSType', '', 0],
    ['ReadWriteOnceWithFSType', 'ext4', 4321],
  ])('with the policy %s and the file system "%s" belongs to group %i', async (fsGroupPolicy, fsType, gid) => {
    declare(makeCSIDriver(driverName, { fsGroupPolicy }));
    await mountData(inline('u1', { fsType }, { securityContext: { fsGroup: 4321 } }));
    expect((await stat(target())).gid).toBe(gid);
  });

  test('is given to the group by a driver that can do it', async () => {
    driver.capabilities = ['VOLUME_MOUNT_GROUP', 'SINGLE_NODE_MULTI_WRITER'];
    declare(makeCSIDriver(driverName, { fsGroupPolicy: 'File' }));
    await mountData(inline('u1', {}, { securityContext: { fsGroup: 4321 } }));
    expect((await stat(target())).gid).toBe(0);
    const { request } = await driver.calls.next(({ call }) => call === 'nodePublishVolume');
    expect(request).toMatchObject({
      volumeCapability: { mount: { volumeMountGroup: '4321' }, accessMode: { mode: 'SINGLE_NODE_MULTI_WRITER' } },
    });
  });
});

describe('a declared volume', () => {
  test('is mounted after one question for what its driver can do', async () => {
    declareDisk();
    const before = driver.calls.items.length;
    await mountData(claiming('u1'));
    const asked = driver.calls.items.slice(before).map(({ call }) => call);
    expect(asked).toEqual(['nodeGetCapabilities', 'nodeStageVolume', 'nodePublishVolume']);
  });

  test('is staged once for all pods, and unstaged after the last one', async () => {
    declareDisk();
    expect(await mountData(claiming('u1'))).toEqual(mounted(target('disk')));
    await mountData(claiming('u2'));
    expect(driver.takeCalls()).toEqual(['nodeStageVolume', 'nodePublishVolume', 'nodePublishVolume']);
    await writeFile(join(target('disk'), 'row'), '1');
    expect(await readFile(join(target('disk', 'u2'), 'row'), 'utf8')).toBe('1');
    const [staged = ''] = await stagedNames();
    const staging = inRoot('plugins', 'kubernetes.io', 'csi', driverName, staged);
    expect(JSON.parse(await readFile(join(staging, 'vol_data.json'), 'utf8'))).toEqual({
      driverName,
      volumeHandle: 'disk-1',
    });
    await node.manager.unmountPodVolumes('u1');
    expect(driver.takeCalls()).toEqual(['nodeUnpublishVolume']);
    await node.manager.unmountPodVolumes('u2');
    expect(driver.takeCalls()).toEqual(['nodeUnpublishVolume', 'nodeUnstageVolume']);
    expect(await stagedNames()).toEqual([]);
    expect(await mountPointsUnder(folder)).toEqual([]);
    expect(await readFile(join(driver.dataOf('disk-1'), 'row'), 'utf8')).toBe('1');
  });

  test('has the Secret, the options and the read-only mode of its declaration', async () => {
    declareDisk({ nodeStageSecretRef: { name: 'login' } }, { accessModes: ['ReadOnlyMany'] });
    objects.replace('more', [makeSecret('login', { user: 'a' })]);
    expect(await mountData(claiming())).toEqual({ ...mounted(target('disk')), readOnly: true, managed: false });
    expect((await driver.calls.next(({ call }) => call === 'nodeStageVolume')).request).toMatchObject({
      volumeId: 'disk-1',
      secrets: { user: 'a' },
      volumeCapability: { mount: { mountFlags: ['noatime'] }, accessMode: { mode: 'SINGLE_NODE_WRITER' } },
    });
    expect((await driver.calls.next(({ call }) => call === 'nodePublishVolume')).request).toMatchObject({
      readonly: true,
      secrets: {},
    });
  });

  test('stays mounted without another call while its driver is away, its claim too', async () => {
    declareDisk();
    await mountData(claiming());
    await driver.stop(socket());
    node = open();
    expect(await mountData(claiming())).toEqual(mounted(target('disk')));
    declare();
    const { mounted: kept } = await node.manager.mountPodVolumes(claiming());
    expect(kept.get('data')).toEqual(mounted(target('disk')));
  });

  test('of a driver that makes a folder and mounts nothing stays that of its pod without its claim', async () => {
    driver.answers['nodePublishVolume'] = async () => {
      await mkdir(target('disk'));
      return {};
    };
    declareDisk();
    expect(await mountData(claiming())).toEqual(mounted(target('disk')));
    declare();
    const { mounted: kept } = await node.manager.mountPodVolumes(claiming());
    expect(kept.get('data')).toEqual(mounted(target('disk')));
  });
});

describe('a driver that', () => {
  beforeEach(() => {
    declareDisk();
  });

  test('refuses a volume leaves no trace of a mount, and is asked again', async () => {
    driver.answers['nodePublishVolume'] = () => {
      throw new RpcError('NodePublishVolume', 13, 'disk is broken');
    };
    expect(await mountData(claiming())).toBe('rpc error: code = Internal desc = disk is broken');
    expect(await namesBelow(inRoot('pods', 'u1', 'volumes', 'kubernetes.io~csi'))).toEqual([]);
    driver.answers['nodePublishVolume'] = (_request, carryOut) => carryOut();
    expect(await mountData(claiming())).toEqual(mounted(target('disk')));
  });

  test('fails after it mounted is asked to undo it, by the next agent', async () => {
    driver.answers['nodePublishVolume'] = async (_request, carryOut) => {
      await carryOut();
      throw new RpcError('NodePublishVolume', 4, 'too slow');
    };
    expect(await mountData(claiming())).toBe('rpc error: code = DeadlineExceeded desc = too slow');
    expect(await mountPointsUnder(target('disk'))).toHaveLength(1);
    node = open();
    await expect(node.manager.unmountPodVolumes('u1')).rejects.toThrow('not found in the list of registered');
    await register();
    driver.takeCalls();
    await node.manager.unmountPodVolumes('u1');
    expect(driver.takeCalls()).toEqual(['nodeUnpublishVolume', 'nodeUnstageVolume']);
    expect(await mountPointsUnder(folder)).toEqual([]);
  });

  test('fails after it mounted undoes that before it mounts the volume of a corrected declaration', async () => {
    driver.answers['nodePublishVolume'] = async (_request, carryOut) => {
      await carryOut();
      throw new RpcError('NodePublishVolume', 4, 'too slow');
    };
    await mountData(claiming());
    driver.answers['nodePublishVolume'] = (_request, carryOut) => carryOut();
    declareDisk({ volumeHandle: 'disk-2' });
    driver.takeCalls();
    expect(await mountData(claiming())).toEqual(mounted(target('disk')));
    expect(driver.takeCalls()).toEqual([
      ...['nodeUnpublishVolume', 'nodeUnstageVolume'],
      ...['nodeStageVolume', 'nodePublishVolume'],
    ]);
    await writeFile(join(target('disk'), 'file'), 'mine');
    expect(await readdir(driver.dataOf('disk-2'))).toEqual(['file']);
  });

  test('says that it mounted, and made nothing, is not believed', async () => {
    driver.answers['nodePublishVolume'] = () => ({});
    const message = `driver ${driverName} published no folder and no mount at ${target('disk')}`;
    expect(await mountData(claiming())).toBe(message);
  });

  test('leaves a link in place of the folder is not followed', async () => {
    const elsewhere = join(dirname(target('disk')), 'elsewhere');
    driver.answers['nodePublishVolume'] = async () => {
      await mkdir(elsewhere, { recursive: true });
      await symlink(elsewhere, target('disk'));
      return {};
    };
    const message = `driver ${driverName} published no folder and no mount at ${target('disk')}`;
    expect(await mountData(claiming())).toBe(message);
    await unlink(target('disk'));
  });

  test('mounts a file system that hangs has published its volume', async () => {
    driver.answers['nodePublishVolume'] = async () => {
      await mkdir(target('disk'), { recursive: true });
      const mount = await hungMount(target('disk'));
      onTestFinished(() => mount.release());
      return {};
    };
    expect(await mountData(claiming())).toEqual(mounted(target('disk')));
  });

  test('refuses to unmount is an error with its name and the volume', async () => {
    await mountData(claiming());
    driver.answers['nodeUnpublishVolume'] = () => {
      throw new RpcError('NodeUnpublishVolume', 9, 'busy');
    };
    const refused = node.manager.unmountPodVolumes('u1');
    await expect(refused).rejects.toThrow(
      `driver ${driverName} did not unmount volume disk-1: rpc error: code = FailedPrecondition desc = busy`,
    );
    driver.answers['nodeUnpublishVolume'] = (_request, carryOut) => carryOut();
    await node.manager.unmountPodVolumes('u1');
  });

  test('says that it unmounted, and did not, leaves no mount', async () => {
    await mountData(claiming());
    driver.answers['nodeUnpublishVolume'] = () => ({});
    driver.answers['nodeUnstageVolume'] = () => ({});
    await node.manager.unmountPodVolumes('u1');
    expect(await mountPointsUnder(folder)).toEqual([]);
    expect(await stagedNames()).toEqual([]);
    expect(await readdir(driver.dataOf('disk-1'))).toEqual([]);
  });

  test('comes back unstages what a crash of the agent left', async () => {
    await mountData(claiming());
    await execa('umount', [target('disk')]);
    await rm(inRoot('pods'), { recursive: true });
    driver.takeCalls();
    node = open();
    await register();
    await cleanUp;
    expect(driver.takeCalls()).toEqual(['nodeUnstageVolume']);
    expect(await stagedNames()).toEqual([]);
    expect(await mountPointsUnder(folder)).toEqual([]);
  });

  test('hangs lets its pod end', async () => {
    driver.answers['nodePublishVolume'] = () => new Promise(() => undefined);
    const ending = new AbortController();
    const mounting = node.manager.mountPodVolumes(claiming(), ending.signal);
    await driver.calls.next(({ call }) => call === 'nodePublishVolume');
    ending.abort(new Error('the pod ends'));
    expect((await mounting).failures.get('data')?.message).toBe('the pod ends');
    driver.takeCalls();
    await node.manager.unmountPodVolumes('u1');
    expect(driver.takeCalls()).toEqual(['nodeUnpublishVolume', 'nodeUnstageVolume']);
  });

  test('holds up one volume holds up no other', async () => {
    declare(
      makeClaim('data', { storageClassName: '' }),
      makeVolume('disk', { source: { csi: { driver: driverName, volumeHandle: 'disk-1' } } }),
      makeCSIDriver(driverName),
    );
    let giveUp = (): void => undefined;
    driver.answers['nodeStageVolume'] = () =>
      new Promise((_resolve, reject) => {
        giveUp = () => {
          reject(new RpcError('NodeStageVolume', 14, 'gone'));
        };
      });
    const held = mountData(claiming('u1'));
    await driver.calls.next(({ call }) => call === 'nodeStageVolume');
    expect(await mountData(inline('u2'))).toEqual(mounted(target('data', 'u2')));
    giveUp();
    expect(await held).toBe('rpc error: code = Unavailable desc = gone');
  });
});

describe('registration', () => {
  const plugin = (supportedVersions: string[], name = driverName) => ({
    name,
    endpoint: '/csi.sock',
    supportedVersions,
  });

  test.each([
    [
      plugin([], 'new'),
      'kubernetes.io/csi: ValidatePlugin for CSI driver "new" failed. Plugin returned an empty list for supported versions',
    ],
    [
      plugin(['0.3.0', 'two'], 'new'),
      'kubernetes.io/csi: ValidatePlugin for CSI driver "new" failed. None of the versions specified ["0.3.0" "two"] are supported',
    ],
    [
      plugin(['1.2.3']),
      `kubernetes.io/csi: ValidatePlugin for CSI driver "${driverName}" failed. Another driver with the same name is already registered with a higher supported version: "1.2.3"`,
    ],
    [plugin(['1.0.0'], '../up'), 'kubernetes.io/csi: validation for CSI driver "../up" failed. It is not a valid name'],
  ])('refuses %o', (refused, message) => {
    expect(() => {
      node.drivers.validate(refused);
    }).toThrow(message);
  });

  test('uses a newer driver of the same name, and keeps it when the old one disappears', async () => {
    node.drivers.validate(plugin(['1.0.0', '1.10.0']));
    const newer = join(folder, 'new.sock');
    await driver.listen(newer);
    await node.drivers.register({ ...plugin(['1.10.0']), endpoint: newer }, new AbortController().signal);
    node.drivers.deRegister({ ...plugin(['1.2.3']), endpoint: socket() });
    await mkdir(driver.dataOf('x'), { recursive: true });
    declare(makeCSIDriver(driverName));
    expect(await mountData(inline())).toEqual(mounted(target()));
  });

  test('needs the id of the node', async () => {
    driver.answers['nodeGetInfo'] = () => ({ nodeId: '' });
    node = open();
    await expect(register()).rejects.toThrow('driverNodeID must not be empty');
  });
});
