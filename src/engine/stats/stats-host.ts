import { type CgroupSources, readCgroupSources } from './cgroup-sources.ts';

/** The parts of the machine that are measured. */
export interface StatsHost {
  cgroups: CgroupSources;
  /** Normally `/proc`. */
  procFolder: string;
  /** The process of the runtime, if it is known. */
  runtimePID: () => number | undefined;
}

/** This machine. Without cgroup mounts, only /proc is read. */
export async function readStatsHost(runtimePID: StatsHost['runtimePID'], mountInfo?: string): Promise<StatsHost> {
  return { cgroups: await readCgroupSources(mountInfo).catch(() => ({})), procFolder: '/proc', runtimePID };
}
