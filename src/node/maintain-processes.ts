import { systemClock } from '../clock.ts';
import { cgroupFiles } from '../engine/container-manager/cgroup-files.ts';
import type { CgroupMounts } from '../engine/container-manager/cgroup-mounts.ts';
import { NodeProcesses, type ProcessSettings } from '../engine/container-manager/node-processes.ts';
import type { Faults } from '../flow/faults.ts';
import type { Logger } from '../logger.ts';

interface Deps {
  runtimePID: () => number | undefined;
  mounts: CgroupMounts;
  faults: Faults;
  logger: Logger;
}

/** Keeps the cgroups and oom_score_adj of the agent and its runtime until the returned function is called. */
export function maintainProcesses(settings: ProcessSettings, { runtimePID, mounts, faults, logger }: Deps): () => void {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    const processes = new NodeProcesses({
      settings,
      runtimePID,
      mounts,
      files: cgroupFiles,
      procFolder: '/proc',
      ownPID: process.pid,
      clock: systemClock,
      logger: logger.child({ component: 'container-manager' }),
    });
    await processes.run(stopping.signal);
  };
  void faults.keepRunning('node processes', run, stopping.signal);
  return () => {
    stopping.abort();
  };
}
