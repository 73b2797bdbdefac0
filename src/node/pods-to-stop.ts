import type { PodsToStop } from '../containerd/stop-shims.ts';
import { PodDirs } from '../engine/host/pod-dirs.ts';
import { readRevision } from '../engine/in-place/applied-revisions.ts';
import { containerGracePeriodSeconds } from '../engine/kuberuntime/actions/termination-grace-period.ts';

/** The default of Kubernetes, for a pod whose revision cannot be read. */
const defaultGracePeriodSeconds = 30;

/** The pods of a root-dir and their grace periods, to stop them without containerd. */
export async function podsToStop(rootDir: string): Promise<PodsToStop> {
  const podDirs = new PodDirs({ rootDir });
  const gracePeriodsMs = new Map<string, number>();
  for (const uid of await podDirs.podUIDs()) {
    const revision = await readRevision(podDirs.podDir(uid)).catch(() => undefined);
    const seconds =
      revision === undefined ? defaultGracePeriodSeconds : containerGracePeriodSeconds(revision.pod, undefined, '');
    gracePeriodsMs.set(uid, seconds * 1000);
  }
  return { gracePeriodsMs };
}

/** All pods of the managed containerd of a root-dir, also those of other root-dirs that use it. */
export async function allPodsToStop(rootDir: string): Promise<PodsToStop> {
  return { ...(await podsToStop(rootDir)), othersGracePeriodMs: defaultGracePeriodSeconds * 1000 };
}
