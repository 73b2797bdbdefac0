/** Part of a cgroup's path that can name a pod or container, with the path up to it. */
export interface CgroupStep {
  path: string;
  /** UID of a pod, if it names one. */
  podUID: string | undefined;
  /** Id of a container, if it names one. */
  containerID: string;
}

/**
 * The steps of a cgroup's path, outermost first. A privileged container can give cgroups below its own any name, so the
 * first step that fits counts.
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
