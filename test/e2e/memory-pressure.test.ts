import { mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PodSpec } from '../../src/api/types.ts';
import { readCgroupSources } from '../../src/engine/stats/cgroup-sources.ts';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { type Agent, isReady, startAgent } from './agent.ts';
import { hostFolder, makePod, serve, shell } from './manifests.ts';
import { MountNamespace } from './mount-namespace.ts';

const mebibyte = 1024 * 1024;
const machineMebibytes = 400;

let control: string;
let limited: string;
let mounts: MountNamespace;
let agent: Agent;

/**
 * A machine of 400 MiB: a limited cgroup is the root of the memory cgroups. Less than 200 MiB available is pressure.
 */
beforeAll(async () => {
  control = await mkdtemp('/tmp/kts-control-');
  const { memory } = await readCgroupSources();
  if (memory === undefined) throw new Error('this machine does not count memory');
  limited = await mkdtemp(join(memory.top, 'kts-limited-'));
  const limitFile = memory.version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
  await writeFile(join(limited, limitFile), (machineMebibytes * mebibyte).toString());
  const memInfo = join(control, 'meminfo');
  const total = machineMebibytes * 1024;
  await writeFile(memInfo, `MemTotal: ${total} kB\nMemFree: ${total} kB\nMemAvailable: ${total} kB\n`);
  mounts = await MountNamespace.create(limited);
  await mounts.run('mount', '--bind', limited, memory.top);
  await mounts.run('mount', '--bind', memInfo, '/proc/meminfo');
  agent = await startAgent({
    mountNamespace: mounts.path,
    cgroupNamespace: mounts.cgroupPath,
    flags: ['--eviction-hard=memory.available<200Mi', '--eviction-pressure-transition-period=1s'],
  });
});

afterAll(async () => {
  await agent.cleanUp();
  await mounts.remove();
  await rmdir(join(limited, agent.cgroupRoot)).catch(() => undefined);
  await rmdir(limited);
  await rm(control, { recursive: true });
});

/** Takes so many MiB of memory when a file of its name is in the folder `control`. */
function taking(name: string, mebibytes: number, spec: Partial<PodSpec> = {}): object {
  const take = `{ head -c ${mebibytes}m /dev/zero; sleep 3600; } | tail -c ${mebibytes}m &`;
  return makePod(name, {
    ...spec,
    volumes: [hostFolder('control', control)],
    containers: [
      shell('app', `until [ -e /control/${name} ]; do sleep 0.1; done; ${take} ${serve}`, {
        volumeMounts: [{ name: 'control', mountPath: '/control' }],
      }),
    ],
  });
}

test('the pod that takes the memory of the machine is evicted and comes back, a critical one stays', async () => {
  await agent.write('critical.yaml', taking('critical', 110, { priorityClassName: 'system-node-critical' }));
  await agent.write('large.yaml', taking('large', 100));
  await agent.write('calm.yaml', makePod('calm', { containers: [shell('app', serve)] }));
  for (const name of ['critical', 'calm']) await agent.untilReady(name);
  const { pod: before } = await agent.untilReady('large');
  for (const name of ['critical', 'large']) await writeFile(join(control, name), '');

  const isEvicted = ({ pod }: PodSnapshot): boolean => pod.status?.reason === 'Evicted';
  const { pods: then, pressures } = await agent.until((snapshot) => snapshot.pods.some(isEvicted));
  expect(then.find(isEvicted)?.pod.status?.message).toMatch(
    /^The node was low on resource: memory. Threshold quantity: 200Mi, available: \d+[KM]i. Container app was using \d+[KM]i, request is 0, has larger consumption of memory. $/,
  );
  expect(pressures).toMatchObject([{ type: 'MemoryPressure' }]);
  await rm(join(control, 'large'));

  const { pod: after } = await agent.untilPod('large', (entry) => isReady(entry) && entry.worker.state === 'sync');
  expect(after.metadata.uid).toBe(before.metadata.uid);
  const { pods } = await agent.until(() => true);
  const restarts = pods.map(({ pod: { metadata, status } }) => [
    metadata.name,
    status?.phase,
    status?.containerStatuses?.map(({ restartCount }) => restartCount),
  ]);
  expect(restarts).toEqual([
    ['calm-edge1', 'Running', [0]],
    ['critical-edge1', 'Running', [0]],
    ['large-edge1', 'Running', [0]],
  ]);
  const reasons = agent.logs.flatMap(({ reason }) => (typeof reason === 'string' ? [reason] : []));
  expect(reasons.filter((reason) => /Memory|EvictionThreshold|Evicted|OOM/.test(reason))).toEqual([
    'NodeHasInsufficientMemory',
    'EvictionThresholdMet',
    'Evicted',
    'NodeHasSufficientMemory',
  ]);
});
