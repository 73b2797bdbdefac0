import type { Pod } from '../../api/types.ts';

/**
 * True when a container sees mounts that others make in this volume, or makes some that others see: runtimes want it on a
 * shared mount then.
 */
export function passesMountsOn({ spec }: Pod, volumeName: string): boolean {
  return [...(spec.initContainers ?? []), ...spec.containers].some(({ volumeMounts = [] }) =>
    volumeMounts.some(({ name, mountPropagation = 'None' }) => name === volumeName && mountPropagation !== 'None'),
  );
}
