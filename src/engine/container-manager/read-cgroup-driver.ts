import { isUnimplemented } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { CgroupDriver } from './cgroup-names.ts';

/**
 * The cgroup driver that the runtime says it uses; the configured one when it does not say.
 * kubelet: cmd/kubelet/app/server.go getCgroupDriverFromCRI
 */
export async function readCgroupDriver(runtime: RuntimeService, configured: CgroupDriver): Promise<CgroupDriver> {
  try {
    const { linux } = await runtime.runtimeConfig({});
    switch (linux?.cgroupDriver) {
      case 'SYSTEMD':
        return 'systemd';
      case 'CGROUPFS':
        return 'cgroupfs';
      case 'UNRECOGNIZED':
      case undefined:
        return configured;
    }
  } catch (error) {
    if (isUnimplemented(error)) return configured;
    throw error;
  }
}
