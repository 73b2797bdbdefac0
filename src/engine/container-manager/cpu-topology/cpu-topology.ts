import { CPUSet } from './cpu-set.ts';

/** The processors of a machine, as reported by the kernel or described by a test. */
export interface DescribedMachine {
  readonly nodes: readonly DescribedNode[];
  /** Replaces the counted number of CPUs. */
  readonly cpus?: number | undefined;
  /** Replaces the counted number of sockets. */
  readonly sockets?: number | undefined;
}

/** A NUMA node. */
export interface DescribedNode {
  readonly id: number;
  readonly cores: readonly DescribedCore[];
  /** Distances to all nodes, in the order of the nodes. Undefined if the kernel does not report them. */
  readonly distances?: readonly number[] | undefined;
}

interface DescribedCore {
  readonly socket: number;
  /** Numbers of its CPUs. */
  readonly threads: readonly number[];
  /** Number of its level 3 cache. Undefined if the kernel does not report it. */
  readonly l3?: number | undefined;
}

/** Location of a CPU. A core is identified by its lowest CPU. kubelet: topology.go CPUInfo */
interface CPUInfo {
  readonly numaNode: number;
  readonly socket: number;
  /** Id of the level 3 cache, or of the socket if the cache is unknown. */
  readonly uncoreCache: number;
  readonly core: number;
}

/** Levels of the machine's topology. */
export type CPULevel = keyof CPUInfo;

/** Topology of the machine's CPUs. kubelet: cpumanager/topology/topology.go CPUTopology */
export class CPUTopology {
  readonly cpus: CPUSet;
  /** CPUs per core, rounded down if cores differ. */
  readonly cpusPerCore: number;
  readonly cpusPerSocket: number;
  readonly cpusPerUncoreCache: number;
  readonly numSockets: number;
  readonly numNUMANodes: number;
  private readonly infos: ReadonlyMap<number, CPUInfo>;
  private readonly sets: Readonly<Record<CPULevel, ReadonlyMap<number, CPUSet>>>;

  /**
   * Throws an `Error` if the machine or a core has no CPUs, or a core lists a CPU twice. kubelet: topology.go Discover
   */
  constructor(machine: DescribedMachine) {
    const cores = machine.nodes.flatMap((node) => node.cores);
    const numCPUs = machine.cpus ?? new Set(cores.flatMap(({ threads }) => threads)).size;
    if (numCPUs === 0) throw new Error('could not detect number of cpus');
    this.infos = new Map(machine.nodes.flatMap(infosOf));
    this.cpus = new CPUSet(this.infos.keys());
    this.sets = {
      numaNode: this.setsBy('numaNode'),
      socket: this.setsBy('socket'),
      uncoreCache: this.setsBy('uncoreCache'),
      core: this.setsBy('core'),
    };
    this.numNUMANodes = this.sets.numaNode.size;
    this.numSockets = machine.sockets ?? this.sets.socket.size;
    this.cpusPerCore = share(numCPUs, cores.length);
    this.cpusPerSocket = share(numCPUs, this.numSockets);
    this.cpusPerUncoreCache = share(numCPUs, this.sets.uncoreCache.size);
  }

  /** All CPUs with these ids at this level. */
  cpusIn(level: CPULevel, ...ids: readonly number[]): CPUSet {
    const sets = ids.map((id) => this.sets[level].get(id) ?? CPUSet.empty);
    const [first = CPUSet.empty, ...others] = sets;
    return others.length === 0 ? first : first.union(...others);
  }

  /** Ids at this level that contain one of these CPUs, ascending. */
  idsOf(level: CPULevel, cpus: CPUSet = this.cpus): number[] {
    return [...this.sets[level]].flatMap(([id, set]) => ([...set].some((cpu) => cpus.has(cpu)) ? [id] : []));
  }

  private setsBy(level: CPULevel): Map<number, CPUSet> {
    const groups = new Map<number, number[]>();
    for (const [cpu, place] of this.infos) groups.set(place[level], [...(groups.get(place[level]) ?? []), cpu]);
    return new Map([...groups].sort(([a], [b]) => a - b).map(([id, cpus]) => [id, new CPUSet(cpus)]));
  }
}

function infosOf({ id, cores }: DescribedNode): [number, CPUInfo][] {
  return cores.flatMap(({ socket, threads, l3 = socket }): [number, CPUInfo][] => {
    if (threads.length === 0) throw new Error('no cpus provided');
    if (new Set(threads).size !== threads.length) throw new Error('cpus provided are not unique');
    const place = { numaNode: id, socket, uncoreCache: l3, core: Math.min(...threads) };
    return threads.map((cpu) => [cpu, place]);
  });
}

function share(whole: number, parts: number): number {
  return parts === 0 ? 0 : Math.floor(whole / parts);
}
