import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { isDeadlineExceeded } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { podEventRecorder } from '../event-recorder.ts';
import { killPod } from '../kuberuntime/kill-pod.ts';
import type { RuntimePods } from '../kuberuntime/runtime-pods.ts';
import type { RuntimePodStatus } from '../kuberuntime/runtime-pod-status.ts';
import type { RuntimePod } from '../pleg/pod-records.ts';
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

/** How often a pod is tried; a runtime that has to stop many at once refuses some, as the pod workers know. */
const maxTries = 5;
/** Before the second try; it is doubled for each after it. */
const firstRetryMs = 250;

/**
 * Stops every pod whose folder is below the root-dir, with the grace period it was started with, and removes all of it: pods
 * before those that they depend on. Rejects with a UserError after the last one when some of them could not be removed.
 * Resolves to their names.
 */
export async function tearDownPods(deps: Deps): Promise<string[]> {
  const uids = new Set(await deps.podDirs.podUIDs());
  const listed = (await deps.runtimePods.getPods({})).filter(({ uid }) => uids.has(uid));
  const steps = computeTearDownOrder(listed);
  for (const uid of steps.flat()) uids.delete(uid);
  const names: string[] = [];
  const failures: string[] = [];
  // What the runtime does not have first, as nothing waits for it.
  for (const step of [[...uids], ...steps]) {
    const results = await Promise.allSettled(step.map((uid) => tearDownWithRetries(deps, uid)));
    for (const [index, result] of results.entries()) {
      if (result.status === 'fulfilled') names.push(...(result.value === undefined ? [] : [result.value]));
      else failures.push(`${nameOf(listed, step[index] ?? '')}: ${errorMessage(result.reason)}`);
    }
  }
  if (failures.length === 0) return names.sort();
  throw new UserError(`not everything could be removed: ${failures.join('; ')}`, {
    hint: 'Run it again; it goes on with what is left.',
  });
}

async function tearDownWithRetries(deps: Deps, uid: string): Promise<string | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      return await tearDownPod(deps, uid);
    } catch (error) {
      if (tries === maxTries || isDeadlineExceeded(error)) throw error;
      await deps.clock.sleep(firstRetryMs * 2 ** (tries - 1));
    }
  }
}

function nameOf(pods: readonly RuntimePod[], uid: string): string {
  const pod = pods.find((candidate) => candidate.uid === uid);
  return pod === undefined ? `pod ${uid}` : `pod ${pod.namespace}/${pod.name}`;
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
