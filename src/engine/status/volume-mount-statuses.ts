import type { Container, ContainerStatus } from '../../api/types.ts';

type VolumeMountStatus = NonNullable<ContainerStatus['volumeMounts']>[number];

/** How the volumes of a container are going to be mounted. kubelet: kubelet_pods.go convertToAPIContainerStatuses */
export function volumeMountStatuses(container: Container, supportsRecursiveReadOnly: boolean): VolumeMountStatus[] {
  return (container.volumeMounts ?? []).map(({ name, mountPath, readOnly, recursiveReadOnly }) => {
    if (readOnly !== true) return { name, mountPath };
    const recursive =
      recursiveReadOnly === 'Enabled' || (recursiveReadOnly === 'IfPossible' && supportsRecursiveReadOnly);
    return { name, mountPath, readOnly, recursiveReadOnly: recursive ? 'Enabled' : 'Disabled' };
  });
}
