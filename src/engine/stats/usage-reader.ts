import type { Clock } from '../../clock.ts';
import { type CgroupUsage, readCgroupUsage, type StillUsage, type WantedFigures } from './cgroup-usage.ts';
import { CPURates } from './cpu-rates.ts';
import type { IdleCgroups } from './idle-cgroups.ts';
import { KeptFiles } from './kept-files.ts';
import { KernelFiles } from './kernel-files.ts';
import type { RuntimeCPU } from './runtime-figures.ts';
import type { StatsHost } from './stats-host.ts';

/** One reading of the usage of a cgroup. */
export interface Reading {
  time: string;
  /** Undefined if there is no cgroup, as for a pod in a virtual machine. */
  cgroup: CgroupUsage | undefined;
  /** Billionths of a core since an earlier sample. */
  usageNanoCores: number | undefined;
}

/** What to read of a cgroup. */
export interface UsageRequest {
  /** Path below the mount, empty for the root. */
  cgroup: string | undefined;
  wanted: WantedFigures;
  /** The last still figures of the cgroup serve again while it is idle. */
  idle?: IdleCgroups<StillUsage> | undefined;
  /** CPU time as the runtime reports it, for what has no cgroup, and a name for it. */
  runtime?: { key: string; cpu: RuntimeCPU | undefined };
}

/** Reads cgroups, and computes the CPU usage since the sample before. */
export class UsageReader {
  readonly host: StatsHost;
  /** Files below /proc, and lists. */
  readonly files = new KernelFiles();
  readonly cgroupFiles: KeptFiles;
  private readonly clock: Clock;
  private readonly rates = new CPURates();
  /** The last time as a text, because hundreds of readings have the same one. */
  private timeText = { at: NaN, text: '' };

  constructor({ host, clock }: { host: StatsHost; clock: Clock }) {
    this.host = host;
    this.clock = clock;
    this.cgroupFiles = new KeptFiles(clock);
  }

  read({ cgroup: path, wanted, idle, runtime }: UsageRequest): Reading {
    const { cgroupFiles, host, clock, rates } = this;
    const time = this.time();
    const known = (cpuNanos: number | undefined, read: () => StillUsage): StillUsage =>
      idle === undefined || path === undefined ? read() : idle.figuresOf(path, cpuNanos, read);
    const cgroup = path === undefined ? undefined : readCgroupUsage(cgroupFiles, host.cgroups, path, wanted, known);
    if (path !== undefined && cgroup?.cpuNanos !== undefined)
      return { time, cgroup, usageNanoCores: rates.next(path, cgroup.cpuNanos, clock.monotonic()) };
    const { key = '', cpu } = runtime ?? {};
    return { time, cgroup, usageNanoCores: cpu && rates.next(`runtime ${key}`, cpu.nanos, cpu.at) };
  }

  private time(): string {
    const at = this.clock.now();
    if (at !== this.timeText.at) this.timeText = { at, text: new Date(at).toISOString() };
    return this.timeText.text;
  }

  /** Ends a sample. Usage of what this sample did not read is forgotten. */
  endSample(): void {
    this.rates.endSample();
    this.cgroupFiles.endSample();
  }
}
