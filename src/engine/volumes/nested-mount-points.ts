import { posix } from 'node:path';
import type { Container, Pod } from '../../api/types.ts';
import { UserError } from '../../errors.ts';

/**
 * Folders that a volume has to have, relative to it, because a container mounts another volume there: runtimes cannot make
 * them in what is mounted read-only. kubelet: pkg/volume/util/nested_volumes.go getNestedMountpoints
 */
export function nestedMountPoints({ spec }: Pod, volumeName: string): string[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return [...new Set(containers.flatMap((container) => nestedInContainer(container, volumeName)))];
}

function nestedInContainer({ volumeMounts = [] }: Container, volumeName: string): string[] {
  const all = volumeMounts.map(({ mountPath }) => withoutEndingSlash(posix.normalize(mountPath)));
  const own = volumeMounts.flatMap(({ name }, index) => (name === volumeName ? (all[index] ?? []) : []));
  return own.flatMap((mountPoint) => {
    if (mountPoint.startsWith('../')) throw new UserError(`invalid container mount point ${mountPoint}`);
    const nested = all.filter((path) => path.startsWith(`${mountPoint}/`));
    // What is mounted below another nested mount has its folder there.
    return nested
      .filter((path) => !nested.some((other) => path.startsWith(`${other}/`)))
      .map((path) => path.slice(mountPoint.length + 1));
  });
}

const withoutEndingSlash = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);
