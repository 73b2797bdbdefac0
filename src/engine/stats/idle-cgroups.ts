import type { Clock } from '../../clock.ts';

interface Known<Figures> {
  cpuNanos: number;
  readAtMonotonic: number;
  figures: Figures;
  /** The newest sample that had the cgroup. */
  sample: number;
}

/** The kernel may free memory of a cgroup, or write its pages to a disk, while none of its processes runs. */
const defaultMaxAgeMs = 60_000;

/**
 * Figures of cgroups, which are not read again while no process of a cgroup runs. kubelet: cadvisor
 * manager/container.go nextHousekeepingInterval
 */
export class IdleCgroups<Figures> {
  private readonly known = new Map<string, Known<Figures>>();
  private sample = 0;
  private readonly maxAgeMs: number;

  constructor(
    private readonly clock: Pick<Clock, 'monotonic'>,
    { maxAgeMs = defaultMaxAgeMs } = {},
  ) {
    this.maxAgeMs = maxAgeMs;
  }

  /** Calls `read` unless the CPU time is that of the sample before. `cpuNanos`: undefined if it is not known. */
  figuresOf(path: string, cpuNanos: number | undefined, read: () => Figures): Figures {
    const known = this.known.get(path);
    const nowMonotonic = this.clock.monotonic();
    const isIdle = known?.cpuNanos === cpuNanos && cpuNanos !== undefined;
    if (known !== undefined && isIdle && nowMonotonic - known.readAtMonotonic < this.maxAgeMs) {
      known.sample = this.sample;
      return known.figures;
    }
    const figures = read();
    if (cpuNanos !== undefined) {
      this.known.set(path, { cpuNanos, readAtMonotonic: nowMonotonic, figures, sample: this.sample });
    }
    return figures;
  }

  /** Ends a sample. Cgroups that it did not read are forgotten. */
  endSample(): void {
    this.known.forEach(({ sample }, path) => {
      if (sample !== this.sample) this.known.delete(path);
    });
    this.sample += 1;
  }
}
