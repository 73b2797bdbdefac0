import { posix } from 'node:path';
import type { Container, Pod } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import { UserError } from '../../errors.ts';

/**
 * Folders that the volume needs, relative to it, because a container mounts other volumes there. Runtimes cannot make
 * them in a read-only mount. kubelet: pkg/volume/util/nested_volumes.go getNestedMountpoints
 */
export function nestedMountPoints({ spec }: Pod, volumeName: string): string[] {
  const containers = initAndRegularContainers(spec);
  return [...new Set(containers.flatMap((container) => nestedInContainer(container, volumeName)))];
}

function nestedInContainer({ volumeMounts = [] }: Container, volumeName: string): string[] {
  const all = volumeMounts.map(({ mountPath }) => withoutEndingSlash(posix.normalize(mountPath)));
  const own = volumeMounts.flatMap(({ name }, index) => (name === volumeName ? (all[index] ?? []) : []));
  return own.flatMap((mountPoint) => {
    if (mountPoint.startsWith('../')) throw new UserError(`invalid container mount point ${mountPoint}`);
    const nested = all.filter((path) => path.startsWith(`${mountPoint}/`));
    // A mount below another nested mount has its folder in that one.
    return nested
      .filter((path) => !nested.some((other) => path.startsWith(`${other}/`)))
      .map((path) => path.slice(mountPoint.length + 1));
  });
}

const withoutEndingSlash = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);
