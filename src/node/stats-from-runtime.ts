import { hostname } from 'node:os';
import { join, posix } from 'node:path';
import { systemClock } from '../clock.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import { parseCgroupPath } from '../engine/container-manager/cgroup-names.ts';
import { RuntimePods } from '../engine/kuberuntime/runtime-pods.ts';
import { terminationLogsDirectory } from '../engine/container/log-paths.ts';
import { DiskUsageCache } from '../engine/stats/disk-usage-cache.ts';
import { Filesystems } from '../engine/stats/filesystem-stats.ts';
import { RuntimeStats } from '../engine/stats/runtime-stats.ts';
import { SampledStats } from '../engine/stats/sampled-stats.ts';
import { Sampler } from '../engine/stats/sampler.ts';
import { readStatsHost } from '../engine/stats/stats-host.ts';
import { statsPods } from '../engine/stats/stats-pods.ts';
import type { StatsProvider } from '../engine/stats/stats-provider.ts';
import { silent } from '../logger.ts';
import type { RuntimeConnection } from './runtime-connection.ts';

/**
 * The statistics of a node while no agent runs. Volumes are not measured, because only the agent knows the manifests.
 */
export async function statsFromRuntime(
  { runtime, images }: RuntimeConnection,
  rootDir: string,
): Promise<Pick<StatsProvider, 'summary'>> {
  const clock = systemClock;
  const filesystems = new Filesystems(clock);
  const cgroupRoot = await readCgroupRoot(runtime);
  // Termination messages are not read.
  const runtimePods = new RuntimePods({ runtime, readTerminationMessage: () => Promise.resolve('') });
  // A missing statistic is shown as missing.
  const sampler = new Sampler({
    host: await readStatsHost(() => undefined),
    nodeName: hostname().toLowerCase(),
    rootDir,
    cgroupRoot,
    podsCgroup: posix.join(cgroupRoot, 'kubepods'),
    pods: async () => {
      const found = await runtimePods.getPods({});
      return statsPods(await Promise.all(found.map((listed) => runtimePods.getPodStatus(listed.uid, { listed }))));
    },
    podOf: () => undefined,
    runtimeStats: new RuntimeStats({ runtime, imageService: images, clock, logger: silent }),
    filesystems,
    disk: new DiskUsageCache({
      volumeStatsAggPeriodMs: -1,
      podLogsDir: '/var/log/pods',
      podOf: () => undefined,
      volumesOf: () => [],
      hostsFileOf: (uid) => join(rootDir, 'pods', uid, 'etc-hosts'),
      terminationLogsOf: (uid, container) => terminationLogsDirectory(join(rootDir, 'pods', uid), container),
      filesystems,
      clock,
      random: Math.random,
      logger: silent,
    }),
    clock,
  });
  return new SampledStats({ sampler, clock });
}

/** The parent cgroup of the pods' cgroups, from the request for a sandbox. The root if the runtime does not show it. */
async function readCgroupRoot(runtime: RuntimeService): Promise<string> {
  const [sandbox] = (await runtime.listPodSandbox()).items;
  if (sandbox === undefined) return '/';
  const { info } = await runtime.podSandboxStatus({ podSandboxId: sandbox.id, verbose: true });
  return cgroupRootOf(info['info'] ?? '');
}

/** The cgroup root in the verbose status of a sandbox, as containerd writes it. */
export function cgroupRootOf(sandboxInfo: string): string {
  const path = /"cgroup_parent":"([^"]*)"/.exec(sandboxInfo)?.[1] ?? '';
  const name = parseCgroupPath(path, path.endsWith('.slice') ? 'systemd' : 'cgroupfs');
  return `/${name.slice(0, Math.max(0, name.indexOf('kubepods'))).join('/')}`;
}
