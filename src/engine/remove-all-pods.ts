import { podKey } from '../api/values/pod-names.ts';
import type { Pod } from '../api/types.ts';
import { sourceOf } from '../api/values/config-annotations.ts';
import type { Clock } from '../clock.ts';
import { errorMessage } from '../errors.ts';
import { withTimeout } from '../flow/with-timeout.ts';
import { RenewedLimits } from '../flow/renewed-limits.ts';
import type { PodUpdate } from './config/pod-config.ts';
import { removalTimeoutMs } from './gc/tear-down-pods.ts';
import { containerGracePeriodSeconds } from './kuberuntime/actions/termination-grace-period.ts';
import { computeStopOrder } from './lifecycle/stop-order.ts';
import type { KubeletParts } from './build/new-kubelet.ts';
import { workersEnded } from './pod-workers/workers-ended.ts';

type Parts = Pick<
  KubeletParts,
  'config' | 'podManager' | 'undeclaredPods' | 'workers' | 'inputs' | 'events' | 'garbage'
>;

/** Delay before removing a pod's remains is retried. */
const removalRetryMs = 1000;

/** A pod that could not be removed completely. */
export interface UnremovedPod {
  /** `namespace/name` */
  pod: string;
  reason: string;
}

/**
 * Stops and removes every declared pod, as if all manifests were removed. Each pod stops before those that it depends
 * on. Resolves with the pods that were not removed within their grace period plus `removalTimeoutMs`. That time
 * restarts with each removed pod, because pods wait for one another in the runtime.
 */
export async function removeAllPods(parts: Parts, clock: Clock): Promise<UnremovedPod[]> {
  const updates = [...parts.config.declareNothing(), ...undeclared(parts)];
  const working = parts.workers.pods();
  const workedOn = new Set(working.map(({ metadata }) => metadata.uid));
  const others = updates.flatMap((update) => update.pods).filter(({ metadata }) => !workedOn.has(metadata.uid));
  const left: UnremovedPod[] = [];
  const limits = new RenewedLimits(clock);
  // Waiting pods come first, because they would start when others stop.
  for (const step of [others, ...computeStopOrder(working)])
    left.push(...(await removePods(parts, clock, step, updates, limits)));
  return left;
}

/** Returns the removals of pods that keep running although no source declares them. */
function undeclared({ podManager, undeclaredPods }: Parts): PodUpdate[] {
  const pods = podManager.pods().filter(({ metadata }) => undeclaredPods.isKept(metadata.uid));
  return pods.map((pod) => ({ op: 'REMOVE', source: sourceOf(pod), sourceId: undeclaredSource, pods: [pod] }));
}

const undeclaredSource = '<undeclared>';

async function removePods(
  parts: Parts,
  clock: Clock,
  pods: readonly Pod[],
  removals: readonly PodUpdate[],
  limits: RenewedLimits,
): Promise<UnremovedPod[]> {
  const { workers, inputs, events, garbage } = parts;
  const uids = new Set(pods.map(({ metadata }) => metadata.uid));
  const removedBefore = new Set([...uids].filter((uid) => garbage.hasRemoved(uid)));
  const unfinished = [...uids].filter((uid) => workers.snapshot(uid).state !== 'finished');
  const ended = workersEnded(events, unfinished);
  for (const removal of removals) {
    const removed = removal.pods.filter(({ metadata }) => uids.has(metadata.uid));
    if (removed.length > 0) inputs.push({ type: 'config', update: { ...removal, pods: removed } });
  }
  const failures = await Promise.all(
    pods.map(async (pod) => {
      const { uid } = pod.metadata;
      const failure = await untilRemoved(parts, clock, { pod, ended: ended.get(uid), removedBefore, limits });
      if (failure === undefined) limits.renew();
      return failure;
    }),
  );
  return failures.filter((failure) => failure !== undefined);
}

interface Removal {
  pod: Pod;
  ended: Promise<void> | undefined;
  removedBefore: ReadonlySet<string>;
  limits: RenewedLimits;
}

/** Removes a pod after its worker `ended`. Resolves with undefined if nothing of it remains. */
async function untilRemoved(
  { workers, garbage }: Parts,
  clock: Clock,
  { pod, ended, removedBefore, limits }: Removal,
): Promise<UnremovedPod | undefined> {
  const { uid } = pod.metadata;
  const graceMs = containerGracePeriodSeconds(pod, undefined, '') * 1000;
  const startedAtMonotonic = clock.monotonic();
  const timeoutMs = graceMs + removalTimeoutMs;
  try {
    await limits.within(timeoutMs, Promise.resolve(ended));
    // A pod that had already finished still has its remains. The workers removed the others.
    const isGone = garbage.hasRemoved(uid) && !removedBefore.has(uid);
    if (!isGone) await removeRemains(garbage, clock, uid, () => limits.endOf(startedAtMonotonic, timeoutMs));
    return undefined;
  } catch (error) {
    const { lastSyncError } = workers.snapshot(uid);
    return { pod: podKey(pod.metadata), reason: lastSyncError ?? errorMessage(error) };
  }
}

/** Retries until `untilMonotonic`. */
async function removeRemains(
  garbage: Parts['garbage'],
  clock: Clock,
  uid: string,
  untilMonotonic: () => number,
): Promise<void> {
  for (;;) {
    const leftMs = Math.max(removalRetryMs, untilMonotonic() - clock.monotonic());
    try {
      await withTimeout(clock, leftMs, garbage.removeUnworked(uid));
      return;
    } catch (error) {
      if (leftMs <= removalRetryMs) throw error;
      await clock.sleep(removalRetryMs);
    }
  }
}
