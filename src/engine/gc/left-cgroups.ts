import type { PodCgroup } from '../container-manager/list-pod-cgroups.ts';

interface Deps {
  cgroups: readonly PodCgroup[];
  isPopulated: (path: string) => Promise<boolean>;
  /** True if the pod is declared, is in the runtime, belongs to another owner, or has a folder below the root-dir. */
  isPresent: (uid: string) => boolean;
  /** Returns which of these pods an agent of this root-dir ran. */
  ownAmong: (uids: readonly string[]) => Promise<ReadonlySet<string>>;
}

/**
 * Finds the cgroups that an earlier agent of this root-dir left behind: those of removed pods. A cgroup may still have
 * processes. They may belong to an agent with another root-dir that runs the same manifest.
 */
export async function findLeftCgroups({
  cgroups,
  isPopulated,
  isPresent,
  ownAmong,
}: Deps): Promise<{ empty: PodCgroup[]; populated: PodCgroup[] }> {
  const strange = cgroups.filter(({ uid }) => !isPresent(uid));
  const own = strange.length === 0 ? new Set() : await ownAmong(strange.map(({ uid }) => uid));
  const [empty, populated]: [PodCgroup[], PodCgroup[]] = [[], []];
  for (const cgroup of strange.filter(({ uid }) => own.has(uid)))
    ((await isPopulated(cgroup.path)) ? populated : empty).push(cgroup);
  return { empty, populated };
}
