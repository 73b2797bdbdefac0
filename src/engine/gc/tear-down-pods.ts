import { podKey } from '../../api/values/pod-names.ts';
import type { Pod } from '../../api/types.ts';
import { dependsOn, dependsOnAnnotation, findDependency } from '../../api/values/depends-on.ts';
import type { Clock } from '../../clock.ts';
import { isDeadlineExceeded } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { withTimeout, TimeoutError } from '../../flow/with-timeout.ts';
import { RenewedLimits } from '../../flow/renewed-limits.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';
import { mayBeRunning, type RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import { readRevision } from '../in-place/applied-revisions.ts';
import { containerGracePeriodSeconds } from '../kuberuntime/actions/termination-grace-period.ts';
import { killPod } from '../kuberuntime/kill-pod.ts';
import { podToStop } from '../kuberuntime/pod-to-stop.ts';
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
  /** Resets the pod's restart counts. `pod` is undefined if the runtime does not know its name. */
  dropRestarts: (uid: string, pod: { namespace: string; name: string } | undefined) => Promise<void>;
  /** Called once with the pods to remove that the runtime knows, as `namespace/name`. */
  onFound: (pods: string[]) => void;
  /** Called with `namespace/name` when a pod that the runtime knew is removed. */
  onRemoved: (pod: string) => void;
  clock: Clock;
}

interface TearDown extends Deps {
  /** Time limits of the removals. */
  limits: RenewedLimits;
}

/** Attempts per pod, because a runtime that stops many pods at once rejects some calls. */
const maxTries = 5;
/** Delay before the second attempt. It doubles with each attempt. */
const firstRetryMs = 250;

/** Time for the runtime to report a pod's remains. */
const lookTimeoutMs = 2000;

/** A pod that could not be removed. The next start or tear-down retries it. */
export interface RemovalFailure {
  uid: string;
  /** `namespace/name`, or the UID if the runtime does not know the name. */
  pod: string;
  reason: string;
  /** True if one of its containers is running, or the runtime does not answer. */
  mayRun: boolean;
}

/**
 * Stops and removes every pod with a folder below the root-dir, each before the pods that it depends on. Each pod gets
 * its own grace period plus `removalTimeoutMs`. This time restarts with each removed pod, because pods wait for one
 * another in the runtime. A failed pod does not delay the others. Resolves with the pods that could not be removed.
 * Rejects if the runtime does not list its pods in time.
 */
export async function tearDownPods(given: Deps): Promise<RemovalFailure[]> {
  const deps: TearDown = { ...given, limits: new RenewedLimits(given.clock) };
  const uids = new Set(await deps.podDirs.podUIDs());
  const listed = (await listPods(deps)).filter(({ uid }) => uids.has(uid));
  deps.onFound(listed.map(({ uid }) => nameOf(listed, uid)));
  const steps = computeTearDownOrder(listed);
  for (const uid of steps.flat()) uids.delete(uid);
  const failures: RemovalFailure[] = [];
  // Pods that the runtime does not have come first, because no other pod waits for them.
  for (const step of [[...uids], ...steps]) {
    const results = await Promise.allSettled(step.map((uid) => tearDownWithRetries(deps, uid)));
    for (const [index, result] of results.entries()) {
      const uid = step[index] ?? '';
      if (result.status === 'rejected') failures.push(await failureOf(deps, uid, nameOf(listed, uid), result.reason));
    }
  }
  return failures;
}

async function listPods({ clock, runtimePods }: Deps): Promise<RuntimePod[]> {
  try {
    return await withTimeout(clock, removalTimeoutMs, runtimePods.getPods({}));
  } catch (cause) {
    if (!(cause instanceof TimeoutError)) throw cause;
    throw new UserError(`the container runtime did not list its pods within ${removalTimeoutMs / 1000} s`, {
      hint: 'It is stopped or overloaded: check its log.',
      cause,
    });
  }
}

async function tearDownWithRetries(deps: TearDown, uid: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await tearDownPod(deps, uid);
      return;
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
      uid,
      pod,
      reason,
      mayRun: mayBeRunning(await withTimeout(deps.clock, lookTimeoutMs, deps.runtimePods.getPodStatus(uid))),
    };
  } catch {
    // The runtime did not answer here either.
    return { uid, pod, reason, mayRun: true };
  }
}

function nameOf(pods: readonly RuntimePod[], uid: string): string {
  const pod = pods.find((candidate) => candidate.uid === uid);
  return pod === undefined ? uid : podKey(pod);
}

async function tearDownPod(deps: TearDown, uid: string): Promise<void> {
  const { limits } = deps;
  const podStatus = await limits.within(removalTimeoutMs, deps.runtimePods.getPodStatus(uid));
  // If the revision cannot be read, what the runtime knows is enough.
  const revision = await readRevision(deps.podDirs.podDir(uid)).catch(() => undefined);
  const pod = podToStop(podStatus, revision?.pod);
  const graceMs = containerGracePeriodSeconds(pod, undefined, '') * 1000;
  await limits.within(graceMs + removalTimeoutMs, removePod(deps, pod, podStatus));
  limits.renew();
  if (podStatus.name !== '') deps.onRemoved(podKey(podStatus));
}

async function removePod(deps: Deps, pod: Pod, podStatus: RuntimePodStatus): Promise<void> {
  const { runtimePods, podRemover, podDirs } = deps;
  const { uid } = podStatus;
  const recorder = podEventRecorder(() => undefined, pod);
  await killPod(deps, { pod, podStatus, recorder });
  const [left] = await runtimePods.getPods({ uid });
  await podRemover.removePod(uid, left);
  await deps.removePodCgroup(uid);
  await deps.dropRestarts(uid, podStatus.name === '' ? undefined : podStatus);
  await podDirs.removePodDir(uid);
}

/** Returns the pods of one node in reverse start order, as steps of UIDs, given the runtime's listing. */
export function computeTearDownOrder(pods: readonly RuntimePod[]): string[][] {
  const asNamedOn = (nodeName: string): Pod[] => pods.map((pod) => asPod(pod, nodeName));
  // The runtime does not report the node's name. Uses the candidate that resolves the most dependencies.
  const [named = []] = commonNameEnds(pods)
    .map(asNamedOn)
    .sort((a, b) => dependenciesFound(b) - dependenciesFound(a));
  return computeStopOrder(named).map((step) => step.map(({ metadata }) => metadata.uid));
}

const dependenciesFound = (pods: readonly Pod[]): number =>
  pods.flatMap(dependsOn).filter((key) => findDependency(key, pods) !== undefined).length;

/**
 * Returns the endings after a `-` that all names share, because the node's name is one of them. Includes the empty
 * ending.
 */
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
 * Milliseconds that the runtime gets, beyond a pod's grace period, to stop and remove it while a user waits. This is
 * twice as long as containerd takes for a sandbox with a hung network plugin.
 */
export const removalTimeoutMs = 30_000;
