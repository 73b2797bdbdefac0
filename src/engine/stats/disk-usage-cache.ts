import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { listFolder } from '../../files/list-folder.ts';
import { containerLogsDirectory } from '../container/log-paths.ts';
import type { Meter } from '../view/meter.ts';
import { blockBytes, treeUsage, type TreeUsage, usedDisk } from '../volumes/disk-usage.ts';
import { flatUsage } from '../volumes/flat-usage.ts';
import type { MeasuredVolume } from '../volumes/measured-volume.ts';
import { diskStats } from './usage-stats.ts';
import { hasDiskLimit } from './has-disk-limit.ts';
import type { Filesystems } from './filesystem-stats.ts';
import type { StatsPod } from './stats-pods.ts';
import type { VolumeStats } from './summary.ts';

interface Deps {
  /** Shortest time between two measurements of a pod's volumes. Zero or negative: volumes are not measured. */
  volumeStatsAggPeriodMs: number;
  podLogsDir: string;
  /** Returns undefined for a pod without a manifest. */
  podOf: (uid: string) => Pod | undefined;
  /** Returns the pod's volumes that have their own usage. */
  volumesOf: (pod: Pod) => readonly MeasuredVolume[];
  /** Returns the path of the pod's hosts file, which may be missing. */
  hostsFileOf: (podUID: string) => string;
  /** Returns the folder of a container's termination logs, which may be missing. */
  terminationLogsOf: (podUID: string, containerName: string) => string;
  filesystems: Filesystems;
  clock: Clock;
  /** Returns a uniform number in [0, 1). */
  random: () => number;
  meter?: Pick<Meter, 'observe'> | undefined;
  /** Counting stops at this many names in a folder. */
  maxNames?: number;
  logger: Logger;
}

/** Measured usage of one pod. */
export interface PodDiskUsage {
  volumes?: VolumeStats[];
  /** Logs by container. */
  logs: ReadonlyMap<string, UsedDisk>;
  /**
   * Termination logs by container. They count, because a container may write any number of bytes there. Only those that
   * use the disk.
   */
  terminationLogs: ReadonlyMap<string, UsedDisk>;
  hostsFile?: UsedDisk;
}

export interface UsedDisk {
  time: string;
  usedBytes: number;
  inodesUsed: number;
}

/** Adds two usages. Each may be missing. */
export function addedDisk(a: UsedDisk | undefined, b: UsedDisk | undefined): UsedDisk | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { time: a.time, usedBytes: a.usedBytes + b.usedBytes, inodesUsed: a.inodesUsed + b.inodesUsed };
}

interface Entry {
  dueAtMonotonic: number;
  usage?: PodDiskUsage;
}

/** Time between two measurements of a pod's logs, and of everything if the pod has limits. */
const logsPeriodMs = 60_000;
const limitedPeriodMs = 10_000;
/** Largest share of time that measuring may take, because large volumes take long. */
const maxShare = 0.01;

/**
 * Disk usage of volumes and logs, measured in the background, one folder after the other. A pod is measured again after
 * one to two periods, so that not all pods are measured at once. A pod with disk limits is measured for every sample.
 * kubelet: server/stats/volume_stat_calculator.go
 */
export class DiskUsageCache {
  private readonly entries = new Map<string, Entry>();
  private isMeasuring = false;
  private nextAtMonotonic = -Infinity;

  constructor(private readonly deps: Deps) {}

  /** Returns the last measured usage of a pod. Returns undefined if it was not measured yet. */
  of(podUID: string): PodDiskUsage | undefined {
    return this.entries.get(podUID)?.usage;
  }

  /** Starts to measure the pods that are due, without waiting. Drops all pods not listed here. */
  refresh(pods: readonly StatsPod[]): void {
    const { clock } = this.deps;
    const known = new Set(pods.map(({ uid }) => uid));
    for (const uid of this.entries.keys()) if (!known.has(uid)) this.entries.delete(uid);
    const nowMonotonic = clock.monotonic();
    if (this.isMeasuring || nowMonotonic < this.nextAtMonotonic) return;
    const due = pods.filter(({ uid }) => (this.entries.get(uid)?.dueAtMonotonic ?? -Infinity) <= nowMonotonic);
    if (due.length > 0) void this.measureAll(due);
  }

  private async measureAll(pods: readonly StatsPod[]): Promise<void> {
    const { clock, logger } = this.deps;
    this.isMeasuring = true;
    const startedAtMonotonic = clock.monotonic();
    for (const pod of pods) {
      const usage = await this.measure(pod).catch((error: unknown) => {
        logger.warn({ err: errorMessage(error), podUID: pod.uid }, 'Measuring the disk usage of a pod failed');
        return undefined;
      });
      const dueAtMonotonic = clock.monotonic() + this.periodMs(pod);
      this.entries.set(pod.uid, { dueAtMonotonic, ...(usage && { usage }) });
    }
    const endedAtMonotonic = clock.monotonic();
    this.nextAtMonotonic = endedAtMonotonic + (endedAtMonotonic - startedAtMonotonic) / maxShare;
    this.isMeasuring = false;
  }

  private periodMs({ uid }: StatsPod): number {
    const { volumeStatsAggPeriodMs, podOf, random } = this.deps;
    const pod = podOf(uid);
    // Less than the period of samples, so that every sample has a new value.
    if (pod !== undefined && hasDiskLimit(pod)) return limitedPeriodMs / 2;
    return (volumeStatsAggPeriodMs > 0 ? volumeStatsAggPeriodMs : logsPeriodMs) * (1 + random());
  }

  /** Skips folders that cannot be measured. */
  private async measure(pod: StatsPod): Promise<PodDiskUsage> {
    const logs = new Map<string, UsedDisk>();
    const terminationLogs = new Map<string, UsedDisk>();
    for (const { name } of pod.containers) {
      const used = await this.used(containerLogsDirectory(this.deps.podLogsDir, pod, name), this.ofLogs);
      if (used !== undefined) logs.set(name, used);
      const written = await this.usedByFiles(this.deps.terminationLogsOf(pod.uid, name));
      if (written !== undefined) terminationLogs.set(name, written);
    }
    const volumes = await this.measureVolumes(pod);
    const hostsFile = await this.usedByFile(this.deps.hostsFileOf(pod.uid));
    return { logs, terminationLogs, ...(volumes && { volumes }), ...(hostsFile && { hostsFile }) };
  }

  private async measureVolumes({ uid }: StatsPod): Promise<VolumeStats[] | undefined> {
    const { volumeStatsAggPeriodMs, podOf, volumesOf, filesystems, clock } = this.deps;
    const pod = podOf(uid);
    if (pod === undefined || volumeStatsAggPeriodMs <= 0) return undefined;
    const volumes: VolumeStats[] = [];
    for (const { name, path, method, pvcRef } of volumesOf(pod)) {
      if (method === 'driver') continue;
      const filesystem = await filesystems.read(path);
      const disk = filesystem && { time: new Date(clock.now()).toISOString(), ...filesystem };
      const before = this.of(uid)?.volumes?.find((volume) => volume.name === name);
      const used = method === 'files' ? await this.used(path, this.ofTree, before) : disk;
      if (used === undefined) continue;
      volumes.push({ ...diskStats(used, filesystem), name, ...(pvcRef && { pvcRef }) });
    }
    return volumes;
  }

  /** kubelet: stats/host_stats_provider.go getPodEtcHostsStats */
  private async usedByFile(path: string): Promise<UsedDisk | undefined> {
    const file = await lstat(path).catch(() => undefined);
    if (file?.isFile() !== true) return undefined;
    const time = new Date(this.deps.clock.now()).toISOString();
    return { time, usedBytes: file.blocks * Number(blockBytes), inodesUsed: 1 };
  }

  /** Measures the files of a folder, without the folder itself. Resolves with undefined if they use no disk. */
  private async usedByFiles(folder: string): Promise<UsedDisk | undefined> {
    const files = await Promise.all((await listFolder(folder)).map((name) => this.usedByFile(join(folder, name))));
    return files.reduce(
      (sum, file) => (file === undefined || file.usedBytes === 0 ? sum : addedDisk(sum, file)),
      undefined,
    );
  }

  /** `before` is the last usage. If only a part is measured, the result is at least that. */
  private async used(
    path: string,
    measure: (path: string) => Promise<TreeUsage>,
    before?: Partial<UsedDisk>,
  ): Promise<UsedDisk | undefined> {
    const { clock, meter, logger } = this.deps;
    const startedAtMonotonic = clock.monotonic();
    try {
      const usage = await measure(path);
      const seconds = (clock.monotonic() - startedAtMonotonic) / 1000;
      meter?.observe('kubelet_volume_metric_collection_duration_seconds', seconds, { metric_source: 'du' });
      return { time: new Date(clock.now()).toISOString(), ...usedDisk(usage, before) };
    } catch (error) {
      // The folder does not exist yet, or was removed with its pod.
      if (!hasCode(error, 'ENOENT')) logger.warn({ err: errorMessage(error), path }, 'Measuring a folder failed');
      return undefined;
    }
  }

  private readonly ofTree = (path: string): Promise<TreeUsage> =>
    treeUsage(path, () => false, { maxNames: this.deps.maxNames });

  /** Only the runtime writes there, and there are many of these folders, so a flat listing is tried first. */
  private readonly ofLogs = async (path: string): Promise<TreeUsage> => (await flatUsage(path)) ?? this.ofTree(path);
}
