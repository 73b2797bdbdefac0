import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { podEventRecorder } from '../event-recorder.ts';
import { killPod } from '../kuberuntime/kill-pod.ts';
import type { RuntimePods } from '../kuberuntime/runtime-pods.ts';
import type { RuntimePodStatus } from '../kuberuntime/runtime-pod-status.ts';
import type { PodDirs } from '../pod-dirs.ts';
import { computeTearDownOrder } from './tear-down-order.ts';
import type { PodRemover } from './pod-remover.ts';

interface Deps {
  runtime: RuntimeService;
  runtimePods: RuntimePods;
  podRemover: PodRemover;
  podDirs: PodDirs;
  removePodCgroup: (uid: string) => Promise<void>;
  clock: Clock;
}

/**
 * Stops every pod whose folder is below the root-dir, with the grace period it was started with, and removes all of it: pods
 * before those that they depend on. Rejects after the last one when one of them could not be removed. Resolves to their names.
 */
export async function tearDownPods(deps: Deps): Promise<string[]> {
  const uids = new Set(await deps.podDirs.podUIDs());
  const listed = (await deps.runtimePods.getPods({})).filter(({ uid }) => uids.has(uid));
  const steps = computeTearDownOrder(listed);
  for (const uid of steps.flat()) uids.delete(uid);
  const results: PromiseSettledResult<string | undefined>[] = [];
  // What the runtime does not have first, as nothing waits for it.
  for (const step of [[...uids], ...steps]) {
    results.push(...(await Promise.allSettled(step.map((uid) => tearDownPod(deps, uid)))));
  }
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return results.flatMap((result) => (result.status === 'fulfilled' ? (result.value ?? []) : [])).sort();
}

async function tearDownPod(deps: Deps, uid: string): Promise<string | undefined> {
  const { runtimePods, podRemover, podDirs } = deps;
  const podStatus = await runtimePods.getPodStatus(uid);
  const pod = podOf(podStatus);
  await killPod(
    deps,
    pod,
    podStatus,
    podEventRecorder(() => undefined, pod),
  );
  const [left] = await runtimePods.getPods({ uid });
  await podRemover.removePod(uid, left);
  await deps.removePodCgroup(uid);
  await podDirs.removePodDir(uid);
  return podStatus.name === '' ? undefined : `${podStatus.namespace}/${podStatus.name}`;
}

/** As much of the pod as its containers in the runtime tell. */
function podOf({ uid, name, namespace, containerStatuses }: RuntimePodStatus): Pod {
  const grace = containerStatuses
    .map(({ terminationGracePeriodSeconds }) => terminationGracePeriodSeconds)
    .find((seconds) => seconds !== undefined);
  return {
    metadata: { uid, name, namespace },
    spec: {
      containers: containerStatuses.map((status) => ({ name: status.name })),
      ...(grace === undefined ? {} : { terminationGracePeriodSeconds: grace }),
    },
  };
}
