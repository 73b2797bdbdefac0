import type { Pod } from '../../api/types.ts';
import { dependsOn, dependsOnAnnotation, findDependency } from '../../api/values/depends-on.ts';
import type { Clock } from '../../clock.ts';
import { isDeadlineExceeded } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { errorMessage } from '../../errors.ts';
import { inTime, TimeoutError } from '../../flow/in-time.ts';
import type { RuntimePod } from '../container/pod-records.ts';
import { mayBeRunning, type RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import { containerGracePeriodSeconds } from '../kuberuntime/actions/termination-grace-period.ts';
import { killPod } from '../kuberuntime/kill-pod.ts';
import type { PodRemover } from '../kuberuntime/pod-remover.ts';
import type { RuntimePods } from '../kuberuntime/runtime-pods.ts';
import { computeStopOrder } from '../lifecycle/stop-order.ts';
import { podEventRecorder } from '../view/event-recorder.ts';

interface Deps {
  runtime: RuntimeService;
  runtimePods: RuntimePods;
  podRemover: PodRemover;
  podDirs: PodDirs;
  removePodCgroup: (uid: string) => Promise<void>;
  /** Its restart counts begin at 0 again; `pod` undefined: the runtime does not know its name. */
  forgetRestarts: (uid: string, pod: { namespace: string; name: string } | undefined) => Promise<void>;
  clock: Clock;
}

/** How often a pod is tried; a runtime that has to stop many at once refuses some, as the pod workers know. */
const maxTries = 5;
/** Before the second try; it is doubled for each after it. */
const firstRetryMs = 250;

/** How long the runtime is asked what is left of a pod. */
const lookTimeoutMs = 2000;

/** What came of a tear-down. */
export interface TornDownPods {
  /** `namespace/name`, sorted. */
  removed: string[];
  failures: RemovalFailure[];
}

/** A pod that could not be removed; it is tried again by the next start and the next tear-down. */
export interface RemovalFailure {
  /** `namespace/name`, or the UID where the runtime does not know a name. */
  pod: string;
  reason: string;
  /** Something of it runs, or the runtime does not tell. */
  mayRun: boolean;
}

/**
 * Stops every pod whose folder is below the root-dir, with the grace period it was started with, and removes all of it: pods
 * before those that they depend on. Each pod has its grace period and `removalTimeoutMs`; one that fails holds up no other.
 * Rejects when the runtime does not list its pods.
 */
export async function tearDownPods(deps: Deps): Promise<TornDownPods> {
  const uids = new Set(await deps.podDirs.podUIDs());
  const listed = (await deps.runtimePods.getPods({})).filter(({ uid }) => uids.has(uid));
  const steps = computeTearDownOrder(listed);
  for (const uid of steps.flat()) uids.delete(uid);
  const removed: string[] = [];
  const failures: RemovalFailure[] = [];
  // What the runtime does not have first, as nothing waits for it.
  for (const step of [[...uids], ...steps]) {
    const results = await Promise.allSettled(step.map((uid) => tearDownWithRetries(deps, uid)));
    for (const [index, result] of results.entries()) {
      const uid = step[index] ?? '';
      if (result.status === 'fulfilled') removed.push(...(result.value === undefined ? [] : [result.value]));
      else failures.push(await failureOf(deps, uid, nameOf(listed, uid), result.reason));
    }
  }
  return { removed: removed.sort(), failures };
}

async function tearDownWithRetries(deps: Deps, uid: string): Promise<string | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      return await tearDownPod(deps, uid);
    } catch (error) {
      if (tries === maxTries || isDeadlineExceeded(error) || error instanceof TimeoutError) throw error;
      await deps.clock.sleep(firstRetryMs * 2 ** (tries - 1));
    }
  }
}

async function failureOf(deps: Deps, uid: string, pod: string, error: unknown): Promise<RemovalFailure> {
  const reason = errorMessage(error);
  try {
    return {
      pod,
      reason,
      mayRun: mayBeRunning(await inTime(deps.clock, lookTimeoutMs, deps.runtimePods.getPodStatus(uid))),
    };
  } catch {
    // The runtime that did not remove it does not tell of it either.
    return { pod, reason, mayRun: true };
  }
}

function nameOf(pods: readonly RuntimePod[], uid: string): string {
  const pod = pods.find((candidate) => candidate.uid === uid);
  return pod === undefined ? uid : `${pod.namespace}/${pod.name}`;
}

async function tearDownPod(deps: Deps, uid: string): Promise<string | undefined> {
  const podStatus = await inTime(deps.clock, removalTimeoutMs, deps.runtimePods.getPodStatus(uid));
  const pod = podOf(podStatus);
  const graceMs = containerGracePeriodSeconds(pod, undefined, '') * 1000;
  return inTime(deps.clock, graceMs + removalTimeoutMs, removePod(deps, pod, podStatus));
}

async function removePod(deps: Deps, pod: Pod, podStatus: RuntimePodStatus): Promise<string | undefined> {
  const { runtimePods, podRemover, podDirs } = deps;
  const { uid } = podStatus;
  await killPod(
    deps,
    pod,
    podStatus,
    podEventRecorder(() => undefined, pod),
  );
  const [left] = await runtimePods.getPods({ uid });
  await podRemover.removePod(uid, left);
  await deps.removePodCgroup(uid);
  const named = podStatus.name === '' ? undefined : podStatus;
  await deps.forgetRestarts(uid, named);
  await podDirs.removePodDir(uid);
  return named && `${named.namespace}/${named.name}`;
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

/** The reverse of the start order of the pods of one node, as UIDs in steps, from what the runtime knows of them. */
export function computeTearDownOrder(pods: readonly RuntimePod[]): string[][] {
  const asNamedOn = (nodeName: string): Pod[] => pods.map((pod) => asPod(pod, nodeName));
  // The runtime does not tell the name of the node. That of which most dependencies are found is it, or as good.
  const [named = []] = commonNameEnds(pods)
    .map(asNamedOn)
    .sort((a, b) => dependenciesFound(b) - dependenciesFound(a));
  return computeStopOrder(named).map((step) => step.map(({ metadata }) => metadata.uid));
}

const dependenciesFound = (pods: readonly Pod[]): number =>
  pods.flatMap(dependsOn).filter((key) => findDependency(key, pods) !== undefined).length;

/** What follows a `-` in the names of all, as the name of the node does; nothing as well. */
function commonNameEnds([first, ...others]: readonly RuntimePod[]): string[] {
  const [, ...parts] = first?.name.split('-') ?? [];
  const ends = parts.map((_, index) => parts.slice(index).join('-'));
  return ['', ...ends].filter((end) => others.every(({ name }) => end === '' || name.endsWith(`-${end}`)));
}

function asPod({ uid, name, namespace, dependsOn: others }: RuntimePod, nodeName: string): Pod {
  const annotations = others === undefined ? {} : { [dependsOnAnnotation]: others };
  return { metadata: { uid, name, namespace, annotations }, spec: { nodeName, containers: [] } };
}

/**
 * Milliseconds that the runtime has beyond the grace period of a pod to end and remove it, where somebody waits for that.
 * Twice as long as containerd takes for a sandbox whose network plugin has to be cut.
 */
export const removalTimeoutMs = 30_000;
