import type { RuntimeService } from '../cri/runtime-service.ts';
import type { CgroupDriver } from '../engine/container-manager/cgroup-names.ts';
import { readCgroupDriver } from '../engine/container-manager/read-cgroup-driver.ts';
import type { NodeOptions } from './options/node-options.ts';

/** The cgroup driver of the node: the runtime's, unless a feature gate disables asking for it. */
export function nodeCgroupDriver(
  { cgroupDriver, featureGates }: NodeOptions,
  runtime: RuntimeService,
): CgroupDriver | Promise<CgroupDriver> {
  return featureGates.KubeletCgroupDriverFromCRI ? readCgroupDriver(runtime, cgroupDriver) : cgroupDriver;
}
