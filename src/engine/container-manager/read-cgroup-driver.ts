import { isUnimplemented } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { CgroupDriver } from './cgroup-names.ts';

/** The cgroup driver that the runtime says it uses; cgroupfs when it does not say. kubelet: cmd/kubelet/app/server.go getCgroupDriverFromCRI */
export async function readCgroupDriver(runtime: RuntimeService): Promise<CgroupDriver> {
  try {
    const { linux } = await runtime.runtimeConfig({});
    return linux?.cgroupDriver === 'SYSTEMD' ? 'systemd' : 'cgroupfs';
  } catch (error) {
    if (isUnimplemented(error)) return 'cgroupfs';
    throw error;
  }
}
