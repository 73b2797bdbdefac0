import type { Clock } from '../../clock.ts';

interface Known<Values> {
  cpuNanos: number;
  readAtMonotonic: number;
  values: Values;
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
export class IdleCgroups<Values> {
  private readonly known = new Map<string, Known<Values>>();
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
  valuesOf(path: string, cpuNanos: number | undefined, read: () => Values): Values {
    const known = this.known.get(path);
    const nowMonotonic = this.clock.monotonic();
    const isIdle = known?.cpuNanos === cpuNanos && cpuNanos !== undefined;
    if (known !== undefined && isIdle && nowMonotonic - known.readAtMonotonic < this.maxAgeMs) {
      known.sample = this.sample;
      return known.values;
    }
    const values = read();
    if (cpuNanos !== undefined) {
      this.known.set(path, { cpuNanos, readAtMonotonic: nowMonotonic, values, sample: this.sample });
    }
    return values;
  }

  /** Call this after each sample. Drops cgroups that the sample did not read. */
  endSample(): void {
    this.known.forEach(({ sample }, path) => {
      if (sample !== this.sample) this.known.delete(path);
    });
    this.sample += 1;
  }
}
