import { join } from 'node:path';
import { ifPresent } from '../../../files/if-present.ts';
import { listFolder } from '../../../files/list-folder.ts';
import { readRegularFile } from '../../../files/regular-file.ts';
import { CPUSet } from './cpu-set.ts';
import type { DescribedMachine, DescribedNode } from './cpu-topology.ts';

/** Size limit for the sysfs files read here. */
const maxFileBytes = 64 * 1024;
/** Number of CPUs whose files are read in parallel. */
const maxAtOnce = 16;

interface DescribedCPU {
  readonly cpu: number;
  readonly socket: number;
  readonly siblings: CPUSet;
  readonly l3: number | undefined;
}

/**
 * Reads the online processors of this machine by NUMA node. A kernel without NUMA support counts as one node 0. Rejects
 * if a file cannot be read or has unexpected content. cAdvisor: utils/sysinfo/sysinfo.go GetNodesInfo
 */
export async function discoverMachine(sysDir = '/sys/devices/system'): Promise<DescribedMachine> {
  const online = CPUSet.parse((await textOf(join(sysDir, 'cpu/online'))) ?? '0');
  const described = await describeAll(sysDir, online);
  const nodes = await nodesOf(sysDir, online);
  return { nodes: nodes.map(({ id, cpus, distances }) => ({ id, cores: coresOf(described, cpus), distances })) };
}

async function describeAll(sysDir: string, online: CPUSet): Promise<DescribedCPU[]> {
  const cpus = [...online];
  const described: DescribedCPU[] = [];
  for (let first = 0; first < cpus.length; first += maxAtOnce) {
    const some = cpus.slice(first, first + maxAtOnce);
    described.push(...(await Promise.all(some.map((cpu) => describeCPU(join(sysDir, 'cpu', `cpu${cpu}`), cpu)))));
  }
  return described;
}

async function describeCPU(folder: string, cpu: number): Promise<DescribedCPU> {
  const [socket, siblings, l3] = await Promise.all([
    textOf(join(folder, 'topology/physical_package_id')),
    textOf(join(folder, 'topology/thread_siblings_list')),
    level3Cache(join(folder, 'cache')),
  ]);
  // Some ARM kernels report -1, and some virtual machines report nothing.
  return { cpu, socket: Math.max(0, Number(socket ?? 0)), siblings: CPUSet.parse(siblings ?? String(cpu)), l3 };
}

async function level3Cache(folder: string): Promise<number | undefined> {
  for (const name of (await listFolder(folder)).filter((entry) => /^index\d+$/.test(entry))) {
    if ((await textOf(join(folder, name, 'level'))) !== '3') continue;
    const id = await textOf(join(folder, name, 'id'));
    return id === undefined ? undefined : Number(id);
  }
  return undefined;
}

async function nodesOf(
  sysDir: string,
  online: CPUSet,
): Promise<{ id: number; cpus: CPUSet; distances: number[] | undefined }[]> {
  const names = (await listFolder(join(sysDir, 'node'))).filter((name) => /^node\d+$/.test(name));
  if (names.length === 0) return [{ id: 0, cpus: online, distances: undefined }];
  const nodes = await Promise.all(
    names.map(async (name) => {
      const folder = join(sysDir, 'node', name);
      const [cpus = '', distances] = await Promise.all([
        textOf(join(folder, 'cpulist')),
        textOf(join(folder, 'distance')),
      ]);
      return {
        id: Number(name.slice('node'.length)),
        cpus: CPUSet.parse(cpus).intersection(online),
        distances: distances?.split(/\s+/).map(Number),
      };
    }),
  );
  return nodes.sort((a, b) => a.id - b.id);
}

/** Cores of a node, each with the CPUs that belong to this node. */
function coresOf(described: readonly DescribedCPU[], cpus: CPUSet): DescribedNode['cores'] {
  const cores = new Map<string, DescribedNode['cores'][number]>();
  for (const { cpu, socket, siblings, l3 } of described.filter(({ cpu }) => cpus.has(cpu))) {
    const threads = siblings.union(new CPUSet([cpu])).intersection(cpus);
    cores.set(threads.toString(), { socket, threads: [...threads], l3 });
  }
  return [...cores.values()];
}

/** Trimmed content. Resolves with undefined if the file is missing. */
async function textOf(path: string): Promise<string | undefined> {
  return (await ifPresent(readRegularFile(path, maxFileBytes), 'ENOTDIR'))?.toString('utf8').trim();
}
