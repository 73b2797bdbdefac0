import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { podEventRecorder } from '../event-recorder.ts';
import { killPod } from '../kuberuntime/kill-pod.ts';
import type { RuntimePods } from '../kuberuntime/runtime-pods.ts';
import type { RuntimePodStatus } from '../kuberuntime/runtime-pod-status.ts';
import type { PodDirs } from '../pod-dirs.ts';
import type { PodRemover } from './pod-remover.ts';

interface Deps {
  runtime: RuntimeService;
  runtimePods: RuntimePods;
  podRemover: PodRemover;
  podDirs: PodDirs;
  removePodCgroup: (uid: string) => Promise<void>;
  clock: Clock;
}

/** Stops every pod whose folder is below the root-dir, with the grace period it was started with, and removes all of it. */
export async function tearDownPods(deps: Deps): Promise<string[]> {
  const names = await Promise.all((await deps.podDirs.podUIDs()).map((uid) => tearDownPod(deps, uid)));
  return names.filter((name) => name !== undefined).sort();
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
