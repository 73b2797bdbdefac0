import type { CPUSet } from '../cpu-topology/cpu-set.ts';
import type { CPULevel, CPUTopology } from '../cpu-topology/cpu-topology.ts';

/** How CPUs are chosen. */
export interface TakeOptions {
  /** If true, prefers CPUs of different cores to whole cores. */
  spreadAcrossCores: boolean;
  /** If true, prefers CPUs that share a level 3 cache. */
  alignByUncoreCache: boolean;
}

/**
 * Chooses `count` of the free CPUs: whole NUMA nodes and sockets first, then whole cores, then single CPUs. At each
 * level it starts where the fewest CPUs are free. Throws an `Error` if fewer CPUs are free. kubelet:
 * cpumanager/cpu_assignment.go takeByTopologyNUMAPacked
 */
export function takeCPUs(topology: CPUTopology, free: CPUSet, count: number, options: TakeOptions): CPUSet {
  const accumulator = new CPUAccumulator(topology, free, count);
  accumulator.takeWhole(accumulator.order[0]);
  accumulator.takeWhole(accumulator.order[1]);
  if (options.alignByUncoreCache) accumulator.takeByUncoreCache();
  if (!options.spreadAcrossCores) accumulator.takeWhole('core');
  accumulator.takeSingle(options.spreadAcrossCores ? 'socket' : 'core');
  return accumulator.taken;
}

/** Throws the kubelet's error if fewer CPUs are free than needed. */
export function checkEnough(topology: CPUTopology, free: CPUSet, count: number): void {
  if (count <= free.intersection(topology.cpus).size) return;
  throw new Error(`not enough cpus available to satisfy request: requested=${count}, available=${free.size}`);
}

/** NUMA nodes with free CPUs, in the order in which their CPUs are chosen. */
export function orderedNUMANodes(topology: CPUTopology, free: CPUSet): number[] {
  return new CPUAccumulator(topology, free, 0).ordered('numaNode');
}

/** Accumulates CPUs until the requested number is reached. kubelet: cpumanager/cpu_assignment.go cpuAccumulator */
class CPUAccumulator {
  /** Levels of the machine, from the outermost to the innermost. */
  readonly order: readonly [CPULevel, CPULevel, 'core'];
  taken: CPUSet;
  private free: CPUSet;

  constructor(
    private readonly topology: CPUTopology,
    free: CPUSet,
    private readonly count: number,
  ) {
    checkEnough(topology, free, count);
    this.free = free.intersection(topology.cpus);
    this.taken = free.filter(() => false);
    const isNodeAboveSocket = topology.numSockets >= topology.numNUMANodes;
    this.order = isNodeAboveSocket ? ['numaNode', 'socket', 'core'] : ['socket', 'numaNode', 'core'];
  }

  get needed(): number {
    return this.count - this.taken.size;
  }

  /**
   * Ids at this level with free CPUs, ordered by the enclosing level, then by fewest free CPUs, then by id. kubelet:
   * cpu_assignment.go sortAvailableNUMANodes, sortAvailableSockets, sortAvailableCores
   */
  ordered(level: CPULevel): number[] {
    const above = level === 'uncoreCache' ? 'numaNode' : this.order[this.order.indexOf(level) - 1];
    if (above === undefined) return this.orderByFree(level, this.free);
    return this.ordered(above).flatMap((id) => this.orderByFree(level, this.freeIn(above, id)));
  }

  /** Takes every unit of this level that is completely free and not larger than the remaining need. */
  takeWhole(level: CPULevel): void {
    for (const id of this.ordered(level).filter((part) => this.isWhole(level, part))) {
      const cpus = this.topology.cpusIn(level, id);
      if (cpus.size <= this.needed && cpus.isSubsetOf(this.free)) this.take(cpus);
    }
  }

  /**
   * Takes whole caches, then whole cores of one cache if they match the remaining need exactly. kubelet:
   * takeUncoreCache
   */
  takeByUncoreCache(): void {
    for (const cache of this.ordered('uncoreCache')) {
      if (this.needed >= this.topology.cpusPerUncoreCache) this.takeWhole('uncoreCache');
      if (this.needed > 0) this.takeCoresOf(cache);
      if (this.needed === 0) return;
    }
  }

  /** Takes single CPUs by number, unit by unit. */
  takeSingle(within: CPULevel): void {
    const cpus = this.ordered(within).flatMap((id) => [...this.freeIn(within, id)]);
    const chosen = new Set(cpus.slice(0, this.needed));
    this.take(this.free.filter((cpu) => chosen.has(cpu)));
  }

  /** kubelet: cpu_assignment.go takePartialUncore */
  private takeCoresOf(cache: number): void {
    const { topology } = this;
    const count = Math.floor(this.needed / topology.cpusPerCore);
    const cores = topology.idsOf('core', this.freeIn('uncoreCache', cache)).slice(0, count);
    const cpus = topology.cpusIn('core', ...cores).intersection(this.free);
    if (cpus.size === this.needed) this.take(cpus);
  }

  private take(cpus: CPUSet): void {
    this.taken = this.taken.union(cpus);
    this.free = this.free.difference(cpus);
  }

  private isWhole(level: CPULevel, id: number): boolean {
    const { cpusPerCore, cpusPerSocket } = this.topology;
    const free = this.freeIn(level, id).size;
    switch (level) {
      case 'numaNode':
      case 'uncoreCache':
        return free === this.topology.cpusIn(level, id).size;
      case 'socket':
        return free === cpusPerSocket;
      case 'core':
        return free === cpusPerCore;
    }
  }

  private orderByFree(level: CPULevel, among: CPUSet): number[] {
    return this.topology
      .idsOf(level, among)
      .map((id) => ({ id, free: this.freeIn(level, id).size }))
      .sort((a, b) => a.free - b.free || a.id - b.id)
      .map(({ id }) => id);
  }

  private freeIn(level: CPULevel, id: number): CPUSet {
    return this.topology.cpusIn(level, id).intersection(this.free);
  }
}
