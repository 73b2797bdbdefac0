import type { Pod } from '../../api/types.ts';
import { podsCgroupOf } from '../container-manager/cgroup-settings.ts';
import type { StatsSources } from './kubelet-deps.ts';
import { terminationLogsDirectory } from '../container/log-paths.ts';
import { hostsFilePath } from '../network/hosts-file.ts';
import { DiskUsageCache } from '../stats/disk-usage-cache.ts';
import { DriverUsageCache } from '../stats/driver-usage-cache.ts';
import { Filesystems } from '../stats/filesystem-stats.ts';
import { RuntimeStats } from '../stats/runtime-stats.ts';
import { SampledStats } from '../stats/sampled-stats.ts';
import { Sampler } from '../stats/sampler.ts';
import type { StatsProvider } from '../stats/stats-provider.ts';
import { statsPods } from '../stats/stats-pods.ts';
import type { MeasuredVolume } from '../volumes/measured-volume.ts';

/** Creates the statistics of the node and its pods. Nothing is measured yet. */
export function newStats({ deps, podStatuses, podOf, volumeManager, podDirs }: StatsSources): StatsProvider {
  const { clock, imageService, node, random, runtime, statsHost } = deps;
  const { nodeName, rootDir, podLogsDir, cgroupRoot, volumeStatsAggPeriodMs } = node;
  const logger = deps.logger.child({ component: 'stats' });
  const volumesOf = (pod: Pod): MeasuredVolume[] => volumeManager.measuredVolumes(pod);
  const filesystems = new Filesystems(clock);
  const sampler = new Sampler({
    host: statsHost,
    nodeName,
    rootDir,
    cgroupRoot,
    podsCgroup: podsCgroupOf(node),
    pods: () => Promise.resolve(statsPods(podStatuses())),
    podOf,
    runtimeStats: new RuntimeStats({ runtime, imageService, clock, logger }),
    filesystems,
    disk: new DiskUsageCache({
      volumeStatsAggPeriodMs,
      podLogsDir,
      podOf,
      volumesOf,
      hostsFileOf: (uid) => hostsFilePath(podDirs.podDir(uid)),
      terminationLogsOf: (uid, container) => terminationLogsDirectory(podDirs.podDir(uid), container),
      filesystems,
      clock,
      random,
      meter: deps.meter,
      logger,
    }),
    drivers: new DriverUsageCache({
      volumeStatsAggPeriodMs,
      podOf,
      volumesOf,
      driverUsage: (...call) => volumeManager.driverUsage(...call),
      clock,
      random,
      logger,
    }),
    clock,
  });
  return new SampledStats({ sampler, clock });
}
