import { join } from 'node:path';
import type { StatsHost } from '../../../src/engine/stats/stats-host.ts';
import { cgroupDetailsV1, cgroupV1, procFiles, writeAt } from '../../engine/stats/described-machine.ts';
import { instancesOf } from './recorded-pods.ts';
import type { RecordedAgent } from './recorded-agent.ts';

/** PID of the described runtime. */
const runtimePID = 77;

/** Writes the machine that an agent measures, with cgroups of version 1 and none of pods yet. */
export async function describedNode(folder: string): Promise<StatsHost> {
  const top = join(folder, 'measured');
  await writeAll(top, {
    ...cgroupV1('', { cpuNanos: 9_000_000_000, memoryKiB: 800, tasks: 99 }),
    ...cgroupDetailsV1(''),
    ...cgroupV1('/kubepods', { cpuNanos: 7_000_000_000, memoryKiB: 400, limitKiB: 512 }),
    ...cgroupV1('/agent', { cpuNanos: 1_000_000_000, memoryKiB: 100 }),
    ...cgroupV1('/runtime', { cpuNanos: 1_000_000_000, memoryKiB: 100 }),
  });
  await writeAll(join(top, 'proc'), {
    ...procFiles,
    'self/cgroup': '4:memory:/agent\n3:cpuacct:/agent\n',
    [`${runtimePID}/cgroup`]: '4:memory:/runtime\n3:cpuacct:/runtime\n',
  });
  const source = (name: string): { version: 1; top: string } => ({ version: 1, top: join(top, name) });
  return {
    cgroups: {
      cpu: source('cpuacct'),
      memory: source('memory'),
      pids: source('pids'),
      quota: source('cpu'),
      io: source('blkio'),
    },
    procFolder: join(top, 'proc'),
    runtimePID: () => runtimePID,
  };
}

/** A process in the sandboxes of all pods with a network of their own. */
const sandboxPID = 4242;

/** Writes the cgroups of all pods, their sandboxes and containers. Memory has a limit where the manifest sets one. */
export async function describePods({ folder, engine, world }: RecordedAgent): Promise<void> {
  const instances = await instancesOf(world);
  const { items: sandboxes } = await world.runtime.listPodSandbox();
  for (const { pod } of engine.kubelet.snapshot().pods) {
    const { name, uid } = pod.metadata;
    const qos = { Guaranteed: '', Burstable: '/burstable', BestEffort: '/besteffort' }[pod.status?.qosClass ?? ''];
    const cgroup = `/kubepods${qos ?? ''}/pod${uid}`;
    const write = (below: string, isLimited: boolean, more: Readonly<Record<string, string>> = {}): Promise<void> => {
      const figures = { cpuNanos: 1_000_000, memoryKiB: 50, limitKiB: isLimited ? 64 : 0, tasks: 2 };
      return writeAll(join(folder, 'measured'), { ...cgroupV1(`${cgroup}${below}`, figures), ...more });
    };
    const limited = new Set(
      pod.spec.containers.flatMap((one) => (one.resources?.limits?.['memory'] === undefined ? [] : [one.name])),
    );
    await write('', limited.size === pod.spec.containers.length);
    for (const one of instances.filter((instance) => instance.name.startsWith(`${name}/`)))
      await write(`/${one.id}`, limited.has(one.name.slice(name.length + 1)));
    for (const { id } of sandboxes.filter(({ metadata }) => metadata?.uid === uid))
      await write(`/${id}`, false, { [`memory${cgroup}/${id}/cgroup.procs`]: `${sandboxPID}\n` });
  }
}

async function writeAll(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) await writeAt(join(folder, path), text);
}
