import { existsSync, readdirSync } from 'node:fs';
import { canNameCgroup, cgroupDrivers, cgroupPath, podCgroupName } from '../container-manager/cgroup-names.ts';
import type { CgroupSources } from './cgroup-sources.ts';

const classes = ['Guaranteed', 'Burstable', 'BestEffort'] as const;

/**
 * Finds the cgroups of pods, and of containers and sandboxes in them. Searches all QoS classes and both drivers,
 * because the pod's manifest and the runtime's driver may be unknown. Caches the paths that it found.
 */
export class PodCgroupPaths {
  private readonly tops: readonly string[];
  private readonly cgroupRoot: string;
  private readonly pods = new Map<string, { path: string; children: Map<string, string> }>();

  constructor({ sources, cgroupRoot }: { sources: CgroupSources; cgroupRoot: string }) {
    this.tops = [sources.memory, sources.cpu].flatMap((source) => (source ? [source.top] : []));
    this.cgroupRoot = cgroupRoot;
  }

  /** Returns the path of a pod below the mount. Returns undefined if the pod has no cgroup. */
  ofPod(podUID: string): string | undefined {
    const known = this.pods.get(podUID)?.path;
    if (known !== undefined || !canNameCgroup(podUID)) return known;
    const path = this.candidates(podUID).find((candidate) => this.tops.some((top) => existsSync(`${top}${candidate}`)));
    if (path !== undefined) this.pods.set(podUID, { path, children: new Map() });
    return path;
  }

  /**
   * Returns the path of a container or sandbox below the mount. Returns undefined if it has no cgroup inside its pod's.
   */
  ofContainer(podUID: string, id: string): string | undefined {
    if (this.ofPod(podUID) === undefined) return undefined;
    const pod = this.pods.get(podUID);
    if (pod === undefined) return undefined;
    if (!pod.children.has(id)) {
      const name = childNames(this.tops.map((top) => `${top}${pod.path}`)).find((child) => isCgroupOf(child, id));
      if (name !== undefined) pod.children.set(id, `${pod.path}/${name}`);
    }
    return pod.children.get(id);
  }

  /** Drops all other pods and containers. */
  retain(podUIDs: ReadonlySet<string>, ids: ReadonlySet<string>): void {
    for (const [uid, { children }] of this.pods) {
      if (!podUIDs.has(uid)) this.pods.delete(uid);
      for (const id of children.keys()) if (!ids.has(id)) children.delete(id);
    }
  }

  private candidates(podUID: string): string[] {
    return cgroupDrivers.flatMap((driver) =>
      classes.map((qosClass) => cgroupPath(podCgroupName(this.cgroupRoot, qosClass, podUID), driver)),
    );
  }
}

/** True for `<id>`, `cri-containerd-<id>.scope` and `crio-<id>.scope`. */
function isCgroupOf(name: string, id: string): boolean {
  if (name === id) return true;
  const unit = name.endsWith('.scope') ? name.slice(0, -'.scope'.length) : name;
  // crio runs a monitor for each container in a separate cgroup.
  return unit.endsWith(`-${id}`) && !unit.includes('conmon');
}

function childNames(folders: readonly string[]): string[] {
  return folders.flatMap((folder) => {
    try {
      return readdirSync(folder);
    } catch {
      return [];
    }
  });
}
