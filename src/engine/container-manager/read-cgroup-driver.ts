import { isUnimplemented } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { configValue } from '../../cri/status-info.ts';
import type { CgroupDriver } from './cgroup-names.ts';

/**
 * Resolves with the cgroup driver that the runtime reports, or else the configured one. kubelet:
 * cmd/kubelet/app/server.go getCgroupDriverFromCRI
 */
export async function readCgroupDriver(runtime: RuntimeService, configured: CgroupDriver): Promise<CgroupDriver> {
  return (await reportedCgroupDriver(runtime)) ?? configured;
}

/** Resolves with the cgroup driver that the runtime reports, or undefined if it reports none. */
export async function reportedCgroupDriver(runtime: RuntimeService): Promise<CgroupDriver | undefined> {
  try {
    const { linux } = await runtime.runtimeConfig({});
    switch (linux?.cgroupDriver) {
      case 'SYSTEMD':
        return 'systemd';
      case 'CGROUPFS':
        return 'cgroupfs';
      case 'UNRECOGNIZED':
      case undefined:
        return undefined;
    }
  } catch (error) {
    if (!isUnimplemented(error)) throw error;
    return driverOfContainerd(runtime);
  }
}

/** containerd 1 does not implement RuntimeConfig, but its verbose status contains its configuration. */
async function driverOfContainerd(runtime: RuntimeService): Promise<CgroupDriver | undefined> {
  const { info } = await runtime.status({ verbose: true });
  const name = configValue(info, ['containerd', 'defaultRuntimeName']);
  if (typeof name !== 'string') return undefined;
  const isSystemd = configValue(info, ['containerd', 'runtimes', name, 'options', 'SystemdCgroup']);
  if (typeof isSystemd !== 'boolean') return undefined;
  return isSystemd ? 'systemd' : 'cgroupfs';
}
