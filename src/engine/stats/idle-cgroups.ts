import type { Clock } from '../../clock.ts';

interface Known<Figures> {
  cpuNanos: number;
  readAtMonotonic: number;
  figures: Figures;
  /** The newest sample that had the cgroup. */
  sample: number;
}

/**
 * Idle cgroups are read again after this time, because the kernel may free their memory, or write it to disk, while
 * none of their processes runs.
 */
const defaultMaxAgeMs = 60_000;

/**
 * Keeps values of cgroups, and does not read them again while no process of the cgroup runs. kubelet: cadvisor
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

  /**
   * Calls `read` unless the CPU time is the same as in the previous sample. `cpuNanos` is undefined if it is not known.
   */
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

  /** Call this after each sample. Drops cgroups that the sample did not read. */
  endSample(): void {
    this.known.forEach(({ sample }, path) => {
      if (sample !== this.sample) this.known.delete(path);
    });
    this.sample += 1;
  }
}
