import type { PodCgroup } from '../container-manager/list-pod-cgroups.ts';

interface Deps {
  cgroups: readonly PodCgroup[];
  isPopulated: (path: string) => Promise<boolean>;
  /** True if the pod is declared, in the runtime, of another owner, or has a folder below the root-dir. */
  isPresent: (uid: string) => boolean;
  /** Those of the pods that an agent of this root-dir ran. */
  ownAmong: (uids: readonly string[]) => Promise<ReadonlySet<string>>;
}

/**
 * The cgroups that an earlier agent of this root-dir left: those of its pods that are gone. Some may have processes,
 * which could be those of an agent with another root-dir that runs the same manifest.
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
