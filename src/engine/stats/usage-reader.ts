import type { Clock } from '../../clock.ts';
import { type CgroupUsage, readCgroupUsage, readCPU, type StillUsage, type WantedUsage } from './cgroup-usage.ts';
import { CPURates } from './cpu-rates.ts';
import type { IdleCgroups } from './idle-cgroups.ts';
import { KeptFiles } from './kept-files.ts';
import { KernelFiles } from './kernel-files.ts';
import type { RuntimeCPU } from './runtime-usage.ts';
import type { StatsHost } from './stats-host.ts';

/** One reading of the usage of a cgroup. */
export interface Reading {
  time: string;
  /** Undefined if there is no cgroup, for example for a pod in a virtual machine. */
  cgroup: CgroupUsage | undefined;
  /** Billionths of a core, on average since an earlier sample. */
  usageNanoCores: number | undefined;
  /** True if no process of the cgroup has run since the previous sample. */
  isIdle: boolean;
}

/** What to read of a cgroup. */
export interface UsageRequest {
  /** Path below the mount, empty for the root. */
  cgroup: string | undefined;
  wanted: WantedUsage;
  /** Reuses the last values of the cgroup while it is idle. */
  idle?: IdleCgroups<StillUsage> | undefined;
  /** The parent cgroup, as read earlier in this sample. If it is idle, no process of this one has run. */
  above?: Reading | undefined;
  /** CPU time from the runtime, for something without a cgroup, with a key for it. */
  runtime?: { key: string; cpu: RuntimeCPU | undefined };
}

/** Reads cgroups, and computes the CPU usage since the previous sample. */
export class UsageReader {
  readonly host: StatsHost;
  /** Files below /proc, and lists. */
  readonly files = new KernelFiles();
  readonly cgroupFiles: KeptFiles;
  private readonly clock: Clock;
  private readonly rates = new CPURates();
  /** The last time as a string, because hundreds of readings share it. */
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

  /** `before` is its CPU time in the previous sample. */
  private readCgroup(cgroup: string, before: number | undefined, request: UsageRequest): CgroupUsage | undefined {
    const { cgroupFiles, host } = this;
    const { wanted, idle, above } = request;
    if (idle === undefined) {
      const cpuNanos = readCPU(cgroupFiles, host.cgroups.cpu, cgroup);
      return readCgroupUsage(cgroupFiles, host.cgroups, { cgroup, cpuNanos, wanted });
    }
    const cpuNanos = (above?.isIdle === true ? before : undefined) ?? readCPU(cgroupFiles, host.cgroups.cpu, cgroup);
    return readCgroupUsage(cgroupFiles, host.cgroups, { cgroup, cpuNanos, wanted }, (read) =>
      idle.valuesOf(cgroup, cpuNanos, read),
    );
  }

  private time(): string {
    const at = this.clock.now();
    if (at !== this.timeText.at) this.timeText = { at, text: new Date(at).toISOString() };
    return this.timeText.text;
  }

  /** Call this after each sample. Drops the counters of cgroups that the sample did not read. */
  endSample(): void {
    this.rates.endSample();
    this.cgroupFiles.endSample();
  }
}
