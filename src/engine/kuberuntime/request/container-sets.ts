import type { ContainerConfig } from '../../../cri/types.ts';
import type { ContainerSets } from '../../container-manager/resource-managers/resource-managers.ts';

/**
 * The request with the CPUs and memory nodes of the container. Without sets it is unchanged. kubelet:
 * cm/internal_container_lifecycle_linux.go PreCreateContainer
 */
export function withContainerSets(
  config: ContainerConfig,
  sets: ContainerSets | undefined,
): { config: ContainerConfig; sets: ContainerSets | undefined } {
  if (sets === undefined) return { config, sets };
  const { cpusetCpus, cpusetMems } = sets;
  const resources = {
    ...config.linux?.resources,
    ...(cpusetCpus !== '' && { cpusetCpus }),
    ...(cpusetMems !== '' && { cpusetMems }),
  };
  return { config: { ...config, linux: { ...config.linux, resources } }, sets };
}
