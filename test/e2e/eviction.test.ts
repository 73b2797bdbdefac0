import { mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pod, PodSpec } from '../../src/api/types.ts';
import type { RuntimeConnection } from '../../src/node/runtime-connection.ts';
import { ImageRegistry } from '../fakes/image-registry.ts';
import { type Agent, isReady, startAgent } from './agent.ts';
import { hostFolder, makePod, serve, shell } from './manifests.ts';
import { imagesFolder } from './program.ts';

let disk: string;
let control: string;
let registry: ImageRegistry;
let agent: Agent;
let connection: RuntimeConnection;

/** A disk of 200 MiB for everything of the agent and of its containerd. Less than 100 MiB free is pressure. */
beforeAll(async () => {
  disk = await mkdtemp('/tmp/kd-');
  control = await mkdtemp('/tmp/kts-control-');
  await execa('mount', ['-t', 'tmpfs', '-o', 'size=200m', 'tmpfs', disk]);
  registry = await ImageRegistry.start(join(imagesFolder, 'flock.tar'));
  agent = await startAgent({
    folder: disk,
    flags: [
      '--eviction-hard=nodefs.available<100Mi',
      '--eviction-pressure-transition-period=5s',
      '--minimum-image-ttl-duration=1us',
    ],
  });
  connection = await agent.connect();
});

afterAll(async () => {
  connection.close();
  await agent.cleanUp();
  await registry.stop();
  await execa('umount', [disk]);
  await rmdir(disk);
  await rm(control, { recursive: true });
});

/** Writes so many MiB into its emptyDir when a file of its name is in the folder `control`. */
function writing(name: string, mebibytes: number, spec: Partial<PodSpec> = {}): object {
  const fill = `dd if=/dev/zero of=/cache/file bs=1M count=${mebibytes} 2>/dev/null`;
  const script = `until [ -e /control/${name} ]; do sleep 0.2; done; ${fill}; ${serve}`;
  const volumeMounts = [
    { name: 'cache', mountPath: '/cache' },
    { name: 'control', mountPath: '/control' },
  ];
  return makePod(name, {
    ...spec,
    volumes: [{ name: 'cache', emptyDir: {} }, hostFolder('control', control)],
    containers: [shell('app', script, { volumeMounts })],
  });
}

const containersOf = async (name: string): Promise<string[]> => {
  const { containers } = await connection.runtime.listContainers({
    filter: { labelSelector: { 'io.kubernetes.pod.name': `${name}-edge1` } },
  });
  return containers.map(({ id }) => id);
};

const restartsOf = ({ status }: Pod): (number | undefined)[] =>
  (status?.containerStatuses ?? []).map(({ restartCount }) => restartCount);

test('on a full disk the node frees its own first, then evicts the right pod, which comes back', async () => {
  const unused = `${registry.host}/unused:1`;
  await connection.images.pullImage({ image: { image: unused } });
  await agent.write('critical.yaml', writing('critical', 40, { priorityClassName: 'system-node-critical' }));
  await agent.write('small.yaml', writing('small', 5));
  await agent.write('large.yaml', writing('large', 60));
  await agent.write('job.yaml', makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'true')] }));
  await agent.untilReady('critical');
  await agent.untilReady('small');
  const { pod: before } = await agent.untilReady('large');
  await agent.untilPod('job', ({ worker }) => worker.state === 'finished');
  expect(await containersOf('job')).toHaveLength(1);
  for (const name of ['critical', 'small', 'large']) await writeFile(join(control, name), '');

  const { pod: evicted } = await agent.untilPod('large', ({ pod }) => pod.status?.reason === 'Evicted');
  expect(evicted.status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
  expect(evicted.status?.message).toMatch(
    /^The node was low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: \d+Ki. $/,
  );
  const { stderr } = await agent.cli(['ps']);
  // The runtime is on the same disk, which may be read before it is below the threshold there.
  expect(stderr).toMatch(
    /^warning: node DiskPressure for \d+s: nodefs.available is \d+Ki, threshold 100Mi(; containerfs.available is \d+Ki, threshold 100Mi)?$/m,
  );
  await rm(join(control, 'large'));
  const { images } = await connection.images.listImages({});
  expect(images.flatMap(({ repoTags }) => repoTags)).not.toContain(unused);
  expect(await containersOf('job')).toEqual([]);

  await agent.until(({ pressures }) => pressures.length === 0);
  const { pod: after } = await agent.untilPod('large', (entry) => isReady(entry) && entry.worker.state === 'sync');
  expect(after.metadata.uid).toBe(before.metadata.uid);
  const { stdout } = await agent.cli(['exec', 'large', '--', 'ls', '/cache']);
  expect(stdout).toBe('');
  const { pods } = await agent.until(() => true);
  expect(pods.map(({ pod }) => [pod.metadata.name, pod.status?.phase, ...restartsOf(pod)])).toEqual([
    ['critical-edge1', 'Running', 0],
    ['job-edge1', 'Succeeded', 0],
    ['large-edge1', 'Running', 0],
    ['small-edge1', 'Running', 0],
  ]);
  const reasons = agent.logs.flatMap(({ reason }) => (typeof reason === 'string' ? [reason] : []));
  expect(reasons.filter((reason) => /Pressure|EvictionThreshold/.test(reason))).toEqual([
    'NodeHasDiskPressure',
    'EvictionThresholdMet',
    'NodeHasNoDiskPressure',
  ]);
});
