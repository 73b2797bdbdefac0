import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { findContainerdProcess } from '../../src/containerd/containerd-process.ts';
import { importImagesFolder } from '../../src/containerd/import-images-folder.ts';
import { openServiceSubnets } from '../../src/containerd/service-subnets.ts';
import { AppliedFolder } from '../../src/engine/applied/applied-folder.ts';
import { LastGoodManifests } from '../../src/engine/config/last-good/last-good-manifests.ts';
import { DiskStateFile, startWithStateFile } from '../../src/engine/container-manager/checkpoint/disk-state-file.ts';
import { parseDeviceCheckpoint } from '../../src/engine/container-manager/device-manager/device-checkpoint.ts';
import { parseMemoryCheckpoint } from '../../src/engine/container-manager/memory-manager/memory-checkpoint.ts';
import { findRootOwner } from '../../src/engine/container/root-owner.ts';
import { readData, readStaged, readUse } from '../../src/engine/csi/csi-files.ts';
import { EphemeralContainers } from '../../src/engine/ephemeral-containers/ephemeral-containers.ts';
import { EvictionRecords } from '../../src/engine/eviction/eviction-records.ts';
import { UndeclaredRecords } from '../../src/engine/gc/undeclared-records.ts';
import { PodDirs } from '../../src/engine/host/pod-dirs.ts';
import { WallClockStore } from '../../src/engine/host/wall-clock-store.ts';
import { PodHistories } from '../../src/engine/history/pod-histories.ts';
import { PullRecords } from '../../src/engine/images/pull-records.ts';
import { readRevision } from '../../src/engine/in-place/applied-revisions.ts';
import { PodRecords } from '../../src/engine/operations/pod-records.ts';
import { ClaimUses } from '../../src/engine/persistent-volumes/claim-uses.ts';
import { readAllocations } from '../../src/engine/services/service-records.ts';
import { StatusRecords } from '../../src/engine/status/status-records.ts';
import { WorkloadRecords } from '../../src/engine/workloads/records/workload-records.ts';
import { WallClockHistory } from '../../src/flow/wall-clock-history.ts';
import { importImages } from '../../src/node/import-images.ts';
import { recordNodePaths } from '../../src/node/last-node-paths.ts';
import { recordRuntime } from '../../src/node/last-runtime.ts';
import { EventQueue } from '../../src/node/status-urls/event-queue.ts';
import { StatusURLs } from '../../src/node/status-urls/status-urls.ts';
import { servingPair } from '../../src/server/api/serving-certificate.ts';
import type { Logger } from '../../src/logger.ts';
import { makeVolumeClaims } from '../builders/storage-objects.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { lineLogger } from '../fakes/line-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Start {
  rootDir: string;
  podDir: (uid: string) => string;
  podDirs: PodDirs;
  clock: FakeClock;
  logger: Logger;
}

const text = '{"content":"none of this kind"}';
const claim = { namespace: 'default', name: 'data' };
const signal = new AbortController().signal;
const unused = (): never => {
  throw new Error('is not called');
};

const stateFile = (name: string, parse: (content: string) => unknown): [string, (start: Start) => Promise<unknown>] => [
  name,
  async ({ rootDir, clock, logger }) => {
    const file = await DiskStateFile.open({ path: join(rootDir, name), clock, logger });
    const start = ({ content }: { content: string | undefined }): unknown => content !== undefined && parse(content);
    await startWithStateFile({ start }, file, logger);
  },
];

/** Reads one kind of file in the root-dir as an agent does. */
const kinds: [string, (start: Start) => Promise<unknown>][] = [
  [
    'state/owner.json',
    ({ rootDir, logger }) => findRootOwner({ rootDir, now: 0, recover: () => Promise.resolve(undefined), logger }),
  ],
  [
    'state/clock.json',
    async ({ rootDir, clock, logger }) => {
      const store = new WallClockStore({
        rootDir,
        wallClock: new WallClockHistory(clock),
        clock,
        logger,
        onSet: () => undefined,
      });
      await store.load();
      await store.close();
    },
  ],
  [
    'state/runtime-endpoint',
    ({ rootDir, logger }) => recordRuntime(rootDir, { endpoint: 'unix:///x.sock', managed: false }, logger),
  ],
  [
    'state/places.json',
    ({ rootDir, logger }) => recordNodePaths(rootDir, { podLogsDir: '/var/log/pods', cgroupRoot: '' }, logger),
  ],
  ['state/applied-change.json', ({ rootDir, clock, logger }) => new AppliedFolder({ rootDir, clock, logger }).open()],
  [
    'state/imported-images.json',
    ({ rootDir, clock, logger }) => {
      const importFolder = (): ReturnType<typeof importImagesFolder> =>
        importImagesFolder({
          folder: join(rootDir, 'images'),
          stateFile: join(rootDir, 'state/imported-images.json'),
          store: 'store',
          isPresent: unused,
          importArchive: unused,
          signal,
        });
      return importImages({ importFolder, clock, logger, signal, onStarting: undefined });
    },
  ],
  ['state/services.json', ({ rootDir, logger }) => readAllocations(rootDir, logger)],
  [
    'state/service-subnets.json',
    ({ rootDir, clock, logger }) =>
      openServiceSubnets({
        ...{ rootDir, clock, logger, choice: {}, hasIPv6: false, routes: [], reservationsDir: join(rootDir, 'claims') },
      }),
  ],
  ['state/operations/pod.json', ({ rootDir, clock, logger }) => new PodRecords({ rootDir, clock, logger }).load()],
  ['state/workloads/web.json', ({ rootDir, logger }) => new WorkloadRecords({ rootDir, logger }).load()],
  [
    'state/history/default_web.jsonl',
    ({ rootDir, clock, logger }) => {
      const folder = join(rootDir, 'state/history');
      const deps = { folder, clock, logger, variablesOf: () => undefined, isDeclared: () => true };
      return new PodHistories(deps).entries({ namespace: 'default', name: 'web' });
    },
  ],
  [
    'state/status-urls/accepted.json',
    ({ rootDir, clock, logger }) => StatusURLs.open({ rootDir, clock, logger, servers: [], random: unused }),
  ],
  [
    'state/status-urls/events.jsonl',
    ({ rootDir, clock, logger }) =>
      new EventQueue({ folder: join(rootDir, 'state/status-urls'), clock, logger }).load(0),
  ],
  [
    `manifests-last-good/file-${'0'.repeat(32)}-${'1'.repeat(32)}`,
    ({ rootDir, clock, logger }) => new LastGoodManifests({ rootDir, clock, logger }).list('file'),
  ],
  ...['pulled', 'pulling'].map((folder): [string, (start: Start) => Promise<unknown>] => [
    `image_manager/${folder}/sha256-${'0'.repeat(64)}`,
    ({ rootDir, clock, logger }) => {
      const verification = { policy: 'AlwaysVerify' as const, allowlist: [] };
      return new PullRecords({ rootDir, verification, loadedImages: [], clock, logger }).load();
    },
  ]),
  stateFile('memory_manager_state', (content) => parseMemoryCheckpoint(content, 'Static')),
  stateFile('device-plugins/kubelet_internal_checkpoint', parseDeviceCheckpoint),
  [
    'pki/kubelet.crt',
    async ({ rootDir, clock, logger }) => {
      await writeFile(join(rootDir, 'pki/kubelet.key'), text);
      const files = { tlsCertFile: '', tlsPrivateKeyFile: '', certDir: join(rootDir, 'pki'), nodeName: 'edge1' };
      await servingPair(files, { clock, logger });
    },
  ],
  [
    'containerd/containerd.pid',
    ({ rootDir, logger }) =>
      findContainerdProcess(join(rootDir, 'config.toml'), join(rootDir, 'containerd/containerd.pid'), logger),
  ],
  [
    'persistent-volumes/disk/claim.json',
    async ({ rootDir, podDirs, logger }) => {
      await makeVolumeClaims(podDirs, rootDir, undefined, logger)
        .bind(claim)
        .catch(() => undefined);
    },
  ],
  [
    'pods/u1/plugins/kubernetes.io~claim/default/data/ready',
    ({ podDirs, logger }) => new ClaimUses(podDirs, logger).readyMount('u1', claim),
  ],
  ['pods/u1/plugins/kubernetes.io~csi/vol/use.json', ({ podDir, logger }) => readUse(podDir('u1'), 'vol', logger)],
  [
    'pods/u1/volumes/kubernetes.io~csi/vol/vol_data.json',
    ({ podDir, logger }) => readData(join(podDir('u1'), 'volumes/kubernetes.io~csi/vol'), logger),
  ],
  [
    'plugins/kubernetes.io/csi/driver/vol/staged.json',
    ({ rootDir, logger }) => readStaged(join(rootDir, 'plugins/kubernetes.io/csi/driver/vol'), logger),
  ],
  ['pods/u1/status.json', (start) => new StatusRecords(start).load(['u1'])],
  ['pods/u1/revision.json', ({ podDir, logger }) => readRevision(podDir('u1'), logger)],
  ['pods/u1/eviction.json', (start) => new EvictionRecords(start).load(['u1'])],
  ['pods/u1/undeclared.json', (start) => new UndeclaredRecords(start).load(['u1'])],
  [
    'pods/u1/ephemeral-containers.json',
    ({ clock, logger, podDir }) =>
      new EphemeralContainers({
        ...{ podDir, clock, logger, declaredPod: unused, isStopped: unused, workerState: unused, syncPod: unused },
      }).load(['u1']),
  ],
];

const damages: [string, string][] = [
  ['empty', ''],
  ['half', text.slice(0, text.length / 2)],
  ['NUL bytes', '\0'.repeat(text.length)],
];

/** Writes a damaged file, and reads it as an agent does. Returns its path and the warnings. */
async function readDamaged(
  file: string,
  content: string,
  read: (start: Start) => Promise<unknown>,
): Promise<{ path: string; warnings: string[] }> {
  const rootDir = await temporaryFolder();
  const path = join(rootDir, file);
  await mkdir(dirname(path), { recursive: true });
  await mkdir(join(rootDir, 'state'), { recursive: true });
  await writeFile(path, content);
  const { logger, lines } = lineLogger();
  const podDirs = new PodDirs({ rootDir });
  await read({ rootDir, podDir: (uid) => podDirs.podDir(uid), podDirs, clock: new FakeClock(), logger });
  return { path, warnings: lines.filter((line) => line.startsWith('warn')) };
}

test.each(kinds.flatMap(([file, read]) => damages.map(([damage, content]) => ({ file, damage, content, read }))))(
  'one line of the log names a damaged $file: $damage',
  async ({ file, content, read }) => {
    const { path, warnings } = await readDamaged(file, content, read);
    // A file of lines is whole if it has none.
    const expected = file.endsWith('.jsonl') && content === '' ? [] : [expect.stringContaining(path)];
    expect(warnings).toEqual(expected);
  },
);

const renamed = [
  ...['state/owner.json', 'state/clock.json', 'state/history/default_web.jsonl'],
  ...['pods/u1/status.json', 'pods/u1/revision.json'],
];

test.each(
  kinds
    .filter(([file]) => renamed.includes(file))
    .flatMap(([file, read]) => ['{"torn":', 'null', '[]', '{}'].map((content) => ({ file, content, read }))),
)('a damaged $file is set aside: $content', async ({ file, content, read }) => {
  const { path, warnings } = await readDamaged(file, content, read);
  const isSetAside = (await readdir(dirname(path))).some((name) => name.endsWith('.damaged'));
  expect({ warnings, isSetAside }).toEqual({
    warnings: [expect.stringMatching(/^warn A damaged state file was set aside/)],
    isSetAside: true,
  });
});
