import { CPUSet } from './cpu-set.ts';

/** The processors of a machine, as the kernel reports them or a test describes them. */
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
  /** To every node, in their order. Undefined if the kernel does not report them. */
  readonly distances?: readonly number[] | undefined;
}

interface DescribedCore {
  readonly socket: number;
  /** Numbers of its CPUs. */
  readonly threads: readonly number[];
  /** Number of its level 3 cache. Undefined if the kernel does not report it. */
  readonly l3?: number | undefined;
}

/** The place of a CPU, by numbers. That of a core is its lowest CPU. kubelet: topology.go CPUInfo */
interface CPUPlace {
  readonly numaNode: number;
  readonly socket: number;
  /** The level 3 cache. The socket if that is unknown. */
  readonly uncoreCache: number;
  readonly core: number;
}

/** Parts of a machine that have CPUs. */
export type CPULevel = keyof CPUPlace;

/** Where the CPUs of a machine are. kubelet: cpumanager/topology/topology.go CPUTopology */
export class CPUTopology {
  readonly cpus: CPUSet;
  /** CPUs of a core, rounded down if cores differ. */
  readonly cpusPerCore: number;
  readonly cpusPerSocket: number;
  readonly cpusPerUncoreCache: number;
  readonly numSockets: number;
  readonly numNUMANodes: number;
  private readonly places: ReadonlyMap<number, CPUPlace>;
  private readonly sets: Readonly<Record<CPULevel, ReadonlyMap<number, CPUSet>>>;

  /** Throws an `Error` for a machine or a core without CPUs, or a core with one twice. kubelet: topology.go Discover */
  constructor(machine: DescribedMachine) {
    const cores = machine.nodes.flatMap((node) => node.cores);
    const numCPUs = machine.cpus ?? new Set(cores.flatMap(({ threads }) => threads)).size;
    if (numCPUs === 0) throw new Error('could not detect number of cpus');
    this.places = new Map(machine.nodes.flatMap(placesOf));
    this.cpus = new CPUSet(this.places.keys());
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

  /** All CPUs of these parts of the machine. */
  cpusIn(level: CPULevel, ...ids: readonly number[]): CPUSet {
    const sets = ids.map((id) => this.sets[level].get(id) ?? CPUSet.empty);
    const [first = CPUSet.empty, ...others] = sets;
    return others.length === 0 ? first : first.union(...others);
  }

  /** The parts that have one of these CPUs, ascending. */
  idsOf(level: CPULevel, cpus: CPUSet = this.cpus): number[] {
    return [...this.sets[level]].flatMap(([id, set]) => ([...set].some((cpu) => cpus.has(cpu)) ? [id] : []));
  }

  private setsBy(level: CPULevel): Map<number, CPUSet> {
    const groups = new Map<number, number[]>();
    for (const [cpu, place] of this.places) groups.set(place[level], [...(groups.get(place[level]) ?? []), cpu]);
    return new Map([...groups].sort(([a], [b]) => a - b).map(([id, cpus]) => [id, new CPUSet(cpus)]));
  }
}

function placesOf({ id, cores }: DescribedNode): [number, CPUPlace][] {
  return cores.flatMap(({ socket, threads, l3 = socket }): [number, CPUPlace][] => {
    if (threads.length === 0) throw new Error('no cpus provided');
    if (new Set(threads).size !== threads.length) throw new Error('cpus provided are not unique');
    const place = { numaNode: id, socket, uncoreCache: l3, core: Math.min(...threads) };
    return threads.map((cpu) => [cpu, place]);
  });
}

function share(whole: number, parts: number): number {
  return parts === 0 ? 0 : Math.floor(whole / parts);
}
