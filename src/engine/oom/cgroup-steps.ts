/** A part of a cgroup's path that may name a pod or container, with the path up to it. */
export interface CgroupStep {
  path: string;
  /** UID of a pod, if it names one. */
  podUID: string | undefined;
  /** Id of a container, if it names one. */
  containerID: string;
}

/**
 * Returns the steps of a cgroup's path, outermost first. A privileged container can give any name to cgroups below its
 * own, so callers use the first step that matches.
 */
export function cgroupSteps(path: string): CgroupStep[] {
  const parts = path.split('/').filter((part) => part !== '');
  return parts.map((part, index) => ({
    path: `/${parts.slice(0, index + 1).join('/')}`,
    podUID: podUIDOf(part),
    containerID: containerIDOf(part),
  }));
}

/** `pod<uid>`, or `kubepods-burstable-pod<uid>.slice` with `_` for `-`. */
function podUIDOf(part: string): string | undefined {
  const [, slice] = /^(?:.*-)?pod([^-]+)\.slice$/.exec(part) ?? [];
  if (slice !== undefined) return slice.replaceAll('_', '-');
  return /^pod(.+)$/.exec(part)?.[1];
}

/** `<id>`, or `cri-containerd-<id>.scope` and `crio-<id>.scope` with the systemd driver. */
function containerIDOf(part: string): string {
  return /^.*-([^-]+)\.scope$/.exec(part)?.[1] ?? part;
}
