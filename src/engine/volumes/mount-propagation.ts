import type { Pod } from '../../api/types.ts';

/** True if a container propagates mounts in this volume, in either direction. Then runtimes require a shared mount. */
export function passesMountsOn({ spec }: Pod, volumeName: string): boolean {
  return [...(spec.initContainers ?? []), ...spec.containers].some(({ volumeMounts = [] }) =>
    volumeMounts.some(({ name, mountPropagation = 'None' }) => name === volumeName && mountPropagation !== 'None'),
  );
}
