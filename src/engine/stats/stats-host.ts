import { type CgroupSources, readCgroupSources } from './cgroup-sources.ts';

/** Where the machine's usage is read from. */
export interface StatsHost {
  cgroups: CgroupSources;
  /** Normally `/proc`. */
  procFolder: string;
  /** Returns the PID of the runtime, if it is known. */
  runtimePID: () => number | undefined;
}

/** Finds the sources of this machine. Without cgroup mounts, only /proc is read. */
export async function readStatsHost(runtimePID: StatsHost['runtimePID'], mountInfo?: string): Promise<StatsHost> {
  return { cgroups: await readCgroupSources(mountInfo).catch(() => ({})), procFolder: '/proc', runtimePID };
}
