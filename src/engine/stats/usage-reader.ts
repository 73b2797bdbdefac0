import type { Clock } from '../../clock.ts';
import { type CgroupUsage, readCgroupUsage, readCPU, type StillUsage, type WantedFigures } from './cgroup-usage.ts';
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
  /** True if no process of the cgroup has run since the sample before. */
  isIdle: boolean;
}

/** What to read of a cgroup. */
export interface UsageRequest {
  /** Path below the mount, empty for the root. */
  cgroup: string | undefined;
  wanted: WantedFigures;
  /** The last figures of the cgroup serve again while it is idle. */
  idle?: IdleCgroups<StillUsage> | undefined;
  /** The cgroup above, as read before in this sample. While that one is idle, no process of this one has run. */
  above?: Reading | undefined;
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

  read(request: UsageRequest): Reading {
    const time = this.time();
    const { cgroup: path, runtime } = request;
    const before = path === undefined ? undefined : this.rates.before(path);
    const cgroup = path === undefined ? undefined : this.readCgroup(path, before, request);
    if (path !== undefined && cgroup?.cpuNanos !== undefined) {
      const usageNanoCores = this.rates.next(path, cgroup.cpuNanos, this.clock.monotonic());
      return { time, cgroup, usageNanoCores, isIdle: cgroup.cpuNanos === before };
    }
    const { key = '', cpu } = runtime ?? {};
    const usageNanoCores = cpu && this.rates.next(`runtime ${key}`, cpu.nanos, cpu.at);
    return { time, cgroup, usageNanoCores, isIdle: false };
  }

  /** `before`: its CPU time in the sample before. */
  private readCgroup(cgroup: string, before: number | undefined, request: UsageRequest): CgroupUsage | undefined {
    const { cgroupFiles, host } = this;
    const { wanted, idle, above } = request;
    if (idle === undefined) {
      const cpuNanos = readCPU(cgroupFiles, host.cgroups.cpu, cgroup);
      return readCgroupUsage(cgroupFiles, host.cgroups, { cgroup, cpuNanos, wanted });
    }
    const cpuNanos = (above?.isIdle === true ? before : undefined) ?? readCPU(cgroupFiles, host.cgroups.cpu, cgroup);
    return readCgroupUsage(cgroupFiles, host.cgroups, { cgroup, cpuNanos, wanted }, (read) =>
      idle.figuresOf(cgroup, cpuNanos, read),
    );
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
