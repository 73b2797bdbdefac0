import type { Pod } from '../../api/types.ts';
import type { ClassProblem } from '../../api/values/resolve-classes.ts';
import { uidInUseMessage } from '../kuberuntime/owned-runtime.ts';
import type { Admission } from '../lifecycle/admit-pod.ts';
import { awaitedPodsText, type StartOrder } from '../lifecycle/start-order.ts';
import { reasons } from '../view/reasons.ts';
import type { AwaitedPods, Rejection, WaitingUpdate } from '../view/snapshot.ts';
import type { AdmissionChange } from './admission-change.ts';

/**
 * What a pod waits for before it may start. `retryOn` names the change that ends the wait.
 *
 * A rejection is retried on the change that it names: `podEnd` when any pod terminates or another owner frees the UID,
 * `deviceChange` also when devices change, `manifest` when the pod's manifest changes, `anyManifest` when any manifest
 * changes, `node` when node pressure or a shutdown is over. The other waits:
 */
export type PodWait =
  | Rejection
  /** Other pods must be Ready first. Ends when a pod becomes Ready or completes, or when manifests change. */
  | { retryOn: 'podReady'; reason: string; message: string; awaits: AwaitedPods }
  /** Device plugins are allocating its devices. Ends when they answer. */
  | { retryOn: 'allocation'; reason: string; message: string }
  /** Other pods are stopped to make room for it. Ends when the last of them has stopped. */
  | { retryOn: 'victims'; victims: Set<string> }
  /** Its earlier revision runs until the images are present. Ends when they are, or when that revision stops. */
  | { retryOn: 'images' }
  /** Its earlier revision is stopping. Ends when that revision has stopped. */
  | { retryOn: 'earlierEnd' }
  /** A source may still declare its earlier revision. Ends once that source is read. */
  | { retryOn: 'source' };

export type RetryOn = PodWait['retryOn'];

/** The waits that each change ends, most urgent first. */
export const endedBy: Readonly<Record<AdmissionChange, readonly RetryOn[]>> = {
  node: ['node'],
  devices: ['allocation'],
  room: ['victims', 'podEnd', 'deviceChange'],
  order: ['anyManifest', 'podReady'],
};

/** The waits that every sync of the pod and every clean-up checks, because no single event ends them. */
const checkedOften: ReadonlySet<RetryOn> = new Set(['images', 'earlierEnd', 'source']);

/** True for a wait that ends only on a change of `endedBy`, or on a new manifest. */
export function waitsForChange(wait: PodWait | undefined): boolean {
  return wait !== undefined && !checkedOften.has(wait.retryOn);
}

/** An earlier revision of a pod, with another UID, that must stop first. */
export interface EarlierRevision {
  /** Its manifest. Undefined if it is from an earlier agent. */
  readonly current: Pod | undefined;
  /** True if it is being stopped. */
  readonly isEnding: boolean;
  /** True if a stop would stop running containers. */
  readonly isRunning: boolean;
  /** True if an unread source may declare it. */
  readonly mayBeDeclared: boolean;
}

/** What decides whether a pod is admitted. */
export interface AdmissionFacts {
  /** The other owner of a pod with this UID in the runtime. */
  readonly uidOwner: string | undefined;
  readonly classProblem: ClassProblem | undefined;
  readonly order: StartOrder;
  /** Whether it fits on the node with the other pods. */
  readonly admission: Admission;
}

/** Images of a pod that waits for its earlier revision. */
export type ImageState = 'unknown' | 'pulling' | 'pulled';

/** A pod that starts together with another one, because each needs host ports of the other's earlier revision. */
export interface ExchangeFacts extends AdmissionFacts {
  readonly pod: Pod;
  readonly images: ImageState;
}

/** What decides whether a pod may start. The executor reads a fact only when the ones before it do not decide. */
export interface StartFacts extends AdmissionFacts {
  /** True if an operator stopped the pod. */
  readonly isStopped: boolean;
  /** True if everything of its last run must be removed first. */
  readonly runsAnew: boolean;
  /** True if a pod with this UID is running. */
  readonly isRunning: boolean;
  /** True if all its containers are done, so that its start runs nothing. */
  readonly isDone: boolean;
  readonly earlier: EarlierRevision | undefined;
  readonly images: ImageState;
  /** The pods to start together, this one first. Empty if an exchange of ports does not help. */
  readonly exchange: readonly ExchangeFacts[];
  /** True if pods stopped to make room for this one are still running. */
  readonly areVictimsRunning: boolean;
  /** Whether CPUs, memory nodes and devices must be allocated before `admission` is known. */
  readonly allocation: 'due' | 'pending' | 'done';
}

/** The next step towards the start of a pod. After `allocate`, `preempt` and `stopEarlier`, decide again. */
export type PodStart =
  /** Start its worker. `keep` means that the pod already runs and skips admission. */
  | { readonly do: 'start' | 'keep' }
  /** Allocate CPUs, memory nodes and devices. */
  | { readonly do: 'allocate' }
  | { readonly do: 'preempt'; readonly victims: readonly Pod[]; readonly missing: readonly string[] }
  /** Pull images while earlier revisions run. */
  | { readonly do: 'pull'; readonly pods: readonly Pod[] }
  /** Stop the earlier revisions of these pods. */
  | { readonly do: 'stopEarlier'; readonly of: readonly Pod[] }
  /** Stop the pod, and keep it stopped until an operator starts it. */
  | { readonly do: 'stop' }
  /** Stop what still runs of its last run, then restart it. */
  | { readonly do: 'endLastRun' }
  | { readonly do: 'wait'; readonly wait: PodWait };

/**
 * Decides whether a declared pod may start. This is the only place that does: what may keep a pod from starting is
 * here, and what ends each wait is at `PodWait`. Once a pod has a worker, its syncs decide about its containers
 * (`computePodActions`), and a change in place waits by `computeInPlaceStart`.
 */
export function computePodStart({ pod, wait }: { pod: Pod; wait?: PodWait | undefined }, facts: StartFacts): PodStart {
  if (facts.isStopped) return { do: 'stop' };
  if (facts.runsAnew && facts.isRunning) return { do: 'endLastRun' };
  if (facts.earlier !== undefined) return computeReplacement(pod, facts, facts.earlier);
  // Its start runs no container, so it needs no room.
  if (facts.isDone) return { do: 'start' };
  if (facts.isRunning) return { do: 'keep' };
  const first = precedence(pod, facts);
  if (first !== undefined) return { do: 'wait', wait: first };
  if (wait?.retryOn === 'victims' && facts.areVictimsRunning) return { do: 'wait', wait };
  if (facts.allocation === 'due') return { do: 'allocate' };
  if (facts.allocation === 'pending') return { do: 'wait', wait: allocationWait };
  const { admission } = facts;
  if (!admission.admit) return { do: 'wait', wait: admission.rejection };
  const { preempt: victims, missing = [] } = admission;
  return victims.length === 0 ? { do: 'start' } : { do: 'preempt', victims, missing };
}

/**
 * The earlier revision keeps running until this one is admitted and has its images, so neither a lack of room nor a
 * failed pull stops a running pod. The kubelet stops it as soon as its manifest changes. Admission assumes that the
 * earlier revision has stopped.
 */
function computeReplacement(pod: Pod, facts: StartFacts, earlier: EarlierRevision): PodStart {
  if (earlier.isEnding) return { do: 'wait', wait: { retryOn: 'earlierEnd' } };
  if (earlier.isRunning && facts.images === 'pulling') return { do: 'wait', wait: { retryOn: 'images' } };
  let together: readonly Pick<ExchangeFacts, 'pod' | 'images'>[] = [{ pod, images: facts.images }];
  if (!facts.isRunning) {
    const first = precedence(pod, facts);
    if (first !== undefined) return { do: 'wait', wait: first };
    const rejection = rejectionOf(facts);
    if (rejection !== undefined) {
      if (facts.exchange.length === 0 || !facts.exchange.every(mayStart)) return { do: 'wait', wait: rejection };
      together = facts.exchange;
    }
  }
  const pods = together.map((one) => one.pod);
  if (earlier.isRunning && together.some(({ images }) => images !== 'pulled')) return { do: 'pull', pods };
  if (earlier.mayBeDeclared) return { do: 'wait', wait: { retryOn: 'source' } };
  return { do: 'stopEarlier', of: pods };
}

/** Facts that decide whether an in-place change of a pod may start. */
export interface InPlaceFacts {
  readonly isRunning: boolean;
  /** Raised requests that do not fit on the node with the other pods. */
  readonly misfit: WaitingUpdate | undefined;
  /** The images of the containers that restart. */
  readonly images: ImageState;
}

export type InPlaceStart = { readonly do: 'start' | 'pull' } | { readonly do: 'wait'; readonly update: WaitingUpdate };

/**
 * Decides whether a running pod may change in place. Its current revision runs until then. Every sync of any pod and
 * every clean-up checks again.
 */
export function computeInPlaceStart({ isRunning, misfit, images }: InPlaceFacts): InPlaceStart {
  // If no pod is running, nothing is lost.
  if (!isRunning) return { do: 'start' };
  if (misfit !== undefined) return { do: 'wait', update: misfit };
  return { do: images === 'pulled' ? 'start' : 'pull' };
}

/** Why a pod must wait regardless of free resources: for its UID, its class, or other pods. */
function precedence({ metadata: { uid } }: Pod, facts: AdmissionFacts): PodWait | undefined {
  const { uidOwner, classProblem } = facts;
  if (uidOwner !== undefined) {
    return { reason: reasons.podUIDTaken, message: uidInUseMessage(uid, uidOwner), retryOn: 'podEnd' };
  }
  if (classProblem !== undefined) {
    const { isMissing, field, message } = classProblem;
    const reason = isMissing ? reasons.unknownClass : reasons.classConflict;
    return { reason, message: `${field}: ${message}`, retryOn: 'anyManifest' };
  }
  const { order } = facts;
  switch (order.decision) {
    case 'start':
      return undefined;
    case 'wait':
      return {
        reason: reasons.waitingForPods,
        message: awaitedPodsText(order.awaits),
        awaits: order.awaits,
        retryOn: 'podReady',
      };
    case 'refuse':
      return order.rejection;
  }
}

function rejectionOf({ admission }: AdmissionFacts): Rejection | undefined {
  return admission.admit ? undefined : admission.rejection;
}

const mayStart = (one: ExchangeFacts): boolean =>
  precedence(one.pod, one) === undefined && rejectionOf(one) === undefined;

const allocationWait = {
  reason: reasons.waitingForDevices,
  message: 'Device plugins are allocating its devices',
  retryOn: 'allocation',
} as const;
