import { join } from 'node:path';
import type { StatsHost } from '../../../src/engine/stats/stats-host.ts';
import { cgroupV1, procFiles, writeAt } from '../../engine/stats/described-machine.ts';
import { instancesOf } from './recorded-pods.ts';
import type { RecordedAgent } from './recorded-agent.ts';

/** PID of the described runtime. */
const runtimePID = 77;

/** Writes the machine that an agent measures, with cgroups of version 1 and none of pods yet. */
export async function describedNode(folder: string): Promise<StatsHost> {
  const top = join(folder, 'measured');
  await writeAll(top, {
    ...cgroupV1('', { cpuNanos: 9_000_000_000, memoryKiB: 800, tasks: 99 }),
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
    cgroups: { cpu: source('cpuacct'), memory: source('memory'), pids: source('pids') },
    procFolder: join(top, 'proc'),
    runtimePID: () => runtimePID,
  };
}

/** Writes the cgroups of all pods and containers. */
export async function describePods({ folder, engine, world }: RecordedAgent): Promise<void> {
  const instances = await instancesOf(world);
  for (const { pod } of engine.kubelet.snapshot().pods) {
    const qos = { Guaranteed: '', Burstable: '/burstable', BestEffort: '/besteffort' }[pod.status?.qosClass ?? ''];
    const cgroup = `/kubepods${qos ?? ''}/pod${pod.metadata.uid}`;
    const ids = instances.filter(({ name }) => name.startsWith(`${pod.metadata.name}/`)).map(({ id }) => id);
    const files = ['', ...ids.map((id) => `/${id}`)].map((below) =>
      cgroupV1(`${cgroup}${below}`, { cpuNanos: 1_000_000, memoryKiB: 50, limitKiB: 64, tasks: 2 }),
    );
    await writeAll(join(folder, 'measured'), Object.assign({}, ...files) as Record<string, string>);
  }
}

async function writeAll(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) await writeAt(join(folder, path), text);
}
