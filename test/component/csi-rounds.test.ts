import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import { openReadyChannel } from '../../src/cri/grpc-channel.ts';
import { grpcService } from '../../src/cri/grpc-service.ts';
import { ConfigObjects } from '../../src/engine/config-objects/config-objects.ts';
import { mountPointsUnder } from '../../src/engine/host/mounts.ts';
import { PodDirs } from '../../src/engine/host/pod-dirs.ts';
import { newCSI } from '../../src/engine/build/new-volumes.ts';
import { VolumeManager } from '../../src/engine/volumes/volume-manager.ts';
import { RpcError } from '../../src/errors.ts';
import { NodeDefinition } from '../../src/plugins/generated/csi.ts';
import type { Connected, CSINode } from '../../src/plugins/types.ts';
import { makeContainer, makePod } from '../builders/pods.ts';
import { makeClaim, makeCSIDriver, makeVolume, makeVolumeClaims } from '../builders/storage-objects.ts';
import { systemClock } from '../../src/clock.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeCSIDriver, namesBelow } from '../fakes/fake-csi-driver.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { PathGuard } from '../../src/engine/host/path-guard.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** `CSI_ROUNDS=200 CSI_SEED=7` tries more rounds, and others. */
const rounds = Number(process.env['CSI_ROUNDS'] ?? 3);
const firstSeed = Number(process.env['CSI_SEED'] ?? 1);
/** Operations of one round. */
const steps = 8;
/** Of a call that the driver may not answer: short, because it is waited for. */
const hangingMs = 150;
const healthyMs = 30_000;

const changing = ['nodeStageVolume', 'nodePublishVolume', 'nodeUnpublishVolume', 'nodeUnstageVolume'];
const pods = ['a', 'b', 'c'];

let folder: string;
let driver: FakeCSIDriver;
let deadlineMs: number;

beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  driver.crash();
  for (const mountPoint of (await mountPointsUnder(folder)).toReversed()) await execa('umount', ['-l', mountPoint]);
});

/** Numbers below a bound, the same ones for a seed (mulberry32). */
function seeded(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

async function connect(socketPath: string): Promise<Connected<CSINode>> {
  const channel = await openReadyChannel(socketPath, { timeoutMs: healthyMs, clock: systemClock });
  return {
    service: grpcService(channel, NodeDefinition, (method) => (changing.includes(method) ? deadlineMs : healthyMs)),
    close: () => {
      channel.close();
    },
  };
}

/** How a driver can behave in one call. */
const behaviours: ((carryOut: () => Promise<object>) => Promise<object>)[] = [
  (carryOut) => carryOut(),
  (carryOut) => carryOut(),
  // Lies.
  () => Promise.resolve({}),
  // Refuses, and did nothing.
  () => Promise.reject(new RpcError('', 13, 'broken')),
  // Did it, and says that it is not known.
  async (carryOut) => {
    await carryOut();
    throw new RpcError('', 14, 'gone');
  },
  // Did it, and says that it failed.
  async (carryOut) => {
    await carryOut();
    throw new RpcError('', 13, 'broken');
  },
  // Hangs, and did it or not.
  async (carryOut) => {
    await carryOut();
    return new Promise(() => undefined);
  },
  () => new Promise(() => undefined),
];

function podOf(uid: string): Pod {
  const mounts = ['own', 'shared'].map((name) => ({ name, mountPath: `/${name}` }));
  return makePod({
    metadata: { uid, name: uid, namespace: 'default' },
    spec: {
      containers: [makeContainer({ volumeMounts: mounts })],
      volumes: [
        { name: 'own', csi: { driver: 'csi.example.com' } },
        { name: 'shared', persistentVolumeClaim: { claimName: 'data' } },
      ],
    },
  });
}

async function runRound(seed: number, rootDir: string): Promise<void> {
  const below = seeded(seed);
  const socket = join(folder, `${seed}.sock`);
  driver = new FakeCSIDriver(join(folder, 'store'));
  await driver.listen(socket);
  const objects = new ConfigObjects();
  objects.replace('test', [
    makeClaim('data', { storageClassName: '' }),
    makeVolume('disk', { source: { csi: { driver: driver.name, volumeHandle: 'disk' } } }),
    makeCSIDriver(driver.name),
  ]);
  const podDirs = new PodDirs({ rootDir });
  let cleanUp: Promise<unknown> = Promise.resolve();
  /** A new agent, as after kill -9. */
  const start = async (): Promise<VolumeManager> => {
    await cleanUp;
    const { drivers, volumes: csi } = newCSI({
      paths: new PathGuard({ maxHung: 1 }),
      ...{ connect, podDirs, configObjects: objects, logger: silentLogger, node: { rootDir, nodeName: 'edge1' } },
      onRegistered: () => undefined,
      faults: {
        watch: (_name, work) => {
          cleanUp = work;
        },
      },
    });
    await drivers.register(
      { name: driver.name, endpoint: socket, supportedVersions: ['1.0.0'] },
      new AbortController().signal,
    );
    return new VolumeManager({
      paths: new PathGuard({ maxHung: 1 }),
      ...{ podDirs, configObjects: objects, csi, allocatable: {}, clock: new FakeClock() },
      claims: makeVolumeClaims(podDirs, rootDir, objects),
    });
  };
  const misbehave = (): void => {
    deadlineMs = hangingMs;
    for (const call of changing) {
      const behaviour = behaviours[below(behaviours.length)];
      driver.answers[call] = (_request, carryOut) => behaviour?.(carryOut) ?? {};
    }
  };
  const heal = (): void => {
    deadlineMs = healthyMs;
    for (const call of changing) driver.answers[call] = (_request, carryOut) => carryOut();
  };

  heal();
  let manager = await start();
  /** Mounts that containers use. */
  const running = new Map<string, string[]>();
  for (let step = 0; step < steps; step++) {
    misbehave();
    const uid = pods[below(pods.length)] ?? '';
    const operation = below(4);
    if (operation === 0) {
      manager = await start();
    } else if (operation === 1) {
      running.delete(uid);
      await manager.unmountPodVolumes(uid).catch(() => undefined);
    } else {
      const { mounted, failures } = await manager.mountPodVolumes(podOf(uid));
      if (failures.size === 0)
        running.set(
          uid,
          [...mounted.values()].map(({ hostPath }) => hostPath),
        );
    }
    const mountPoints = await mountPointsUnder(rootDir);
    const lost = [...running.values()].flat().filter((path) => !mountPoints.includes(path));
    expect({ seed, step, lost }).toEqual({ seed, step, lost: [] });
  }
  heal();
  manager = await start();
  for (const uid of pods) await manager.unmountPodVolumes(uid);
  await cleanUp;
  const volumes = await Promise.all(pods.map((uid) => namesBelow(join(rootDir, 'pods', uid))));
  expect({
    seed,
    mounts: await mountPointsUnder(rootDir),
    volumes: volumes.flat(),
    staged: await namesBelow(join(rootDir, 'plugins', 'kubernetes.io', 'csi', driver.name)),
  }).toEqual({ seed, mounts: [], volumes: [], staged: [] });
  driver.crash();
}

const title = 'a driver that fails, hangs and lies takes no volume from a running pod, and leaves no mount';

test(title, { timeout: rounds * 60_000 }, async () => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) await runRound(seed, join(folder, `root-${seed}`));
});
