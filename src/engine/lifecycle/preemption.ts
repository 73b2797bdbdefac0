import { podQOSClass } from '../../api/values/qos.ts';
import { podRequests } from '../../api/values/resource-totals.ts';
import type { Pod } from '../../api/types.ts';
import { isCriticalPod } from '../../api/values/critical-pod.ts';
import { amountOf } from './node-fit.ts';

/** Missing amount of a resource, in the units of `amountOf`. */
export interface Requirement {
  resource: string;
  quantity: bigint;
}

/** Pods to stop, or the resources that are missing even if all candidates stop. */
export type Preemption = { victims: Pod[] } | { unmet: Requirement[] };

/**
 * Chooses the pods to stop so that a critical pod fits: as few and as small as possible, lower QoS classes first.
 * kubelet: preemption/preemption.go getPodsToPreempt
 */
export function podsToPreempt(preemptor: Pod, pods: readonly Pod[], requirements: readonly Requirement[]): Preemption {
  const candidates = pods.filter((pod) => isPreemptable(preemptor, pod));
  const ofClass = (qosClass: string): Pod[] => candidates.filter((pod) => podQOSClass(pod) === qosClass);
  const [bestEffort, burstable, guaranteed] = [ofClass('BestEffort'), ofClass('Burstable'), ofClass('Guaranteed')];
  const unmet = unmetBy(requirements, candidates);
  if (unmet.length > 0) return { unmet };
  // Higher classes only provide what is still missing after all lower ones stop.
  const guaranteedVictims = nearest(guaranteed, unmetBy(requirements, [...bestEffort, ...burstable]));
  const burstableVictims = nearest(burstable, unmetBy(requirements, [...bestEffort, ...guaranteedVictims]));
  const bestEffortVictims = nearest(bestEffort, unmetBy(requirements, [...burstableVictims, ...guaranteedVictims]));
  return { victims: [...bestEffortVictims, ...burstableVictims, ...guaranteedVictims] };
}

/** Formats the requirements. kubelet: preemption.go toString */
export function describeRequirements(requirements: readonly Requirement[]): string {
  return `[${requirements.map(({ resource, quantity }) => `(res: ${resource}, q: ${quantity}), `).join('')}]`;
}

/** kubelet: types/pod_update.go Preemptable */
function isPreemptable(preemptor: Pod, pod: Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(pod)) return true;
  const { priority } = preemptor.spec;
  return priority !== undefined && pod.spec.priority !== undefined && priority > pod.spec.priority;
}

/**
 * Picks pods until nothing is missing. Each time picks the pod that leaves the smallest shortage. kubelet:
 * getPodsToPreemptByDistance
 */
function nearest(pods: readonly Pod[], requirements: readonly Requirement[]): Pod[] {
  const left = [...pods];
  const victims: Pod[] = [];
  let missing = requirements;
  while (missing.length > 0) {
    const victim = bestOf(left, missing);
    if (victim === undefined) break;
    missing = unmetBy(missing, [victim]);
    victims.push(victim);
    // Like the kubelet, moves the last pod into the gap. This determines the choice between equal pods.
    left[left.indexOf(victim)] = left.at(-1) ?? victim;
    left.pop();
  }
  return victims;
}

function bestOf(pods: readonly Pod[], requirements: readonly Requirement[]): Pod | undefined {
  let best: { pod: Pod; distance: number } | undefined;
  for (const pod of pods) {
    const distance = distanceTo(requirements, pod);
    if (best === undefined || distance < best.distance || (distance === best.distance && isSmaller(pod, best.pod))) {
      best = { pod, distance };
    }
  }
  return best?.pod;
}

/** Each requirement has the same weight, regardless of its unit. kubelet: preemption.go distance */
function distanceTo(requirements: readonly Requirement[], pod: Pod): number {
  const totals = podRequests(pod);
  return requirements.reduce((sum, { resource, quantity }) => {
    const missing = Number(quantity - amountOf(totals, resource));
    return missing > 0 ? sum + (missing / Number(quantity)) ** 2 : sum;
  }, 0);
}

function unmetBy(requirements: readonly Requirement[], pods: readonly Pod[]): Requirement[] {
  const totals = pods.map(podRequests);
  return requirements
    .map(({ resource, quantity }) => ({
      resource,
      quantity: totals.reduce((missing, requests) => missing - amountOf(requests, resource), quantity),
    }))
    .filter(({ quantity }) => quantity > 0n);
}

/** kubelet: preemption.go smallerResourceRequest */
function isSmaller(a: Pod, b: Pod): boolean {
  for (const resource of ['memory', 'cpu']) {
    const [ofA, ofB] = [amountOf(podRequests(a), resource), amountOf(podRequests(b), resource)];
    if (ofA !== ofB) return ofA < ofB;
  }
  return true;
}
